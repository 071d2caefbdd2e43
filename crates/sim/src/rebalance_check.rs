//! The reports of members of the classic protocol when they join, and the partitions that move when a member leaves.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::Tp;
use crate::group_members::RemainingMembers;
use crate::group_protocol::on_reported_owned;
use crate::plan::GroupProtocol;
use crate::trace::trace;
use crate::world::World;
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::consumer_protocol::ConsumerProtocolSubscription;

/// Checks the JoinGroup request of a client.
pub(crate) fn on_joining(world: &mut World, client: usize, join: &JoinGroupRequest) {
    let Some(workload) = world.member(client) else {
        return;
    };
    let (plan, owner) = (workload.plan().clone(), workload.owner(&join.member_id));
    let has_lost = world
        .shared(client)
        .consumer
        .as_ref()
        .is_some_and(|r| r.is_assignment_lost());
    if has_lost && world.group_members.forget_remaining_with(client) {
        trace!(world.trace, "c{client} has lost its assignment");
    }
    let subscription = join.protocols.first();
    let subscription = subscription.and_then(|p| ConsumerProtocolSubscription::from_bytes(p.metadata.clone()).ok());
    let Some(subscription) = subscription.filter(|_| plan.is_cooperative) else {
        return;
    };
    let keeps_books = plan.by_event && plan.group_protocol == GroupProtocol::Classic;
    let owned = subscription.owned_partitions.iter();
    let owned = owned.flat_map(|t| t.partitions.iter().map(|p| (t.topic.clone(), *p)));
    let owned: Vec<Tp> = owned.collect();
    if !owned.is_empty() {
        world.coverage.count("members that join with partitions", 1);
    }
    on_reported_owned(world, client, &owned);
    if keeps_books {
        let reader = u32::try_from(client).unwrap_or(u32::MAX);
        let claims = (owned.as_slice(), subscription.generation_id);
        let result = world.check.groups.on_joining(reader, &owner, claims);
        world.check.expect(result);
    }
}

/// Passes the joins that coordinators have accepted to the checker.
pub(crate) fn check_joins(world: &mut World) {
    for join in world.cluster.take_joins() {
        let conn = world.net.conn(join.connection.0);
        let abandoned = conn.is_none_or(|c| !c.is_client_open());
        world.coverage.count("joins that came late", u64::from(abandoned));
        world.check.groups.on_join(&join.group, &join.member, abandoned);
    }
}

/// Returns the members that keep their partitions when one member leaves: where all have the same subscription, each
/// assignment may only grow, and only the partitions of the member that left have to move. Racks are another reason to
/// move partitions.
pub(crate) fn remaining(world: &World, group: &str, live: &[usize], leaver: usize) -> Option<RemainingMembers> {
    let mut workloads = live.iter().filter_map(|c| world.member(*c));
    let first = workloads.next()?.subscription();
    let alike = workloads.all(|workload| workload.subscription() == first) && world.plan.cluster.racks.is_empty();
    if !alike || !is_sticky(world, group) || !subscriptions_match(world, group, first) {
        return None;
    }
    let stay = live.iter().filter(|c| **c != leaver);
    Some(RemainingMembers {
        group: group.to_owned(),
        assignments: stay.map(|c| (*c, assignment_of(world, *c))).collect(),
        counts: topic_sizes(world),
    })
}

/// Checks that the remaining members kept their partitions after one left.
pub(crate) fn check_moves(world: &mut World) {
    let Some(before) = world.group_members.take_remaining() else {
        return;
    };
    if before.counts != topic_sizes(world) || !is_sticky(world, &before.group) {
        return;
    }
    let now = before.assignments.keys().map(|c| (*c, assignment_of(world, *c)));
    let now: BTreeMap<usize, (String, BTreeSet<Tp>)> = now.collect();
    if before
        .assignments
        .iter()
        .any(|(c, (member, _))| now.get(c).is_none_or(|(id, _)| id != member))
    {
        return;
    }
    world.coverage.count("takeovers that keep other assignments", 1);
    for (client, (_, assignment)) in &before.assignments {
        let has = now.get(client).map(|(_, has)| has.clone()).unwrap_or_default();
        if let Some(tp) = assignment.difference(&has).next() {
            return world.check.violate(format!(
                "client {client} lost {tp:?}, though only another member of {} left: {has:?}",
                before.group
            ));
        }
    }
}

/// Returns true when the coordinator has this subscription of every member. A member with a pattern may not know all
/// topics yet, and gets their partitions when it does.
fn subscriptions_match(world: &World, group: &str, topics: &BTreeSet<String>) -> bool {
    let members = world.cluster.group_view(group).into_iter().flat_map(|v| v.members);
    let mut reported = members.map(|m| ConsumerProtocolSubscription::from_bytes(m.metadata));
    reported
        .all(|reported| reported.is_ok_and(|reported| reported.topics.into_iter().collect::<BTreeSet<_>>() == *topics))
}

fn assignment_of(world: &World, client: usize) -> (String, BTreeSet<Tp>) {
    let shared = world.shared(client);
    let member = shared.consumer.as_ref().map(|r| r.group().member_id);
    let reader = u32::try_from(client).unwrap_or(u32::MAX);
    (member.unwrap_or_default(), world.check.groups.owned(reader))
}

fn topic_sizes(world: &World) -> Vec<Option<usize>> {
    let names = world.plan.topics.iter();
    names.map(|t| world.cluster.partition_count(&t.name)).collect()
}

fn is_sticky(world: &World, group: &str) -> bool {
    let view = world.cluster.group_view(group);
    view.is_some_and(|v| !v.is_consumer && matches!(v.assignor.as_str(), "sticky" | "cooperative-sticky"))
}
