//! Assignments and commits of groups as they pass the network or reach the coordinators, for the checkers.

use bytes::Bytes;
use ottla_mock::{Cluster, CommitRecord, GroupMemberView, GroupView};
use ottla_protocol::Reader;

use crate::check::{Beginning, Commit, Marks, Tp};
use crate::event::WorldEvent;
use crate::logs::ADMIN_NAMES;
use crate::plan::{GroupProtocol, MemberPlan};
use crate::trace::trace;
use crate::world::{Member, Phase, World};

/// Records that a slot's client has ended, or is replaced while it runs (`at_once`), and schedules the next one.
pub(crate) fn member_gone(world: &mut World, slot: usize, at_once: bool) {
    let at_once = at_once || world.phase != Phase::Hostile;
    if let Some(pause) = world.group_members.on_gone(slot, world.now_us(), at_once) {
        world.after_us(pause, WorldEvent::Member(slot));
    }
}

pub(crate) fn live_members(world: &World, group: &str) -> Vec<usize> {
    let clients = world.group_members.clients();
    let live = clients.filter(|c| {
        world
            .member(*c)
            .is_some_and(|workload| workload.is_member() && workload.plan().group == group)
    });
    live.collect()
}

/// Returns the watermarks of a partition.
pub(crate) fn marks(world: &World, tp: &Tp) -> Option<Marks> {
    marks_of(&world.cluster, tp)
}

/// Records that a client consumes these partitions from now on; `more`: in addition to its other partitions.
pub(crate) fn begin_ownership(world: &mut World, client: usize, reader: u32, tps: &[Tp], more: bool) {
    trace!(world.trace, "c{client} owns {tps:?}, besides others {more}");
    let Some(group) = world.check.groups.group_of(reader) else {
        return;
    };
    let own = world.shared(client).consumer.as_ref().map(|r| r.group().member_id);
    let member = own.unwrap_or_default();
    let view = world.cluster.group_view(&group).into_iter().flat_map(|v| v.members);
    let (mut members, mut given) = (Vec::new(), Vec::new());
    for other in view {
        if other.id == member {
            given = read_assignment(other.assignment).unwrap_or_default();
        }
        // A static member of the consumer protocol that has left temporarily has a negative epoch.
        if other.epoch >= 0 {
            members.push(other.id);
        }
    }
    let begins = Beginning {
        client: reader,
        assignment: tps,
        more,
        member: &member,
        members: &members,
        given: &given,
        now_us: world.now_us(),
    };
    let cluster = &world.cluster;
    let result = world.check.groups.on_assigned(&begins, |tp| marks_of(cluster, tp));
    world.check.expect(result);
}

/// Records that a client with internal rebalances has unsubscribed. It may subscribe again before its coordinator
/// receives that, and then consumes its partitions again without a request.
pub(crate) fn restart_ownership(world: &mut World, reader: u32) {
    let (cluster, now_us) = (&world.cluster, world.now_us());
    world
        .check
        .groups
        .on_restarted(reader, now_us, |tp| marks_of(cluster, tp));
}

/// Records the partitions that a client with internal rebalances reports as owned: it consumes no others.
pub(crate) fn on_reported_owned(world: &mut World, client: usize, tps: &[Tp]) {
    let by_itself = |workload: &dyn Member| !workload.plan().by_event && workload.plan().is_incremental();
    if world.member(client).is_some_and(by_itself) {
        let reader = u32::try_from(client).unwrap_or(u32::MAX);
        world.check.groups.on_reported_owned(reader, tps);
    }
}

/// Records the target assignment that a member of the consumer protocol received.
pub(crate) fn on_target_assignment(world: &mut World, client: usize, epoch: i32, assignment: &[Tp]) {
    let Some(workload) = world.member(client) else {
        return;
    };
    let (group, by_event) = (workload.plan().group.clone(), workload.plan().by_event);
    trace!(world.trace, "c{client} receives target {assignment:?} in epoch {epoch}");
    world.coverage.count("target assignments received", 1);
    note_generation(world, group, epoch);
    if !by_event {
        let reader = u32::try_from(client).unwrap_or(u32::MAX);
        let reported_owned = world.group_members.reported_owned(client).to_vec();
        let keeps = |tp: &Tp| assignment.contains(tp) || reported_owned.contains(tp);
        world.check.groups.on_not_assigned(reader, keeps);
        begin_ownership(world, client, reader, assignment, true);
    }
}

fn note_generation(world: &mut World, group: String, generation: i32) {
    let more = world.group_members.on_generation(group, generation);
    world.coverage.count("rebalances", more);
}

