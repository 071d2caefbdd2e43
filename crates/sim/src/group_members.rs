//! The members of groups: who lives, who follows whom, and whether their group is as it should be.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ottla::connection::ConnId;
use ottla_mock::{Cluster, CommitRecord, GroupMemberView, GroupView};
use ottla_protocol::api::consumer_group_heartbeat::TopicPartitions;
use ottla_protocol::{Reader, Uuid};

use crate::check::{Beginning, Commit, Marks, Tp};
use crate::client::{SimClient, lookup};
use crate::net::GIVE_UP_US;
use crate::plan::SOCKET_TIMEOUT_MAX_MS;
use crate::rebalance_check::RemainingMembers;
use crate::rng::SeededRng;
use crate::trace::trace;
use crate::wire_mutation::PendingResponse;
use crate::workload::{GroupProtocol, GroupsPlan, MemberPlan, MemberWorkload, Workload};
use crate::world::{Phase, World, WorldEvent};

/// Where a member's client lives, and later the one that follows it.
#[derive(Debug, Default)]
struct Slot {
    client: Option<usize>,
    starts: u32,
}

/// All members of a world.
#[derive(Debug)]
pub(crate) struct GroupMembers {
    plan: Option<GroupsPlan>,
    slots: Vec<Slot>,
    seeds: SeededRng,
    rng: SeededRng,
    /// Who leaves in peace.
    pub(crate) leaver: Option<usize>,
    /// Who stays then, and keeps what it has.
    pub(crate) remaining: Option<RemainingMembers>,
    /// When it had left, as it was told.
    left_at_us: Option<u64>,
    /// Requests whose responses are looked at, by client, connection and correlation id.
    pub(crate) pending_responses: BTreeMap<(usize, ConnId, i32), PendingResponse>,
    /// What coordinators told clients of the consumer protocol last.
    pub(crate) targets: BTreeMap<usize, Vec<TopicPartitions>>,
    /// What clients of the consumer protocol have last said that they have.
    pub(crate) reported_owned: BTreeMap<usize, Vec<Tp>>,
    /// Names of all topics that there were.
    pub(crate) topic_names: BTreeMap<Uuid, String>,
    /// The first epochs in which clients committed, for a canary.
    pub(crate) first_epochs: BTreeMap<usize, i32>,
    /// The highest generation of each group.
    generations: BTreeMap<String, i32>,
}

/// How long groups have to settle by themselves before leaders that may have forgotten that they lead are helped.
const STALE_LEADER_US: u64 = 30_000_000;
/// The others have to notice by their heartbeats that somebody left; this much more is for the new generation.
const TAKEOVER_US: u64 = 10_000_000;
/// So many heartbeats may pass then, one after the other: one that tells of it, one that gives partitions up, and one
/// that takes them up.
const TAKEOVER_HEARTBEATS: u64 = 3;
/// A static member of the consumer protocol that died keeps others of its name out while its session lasts.
const STATIC_RESTART_PAUSE_US: u64 = 1_000_000;

impl GroupMembers {
    pub(crate) fn new(seed: u64, plan: Option<GroupsPlan>) -> Self {
        let slots = plan.iter().flat_map(|p| &p.members).map(|_| Slot::default());
        GroupMembers {
            slots: slots.collect(),
            plan,
            seeds: SeededRng::of(seed, 21),
            rng: SeededRng::of(seed, 22),
            leaver: None,
            remaining: None,
            left_at_us: None,
            pending_responses: BTreeMap::new(),
            targets: BTreeMap::new(),
            reported_owned: BTreeMap::new(),
            topic_names: BTreeMap::new(),
            first_epochs: BTreeMap::new(),
            generations: BTreeMap::new(),
        }
    }

    pub(crate) fn exists(&self) -> bool {
        self.plan.is_some()
    }

    /// The groups' names.
    pub(crate) fn groups(&self) -> Vec<String> {
        let members = self.plan.iter().flat_map(|p| &p.members);
        let names: BTreeSet<String> = members.map(|m| m.group.clone()).collect();
        names.into_iter().collect()
    }
}

