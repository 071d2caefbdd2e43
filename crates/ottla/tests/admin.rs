//! `Admin` on an embedded cluster: each operation with its results by key.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::time::{Duration, Instant};

use ottla::admin::{
    AbortTransaction, AclBinding, AclFilter, AclOperation, AclResourceType, AddRaftVoter, Admin,
    AlterPartitionReassignments, Call, ClientQuotaAlteration, ClientQuotaEntity, ConfigChange, ConfigChanges,
    ConfigEntry, ConfigQuery, ConfigResource, ConfigSource, CreateDelegationToken, DescribeClientQuotas,
    DescribeLogDirs, ElectionType, ExpireDelegationToken, FeatureUpdate, FeatureUpgradeType, ListConsumerGroups,
    ListGroups, ListTopics, ListTransactions, MemberToRemove, NewPartitions, NewTopic, OffsetAndMetadata, OffsetSpec,
    Options, PartitionReassignment, PatternType, PermissionType, RaftEndpoint, RemoveMembersFromConsumerGroup,
    RemoveRaftVoter, RenewDelegationToken, ReplicaMove, ResourceType, Results, ScramAlteration, ScramCredentialInfo,
    ScramMechanism, ScramUpsertion, TokenHmac,
};
use ottla::client::{Client, ClientHooks};
use ottla::config::Conf;
use ottla::error::{Error, ErrorCode};
use ottla::producer::{Payload, Record};
use ottla::types::{ClientKind, NodeId, TopicHooks, TopicPartition, Uuid, offset};

const OK: ErrorCode = ErrorCode::NO_ERROR;

fn conf() -> Conf {
    let mut conf = Conf::new();
    conf.set("test.mock.num.brokers", "3").unwrap();
    conf
}

fn admin() -> Admin {
    Admin::new(&conf()).unwrap()
}

/// An admin with a topic `t` of two partitions, the first with five records.
fn with_records() -> Admin {
    let admin = admin();
    admin
        .create_topics([NewTopic::new("t", 2, 3)], &options())
        .wait()
        .unwrap()
        .all()
        .unwrap();
    let client = admin.client();
    let topic = client.topic("t", None, TopicHooks::default()).unwrap();
    for n in 0..5 {
        let record = Record {
            value: Payload::Copy(b"value"),
            timestamp_ms: 1000 * (n + 1),
            ..Record::default()
        };
        client.produce(&topic, 0, record, false).unwrap();
    }
    client.flush_begin().unwrap();
    client.flush_wait(Duration::from_secs(20)).unwrap();
    client.flush_end();
    admin
}

fn options() -> Options {
    Options {
        request_timeout: Some(Duration::from_secs(20)),
        ..Options::default()
    }
}

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

/// The keys of results with their error codes.
fn codes<K: Clone, V>(results: &Results<K, V>) -> Vec<(K, ErrorCode)> {
    let code = |(key, result): &(K, Result<V, Error>)| (key.clone(), result.as_ref().err().map_or(OK, |e| e.code));
    results.iter().map(code).collect()
}

fn named(codes: &[(&str, ErrorCode)]) -> Vec<(String, ErrorCode)> {
    codes.iter().map(|(name, code)| ((*name).to_owned(), *code)).collect()
}

// ---------------------------------------------------------------- topics

