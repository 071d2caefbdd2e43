//! The members of groups: the clients in their slots, and the assignments that coordinators sent them.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::Tp;
use crate::plan::{GroupProtocol, GroupsPlan, MemberPlan};
use crate::rng::SeededRng;
use ottla_core::connection::ConnId;
use ottla_protocol::Uuid;
use ottla_protocol::api::consumer_group_heartbeat::TopicPartitions;

/// A request whose response is observed.
#[derive(Debug)]
pub(crate) enum PendingResponse {
    Sync {
        version: i16,
        generation: i32,
        member: String,
    },
    OffsetFetch {
        version: i16,
    },
    ConsumerHeartbeat {
        version: i16,
    },
}

/// The members of a group with a sticky assignor, before another member leaves.
#[derive(Debug)]
pub(crate) struct RemainingMembers {
    pub(crate) group: String,
    /// By client: its member id and its partitions.
    pub(crate) assignments: BTreeMap<usize, (String, BTreeSet<Tp>)>,
    /// The numbers of partitions of the topics.
    pub(crate) counts: Vec<Option<usize>>,
}

/// The clients of one member, one after the other.
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
    /// The client that leaves for good after the faults.
    leaver: Option<usize>,
    /// The members that remain then.
    remaining: Option<RemainingMembers>,
    /// The time at which it had left.
    left_at_us: Option<u64>,
    /// Requests whose responses are observed, by client, connection and correlation id.
    pending_responses: BTreeMap<(usize, ConnId, i32), PendingResponse>,
    /// The last target assignments that coordinators sent to clients of the consumer protocol.
    targets: BTreeMap<usize, Vec<TopicPartitions>>,
    /// The last partitions that clients of the consumer protocol reported as owned.
    reported_owned: BTreeMap<usize, Vec<Tp>>,
    /// The names of all topics that have existed.
    topic_names: BTreeMap<Uuid, String>,
    /// The first epochs in which clients committed, for a canary.
    first_epochs: BTreeMap<usize, i32>,
    /// The highest generation of each group.
    generations: BTreeMap<String, i32>,
}