impl World {
    pub(crate) fn set_up_groups(&mut self) {
        self.cluster.log_commits();
        self.cluster.log_joins();
        let Some(plan) = self.group_members.plan.clone() else {
            return;
        };
        if self.plan.cluster.max_log_bytes.is_some() {
            self.check.groups.allow_retention();
        }
        if !self.plan.has_list_offsets_epochs() {
            self.check.groups.expect_ends_without_epochs();
        }
        for (slot, member) in plan.members.iter().enumerate() {
            self.after_us(member.starts_at_us, WorldEvent::Member(slot));
        }
    }

    /// Starts a client in a slot, unless there is one.
    pub(crate) fn start_member(&mut self, slot: usize) {
        let Some(mut plan) = self
            .group_members
            .plan
            .as_ref()
            .and_then(|p| p.members.get(slot))
            .cloned()
        else {
            return;
        };
        if self.group_members.slots[slot].client.is_some() || self.phase >= Phase::Probing {
            return;
        }
        if matches!(plan.group_protocol, GroupProtocol::Migrating) {
            // The first ones are classic, so that there is something to migrate.
            plan.is_consumer = self.group_members.slots[slot].starts > 0 && self.group_members.rng.hit(0.5);
            self.coverage.count(
                "members of groups that migrate, consumer protocol",
                u64::from(plan.is_consumer),
            );
        }
        let number = self.clients.len();
        let (group, reset, exclusive) = (plan.group.clone(), plan.reset, plan.is_exclusive());
        let made = SimClient::member(number, (slot, plan), &self.common(), &mut self.group_members.seeds);
        let client = u32::try_from(number).unwrap_or(u32::MAX);
        self.check.groups.add_member(client, &group, reset, exclusive);
        let state = &mut self.group_members.slots[slot];
        state.client = Some(number);
        state.starts += 1;
        if state.starts > 1 {
            self.coverage.count("members restarted", 1);
        }
        self.add_client(made);
        if self.phase != Phase::Hostile
            && let Some(client) = self.clients.get(number)
        {
            // Clocks were set right already.
            client.clock.set_skew_ms(self.healed_skew_ms());
        }
    }

    /// A slot's client is over, or another takes its place (`at_once`).
    pub(crate) fn member_gone(&mut self, slot: usize, at_once: bool) {
        let old = self.group_members.slots[slot].client.take();
        if old.is_some() && old == self.group_members.leaver {
            self.group_members.left_at_us = Some(self.now_us);
            return;
        }
        let plan = self.group_members.plan.as_ref().map(|p| &p.members[slot]);
        let longest = plan.map_or(0, |p| p.returns_us);
        let is_static_consumer = plan.is_some_and(|p| p.is_static && p.group_protocol.has_consumer_protocol());
        let pause = match at_once || self.phase != Phase::Hostile {
            true if is_static_consumer => STATIC_RESTART_PAUSE_US,
            true => 0,
            false => self.group_members.rng.between(longest / 10, longest),
        };
        self.after_us(pause, WorldEvent::Member(slot));
    }

    /// A client's process is killed. Its machine resets its connections, unless that is gone as well.
    pub(crate) fn crash_client(&mut self, client: usize, silently: bool) {
        trace!(self.trace, "c{client} crashes, silently {silently}");
        let of_client = self
            .net
            .conns
            .iter()
            .filter(|(_, c)| c.client == client && c.client_open);
        let conns: Vec<(u64, ConnId)> = of_client.map(|(number, c)| (*number, c.id)).collect();
        for (number, conn) in conns {
            match silently {
                true => self.vanish(number),
                false => self.client_closes(client, conn),
            }
        }
        self.net.attempts.retain(|(c, _)| *c != client);
        let state = &mut self.clients[client];
        state.core = None;
        state.crashed = true;
        self.check
            .groups
            .on_unassigned(u32::try_from(client).unwrap_or(u32::MAX));
    }