#[test]
fn topics_are_created_listed_grown_and_deleted_each_with_its_result() {
    let (admin, options) = (admin(), options());
    let new = |names: &[&str]| -> Vec<NewTopic> { names.iter().map(|name| NewTopic::new(*name, 2, 1)).collect() };
    let created = admin.create_topics(new(&["b", "a"]), &options).wait().unwrap();
    assert_eq!(codes(&created), named(&[("b", OK), ("a", OK)]));
    let created = admin.create_topics(new(&["c", "a"]), &options).wait().unwrap();
    let exists = ErrorCode::TOPIC_ALREADY_EXISTS;
    assert_eq!(codes(&created), named(&[("c", OK), ("a", exists)]));

    let listed = admin.list_topics(false, &options).wait().unwrap();
    let names: Vec<&str> = listed.iter().map(|topic| &*topic.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(!listed[0].topic_id.is_zero());

    let total = |topic: &str, total| NewPartitions {
        topic: topic.into(),
        total,
        assignments: Vec::new(),
    };
    let grown = admin
        .create_partitions([total("a", 5), total("b", 1)], &options)
        .wait()
        .unwrap();
    let invalid = ErrorCode::INVALID_PARTITIONS;
    assert_eq!(codes(&grown), named(&[("a", OK), ("b", invalid)]));

    let described = admin.describe_topics(["a", "nowhere"], &options).wait().unwrap();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PART;
    assert_eq!(codes(&described), named(&[("a", OK), ("nowhere", unknown)]));
    let a = described.get("a").unwrap().as_ref().unwrap();
    assert!(a.partitions.len() == 5 && a.error.is_none() && a.authorized_operations.is_none());

    let deleted = admin.delete_topics(["a", "nowhere"], &options).wait().unwrap();
    assert_eq!(codes(&deleted), named(&[("a", OK), ("nowhere", unknown)]));
    let listed = admin.list_topics(true, &options).wait().unwrap();
    assert!(listed.iter().all(|topic| topic.name != "a"));
}

#[test]
fn validated_topics_are_not_created() {
    let admin = admin();
    let validate = Options {
        validate_only: true,
        ..options()
    };
    let created = admin
        .create_topics([NewTopic::new("t", 1, 1)], &validate)
        .wait()
        .unwrap();
    assert_eq!(codes(&created), named(&[("t", OK)]));
    assert!(admin.list_topics(false, &options()).wait().unwrap().is_empty());
}

#[test]
fn authorized_operations_are_returned_if_requested() {
    let admin = with_records();
    let authorized = Options {
        include_authorized_operations: true,
        ..options()
    };
    let topics = admin.describe_topics(["t"], &authorized).wait().unwrap().all().unwrap();
    let operations = topics[0].1.authorized_operations.clone().unwrap();
    assert!(operations.contains(&AclOperation::WRITE), "{operations:?}");
    let cluster = admin.describe_cluster(&authorized).wait().unwrap();
    assert!(cluster.authorized_operations.is_some_and(|list| !list.is_empty()));
    let cluster = admin.describe_cluster(&options()).wait().unwrap();
    assert_eq!(cluster.nodes.len(), 3);
    assert!(cluster.controller.is_some() && cluster.cluster_id.is_some() && cluster.authorized_operations.is_none());
}

#[test]
fn offsets_are_listed_by_kind_and_records_before_them_are_deleted() {
    let (admin, options) = (with_records(), options());
    let at = |spec| {
        let listed = admin.list_offsets([(tp(0), spec)], &options).wait().unwrap();
        listed.all().unwrap()[0].1.offset
    };
    assert_eq!(
        [at(OffsetSpec::EARLIEST), at(OffsetSpec::LATEST), at(OffsetSpec(2500))],
        [0, 5, 2]
    );
    let deleted = admin
        .delete_records([(tp(0), 3), (tp(1), 1), (tp(9), 1)], &options)
        .wait()
        .unwrap();
    let expected = [
        (tp(0), OK),
        (tp(1), ErrorCode::OFFSET_OUT_OF_RANGE),
        (tp(9), ErrorCode::L_UNKNOWN_PARTITION),
    ];
    assert_eq!(codes(&deleted), expected);
    assert_eq!(deleted.get(&tp(0)), Some(&Ok(3)));
    assert_eq!(at(OffsetSpec::EARLIEST), 3);
    let deleted = admin.delete_records([(tp(0), offset::END)], &options).wait().unwrap();
    assert_eq!(deleted.get(&tp(0)), Some(&Ok(5)));
    let missing = admin
        .list_offsets([(tp(9), OffsetSpec::LATEST)], &options)
        .wait()
        .unwrap();
    assert_eq!(codes(&missing), [(tp(9), ErrorCode::L_UNKNOWN_PARTITION)]);
}

#[test]
fn elections_have_a_result_for_each_partition() {
    let (admin, options) = (with_records(), options());
    let elect = |partitions| {
        admin
            .elect_leaders(ElectionType::Preferred, partitions, &options)
            .wait()
            .unwrap()
    };
    let expected = [
        (tp(9), ErrorCode::UNKNOWN_TOPIC_OR_PART),
        (tp(1), ErrorCode::ELECTION_NOT_NEEDED),
    ];
    assert_eq!(codes(&elect(Some(vec![tp(9), tp(1)]))), expected);
    assert!(elect(None).is_empty());
}

// ---------------------------------------------------------------- settings

#[test]
fn settings_are_changed_described_and_reset() {
    let (admin, options) = (with_records(), options());
    let change = |name: &str, changes| ConfigChanges {
        kind: ResourceType::TOPIC,
        name: name.into(),
        changes,
    };
    let changes = [
        change("t", vec![ConfigChange::set("retention.ms", "1000")]),
        change("nowhere", vec![ConfigChange::set("retention.ms", "1000")]),
    ];
    let changed = admin.incremental_alter_configs(changes, &options).wait().unwrap();
    let expected = [
        (ConfigResource::topic("t"), OK),
        (ConfigResource::topic("nowhere"), ErrorCode::UNKNOWN_TOPIC_OR_PART),
    ];
    assert_eq!(codes(&changed), expected);

    let described = admin
        .describe_configs([ConfigResource::topic("t")], &options)
        .wait()
        .unwrap();
    let entries = described.all().unwrap().remove(0).1;
    let retention = entries.iter().find(|entry| entry.name == "retention.ms").unwrap();
    assert_eq!(
        (retention.value.as_deref(), retention.source),
        (Some("1000"), ConfigSource::TOPIC)
    );
    assert!(entries.len() > 1);

    let reset = change("t", vec![ConfigChange::delete("retention.ms")]);
    admin
        .incremental_alter_configs([reset], &options)
        .wait()
        .unwrap()
        .all()
        .unwrap();
    let query = || ConfigQuery {
        configs: vec!["retention.ms".into()],
        ..ConfigResource::topic("t").into()
    };
    let entries = || {
        admin
            .describe_configs([query()], &options)
            .wait()
            .unwrap()
            .all()
            .unwrap()
            .remove(0)
            .1
    };
    let is_default = |entries: &[ConfigEntry]| matches!(entries, [entry] if entry.is_default && entry.source == ConfigSource::DEFAULT);
    assert!(is_default(&entries()));
    let replaced = change("t", vec![ConfigChange::set("retention.ms", "2000")]);
    admin.alter_configs([replaced], &options).wait().unwrap().all().unwrap();
    assert!(!is_default(&entries()));

    let brokers = [ConfigResource::broker(1), ConfigResource::broker(2)];
    let error = admin.describe_configs(brokers, &options).wait().unwrap_err();
    assert_eq!(error.code, ErrorCode::L_CONFLICT);
}

// ---------------------------------------------------------------- groups

#[test]
fn committed_offsets_of_a_group_are_altered_listed_and_deleted() {
    let (admin, options) = (with_records(), options());
    let noted = OffsetAndMetadata {
        offset: 4,
        leader_epoch: Some(0),
        metadata: "note".into(),
    };
    let altered = admin
        .alter_consumer_group_offsets("g", [(tp(0), noted.clone()), (tp(9), 1.into())], &options)
        .wait()
        .unwrap();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PART;
    assert_eq!(codes(&altered), [(tp(0), OK), (tp(9), unknown)]);

    let asked = [("g", Some(vec![tp(1), tp(0)])), ("other", None)];
    let listed = admin.list_consumer_group_offsets(asked, &options).wait().unwrap();
    assert_eq!(codes(&listed), named(&[("g", OK), ("other", OK)]));
    let of_group = listed.get("g").unwrap().as_ref().unwrap();
    assert_eq!(of_group.get(&tp(0)), Some(&Ok(Some(noted))));
    assert_eq!(of_group.get(&tp(1)), Some(&Ok(None)));
    assert!(listed.get("other").unwrap().as_ref().unwrap().is_empty());

    let groups = admin
        .list_consumer_groups(ListConsumerGroups::default(), &options)
        .wait()
        .unwrap();
    assert!(groups.errors.is_empty() && groups.groups.len() == 1);
    let described = admin
        .describe_consumer_groups(["g", "none"], &options)
        .wait()
        .unwrap()
        .all()
        .unwrap();
    let states: Vec<&str> = described.iter().map(|(_, group)| &*group.state).collect();
    assert_eq!(states, ["Empty", "Dead"]);

    let deleted = admin
        .delete_consumer_group_offsets("g", [tp(0)], &options)
        .wait()
        .unwrap();
    assert_eq!(codes(&deleted), [(tp(0), OK)]);
    let error = admin
        .delete_consumer_group_offsets("none", [tp(0)], &options)
        .wait()
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::GROUP_ID_NOT_FOUND);
    admin
        .alter_consumer_group_offsets("g", [(tp(0), 2)], &options)
        .wait()
        .unwrap()
        .all()
        .unwrap();
    let deleted = admin.delete_consumer_groups(["none", "g"], &options).wait().unwrap();
    let missing = ErrorCode::GROUP_ID_NOT_FOUND;
    assert_eq!(codes(&deleted), named(&[("none", missing), ("g", OK)]));
}

