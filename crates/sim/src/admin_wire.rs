//! Observation of admin requests: the resources that they change, their execution, and the states of the resources.

use ottla_core::connection::ConnId;
use ottla_mock::Cluster;
use ottla_protocol::api::alter_configs::AlterConfigsRequest;
use ottla_protocol::api::alter_user_scram_credentials::AlterUserScramCredentialsRequest;
use ottla_protocol::api::create_acls::CreateAclsRequest;
use ottla_protocol::api::create_partitions::CreatePartitionsRequest;
use ottla_protocol::api::create_topics::CreateTopicsRequest;
use ottla_protocol::api::delete_acls::DeleteAclsRequest;
use ottla_protocol::api::delete_groups::DeleteGroupsRequest;
use ottla_protocol::api::delete_records::DeleteRecordsRequest;
use ottla_protocol::api::delete_topics::DeleteTopicsRequest;
use ottla_protocol::api::incremental_alter_configs::IncrementalAlterConfigsRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::offset_delete::OffsetDeleteRequest;
use ottla_protocol::{ApiKey, Request};

use bytes::Bytes;

use crate::check::{Facts, Part, Resource, ResourceKind};
use crate::logs::ADMIN_NAMES;
use crate::net::Conn;
use crate::trace::trace;
use crate::wire::{api_of, decode};
use crate::world::World;

/// A topic that no call changes: groups have offsets of it.
pub(crate) const BASE_TOPIC: &str = "admin-base";
/// The number of its partitions.
pub(crate) const BASE_PARTITIONS: i32 = 4;

/// Returns the principal of access control entries, by its number.
pub(crate) fn principal(client: usize, number: u32) -> String {
    format!("User:{ADMIN_NAMES}{client}-{number}")
}

/// Notes an admin request that is written to a connection.
pub(crate) fn on_admin_request(world: &mut World, client: usize, conn: ConnId, frame: &Bytes) {
    if world.plan.admin.is_none() {
        return;
    }
    let Some((api, _, correlation)) = api_of(frame.get(4..).unwrap_or_default()) else {
        return;
    };
    let Some(number) = world.net.number(client, conn) else {
        return;
    };
    let parts = parts_of(api, frame);
    if !parts.is_empty() {
        world.check.admin.on_sent(number, correlation, parts);
    }
}

/// Notes that the broker's side of a connection has ended.
pub(crate) fn on_admin_connection_closed(world: &mut World, number: u64) {
    if world.plan.admin.is_some() {
        let result = world.check.admin.on_closed(number);
        world.check.expect(result);
    }
}

/// Records the states after the requests that brokers have executed since the last call.
pub(crate) fn check_admin_requests(world: &mut World) {
    for served in world.cluster.take_requests() {
        let (number, correlation) = (served.connection.0, served.correlation_id);
        if served.api == ApiKey::LIST_GROUPS
            && served.is_executed
            && let Some(client) = world.net.conn(number).map(Conn::client)
        {
            let now_us = world.now_us();
            world.check.admin.on_listing(client, served.broker.0, now_us);
        }
        let Some(request) = world.check.admin.request(number, correlation) else {
            continue;
        };
        let mut executed = Vec::new();
        for part in request.parts {
            let (resource, partition) = &part;
            observe(world, resource);
            let is_served = match resource.kind {
                ResourceKind::Group => world
                    .cluster
                    .check_group_coordinator(served.broker, &resource.name)
                    .is_ok(),
                ResourceKind::Topic if *partition >= 0 => {
                    world.cluster.partition_leader(&resource.name, *partition) == Some(served.broker)
                }
                _ => true,
            };
            if served.is_executed && is_served {
                executed.push(part);
            }
        }
        trace!(
            world.trace,
            "ADMIN {} on #{number} is executed for {executed:?}", served.api
        );
        let result = world.check.admin.on_served(number, correlation, &executed);
        world.check.expect(result);
    }
}

/// Records the present state of a resource.
pub(crate) fn observe(world: &mut World, resource: &Resource) {
    let facts = facts_of(&world.cluster, resource);
    let now_us = world.now_us();
    world.check.admin.on_state(resource, now_us, facts);
}