    /// Faults are over: every slot has a client from now on.
    pub(crate) fn start_all_members(&mut self) {
        for slot in 0..self.group_members.slots.len() {
            self.start_member(slot);
        }
    }

    /// Somebody may leave now, where others stay.
    pub(crate) fn choose_leaver(&mut self) {
        let Some(plan) = self.group_members.plan.as_ref().filter(|p| p.one_leaves) else {
            return;
        };
        let group = plan.members[0].group.clone();
        let live = self.live_members(&group);
        // The partitions of a static member wait for it until its session ends.
        let may = |c: &&usize| {
            self.member_workload(**c)
                .is_some_and(|workload| !workload.plan().is_static)
        };
        let leavers: Vec<usize> = live.iter().filter(may).copied().collect();
        if live.len() > 1 && !leavers.is_empty() {
            let leaver = self.group_members.rng.pick(&leavers);
            self.group_members.leaver = Some(leaver);
            self.coverage.count("members that left in peace", 1);
            self.group_members.remaining = self.remaining(&group, &live, leaver);
        }
    }

    pub(crate) fn member_workload(&self, client: usize) -> Option<&MemberWorkload> {
        match &self.clients.get(client)?.workload {
            Workload::Member(workload) => Some(workload),
            _ => None,
        }
    }

    pub(crate) fn live_members(&self, group: &str) -> Vec<usize> {
        let clients = self.group_members.slots.iter().filter_map(|s| s.client);
        let live = clients.filter(|c| {
            self.member_workload(*c)
                .is_some_and(|workload| workload.is_member() && workload.plan().group == group)
        });
        live.collect()
    }

    /// The watermarks of a partition.
    pub(crate) fn marks(&self, tp: &Tp) -> Option<Marks> {
        marks(&self.cluster, tp)
    }

    /// A client consumes these partitions from now on; `more`: besides what it has.
    pub(crate) fn begin_ownership(&mut self, client: usize, reader: u32, tps: &[Tp], more: bool) {
        trace!(self.trace, "c{client} owns {tps:?}, besides others {more}");
        let Some(group) = self.check.groups.group_of(reader) else {
            return;
        };
        let own = self.shared(client).consumer.as_ref().map(|r| r.group().member_id);
        let member = own.unwrap_or_default();
        let view = self.cluster.group_view(&group).into_iter().flat_map(|v| v.members);
        let (mut members, mut given) = (Vec::new(), Vec::new());
        for other in view {
            if other.id == member {
                given = read_assignment(other.assignment).unwrap_or_default();
            }
            // A static member of the consumer protocol that has left for a while has an epoch below zero.
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
            now_us: self.now_us,
        };
        let cluster = &self.cluster;
        let result = self.check.groups.on_assigned(&begins, |tp| marks(cluster, tp));
        self.check.expect(result);
    }

    /// A client that sees to rebalances by itself has unsubscribed. Until its coordinator has heard of that it may be
    /// subscribed again, and takes what it has up anew without a word to anybody.
    pub(crate) fn restart_ownership(&mut self, reader: u32) {
        let (cluster, now_us) = (&self.cluster, self.now_us);
        self.check.groups.on_restarted(reader, now_us, |tp| marks(cluster, tp));
    }

    /// A client that sees to rebalances by itself has said which partitions it has: it does not consume others.
    pub(crate) fn on_reported_owned(&mut self, client: usize, tps: &[Tp]) {
        let by_itself = |workload: &MemberWorkload| !workload.plan().by_event && workload.plan().is_incremental();
        if self.member_workload(client).is_some_and(by_itself) {
            let reader = u32::try_from(client).unwrap_or(u32::MAX);
            self.check.groups.on_reported_owned(reader, tps);
        }
    }

