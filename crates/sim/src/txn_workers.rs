//! The workers and readers of a world of transactions: who lives, who follows whom, and whether their chain is done.

use std::collections::BTreeSet;

use ottla::config::Conf;
use ottla::types::ClientKind;
use ottla_mock::{ConnectionId, TransactionStep};

use crate::canary::Canary;
use crate::check::{PartitionView, Views};
use crate::client::SimClient;
use crate::rng::SeededRng;
use crate::trace::trace;
use crate::workload::{LoopWorkload, TransactionsPlan, group, topic};
use crate::world::{Phase, World, WorldEvent};

/// A loop that is over comes back no sooner: one whose name is taken as a static member fails again until that one's session
/// has ended, and each time leaves two clients behind.
const LOOP_RETURNS_US: u64 = 1_000_000;

/// Where a worker's clients live, and later those that follow them.
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
    origins: u64,
    /// The clients of loops, which end them.
    of_loops: BTreeSet<usize>,
    /// What was found in the logs when they were this long.
    last_check: Option<(i64, Option<String>)>,
}

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

    /// The transactional ids.
    pub(crate) fn names(&self) -> Vec<String> {
        let plans = self.plan.iter().flat_map(|p| &p.workers);
        let names = plans.zip(&self.slots).map(|(w, slot)| w.transactional_id(slot.starts));
        names.collect()
    }

    pub(crate) fn belongs_to_loop(&self, client: usize) -> bool {
        self.of_loops.contains(&client)
    }

    /// The groups of the stages.
    pub(crate) fn groups(&self) -> Vec<String> {
        let last = self.plan.as_ref().map_or(0, TransactionsPlan::last);
        (1..=last).map(group).collect()
    }

    /// An input that was never there before.
    pub(crate) fn next_origin(&mut self) -> u64 {
        self.origins += 1;
        self.origins
    }
}

impl World {
    pub(crate) fn set_up_workers(&mut self) {
        let Some(plan) = self.workers.plan.clone() else { return };
        self.cluster.log_transaction_steps();
        if self.is_canary(Canary::LostMarker) {
            self.cluster.drop_next_marker();
        }
        let kind = match plan.version {
            2.. => "worlds of transaction version 2",
            _ => "worlds of older transaction versions",
        };
        self.coverage.count(kind, 1);
        if plan.has_loops() {
            self.coverage.count("worlds of loops", 1);
            self.check.transactions.count_by_offset();
        }
        if plan.repeats() {
            self.coverage.count("worlds of at-least-once loops", 1);
            self.check.transactions.expect_repetitions();
        }
        for reader in plan.readers {
            let number = self.clients.len();
            self.check.transactions.add_reader(number, reader.committed);
            let made = SimClient::reader(reader, &self.common(), &mut self.workers.seeds);
            self.add_client(made);
        }
        for slot in 0..self.workers.slots.len() {
            let at = self.workers.rng.between(0, 2_000_000);
            self.after_us(at, WorldEvent::Worker(slot));
        }
    }

    /// Starts clients in a slot, unless there are some.
    pub(crate) fn start_worker(&mut self, slot: usize) {
        let Some(plan) = self.workers.plan.as_ref().and_then(|p| p.workers.get(slot)).cloned() else {
            return;
        };
        if self.workers.slots[slot].client.is_some() || self.phase > Phase::Probing {
            return;
        }
        let state = &mut self.workers.slots[slot];
        state.starts += 1;
        let starts = state.starts;
        self.coverage.count("workers restarted", u64::from(starts > 1));
        if let Some(loop_plan) = plan.loop_plan.clone() {
            match LoopWorkload::start(self, slot, (plan, loop_plan), starts) {
                Ok(client) => self.workers.slots[slot].client = Some(client),
                Err(error) => self.check.violate(format!("a loop cannot be made: {error}")),
            }
            return;
        }
        let common = self.common();
        let first = self.clients.len();
        let consumer = (plan.stage > 0).then_some(first);
        if consumer.is_some() {
            let settings = plan.consumer.clone();
            let made = SimClient::helper(settings, &common, &mut self.workers.seeds);
            self.add_client(made);
        }
        let number = self.clients.len();
        let made = SimClient::worker(number, (slot, plan), consumer, &common, &mut self.workers.seeds);
        self.workers.slots[slot].client = Some(number);
        self.add_client(made);
        self.set_right_clocks(first);
    }

    /// Adds a client with the settings that a loop gives it; gives its number.
    pub(crate) fn add_loop_client(&mut self, conf: Conf, kind: ClientKind) -> usize {
        let number = self.clients.len();
        let made = SimClient::looping(conf, kind, &self.common(), &mut self.workers.seeds);
        self.add_client(made);
        self.workers.of_loops.insert(number);
        self.set_right_clocks(number);
        number
    }

    /// Clients from `first` on have come where clocks were set right already.
    fn set_right_clocks(&self, first: usize) {
        let skew = self.healed_skew_ms();
        for client in self.clients.iter().skip(first).filter(|_| self.phase != Phase::Hostile) {
            client.clock.set_skew_ms(skew);
        }
    }

