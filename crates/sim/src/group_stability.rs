//! Groups after the faults: every partition has one owner, is read to its end, and is taken over from a member that leaves.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::Tp;
use crate::group_protocol::read_assignment;
use crate::group_protocol::{live_members, marks};
use crate::net::GIVE_UP_US;
use crate::plan::{SOCKET_TIMEOUT_MAX_MS, lookup};
use crate::rebalance_check::{check_moves, remaining};
use crate::world::World;

/// Time for groups to settle before static members join again, in case their leader is stale.
const STALE_LEADER_US: u64 = 30_000_000;
/// Time for the new generation after a member left, in addition to heartbeats.
const TAKEOVER_US: u64 = 10_000_000;
/// Heartbeats that a takeover may take, one after the other: one that reports it, one that revokes partitions, and one
/// that assigns them.
const TAKEOVER_HEARTBEATS: u64 = 3;

/// Chooses a member that leaves its group for good, where others remain.
pub(crate) fn choose_leaver(world: &mut World) {
    let Some(plan) = world.group_members.plan().filter(|p| p.one_leaves) else {
        return;
    };
    let group = plan.members[0].group.clone();
    let live = live_members(world, &group);
    // The partitions of a static member are not reassigned until its session ends.
    let may = |c: &&usize| world.member(**c).is_some_and(|workload| !workload.plan().is_static);
    let leavers: Vec<usize> = live.iter().filter(may).copied().collect();
    if live.len() > 1 && !leavers.is_empty() {
        let leaver = world.group_members.choose_leaver(&leavers);
        world.coverage.count("members that left after the faults", 1);
        let remaining = remaining(world, &group, &live, leaver);
        world.group_members.set_remaining(remaining);
    }
}

// ---------------------------------------------------------------- calm

/// Returns the reason why a group is not stable; `None` when all are.
pub(crate) fn groups_wait_for(world: &mut World) -> Option<String> {
    for group in world.group_members.groups() {
        let live = live_members(world, &group);
        if let Some(what) = unsettled(world, &group, &live) {
            // Requests from before the end of the faults may still be in flight, and delay the takeover.
            let stability = world.healed_at_us.saturating_add(patience_us(world, &live));
            if let Some(at) = world.group_members.left_at_us()
                && world.now_us() > at.max(stability) + takeover_limit_us(world)
            {
                world.check.violate(format!(
                    "{} us after a member left, its partitions are not taken over: {what}",
                    world.now_us() - at
                ));
            }
            return Some(what);
        }
    }
    // The takeover is complete. A later rebalance, for example for a topic with new partitions, is not part of it.
    if world.group_members.end_takeover() {
        check_moves(world);
    }
    let groups = world.group_members.groups();
    groups
        .iter()
        .find_map(|group| behind(world, &live_members(world, group)))
}

/// Returns the longest time that these clients may wait for lost responses.
fn patience_us(world: &World, clients: &[usize]) -> u64 {
    let waits_for_ever = |c: &usize| {
        let settings = world.member(*c).map(|workload| workload.plan().settings());
        settings.is_some_and(|s| lookup(&s, "socket.max.fails") == Some("0"))
    };
    match clients.iter().any(waits_for_ever) {
        // Timed-out requests do not close a connection: only the kernel does.
        true => GIVE_UP_US + SOCKET_TIMEOUT_MAX_MS * 1000,
        false => SOCKET_TIMEOUT_MAX_MS * 1000,
    }
}

/// Returns true when groups had their time to settle. A static leader that returns receives neither the assignment of
/// an earlier leader (KIP-814) nor that it leads: new partitions may be unassigned until a member joins.
pub(crate) fn static_leader_may_be_stale(world: &World) -> bool {
    world.now_us() > world.healed_at_us.saturating_add(STALE_LEADER_US)
}

