//! The workers: clients that write transactions. Each worker has a slot, whose clients run one after the other. A worker
//! writes to one topic of a chain (see `chain`): sources to the first one; a processor reads from the topic before.

use std::collections::BTreeSet;

use crate::chain::group;
use crate::plan::{TransactionsPlan, TxnWorkerPlan};
use crate::rng::SeededRng;

/// The clients of one worker, one after the other.
#[derive(Debug, Default, Clone)]
struct Slot {
    client: Option<usize>,
    starts: u32,
}

/// All workers of a world.
#[derive(Debug)]
pub(crate) struct TxnWorkers {
    plan: Option<TransactionsPlan>,
    slots: Vec<Slot>,
    seeds: SeededRng,
    rng: SeededRng,
    /// The number of inputs of the chain's first topic so far.
    origins: u64,
    /// The clients of processor loops. The loop closes them, not the simulator.
    of_loops: BTreeSet<usize>,
    /// The length of all logs at the last check of the chain, and its result: the reason why the chain is incomplete.
    last_check: Option<(i64, Option<String>)>,
}

/// The shortest time until a loop restarts: a loop with the id of a static member fails until the old session has
/// ended, and each attempt adds two clients.
const LOOP_RETURNS_US: u64 = 1_000_000;

impl TxnWorkers {
    pub(crate) fn new(seed: u64, plan: Option<TransactionsPlan>) -> Self {
        let count = plan.as_ref().map_or(0, |p| p.workers.len());
        TxnWorkers {
            slots: vec![Slot::default(); count],
            plan,
            seeds: SeededRng::of(seed, 41),
            rng: SeededRng::of(seed, 42),
            origins: 0,
            of_loops: BTreeSet::new(),
            last_check: None,
        }
    }

    pub(crate) fn exist(&self) -> bool {
        self.plan.is_some()
    }

    /// Returns the transactional ids.
    pub(crate) fn names(&self) -> Vec<String> {
        let plans = self.plan.iter().flat_map(|p| &p.workers);
        let names = plans.zip(&self.slots).map(|(w, slot)| w.transactional_id(slot.starts));
        names.collect()
    }

    pub(crate) fn belongs_to_loop(&self, client: usize) -> bool {
        self.of_loops.contains(&client)
    }

    /// Returns the consumer groups of the chain's stages.
    pub(crate) fn groups(&self) -> Vec<String> {
        let last = self.plan.as_ref().map_or(0, TransactionsPlan::last);
        (1..=last).map(group).collect()
    }

    /// Returns the number of a new input of the chain's first topic.
    pub(crate) fn next_origin(&mut self) -> u64 {
        self.origins += 1;
        self.origins
    }

    pub(crate) fn plan(&self) -> Option<&TransactionsPlan> {
        self.plan.as_ref()
    }

    /// Returns a slot without a client.
    pub(crate) fn empty_slot(&self) -> Option<usize> {
        self.slots.iter().position(|s| s.client.is_none())
    }

    /// Draws the time until the first client of each slot starts.
    pub(crate) fn start_delays_us(&mut self) -> Vec<u64> {
        (0..self.slots.len()).map(|_| self.rng.between(0, 2_000_000)).collect()
    }

    /// Counts a start in a slot. Returns its plan and the number of starts; `None` while the slot has a client.
    pub(crate) fn start(&mut self, slot: usize) -> Option<(TxnWorkerPlan, u32)> {
        let plan = self.plan.as_ref()?.workers.get(slot)?;
        let state = &mut self.slots[slot];
        if state.client.is_some() {
            return None;
        }
        state.starts += 1;
        Some((plan.clone(), state.starts))
    }

    /// Returns the generator of the seeds of clients.
    pub(crate) fn seeds(&mut self) -> &mut SeededRng {
        &mut self.seeds
    }

    pub(crate) fn set_client(&mut self, slot: usize, client: usize) {
        self.slots[slot].client = Some(client);
    }

    /// Records a client that its loop ends.
    pub(crate) fn add_loop_client(&mut self, client: usize) {
        self.of_loops.insert(client);
    }

    /// Empties a slot. Returns the time in microseconds until its next clients start. `at_once`: they replace clients that
    /// still run. `is_hostile`: the faults have not ended.
    pub(crate) fn on_gone(&mut self, slot: usize, at_once: bool, is_hostile: bool) -> u64 {
        self.slots[slot].client = None;
        let plan = self.plan.as_ref().map(|p| &p.workers[slot]);
        let (pause_max, is_loop) = plan.map_or((0, false), |w| (w.returns_us, w.loop_plan.is_some()));
        let pause = match at_once || !is_hostile {
            true => 0,
            false => self.rng.between(pause_max / 10, pause_max),
        };
        match is_loop && !at_once {
            true => pause.max(LOOP_RETURNS_US),
            false => pause,
        }
    }

    /// Returns the result of the last check if it is still valid: it found a stage with unprocessed inputs, and the logs
    /// have not grown since.
    pub(crate) fn last_check(&self, length: i64) -> Option<&str> {
        let (at, found) = self.last_check.as_ref()?;
        found
            .as_deref()
            .filter(|what| *at == length && what.starts_with("stage"))
    }

    pub(crate) fn set_last_check(&mut self, length: i64, found: Option<String>) {
        self.last_check = Some((length, found));
    }
}