    /// The coordinator told a member of the consumer protocol what it is to have.
    pub(crate) fn on_target_assignment(&mut self, client: usize, epoch: i32, assignment: &[Tp]) {
        let Some(workload) = self.member_workload(client) else {
            return;
        };
        let (group, by_event) = (workload.plan().group.clone(), workload.plan().by_event);
        trace!(self.trace, "c{client} is to have {assignment:?} in epoch {epoch}");
        self.coverage.count("targets told", 1);
        self.note_generation(group, epoch);
        if !by_event {
            let reader = u32::try_from(client).unwrap_or(u32::MAX);
            let reported_owned = self
                .group_members
                .reported_owned
                .get(&client)
                .cloned()
                .unwrap_or_default();
            let keeps = |tp: &Tp| assignment.contains(tp) || reported_owned.contains(tp);
            self.check.groups.on_not_assigned(reader, keeps);
            self.begin_ownership(client, reader, assignment, true);
        }
    }

    fn note_generation(&mut self, group: String, generation: i32) {
        let highest = self.group_members.generations.entry(group).or_default();
        if generation > *highest {
            let more = u64::try_from(generation - *highest).unwrap_or(0);
            *highest = generation;
            self.coverage.count("rebalances", more);
        }
    }

    /// A SyncGroup response reached a client.
    pub(crate) fn on_synced(&mut self, client: usize, generation: i32, member: &str, assignment: Bytes) {
        let Some(workload) = self.member_workload(client) else {
            return;
        };
        let plan = workload.plan();
        let (group, by_event, incremental) = (plan.group.clone(), plan.by_event, plan.is_incremental());
        // Generations begin anew when a group that was empty changes its protocol.
        let one_protocol = !plan.group_protocol.has_consumer_protocol();
        let owner = workload.owner(member);
        let assignment = match read_assignment(assignment) {
            Some(assignment) => assignment,
            None => {
                return self
                    .check
                    .violate(format!("client {client}: an assignment that cannot be read"));
            }
        };
        trace!(self.trace, "c{client} gets {assignment:?} in generation {generation}");
        self.coverage.count("assignments", 1);
        if one_protocol {
            let result = self.check.groups.on_synced(&group, generation, &owner, &assignment);
            self.check.expect(result);
        } else if self.cluster.group_view(&group).is_some_and(|view| view.is_consumer) {
            self.coverage.count("classic members served by consumer groups", 1);
        }
        self.note_generation(group, generation);
        if !by_event {
            let reader = u32::try_from(client).unwrap_or(u32::MAX);
            self.begin_ownership(client, reader, &assignment, incremental);
        }
    }

    /// Hands commits that reached the coordinators to the checker.
    pub(crate) fn check_commits(&mut self) {
        for record in self.cluster.take_commits() {
            trace!(self.trace, "COMMIT {record:?}");
            let conn = self.net.conns.get(&record.connection.0);
            let abandoned = conn.is_none_or(|c| !c.client_open);
            let tp = (record.topic.clone(), record.partition);
            if self.workers.exist() {
                if abandoned && record.producer_id.is_none() {
                    self.coverage.count("commits of loops that came late", 1);
                    self.check.transactions.on_late_commit();
                }
                continue;
            }
            if !self.group_members.exists() {
                // Nobody can call such a request back.
                if let Some(client) = conn.filter(|_| !abandoned).map(|c| c.client) {
                    self.coverage.count("commits of readers", 1);
                    let reader = u32::try_from(client).unwrap_or(u32::MAX);
                    let result = self.check.consumed.on_commit(reader, (&tp.0, tp.1), record.offset);
                    self.check.expect(result);
                }
                continue;
            }
            self.coverage.count("commits", 1);
            let view = self.cluster.group_view(&record.group);
            let foreign = view.is_some_and(|view| self.is_foreign(&view, &record, &tp));
            let client = conn.map(|c| c.client);
            let is_migrating = foreign && self.may_commit_during_migration(&record.group, client);
            let commit = Commit {
                group: &record.group,
                offset: record.offset,
                before: record.before,
                abandoned: abandoned || is_migrating,
                foreign: foreign && !is_migrating,
                tp: tp.clone(),
            };
            let marks = self.marks(&tp);
            let result = self.check.groups.on_commit(&commit, self.now_us, marks);
            self.check.expect(result);
        }
    }