/// Pause before a client with the id of a static member of the consumer protocol that died: it cannot join while the
/// old session lasts.
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

    /// Returns the names of the groups.
    pub(crate) fn groups(&self) -> Vec<String> {
        let members = self.plan.iter().flat_map(|p| &p.members);
        let names: BTreeSet<String> = members.map(|m| m.group.clone()).collect();
        names.into_iter().collect()
    }
    pub(crate) fn plan(&self) -> Option<&GroupsPlan> {
        self.plan.as_ref()
    }

    pub(crate) fn member_plans(&self) -> impl Iterator<Item = &MemberPlan> {
        self.plan.iter().flat_map(|p| &p.members)
    }

    // ---------------------------------------------------------------- clients

    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Returns the clients of all slots.
    pub(crate) fn clients(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots.iter().filter_map(|s| s.client)
    }

    /// Returns the plan of the next client of a slot; `None` while the slot has a client. In a migrating group the first
    /// client of a slot speaks the classic protocol, and each later one either protocol.
    pub(crate) fn next_plan(&mut self, slot: usize) -> Option<MemberPlan> {
        let mut plan = self.plan.as_ref()?.members.get(slot)?.clone();
        let state = &self.slots[slot];
        if state.client.is_some() {
            return None;
        }
        if matches!(plan.group_protocol, GroupProtocol::Migrating) {
            plan.is_consumer = state.starts > 0 && self.rng.hit(0.5);
        }
        Some(plan)
    }

    /// Returns the generator of the seeds of clients.
    pub(crate) fn seeds(&mut self) -> &mut SeededRng {
        &mut self.seeds
    }

    /// Puts a client into a slot. Returns true when the slot had a client before.
    pub(crate) fn on_started(&mut self, slot: usize, client: usize) -> bool {
        let state = &mut self.slots[slot];
        state.client = Some(client);
        state.starts += 1;
        state.starts > 1
    }

    /// Empties a slot. Returns the time until its next client starts, `None` when its client was the one to leave for good.
    pub(crate) fn on_gone(&mut self, slot: usize, now_us: u64, at_once: bool) -> Option<u64> {
        let old = self.slots[slot].client.take();
        if old.is_some() && old == self.leaver {
            self.left_at_us = Some(now_us);
            return None;
        }
        let plan = self.plan.as_ref().map(|p| &p.members[slot]);
        let longest = plan.map_or(0, |p| p.returns_us);
        let is_static_consumer = plan.is_some_and(|p| p.is_static && p.group_protocol.has_consumer_protocol());
        Some(match at_once {
            true if is_static_consumer => STATIC_RESTART_PAUSE_US,
            true => 0,
            false => self.rng.between(longest / 10, longest),
        })
    }

    // ---------------------------------------------------------------- the member that leaves

    /// Draws one of these clients to leave its group for good.
    pub(crate) fn choose_leaver(&mut self, clients: &[usize]) -> usize {
        let leaver = self.rng.pick(clients);
        self.leaver = Some(leaver);
        leaver
    }

    pub(crate) fn is_leaver(&self, client: usize) -> bool {
        self.leaver == Some(client)
    }

    pub(crate) fn set_remaining(&mut self, remaining: Option<RemainingMembers>) {
        self.remaining = remaining;
    }

    pub(crate) fn take_remaining(&mut self) -> Option<RemainingMembers> {
        self.remaining.take()
    }

    /// Discards the assignments before the member left when they include this client's. Returns true when it did.
    pub(crate) fn forget_remaining_with(&mut self, client: usize) -> bool {
        let stays = |s: &mut RemainingMembers| s.assignments.contains_key(&client);
        self.remaining.take_if(stays).is_some()
    }

    pub(crate) fn left_at_us(&self) -> Option<u64> {
        self.left_at_us
    }

    /// Ends the takeover. Returns false when there is none.
    pub(crate) fn end_takeover(&mut self) -> bool {
        self.left_at_us.take().is_some()
    }

    // ---------------------------------------------------------------- requests and responses

    pub(crate) fn await_response(&mut self, request: (usize, ConnId, i32), pending: PendingResponse) {
        self.pending_responses.insert(request, pending);
    }

    pub(crate) fn awaits_responses(&self) -> bool {
        !self.pending_responses.is_empty()
    }

    pub(crate) fn take_response(&mut self, request: (usize, ConnId, i32)) -> Option<PendingResponse> {
        self.pending_responses.remove(&request)
    }

    pub(crate) fn set_target(&mut self, client: usize, target: Vec<TopicPartitions>) {
        self.targets.insert(client, target);
    }

    /// Returns the assignment that the coordinator sent last to a client of the consumer protocol.
    pub(crate) fn target(&self, client: usize) -> Option<&Vec<TopicPartitions>> {
        self.targets.get(&client)
    }

    pub(crate) fn set_reported_owned(&mut self, client: usize, owned: Vec<Tp>) {
        self.reported_owned.insert(client, owned);
    }

    /// Returns the partitions that a client of the consumer protocol reported last as its own.
    pub(crate) fn reported_owned(&self, client: usize) -> &[Tp] {
        self.reported_owned.get(&client).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn set_topic_name(&mut self, id: Uuid, name: String) {
        self.topic_names.insert(id, name);
    }

    /// Replaces topic ids by names, including those of deleted topics.
    pub(crate) fn named(&self, topics: &[TopicPartitions]) -> Vec<Tp> {
        let known = topics
            .iter()
            .filter_map(|t| Some((self.topic_names.get(&t.topic_id)?, t)));
        known
            .flat_map(|(name, topic)| topic.partitions.iter().map(move |p| (name.clone(), *p)))
            .collect()
    }

    /// Returns the first epoch in which a client committed, which is this one when it has not committed before.
    pub(crate) fn first_epoch(&mut self, client: usize, epoch: i32) -> i32 {
        *self.first_epochs.entry(client).or_insert(epoch)
    }

    /// Records a generation of a group. Returns the number of generations since the highest one before.
    pub(crate) fn on_generation(&mut self, group: String, generation: i32) -> u64 {
        let highest = self.generations.entry(group).or_default();
        let more = u64::try_from(generation - *highest).unwrap_or(0);
        *highest = generation.max(*highest);
        more
    }
}