fn takeover_limit_us(world: &World) -> u64 {
    let plan = world.group_members.plan().into_iter();
    let heartbeats = plan.flat_map(|p| {
        p.members
            .iter()
            .map(|m| m.heartbeat_ms)
            .chain([p.consumer_heartbeat_ms])
    });
    TAKEOVER_HEARTBEATS * heartbeats.max().unwrap_or(0) * 1000 + TAKEOVER_US
}

/// Returns the reason why not every partition has exactly one owner that knows it.
fn unsettled(world: &World, group: &str, live: &[usize]) -> Option<String> {
    if live.is_empty() {
        return None;
    }
    let Some(view) = world.cluster.group_view(group) else {
        return Some(format!("{group} does not exist"));
    };
    if view.state != "Stable" || view.members.len() != live.len() {
        return Some(format!("{group} has live members {live:?} and is {view:?}"));
    }
    let mut owners: BTreeMap<Tp, usize> = BTreeMap::new();
    let mut wanted: BTreeSet<&String> = BTreeSet::new();
    for client in live {
        let workload = world.member(*client)?;
        wanted.extend(workload.subscription());
        let shared = world.shared(*client);
        let own = shared.consumer.as_ref()?.group();
        let member = view.members.iter().find(|m| m.id == own.member_id);
        let Some(member) = member.filter(|m| own.generation == m.epoch) else {
            return Some(format!("client {client} is {own:?}, and {group} is {view:?}"));
        };
        let given = read_assignment(member.assignment.clone()).unwrap_or_default();
        let reported = world.check.groups.owned(u32::try_from(*client).unwrap_or(u32::MAX));
        if given.iter().cloned().collect::<BTreeSet<_>>() != reported {
            return Some(format!("client {client} is assigned {given:?} and owns {reported:?}"));
        }
        let count = |topic: &str| world.cluster.partition_count(topic).unwrap_or(0);
        // The leader has not yet detected that the topic was recreated with fewer partitions.
        if let Some(tp) = nonexistent(&given, count) {
            return Some(format!("client {client} is assigned {tp:?}, which does not exist"));
        }
        for tp in given {
            if !workload.subscription().contains(&tp.0) {
                return Some(format!(
                    "client {client} is assigned {tp:?}, which it has not subscribed to"
                ));
            }
            if let Some(other) = owners.insert(tp.clone(), *client) {
                return Some(format!("clients {other} and {client} both own {tp:?}"));
            }
        }
    }
    for topic in wanted {
        let count = world.cluster.partition_count(topic).unwrap_or(0);
        for partition in 0..i32::try_from(count).unwrap_or(0) {
            if !owners.contains_key(&(topic.clone(), partition)) {
                return Some(format!("no member owns {topic} [{partition}]"));
            }
        }
    }
    None
}

/// Returns the reason why a partition is not read to its end.
fn behind(world: &World, live: &[usize]) -> Option<String> {
    for client in live {
        let reader = u32::try_from(*client).unwrap_or(u32::MAX);
        for tp in world.check.groups.owned(reader) {
            let marks = marks(world, &tp);
            if let Some(what) = marks.and_then(|now| world.check.groups.behind(reader, &tp, now)) {
                return Some(what);
            }
        }
    }
    None
}

/// Returns the first partition of an assignment that its topic does not have.
fn nonexistent(assignment: &[Tp], count: impl Fn(&str) -> usize) -> Option<&Tp> {
    let exists = |tp: &Tp| usize::try_from(tp.1).is_ok_and(|partition| partition < count(&tp.0));
    assignment.iter().find(|tp| !exists(tp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_with_partitions_that_its_topic_has_no_more_is_not_settled() {
        let assignment = [("a".to_owned(), 1), ("b".to_owned(), 2)];
        let counts = |a: usize, b: usize| move |topic: &str| if topic == "a" { a } else { b };
        assert_eq!(nonexistent(&assignment, counts(2, 3)), None);
        assert_eq!(nonexistent(&assignment, counts(2, 2)), Some(&assignment[1]));
        assert_eq!(
            nonexistent(&assignment, counts(0, 3)),
            Some(&assignment[0]),
            "the topic is gone"
        );
    }
}