// ---------------------------------------------------------------- security

fn allow(topic: &str, operation: AclOperation) -> AclBinding {
    AclBinding {
        resource_type: AclResourceType::TOPIC,
        name: topic.into(),
        pattern_type: PatternType::LITERAL,
        principal: "User:alice".into(),
        host: "*".into(),
        operation,
        permission_type: PermissionType::ALLOW,
    }
}

#[test]
fn access_control_entries_are_created_described_and_deleted() {
    let (admin, options) = (admin(), options());
    let entries = [allow("t", AclOperation::READ), allow("t", AclOperation::WRITE)];
    let created = admin.create_acls(entries.clone(), &options).wait().unwrap();
    assert_eq!(codes(&created), [(entries[0].clone(), OK), (entries[1].clone(), OK)]);
    let mut found = admin.describe_acls(AclFilter::default(), &options).wait().unwrap();
    found.sort();
    assert_eq!(found, entries);

    let of = |operation| AclFilter {
        operation,
        ..AclFilter::default()
    };
    let filters = [of(AclOperation::WRITE), of(AclOperation::DELETE)];
    let deleted = admin.delete_acls(filters.clone(), &options).wait().unwrap();
    let matched = |filter| codes(deleted.get(filter).unwrap().as_ref().unwrap());
    assert_eq!(matched(&filters[0]), [(entries[1].clone(), OK)]);
    assert!(matched(&filters[1]).is_empty());
}