    /// A slot's clients are over, or others take their place (`at_once`).
    pub(crate) fn worker_gone(&mut self, slot: usize, at_once: bool) {
        self.workers.slots[slot].client = None;
        let plan = self.workers.plan.as_ref().map(|p| &p.workers[slot]);
        let (longest, is_loop) = plan.map_or((0, false), |w| (w.returns_us, w.loop_plan.is_some()));
        let pause = match at_once || self.phase != Phase::Hostile {
            true => 0,
            false => self.workers.rng.between(longest / 10, longest),
        };
        let pause = match is_loop && !at_once {
            true => pause.max(LOOP_RETURNS_US),
            false => pause,
        };
        self.after_us(pause, WorldEvent::Worker(slot));
    }

    /// Why transactions are not done with what the phase asks of them; `None` when they are.
    pub(crate) fn transactions_wait_for(&mut self) -> Option<String> {
        let plan = self.workers.plan.as_ref()?;
        let partitions = plan.partitions.clone();
        if let Some(slot) = self.workers.slots.iter().position(|s| s.client.is_none()) {
            return Some(format!("worker {slot} has no client"));
        }
        if self.cluster.has_open_transactions() {
            return Some("a transaction is open".to_owned());
        }
        // A request of a connection that its client has given up may still be served, and nobody hears of it.
        if let Some(number) = self.net.half_closed_connection() {
            return Some(format!("what was sent on connection {number} is still on its way"));
        }
        let mut length = 0;
        for (stage, count) in partitions.iter().enumerate() {
            for partition in 0..*count {
                let marks = self.cluster.watermarks(&topic(stage), partition);
                length += marks.map_or(0, |m| m.log_end_offset);
            }
        }
        // What readers have seen changes without the logs.
        if let Some((at, Some(what))) = &self.workers.last_check
            && *at == length
            && what.starts_with("stage")
        {
            return Some(what.clone());
        }
        let waits = match self.read_chain() {
            Ok(views) => {
                let committed = |stage, partition| self.committed_by_stage(stage, partition);
                self.check.transactions.behind(&views, topic, committed)
            }
            Err(what) => {
                self.check.violate(what);
                None
            }
        };
        self.workers.last_check = Some((length, waits.clone()));
        waits
    }

    /// What the group of a stage has committed for a partition of its input.
    fn committed_by_stage(&self, stage: usize, partition: i32) -> Option<i64> {
        self.cluster
            .committed_offset(&group(stage), &topic(stage - 1), partition)
    }

    fn read_chain(&self) -> Result<Views, String> {
        let mut views = Views::new();
        let partitions = self.workers.plan.iter().flat_map(|p| &p.partitions);
        for (stage, count) in partitions.enumerate() {
            let name = topic(stage);
            for partition in 0..*count {
                let batches = self.cluster.partition_batches(&name, partition).unwrap_or_default();
                let view = PartitionView::of_log(batches.into_iter().map(ottla_protocol::Records::into_bytes));
                let view = view.map_err(|what| format!("{name} [{partition}]: {what}"))?;
                views.insert((stage, partition), view);
            }
        }
        Ok(views)
    }

    /// Everything has ended: compares what was done with what lies in the logs.
    pub(crate) fn compare_chain(&mut self) {
        let result = self.read_chain().and_then(|views| {
            let committed = |stage, partition| self.committed_by_stage(stage, partition);
            self.check.transactions.compare(&views, topic, committed)
        });
        self.check.expect(result);
    }

    /// Notes and counts what coordinators did since the last look.
    pub(crate) fn check_transaction_steps(&mut self) {
        for record in self.cluster.take_transaction_steps() {
            self.check.fencing.on_step(&record.transactional_id, record.step);
            let kind = match record.step {
                TransactionStep::Initialized { connection, resumed } => {
                    self.on_taken(&record.transactional_id, connection);
                    match resumed {
                        true => "epochs raised",
                        false => "transactional ids taken",
                    }
                }
                TransactionStep::Fenced => "transactions aborted for another producer",
                TransactionStep::TimedOut => "transactions timed out on the broker",
                TransactionStep::Expired => "transactional ids expired",
                _ => continue,
            };
            self.coverage.count(kind, 1);
        }
    }

    fn on_taken(&mut self, id: &str, connection: ConnectionId) {
        match self.net.conns.get(&connection.0) {
            Some(conn) => self.check.fencing.on_taken(id, conn.client, !conn.client_open),
            None => self.check.violate(format!("#{} is gone, and was served", connection.0)),
        }
    }

    /// Stops processes, as a signal does: their clients do nothing, and what the network has for them waits.
    pub(crate) fn freeze(&mut self, clients: &[usize], until_us: u64) {
        for client in clients {
            trace!(self.trace, "c{client} is frozen until {until_us}");
            self.clients[*client].frozen_until_us = until_us;
            self.at_us(until_us, WorldEvent::Thaw(*client));
        }
    }

    /// A process goes on, if its time has come.
    pub(crate) fn thaw_client(&mut self, client: usize) {
        let state = &mut self.clients[client];
        if state.frozen_until_us > self.now_us && self.net.faults_enabled {
            return;
        }
        if std::mem::take(&mut state.frozen_until_us) > 0 {
            self.wake(client);
        }
        for event in std::mem::take(&mut self.clients[client].held) {
            self.deliver_net_event(client, event);
        }
    }
}
