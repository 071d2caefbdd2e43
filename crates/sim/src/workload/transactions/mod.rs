//! Applications that write transactions: sources of inputs, and processors that read a topic, count what they read, and
//! write the next topic, with what they have read in the same transaction.
//!
//! A processor keeps its state, how many inputs of a partition it has processed, in the metadata of the committed offset:
//! both come back together. Applications do what the errors of calls tell them, crash at any step, stall, and leave
//! twins behind that do not know that somebody has taken their place. In some worlds processors run the production loop
//! instead ([`looped`]).

mod calls;
mod item;
mod plan;
mod processor_loop;
mod reader;

pub(crate) use item::{Item, Tag};
pub(crate) use plan::{ReaderPlan, TransactionsPlan, TxnWorkerPlan, group, topic};
pub(crate) use processor_loop::LoopWorkload;
pub(crate) use reader::ReaderWorkload;

use std::collections::BTreeMap;
use std::time::Duration;

use ottla::client::Command;
use ottla::event::Event;
use ottla::producer::{Record, TransactionCall};
use ottla::records::{HeadersIn, Payload};

use crate::canary::Canary;
use crate::trace::trace;
use crate::world::{Phase, World};

use calls::PendingCall;
use reader::take_next;

/// How often a worker that is over listens until its client has ended.
const LAST_WORDS_US: u64 = 50_000;

/// How far a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has not got its id yet.
    New,
    /// It does not know where its predecessor stood.
    Lost,
    /// It knows, and does not read yet.
    DecodedMessage,
    /// No transaction is open.
    Ready,
    Open,
    /// Over.
    Gone,
}

/// Where a processor stands in a partition: the offset to go on with, and how many inputs it has processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Progress {
    offset: i64,
    count: u64,
}

/// A worker at work.
#[derive(Debug)]
pub(crate) struct TxnWorkload {
    pub(crate) slot: usize,
    plan: TxnWorkerPlan,
    /// The client that reads for a processor.
    consumer: Option<usize>,
    state: State,
    pending: Option<PendingCall>,
    tag: Tag,
    /// Records of the open transaction.
    handed: u32,
    /// Turns in which there was nothing to write.
    waited: u32,
    made: u64,
    /// By input partition: where it stands with the open transaction, and without it.
    progress: BTreeMap<i32, Progress>,
    committed_progress: BTreeMap<i32, Progress>,
    next_action_us: u64,
    stalled_until_us: u64,
    /// Somebody else has taken its place.
    is_replaced: bool,
    /// It has shown in peace that it works.
    has_committed_in_probe: bool,
}

impl TxnWorkload {
    pub(crate) fn new(client: u32, (slot, plan): (usize, TxnWorkerPlan), consumer: Option<usize>, now_us: u64) -> Self {
        TxnWorkload {
            slot,
            next_action_us: now_us + plan.action_every_us,
            plan,
            consumer,
            state: State::New,
            pending: None,
            tag: Tag { client, number: 0 },
            handed: 0,
            waited: 0,
            made: 0,
            progress: BTreeMap::new(),
            committed_progress: BTreeMap::new(),
            stalled_until_us: 0,
            is_replaced: false,
            has_committed_in_probe: false,
        }
    }