#[test]
fn credentials_are_set_described_and_removed_by_user() {
    let (admin, options) = (admin(), options());
    let alteration = |user: &str, upsertion| ScramAlteration {
        user: user.into(),
        mechanism: ScramMechanism::SHA_256,
        upsertion,
    };
    let password = |password: &[u8]| ScramUpsertion {
        iterations: 4096,
        password: password.to_vec().into(),
        salt: None,
    };
    let alterations = [alteration("alice", Some(password(b"secret"))), alteration("bob", None)];
    let altered = admin
        .alter_user_scram_credentials(alterations, &options)
        .wait()
        .unwrap();
    let missing = ErrorCode::RESOURCE_NOT_FOUND;
    assert_eq!(codes(&altered), named(&[("alice", OK), ("bob", missing)]));
    let users = ["bob", "alice"];
    let described = admin.describe_user_scram_credentials(users, &options).wait().unwrap();
    assert_eq!(codes(&described), named(&[("bob", missing), ("alice", OK)]));
    let info = ScramCredentialInfo {
        mechanism: ScramMechanism::SHA_256,
        iterations: 4096,
    };
    assert_eq!(described.get("alice"), Some(&Ok(vec![info])));
    let bad = [alteration("alice", Some(password(b"")))];
    let call = admin.alter_user_scram_credentials(bad, &options);
    assert!(call.is_done());
    assert_eq!(call.wait().unwrap_err().code, ErrorCode::L_INVALID_ARG);
}

// ---------------------------------------------------------------- calls