/// Returns the present state of a resource.
pub(crate) fn facts_of(cluster: &Cluster, resource: &Resource) -> Facts {
    let name = &resource.name;
    let mut facts = Facts::new();
    let mut set = |fact: String, value: String| _ = facts.insert(fact, value);
    match resource.kind {
        ResourceKind::Topic => {
            let Some((id, count)) = cluster.topic_id(name).zip(cluster.partition_count(name)) else {
                return facts;
            };
            set("exists".into(), "yes".into());
            set("id".into(), id.to_string());
            set("partitions".into(), count.to_string());
            for (setting, value) in cluster.topic_settings(name).into_iter().flatten() {
                set(format!("config {setting}"), value.clone());
            }
            for partition in 0..i32::try_from(count).unwrap_or(0) {
                if let Some(marks) = cluster.watermarks(name, partition) {
                    set(format!("start {partition}"), marks.log_start_offset.to_string());
                }
            }
        }
        ResourceKind::Group => {
            if cluster.group_view(name).is_some() {
                set("exists".into(), "yes".into());
            }
            for partition in 0..BASE_PARTITIONS {
                if let Some(offset) = cluster.committed_offset(name, BASE_TOPIC, partition) {
                    set(format!("offset {partition}"), offset.to_string());
                }
            }
        }
        ResourceKind::Principal => {
            for acl in cluster.acls().filter(|acl| acl.principal == *name) {
                let pattern = (acl.resource_type, &*acl.name, acl.pattern_type);
                set(
                    acl_fact(pattern, &acl.host, (acl.operation, acl.permission_type)),
                    "yes".into(),
                );
            }
        }
        ResourceKind::User => {
            for (mechanism, iterations) in cluster.scram_credentials(name).into_iter().flatten() {
                set(format!("mechanism {mechanism}"), iterations.to_string());
            }
        }
    }
    facts
}

/// Returns the fact of an access control entry of a principal.
pub(crate) fn acl_fact((kind, name, pattern): (i8, &str, i8), host: &str, (operation, effect): (i8, i8)) -> String {
    format!("acl {kind} {name} {pattern} {host} {operation} {effect}")
}

/// Returns the parts of resources that a request may change.
fn parts_of(api: ApiKey, frame: &Bytes) -> Vec<Part> {
    use ResourceKind::{Group, Principal, Topic, User};
    let names: Vec<(ResourceKind, String, i32)> = match api {
        ApiKey::CREATE_TOPICS => {
            names::<CreateTopicsRequest>(frame, |r| whole(Topic, r.topics.into_iter().map(|t| t.name)))
        }
        ApiKey::CREATE_PARTITIONS => {
            names::<CreatePartitionsRequest>(frame, |r| whole(Topic, r.topics.into_iter().map(|t| t.name)))
        }
        ApiKey::DELETE_TOPICS => names::<DeleteTopicsRequest>(frame, |r| {
            let by_struct = r.topics.into_iter().filter_map(|t| t.name);
            whole(Topic, r.topic_names.into_iter().chain(by_struct))
        }),
        ApiKey::DELETE_RECORDS => names::<DeleteRecordsRequest>(frame, |r| {
            let topics = r.topics.into_iter();
            let of_topic = |t: ottla_protocol::api::delete_records::DeleteRecordsTopic| {
                let partitions = t.partitions.into_iter();
                partitions
                    .map(move |p| (Topic, t.name.clone(), p.partition_index))
                    .collect::<Vec<_>>()
            };
            topics.flat_map(of_topic).collect()
        }),
        ApiKey::ALTER_CONFIGS => names::<AlterConfigsRequest>(frame, |r| {
            whole(Topic, r.resources.into_iter().map(|t| t.resource_name))
        }),
        ApiKey::INCREMENTAL_ALTER_CONFIGS => names::<IncrementalAlterConfigsRequest>(frame, |r| {
            whole(Topic, r.resources.into_iter().map(|t| t.resource_name))
        }),
        ApiKey::CREATE_ACLS => names::<CreateAclsRequest>(frame, |r| {
            whole(Principal, r.creations.into_iter().map(|a| a.principal))
        }),
        ApiKey::DELETE_ACLS => names::<DeleteAclsRequest>(frame, |r| {
            whole(Principal, r.filters.into_iter().filter_map(|f| f.principal_filter))
        }),
        ApiKey::ALTER_USER_SCRAM_CREDENTIALS => names::<AlterUserScramCredentialsRequest>(frame, |r| {
            let removed = r.deletions.into_iter().map(|d| d.name);
            whole(User, removed.chain(r.upsertions.into_iter().map(|u| u.name)))
        }),
        ApiKey::OFFSET_COMMIT => names::<OffsetCommitRequest>(frame, |r| whole(Group, [r.group_id].into_iter())),
        ApiKey::OFFSET_DELETE => names::<OffsetDeleteRequest>(frame, |r| whole(Group, [r.group_id].into_iter())),
        ApiKey::DELETE_GROUPS => names::<DeleteGroupsRequest>(frame, |r| whole(Group, r.groups_names.into_iter())),
        _ => Vec::new(),
    };
    let mut parts: Vec<Part> = names
        .into_iter()
        .filter(|(kind, name, _)| *kind == Principal || name.starts_with(ADMIN_NAMES))
        .map(|(kind, name, partition)| (Resource { kind, name }, partition))
        .collect();
    parts.sort();
    parts.dedup();
    parts
}

fn names<R: Request>(
    frame: &Bytes,
    of: impl FnOnce(R) -> Vec<(ResourceKind, String, i32)>,
) -> Vec<(ResourceKind, String, i32)> {
    decode::<R>(frame).map(|(_, request)| of(request)).unwrap_or_default()
}

fn whole(kind: ResourceKind, names: impl Iterator<Item = String>) -> Vec<(ResourceKind, String, i32)> {
    names.map(|name| (kind, name, -1)).collect()
}