    /// Whether a member has committed what was not its own.
    fn is_foreign(&self, view: &GroupView, record: &CommitRecord, tp: &Tp) -> bool {
        let has = |m: &GroupMemberView| read_assignment(m.assignment.clone()).is_some_and(|g| g.contains(tp));
        let mut members = view.members.iter();
        let Some(given) = members.find(|m| m.id == record.member).map(has) else {
            return false;
        };
        let mut plans = self
            .group_members
            .plan
            .iter()
            .flat_map(|p| &p.members)
            .filter(|m| m.group == record.group);
        let may_be_late = plans.next().is_some_and(|m| match m.group_protocol {
            // What a member is to give up it still may commit, until another has it.
            GroupProtocol::Classic => m.is_cooperative,
            GroupProtocol::Consumer => false,
            // The last assignment of an eager member may be void while the group turns back, and its commit is not yet.
            GroupProtocol::Migrating => true,
        });
        !given && (!may_be_late || view.members.iter().any(has))
    }

    /// Whether a member of the classic protocol that hands partitions over bit by bit may have given one up while its group
    /// turned to the consumer protocol. The coordinator then takes over what the last generation gave, and what was being
    /// given up is anybody's at once; members keep their epochs until they join anew, so that none tells a commit from
    /// before, which is tried again, from one of an owner. No client can prevent that.
    fn may_commit_during_migration(&self, group: &str, client: Option<usize>) -> bool {
        let mut members = self.group_members.plan.iter().flat_map(|p| &p.members);
        let migrates = |m: &MemberPlan| {
            m.group == group && matches!(m.group_protocol, GroupProtocol::Migrating) && m.is_cooperative
        };
        let workload = client.and_then(|c| self.member_workload(c));
        members.any(migrates) && workload.is_none_or(|workload| !workload.plan().is_consumer)
    }

    // ---------------------------------------------------------------- calm

    /// Why a group is not as it should be in peace; `None` when all are.
    pub(crate) fn groups_wait_for(&mut self) -> Option<String> {
        for group in self.group_members.groups() {
            let live = self.live_members(&group);
            if let Some(what) = self.unsettled(&group, &live) {
                // What was asked before faults ended may still be waited for, and hold up whoever takes over.
                let stability = self.healed_at_us.saturating_add(self.patience_us(&live));
                if let Some(at) = self.group_members.left_at_us
                    && self.now_us > at.max(stability) + self.takeover_limit_us()
                {
                    self.check.violate(format!(
                        "{} us after a member left, its partitions are not taken over: {what}",
                        self.now_us - at
                    ));
                }
                return Some(what);
            }
        }
        // Taken over: a later rebalance, such as for a topic that was found to have grown, is another matter.
        if self.group_members.left_at_us.take().is_some() {
            self.check_moves();
        }
        let groups = self.group_members.groups();
        groups.iter().find_map(|group| self.behind(&self.live_members(group)))
    }

    /// How long these clients may wait for what is not answered any more.
    fn patience_us(&self, clients: &[usize]) -> u64 {
        let waits_for_ever = |c: &usize| {
            let settings = self.member_workload(*c).map(|workload| workload.plan().settings());
            settings.is_some_and(|s| lookup(&s, "socket.max.fails") == Some("0"))
        };
        match clients.iter().any(waits_for_ever) {
            // Requests that time out do not end a connection: that is left to the kernel.
            true => GIVE_UP_US + SOCKET_TIMEOUT_MAX_MS * 1000,
            false => SOCKET_TIMEOUT_MAX_MS * 1000,
        }
    }

    /// Whether groups had their time to settle. A static leader that comes back is not told what an earlier one divided
    /// (KIP-814), or even that it leads: whether topics have grown since then may go unnoticed until somebody joins.
    pub(crate) fn static_leader_may_be_stale(&self) -> bool {
        self.now_us > self.healed_at_us.saturating_add(STALE_LEADER_US)
    }