#[test]
fn calls_run_at_the_same_time_and_without_a_wait() {
    let admin = with_records();
    let calls: Vec<Call<_>> = (0..50)
        .map(|n| admin.create_topics([NewTopic::new(format!("many-{n}"), 1, 1)], &options()))
        .collect();
    let cluster = admin.describe_cluster(&options());
    drop(admin.create_topics([NewTopic::new("dropped", 1, 1)], &options()));
    for call in calls {
        call.wait().unwrap().all().unwrap();
    }
    cluster.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    let is_created = || {
        let listed = admin.call(ListTopics::default(), &options()).wait().unwrap();
        listed.iter().any(|topic| topic.name == "dropped")
    };
    while !is_created() {
        assert!(Instant::now() < end, "a dropped call is executed");
    }
}

#[test]
fn a_consumer_makes_admin_calls_until_it_ends() {
    let mut conf = conf();
    conf.set("group.id", "g").unwrap();
    let (settings, topic_settings) = conf.finalize(ClientKind::Consumer).unwrap();
    let client = Client::new(ClientKind::Consumer, settings, topic_settings, ClientHooks::default()).unwrap();
    let admin = Admin::from(&client);
    assert_eq!(admin.describe_cluster(&options()).wait().unwrap().nodes.len(), 3);
    client.destroy();
    let error = admin.describe_cluster(&options()).wait().unwrap_err();
    assert_eq!(error.code, ErrorCode::L_DESTROY);
}