/// Checks a SyncGroup response that reached a client.
pub(crate) fn on_synced(world: &mut World, client: usize, generation: i32, member: &str, assignment: Bytes) {
    let Some(workload) = world.member(client) else {
        return;
    };
    let plan = workload.plan();
    let (group, by_event, incremental) = (plan.group.clone(), plan.by_event, plan.is_incremental());
    // Generations restart when an empty group changes its protocol.
    let one_protocol = !plan.group_protocol.has_consumer_protocol();
    let owner = workload.owner(member);
    let assignment = match read_assignment(assignment) {
        Some(assignment) => assignment,
        None => {
            return world
                .check
                .violate(format!("client {client}: an assignment that cannot be read"));
        }
    };
    trace!(world.trace, "c{client} gets {assignment:?} in generation {generation}");
    world.coverage.count("assignments", 1);
    if one_protocol {
        let result = world.check.groups.on_synced(&group, generation, &owner, &assignment);
        world.check.expect(result);
    } else if world.cluster.group_view(&group).is_some_and(|view| view.is_consumer) {
        world.coverage.count("classic members served by consumer groups", 1);
    }
    note_generation(world, group, generation);
    if !by_event {
        let reader = u32::try_from(client).unwrap_or(u32::MAX);
        begin_ownership(world, client, reader, &assignment, incremental);
    }
}

/// Passes the commits that reached the coordinators to the checkers.
pub(crate) fn check_commits(world: &mut World) {
    for record in world.cluster.take_commits() {
        trace!(world.trace, "COMMIT {record:?}");
        if record.group.starts_with(ADMIN_NAMES) {
            continue;
        }
        let conn = world.net.conn(record.connection.0);
        let abandoned = conn.is_none_or(|c| !c.is_client_open());
        let tp = (record.topic.clone(), record.partition);
        if world.plan.application.is_some() {
            world.coverage.count("commits", 1);
            continue;
        }
        if world.txn_workers.exist() {
            if abandoned && record.producer_id.is_none() {
                world.coverage.count("commits of loops that came late", 1);
                world.check.transactions.on_late_commit();
            }
            continue;
        }
        if !world.group_members.exists() {
            // A request on an abandoned connection cannot be recalled.
            if let Some(client) = conn.filter(|_| !abandoned).map(|c| c.client()) {
                world.coverage.count("commits of readers", 1);
                let reader = u32::try_from(client).unwrap_or(u32::MAX);
                let result = world.check.consumed.on_commit(reader, (&tp.0, tp.1), record.offset);
                world.check.expect(result);
            }
            continue;
        }
        world.coverage.count("commits", 1);
        let view = world.cluster.group_view(&record.group);
        let foreign = view.is_some_and(|view| is_foreign(world, &view, &record, &tp));
        let client = conn.map(|c| c.client());
        let is_migrating = foreign && may_commit_during_migration(world, &record.group, client);
        let commit = Commit {
            group: &record.group,
            offset: record.offset,
            before: record.before,
            abandoned: abandoned || is_migrating,
            foreign: foreign && !is_migrating,
            tp: tp.clone(),
        };
        let marks = marks(world, &tp);
        let result = world.check.groups.on_commit(&commit, world.now_us(), marks);
        world.check.expect(result);
    }
}

/// Returns true when a member has committed a partition that it does not own.
fn is_foreign(world: &World, view: &GroupView, record: &CommitRecord, tp: &Tp) -> bool {
    let has = |m: &GroupMemberView| read_assignment(m.assignment.clone()).is_some_and(|g| g.contains(tp));
    let mut members = view.members.iter();
    let Some(given) = members.find(|m| m.id == record.member).map(has) else {
        return false;
    };
    let mut plans = world.group_members.member_plans().filter(|m| m.group == record.group);
    let may_be_late = plans.next().is_some_and(|m| match m.group_protocol {
        // A member may commit a revoked partition until another member has it.
        GroupProtocol::Classic => m.is_cooperative,
        GroupProtocol::Consumer => false,
        // The last assignment of an eager member may be void while the group returns to the classic protocol, while its
        // commit is still valid.
        GroupProtocol::Migrating => true,
    });
    !given && (!may_be_late || view.members.iter().any(has))
}

/// Returns true when a cooperative member of the classic protocol may have released a partition during its group's
/// migration to the consumer protocol. The coordinator then takes over the assignments of the last generation, and a
/// partition that was being revoked is free at once. Members keep their epochs until they join again, so the epoch does
/// not distinguish a retried commit of before from one of the owner. No client can prevent that.
fn may_commit_during_migration(world: &World, group: &str, client: Option<usize>) -> bool {
    let mut members = world.group_members.member_plans();
    let migrates =
        |m: &MemberPlan| m.group == group && matches!(m.group_protocol, GroupProtocol::Migrating) && m.is_cooperative;
    let workload = client.and_then(|c| world.member(c));
    members.any(migrates) && workload.is_none_or(|workload| !workload.plan().is_consumer)
}

fn marks_of(cluster: &Cluster, tp: &Tp) -> Option<Marks> {
    cluster.watermarks(&tp.0, tp.1).map(|m| Marks {
        start: m.log_start_offset,
        end: m.high_watermark,
    })
}

/// Parses a member's assignment (ConsumerProtocolAssignment, any version). Returns `None` when it is malformed.
pub(crate) fn read_assignment(data: Bytes) -> Option<Vec<Tp>> {
    let mut out = Vec::new();
    if data.is_empty() {
        return Some(out);
    }
    let mut reader = Reader::new(data);
    reader.read_i16().ok()?;
    for _ in 0..reader.read_i32().ok()? {
        let topic = reader.read_nullable_string().ok()??;
        for _ in 0..reader.read_i32().ok()? {
            out.push((topic.clone(), reader.read_i32().ok()?));
        }
    }
    Some(out)
}