    fn takeover_limit_us(&self) -> u64 {
        let plan = self.group_members.plan.iter();
        let heartbeats = plan.flat_map(|p| {
            p.members
                .iter()
                .map(|m| m.heartbeat_ms)
                .chain([p.consumer_heartbeat_ms])
        });
        TAKEOVER_HEARTBEATS * heartbeats.max().unwrap_or(0) * 1000 + TAKEOVER_US
    }

    /// Whether every partition has one owner, who knows it.
    fn unsettled(&self, group: &str, live: &[usize]) -> Option<String> {
        if live.is_empty() {
            return None;
        }
        let Some(view) = self.cluster.group_view(group) else {
            return Some(format!("{group} does not exist"));
        };
        if view.state != "Stable" || view.members.len() != live.len() {
            return Some(format!("{group} has live members {live:?} and is {view:?}"));
        }
        let mut owners: BTreeMap<Tp, usize> = BTreeMap::new();
        let mut wanted: BTreeSet<&String> = BTreeSet::new();
        for client in live {
            let workload = self.member_workload(*client)?;
            wanted.extend(&workload.subscription);
            let shared = self.shared(*client);
            let own = shared.consumer.as_ref()?.group();
            let member = view.members.iter().find(|m| m.id == own.member_id);
            let Some(member) = member.filter(|m| own.generation == m.epoch) else {
                return Some(format!("client {client} is {own:?}, and {group} is {view:?}"));
            };
            let given = read_assignment(member.assignment.clone()).unwrap_or_default();
            let reported = self.check.groups.owned(u32::try_from(*client).unwrap_or(u32::MAX));
            if given.iter().cloned().collect::<BTreeSet<_>>() != reported {
                return Some(format!("client {client} was given {given:?} and has {reported:?}"));
            }
            let count = |topic: &str| self.cluster.partition_count(topic).unwrap_or(0);
            // Its leader has not noticed yet that the topic was made anew with fewer partitions.
            if let Some(tp) = nonexistent(&given, count) {
                return Some(format!("client {client} was given {tp:?}, which does not exist"));
            }
            for tp in given {
                if !workload.subscription.contains(&tp.0) {
                    return Some(format!(
                        "client {client} was given {tp:?}, which it has not subscribed to"
                    ));
                }
                if let Some(other) = owners.insert(tp.clone(), *client) {
                    return Some(format!("clients {other} and {client} both own {tp:?}"));
                }
            }
        }
        for topic in wanted {
            let count = self.cluster.partition_count(topic).unwrap_or(0);
            for partition in 0..i32::try_from(count).unwrap_or(0) {
                if !owners.contains_key(&(topic.clone(), partition)) {
                    return Some(format!("nobody owns {topic} [{partition}]"));
                }
            }
        }
        None
    }

    /// Whether every partition is read to its end.
    fn behind(&self, live: &[usize]) -> Option<String> {
        for client in live {
            let reader = u32::try_from(*client).unwrap_or(u32::MAX);
            for tp in self.check.groups.owned(reader) {
                let marks = self.marks(&tp);
                if let Some(what) = marks.and_then(|now| self.check.groups.behind(reader, &tp, now)) {
                    return Some(what);
                }
            }
        }
        None
    }
}

fn marks(cluster: &Cluster, tp: &Tp) -> Option<Marks> {
    cluster.watermarks(&tp.0, tp.1).map(|m| Marks {
        start: m.log_start_offset,
        end: m.high_watermark,
    })
}

/// Returns the first partition of an assignment that its topic does not have.
fn nonexistent(assignment: &[Tp], count: impl Fn(&str) -> usize) -> Option<&Tp> {
    let exists = |tp: &Tp| usize::try_from(tp.1).is_ok_and(|partition| partition < count(&tp.0));
    assignment.iter().find(|tp| !exists(tp))
}

/// A member's assignment as its leader wrote it (ConsumerProtocolAssignment, any version); `None` when it is damaged.
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