#[test]
fn without_a_broker_a_call_ends_at_its_deadline() {
    let mut conf = Conf::new();
    conf.set("bootstrap.servers", "127.0.0.1:1").unwrap();
    let admin = Admin::new(&conf).unwrap();
    let soon = Options {
        request_timeout: Some(Duration::from_millis(200)),
        ..Options::default()
    };
    let begun = Instant::now();
    let call = admin.list_topics(false, &soon);
    assert!(!call.is_done());
    assert_eq!(call.wait().unwrap_err().code, ErrorCode::L_TIMED_OUT);
    assert!(begun.elapsed() >= Duration::from_millis(200) && begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn contradictory_properties_are_refused() {
    let mut conf = conf();
    conf.set("enable.idempotence", "true").unwrap();
    conf.set("acks", "1").unwrap();
    assert_eq!(Admin::new(&conf).unwrap_err().code, ErrorCode::L_INVALID_ARG);
}

// ---------------------------------------------------------------- groups of all types, transactions, the cluster

#[test]
fn groups_of_all_types_are_listed_and_described() {
    let (admin, options) = (with_records(), options());
    admin
        .alter_consumer_group_offsets("g", [(tp(0), 1)], &options)
        .wait()
        .unwrap()
        .all()
        .unwrap();
    let listed = admin.list_groups(ListGroups::default(), &options).wait().unwrap();
    let ids: Vec<&str> = listed.groups.iter().map(|group| &*group.group_id).collect();
    assert!(ids == ["g"] && listed.errors.is_empty());
    let missing = ErrorCode::GROUP_ID_NOT_FOUND;
    let classic = admin.describe_classic_groups(["none", "g"], &options).wait().unwrap();
    assert_eq!(codes(&classic), named(&[("none", missing), ("g", OK)]));
    let share = admin.describe_share_groups(["none"], &options).wait().unwrap();
    assert_eq!(codes(&share), named(&[("none", missing)]));
    let streams = admin.describe_streams_groups(["none"], &options).wait().unwrap();
    assert_eq!(codes(&streams), named(&[("none", missing)]));
    let remove = RemoveMembersFromConsumerGroup {
        group_id: "g".into(),
        members: Some(vec![MemberToRemove::Member("nobody".into())]),
        reason: None,
    };
    let removed = admin
        .remove_members_from_consumer_group(remove, &options)
        .wait()
        .unwrap();
    assert_eq!(
        removed.errors().next().map(|(_, error)| error.code),
        Some(ErrorCode::UNKNOWN_MEMBER_ID)
    );
}

#[test]
fn start_offsets_of_share_groups_are_altered_listed_and_deleted() {
    let (admin, options) = (with_records(), options());
    let altered = admin
        .alter_share_group_offsets("s", [(tp(0), 2), (tp(9), 0)], &options)
        .wait()
        .unwrap();
    assert_eq!(
        codes(&altered),
        [(tp(0), OK), (tp(9), ErrorCode::UNKNOWN_TOPIC_OR_PART)]
    );
    let listed = admin
        .list_share_group_offsets([("s", Some(vec![tp(0), tp(1)]))], &options)
        .wait()
        .unwrap()
        .all()
        .unwrap();
    let offset = |partition| {
        let result = listed[0].1.get(&tp(partition)).unwrap().as_ref().unwrap();
        result.as_ref().map(|start| start.offset)
    };
    assert_eq!((offset(0), offset(1)), (Some(2), None));
    let deleted = admin.delete_share_group_offsets("s", ["t"], &options).wait().unwrap();
    assert_eq!(codes(&deleted), named(&[("t", OK)]));
    let error = admin
        .delete_share_group_offsets("none", ["t"], &options)
        .wait()
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::GROUP_ID_NOT_FOUND);
}

#[test]
fn transactions_are_listed_described_and_terminated() {
    let mut conf = conf();
    conf.set("transactional.id", "tx").unwrap();
    let (settings, topic_settings) = conf.finalize(ClientKind::Producer).unwrap();
    let client = Client::new(ClientKind::Producer, settings, topic_settings, ClientHooks::default()).unwrap();
    let (admin, options) = (Admin::from(&client), options());
    admin
        .create_topics([NewTopic::new("t", 2, 3)], &options)
        .wait()
        .unwrap()
        .all()
        .unwrap();
    let timeout = Some(Duration::from_secs(20));
    client.init_transactions(timeout).unwrap();
    client.begin_transaction().unwrap();
    let topic = client.topic("t", None, TopicHooks::default()).unwrap();
    let record = Record {
        value: Payload::Copy(b"value"),
        ..Record::default()
    };
    client.produce(&topic, 0, record, false).unwrap();
    client.flush_begin().unwrap();
    client.flush_wait(Duration::from_secs(20)).unwrap();
    client.flush_end();

    let listed = admin
        .list_transactions(ListTransactions::default(), &options)
        .wait()
        .unwrap();
    assert!(listed.errors.is_empty() && listed.transactions.len() == 1);
    assert_eq!(
        (
            &*listed.transactions[0].transactional_id,
            &*listed.transactions[0].state
        ),
        ("tx", "Ongoing")
    );
    let described = admin.describe_transactions(["tx", "none"], &options).wait().unwrap();
    let missing = ErrorCode::TRANSACTIONAL_ID_NOT_FOUND;
    assert_eq!(codes(&described), named(&[("tx", OK), ("none", missing)]));
    assert_eq!(described.get("tx").unwrap().as_ref().unwrap().partitions, [tp(0)]);
    let producers = admin.describe_producers([tp(0), tp(9)], &options).wait().unwrap();
    assert_eq!(
        codes(&producers),
        [(tp(0), OK), (tp(9), ErrorCode::L_UNKNOWN_PARTITION)]
    );
    let active = producers.get(&tp(0)).unwrap().as_ref().unwrap();
    assert!(active.len() == 1 && active[0].transaction_start_offset == Some(0));

    admin.force_terminate_transaction("tx", &options).wait().unwrap();
    assert!(client.commit_transaction(timeout).is_err());
    let fenced = admin.fence_producers(["tx"], &options).wait().unwrap().all().unwrap();
    assert!(fenced[0].1.0 >= 0);
    let abort = AbortTransaction {
        partition: tp(9),
        producer_id: 1,
        producer_epoch: 0,
        coordinator_epoch: 0,
    };
    let error = admin.abort_transaction(abort, &options).wait().unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNKNOWN_PARTITION);
}