    /// Does something; gives the time to the next turn.
    pub(in crate::workload) fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if self.state == State::Gone {
            // What it is still told of is let go of.
            if !world.clients[client].crashed {
                self.poll_main_queue(world, client);
            }
            return (!world.is_finished(client)).then_some(LAST_WORDS_US);
        }
        let pause = world.app_rng.between(1, self.plan.pace_us * 2);
        let faults_enabled = world.phase == Phase::Hostile;
        if faults_enabled && self.stalled_until_us > world.now_us {
            return Some(self.stalled_until_us - world.now_us);
        }
        self.poll_main_queue(world, client);
        if self.is_replaced && !faults_enabled {
            self.end(world, client, "was replaced, and ends");
            return None;
        }
        if faults_enabled && self.next_action_us <= world.now_us {
            let mean = self.plan.action_every_us;
            self.next_action_us = world.now_us + world.app_rng.between(mean / 10, mean * 2);
            self.random_action(world, client);
        }
        if self.state == State::Gone || world.phase >= Phase::Quiet {
            return (self.state != State::Gone).then_some(pause);
        }
        if self.take_answer(world, client) {
            self.act(world, client);
        }
        (self.state != State::Gone).then_some(pause)
    }

    fn act(&mut self, world: &mut World, client: usize) {
        match self.state {
            State::New => self.call(world, client, TransactionCall::Init),
            State::Lost => self.ask_committed(world),
            State::DecodedMessage => self.assign(world),
            State::Ready => {
                if self.wants_transaction(world) {
                    self.call(world, client, TransactionCall::Begin);
                }
            }
            State::Open => self.write(world, client),
            State::Gone => {}
        }
    }

    fn is_source(&self) -> bool {
        self.plan.stage == 0
    }

    /// Whether there is something to write, or a transaction to begin for nothing.
    fn wants_transaction(&self, world: &mut World) -> bool {
        let faults_enabled = world.phase == Phase::Hostile;
        if faults_enabled && world.app_rng.hit(self.plan.empty) {
            return true;
        }
        match self.consumer {
            Some(consumer) => !world.shared(consumer).consumer_queue.is_empty(),
            None if faults_enabled => self.made < self.plan.items,
            None => world.phase == Phase::Probing && !self.has_committed_in_probe,
        }
    }

    // ---------------------------------------------------------------- records

    fn write(&mut self, world: &mut World, client: usize) {
        let most = world.app_rng.between(1, self.plan.per_transaction * 2);
        let mut wrote = false;
        while u64::from(self.handed) < most {
            let next = match self.consumer {
                Some(consumer) => match self.process(world, consumer) {
                    Some(item) => item,
                    None => break,
                },
                None if self.made >= self.plan.items && world.phase == Phase::Hostile => break,
                None => Item {
                    origin: world.workers.next_origin(),
                    tag: self.tag,
                    source: -1,
                    count: 0,
                },
            };
            wrote = true;
            if !self.produce(world, client, next) {
                // What was read would be missing.
                return self.call(world, client, TransactionCall::Abort);
            }
            if world.app_rng.hit(0.3) {
                break;
            }
        }
        self.waited = if wrote { 0 } else { self.waited + 1 };
        let full = u64::from(self.handed) >= most;
        let tired = self.waited > 3 || world.app_rng.hit(0.2);
        if full || tired || world.phase != Phase::Hostile {
            self.finish(world, client);
        }
    }

    /// Reads an input and makes an output of it.
    fn process(&mut self, world: &mut World, consumer: usize) -> Option<Item> {
        let ((read, partition), offset, item) = take_next(world, consumer)?;
        let position = self.progress.entry(partition).or_default();
        let Some(item) = item.filter(|_| offset >= position.offset) else {
            world.check.violate(format!(
                "client {consumer} takes {read} [{partition}] @ {offset}, and stands at {position:?}"
            ));
            return None;
        };
        *position = Progress {
            offset: offset + 1,
            count: position.count + 1,
        };
        Some(Item {
            origin: item.origin,
            tag: self.tag,
            source: partition,
            count: position.count,
        })
    }

    /// False when the client did not take it.
    fn produce(&mut self, world: &mut World, client: usize, item: Item) -> bool {
        let Some(count) = world.plan.transactions.as_ref().map(|p| p.partitions[self.plan.stage]) else {
            return false;
        };
        let partition = (item.origin % u64::from(count.unsigned_abs())) as i32;
        let value = item.to_bytes();
        let record = Record {
            key: None,
            value: Payload::Copy(&value),
            headers: HeadersIn::List(&[]),
            timestamp_ms: 0,
            opaque: 0,
        };
        let target = world.clients[client].topics[0].clone();
        let shared = world.shared(client);
        let taken = match &shared.producer {
            Some(accumulator) => accumulator.produce(&target, partition, record).is_ok(),
            None => false,
        };
        trace!(
            world.trace,
            "c{client} app produces {item:?} to [{partition}], taken {taken}"
        );
        if taken {
            self.handed += 1;
            self.made += 1;
            world.check.transactions.on_handed(self.tag);
            world.counters(client).accepted += 1;
        }
        taken
    }

    /// Ends the open transaction, one way or the other.
    fn finish(&mut self, world: &mut World, client: usize) {
        let faults_enabled = world.phase == Phase::Hostile;
        world.coverage.count("empty transactions", u64::from(self.handed == 0));
        if self.consumer.is_some() && self.handed > 0 && world.is_canary(Canary::OffsetsOutside) {
            self.commit_outside(world);
            return self.call(world, client, TransactionCall::Abort);
        }
        if self.handed > 0 && world.is_canary(Canary::LateEnd) {
            world.send_stale_end_txn(&self.plan.name);
        }
        if faults_enabled && world.app_rng.hit(self.plan.abort) {
            return self.call(world, client, TransactionCall::Abort);
        }
        match self.consumer.is_some() && self.handed > 0 {
            true => self.send_offsets(world, client),
            false => self.commit(world, client),
        }
    }

    // ---------------------------------------------------------------- life

    /// Listens to what happens besides.
    fn poll_main_queue(&mut self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        while let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) {
            match event {
                Event::Delivery(delivery) => {
                    let count = delivery.records().count() as u64;
                    let failed = delivery.error.is_some();
                    let kind = match failed {
                        true => "records of transactions failed",
                        false => "records of transactions delivered",
                    };
                    world.coverage.count(kind, count);
                    world.counters(client).delivered += if failed { 0 } else { count };
                }
                Event::Stats(document) => world.on_statistics(client, *document),
                other => trace!(world.trace, "c{client} app hears {other:?}"),
            }
        }
    }

    fn random_action(&mut self, world: &mut World, client: usize) {
        match world.app_rng.below(6) {
            0 | 1 => {
                let silently = world.app_rng.hit(0.3);
                world.coverage.count("workers crashed", 1);
                for number in self.consumer.into_iter().chain([client]) {
                    world.crash_client(number, silently);
                }
                self.gone(world);
            }
            2 | 3 if !self.is_replaced => {
                trace!(world.trace, "c{client} app has a successor, and does not know it");
                world.coverage.count("workers replaced", 1);
                self.is_replaced = true;
                world.worker_gone(self.slot, true);
            }
            4 => {
                let stall = world.app_rng.between(10_000, self.plan.transaction_ms * 2000);
                trace!(world.trace, "c{client} app stalls for {stall} us");
                world.coverage.count("workers stalled", 1);
                self.stalled_until_us = world.now_us + stall;
            }
            _ => {}
        }
    }

    /// Ends the clients in order.
    fn end(&mut self, world: &mut World, client: usize, why: &str) {
        trace!(world.trace, "c{client} app {why}");
        for number in self.consumer.into_iter().chain([client]) {
            world.shared(number).send(Command::Terminate);
        }
        self.gone(world);
    }

    /// The clients are over: others follow.
    fn gone(&mut self, world: &mut World) {
        self.state = State::Gone;
        self.pending = None;
        if !self.is_replaced {
            world.worker_gone(self.slot, false);
        }
    }

    /// Why this is not done; `None` when it is.
    pub(in crate::workload) fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if self.state == State::Gone || world.phase > Phase::Probing {
            return None;
        }
        if let Some(pending) = &self.pending {
            return Some(format!("client {client} waits for {pending:?}"));
        }
        if self.state != State::Ready || self.is_replaced {
            return Some(format!("client {client} is {:?}", self.state));
        }
        let uncommitted_probe = world.phase == Phase::Probing && self.is_source() && !self.has_committed_in_probe;
        uncommitted_probe.then(|| format!("client {client} has not committed in peace"))
    }
}
