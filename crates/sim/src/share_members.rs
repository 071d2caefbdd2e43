//! The members of share groups: the clients in their slots, and the state of their groups.

use std::collections::{BTreeMap, BTreeSet};

use ottla_core::connection::ConnId;

use crate::plan::{ShareMemberPlan, SharePlan};
use crate::rng::SeededRng;

/// A request of a share session whose response is observed.
#[derive(Debug)]
pub(crate) struct PendingShareRequest {
    pub(crate) version: i16,
    pub(crate) broker: i32,
    pub(crate) is_fetch: bool,
    pub(crate) group: String,
}

/// The clients of one member, one after the other.
#[derive(Debug, Default)]
struct Slot {
    client: Option<usize>,
    starts: u32,
}

/// All members of share groups of a world.
#[derive(Debug)]
pub(crate) struct ShareMembers {
    plan: Option<SharePlan>,
    slots: Vec<Slot>,
    seeds: SeededRng,
    rng: SeededRng,
    pub(crate) writer_rng: SeededRng,
    /// The transactions that the world has written: the partition, the producer's id, and whether it was committed.
    pub(crate) transactions: Vec<(i32, i64, bool)>,
    /// The number of records that the world has written itself.
    pub(crate) written: u32,
    /// Requests whose responses are observed, by client, connection and correlation id.
    pending: BTreeMap<(usize, ConnId, i32), PendingShareRequest>,
    /// The connections of share sessions, with their brokers.
    sessions: BTreeMap<(usize, ConnId), i32>,
}

impl ShareMembers {
    pub(crate) fn new(seed: u64, plan: Option<SharePlan>) -> Self {
        let slots = plan.iter().flat_map(|p| &p.members).map(|_| Slot::default());
        ShareMembers {
            slots: slots.collect(),
            plan,
            seeds: SeededRng::of(seed, 91),
            rng: SeededRng::of(seed, 92),
            writer_rng: SeededRng::of(seed, 93),
            transactions: Vec::new(),
            written: 0,
            pending: BTreeMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    pub(crate) fn exist(&self) -> bool {
        self.plan.is_some()
    }

    pub(crate) fn plan(&self) -> Option<&SharePlan> {
        self.plan.as_ref()
    }

    /// Returns the names of the groups.
    pub(crate) fn groups(&self) -> Vec<String> {
        self.plan.as_ref().map(SharePlan::groups).unwrap_or_default()
    }

    /// Returns the generator of the seeds of clients.
    pub(crate) fn seeds(&mut self) -> &mut SeededRng {
        &mut self.seeds
    }

    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Returns the plan of the next client of a slot; `None` while the slot has a client.
    pub(crate) fn next_plan(&self, slot: usize) -> Option<ShareMemberPlan> {
        let is_empty = self.slots.get(slot)?.client.is_none();
        self.plan.as_ref()?.members.get(slot).filter(|_| is_empty).cloned()
    }

    /// Puts a client into a slot. Returns true when the slot had a client before.
    pub(crate) fn on_started(&mut self, slot: usize, client: usize) -> bool {
        let state = &mut self.slots[slot];
        state.client = Some(client);
        state.starts += 1;
        state.starts > 1
    }

    /// Empties a slot. Returns the time until its next client starts.
    pub(crate) fn on_gone(&mut self, slot: usize) -> u64 {
        self.slots[slot].client = None;
        let longest = self.plan.as_ref().map_or(0, |p| p.members[slot].returns_us);
        self.rng.between(longest / 10, longest)
    }

    /// Returns a slot without a client.
    pub(crate) fn empty_slot(&self) -> Option<usize> {
        self.slots.iter().position(|slot| slot.client.is_none())
    }

    /// Returns the clients of a group.
    pub(crate) fn clients_of(&self, group: &str) -> BTreeSet<usize> {
        let members = self.plan.iter().flat_map(|p| &p.members);
        let of_group = members.zip(&self.slots).filter(|(plan, _)| plan.group == group);
        of_group.filter_map(|(_, slot)| slot.client).collect()
    }

    // ---------------------------------------------------------------- requests and responses

    pub(crate) fn await_response(&mut self, request: (usize, ConnId, i32), pending: PendingShareRequest) {
        self.sessions.insert((request.0, request.1), pending.broker);
        self.pending.insert(request, pending);
    }

    pub(crate) fn take_response(&mut self, request: (usize, ConnId, i32)) -> Option<PendingShareRequest> {
        self.pending.remove(&request)
    }

    /// Removes a connection. Returns its broker if it had a share session.
    pub(crate) fn take_session(&mut self, client: usize, conn: ConnId) -> Option<i32> {
        self.sessions.remove(&(client, conn))
    }
}