#[test]
fn log_directories_and_reassignments_are_described() {
    let (admin, options) = (with_records(), options());
    let dirs = admin
        .describe_log_dirs(DescribeLogDirs::default(), &options)
        .wait()
        .unwrap()
        .all()
        .unwrap();
    assert_eq!(dirs.len(), 3);
    let sizes = dirs.iter().flat_map(|(_, dirs)| dirs).flat_map(|dir| &dir.replicas);
    assert!(sizes.clone().count() == 6 && sizes.map(|replica| replica.size_bytes).sum::<i64>() > 0);
    let moved = ReplicaMove {
        broker: dirs[0].0,
        tp: tp(0),
        log_dir: "/nowhere".into(),
    };
    let moved = admin.alter_replica_log_dirs([moved], &options).wait().unwrap();
    assert_eq!(codes(&moved), [((dirs[0].0, tp(0)), ErrorCode::LOG_DIR_NOT_FOUND)]);

    let cancel = PartitionReassignment {
        tp: tp(0),
        replicas: None,
    };
    let operation = AlterPartitionReassignments {
        reassignments: vec![cancel],
        allow_replication_factor_change: true,
    };
    let cancelled = admin.alter_partition_reassignments(operation, &options).wait().unwrap();
    assert_eq!(codes(&cancelled), [(tp(0), ErrorCode::NO_REASSIGNMENT_IN_PROGRESS)]);
    assert!(
        admin
            .list_partition_reassignments(None, &options)
            .wait()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn quotas_are_altered_and_described() {
    let (admin, options) = (admin(), options());
    let entity: ClientQuotaEntity = [("user".to_owned(), Some("alice".to_owned()))].into();
    let alteration = ClientQuotaAlteration {
        entity: entity.clone(),
        changes: [("producer_byte_rate".to_owned(), Some(1000.0))].into(),
    };
    let altered = admin.alter_client_quotas([alteration], &options).wait().unwrap();
    assert_eq!(codes(&altered), [(entity.clone(), OK)]);
    let found = admin
        .describe_client_quotas(DescribeClientQuotas::default(), &options)
        .wait()
        .unwrap();
    assert_eq!((found.len(), &found[0].entity), (1, &entity));
    assert_eq!(found[0].quotas.get("producer_byte_rate"), Some(&1000.0));
}

#[test]
fn the_quorum_features_and_resources_are_described() {
    let (admin, options) = (with_records(), options());
    let quorum = admin.describe_metadata_quorum(&options).wait().unwrap();
    assert!(!quorum.voters.is_empty());
    let features = admin.describe_features(&options).wait().unwrap();
    let unknown = FeatureUpdate {
        feature: "no.such.feature".into(),
        max_level: 1,
        upgrade_type: FeatureUpgradeType::Upgrade,
    };
    assert!(!features.supported.is_empty());
    let updated = admin.update_features([unknown], &options).wait().unwrap();
    assert_eq!(updated.errors().count(), 1);
    let topics = admin
        .list_config_resources([ResourceType::TOPIC], &options)
        .wait()
        .unwrap();
    assert_eq!(topics, [ConfigResource::topic("t")]);
    let error = admin.unregister_broker(NodeId(99), &options).wait().unwrap_err();
    assert_eq!(error.code, ErrorCode::BROKER_ID_NOT_REGISTERED);
    let voter = RemoveRaftVoter {
        voter_id: NodeId(99),
        directory_id: Uuid::ZERO,
        cluster_id: None,
    };
    assert!(admin.remove_raft_voter(voter, &options).wait().is_err());
    let voter = AddRaftVoter {
        voter_id: quorum.voters[0].id,
        directory_id: quorum.voters[0].directory_id,
        endpoints: vec![RaftEndpoint {
            listener: "CONTROLLER".into(),
            host: "localhost".into(),
            port: 9093,
        }],
        cluster_id: None,
    };
    assert!(admin.add_raft_voter(voter, &options).wait().is_err());
}

#[test]
fn delegation_tokens_require_authentication() {
    let (admin, options) = (admin(), options());
    let error = admin
        .create_delegation_token(CreateDelegationToken::default(), &options)
        .wait()
        .unwrap_err();
    assert!(error.code.is_from_broker(), "{error}");
    let hmac = || TokenHmac::new(b"secret");
    let renew = RenewDelegationToken {
        hmac: hmac(),
        period: None,
    };
    assert!(admin.renew_delegation_token(renew, &options).wait().is_err());
    let expire = ExpireDelegationToken {
        hmac: hmac(),
        period: None,
    };
    assert!(admin.expire_delegation_token(expire, &options).wait().is_err());
    assert!(admin.describe_delegation_token(None, &options).wait().is_err());
}
