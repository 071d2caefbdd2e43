//! Applications that write transactions: sources of inputs, and processors that read a topic, count the inputs, and
//! write the next topic, with the offsets of the inputs in the same transaction.
//!
//! A processor keeps its state, the number of processed inputs of a partition, in the metadata of the committed offset:
//! both are restored together. Applications handle the errors of calls as documented, crash at any step, stall, and
//! leave replaced processes behind that still run. In some worlds processors run the production loop instead
//! (`processor_loop`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::consumer;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::Event;
use ottla_core::producer::{Record, TransactionCall, TransactionReply};
use ottla_core::records::{HeadersIn, Payload};
use ottla_core::reply::Reply;
use ottla_core::sys::Instant;
use ottla_core::types::{GroupMetadata, PartitionOffset, TopicPartition, offset};

use crate::canary::Canary;
use crate::chain::{Item, Tag, group, topic};
use crate::plan::TxnWorkerPlan;
use crate::trace::trace;
use crate::transport::crash_client;
use crate::txn_check::worker_gone;
use crate::wire_mutation::send_stale_end_txn;
use crate::workload::queues::on_statistics;
use crate::workload::reader::take_next;
use crate::world::{Application, Phase, World};

/// The polling interval of a worker that has ended, until its client has.
pub(super) const LAST_WORDS_US: u64 = 50_000;

/// The state of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has no producer id yet.
    New,
    /// The offset of its predecessor is unknown.
    Lost,
    /// The offset is known, and nothing is assigned yet.
    AtCommitted,
    /// No transaction is open.
    Ready,
    Open,
    /// Ended.
    Gone,
}

/// The position of a processor in a partition: the next offset, and the number of processed inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Progress {
    offset: i64,
    count: u64,
}

/// A worker.
#[derive(Debug)]
pub(crate) struct TxnWorkload {
    slot: usize,
    plan: TxnWorkerPlan,
    /// The client that reads for a processor.
    consumer: Option<usize>,
    state: State,
    pending: Option<PendingCall>,
    tag: Tag,
    /// The number of records in the open transaction.
    handed: u32,
    /// The number of turns without a record to write.
    waited: u32,
    made: u64,
    /// The positions by input partition: including the open transaction, and without it.
    progress: BTreeMap<i32, Progress>,
    committed_progress: BTreeMap<i32, Progress>,
    next_action_us: u64,
    stalled_until_us: u64,
    /// Another process replaces it.
    is_replaced: bool,
    /// It has committed a transaction after the faults.
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

    fn act(&mut self, world: &mut World, client: usize) {
        match self.state {
            State::New => self.call(world, client, TransactionCall::Init),
            State::Lost => self.ask_committed(world),
            State::AtCommitted => self.assign(world),
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

    /// Returns true when there is something to write, or an empty transaction to begin.
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
                    origin: world.txn_workers.next_origin(),
                    tag: self.tag,
                    source: -1,
                    count: 0,
                },
            };
            wrote = true;
            if !self.produce(world, client, next) {
                // The input would have no output.
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

    /// Reads an input. Returns its output.
    fn process(&mut self, world: &mut World, consumer: usize) -> Option<Item> {
        let ((read, partition), offset, item) = take_next(world, consumer)?;
        let position = self.progress.entry(partition).or_default();
        let Some(item) = item.filter(|_| offset >= position.offset) else {
            world.check.violate(format!(
                "client {consumer} takes {read} [{partition}] @ {offset}, its position is {position:?}"
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

    /// Produces a record. Returns false when the client rejects it.
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

    /// Ends the open transaction with a commit or an abort.
    fn finish(&mut self, world: &mut World, client: usize) {
        let faults_enabled = world.phase == Phase::Hostile;
        world.coverage.count("empty transactions", u64::from(self.handed == 0));
        if self.consumer.is_some() && self.handed > 0 && world.canary.strike(Canary::OffsetsOutside) {
            self.commit_outside(world);
            return self.call(world, client, TransactionCall::Abort);
        }
        if self.handed > 0 && world.canary.strike(Canary::LateEnd) {
            send_stale_end_txn(world, &self.plan.name);
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

    /// Polls reports, statistics and errors.
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
                Event::Stats(document) => on_statistics(world, client, *document),
                other => trace!(world.trace, "c{client} app receives {other:?}"),
            }
        }
    }

    fn random_action(&mut self, world: &mut World, client: usize) {
        match world.app_rng.below(6) {
            0 | 1 => {
                let silently = world.app_rng.hit(0.3);
                world.coverage.count("workers crashed", 1);
                for number in self.consumer.into_iter().chain([client]) {
                    crash_client(world, number, silently);
                }
                self.gone(world);
            }
            2 | 3 if !self.is_replaced => {
                trace!(world.trace, "c{client} app is replaced and keeps running");
                world.coverage.count("workers replaced", 1);
                self.is_replaced = true;
                worker_gone(world, self.slot, true);
            }
            4 => {
                let stall = world.app_rng.between(10_000, self.plan.transaction_ms * 2000);
                trace!(world.trace, "c{client} app stalls for {stall} us");
                world.coverage.count("workers stalled", 1);
                self.stalled_until_us = world.now_us() + stall;
            }
            _ => {}
        }
    }

    /// Ends the clients in an orderly way.
    fn end(&mut self, world: &mut World, client: usize, why: &str) {
        trace!(world.trace, "c{client} app {why}");
        for number in self.consumer.into_iter().chain([client]) {
            world.shared(number).send(Command::Terminate);
        }
        self.gone(world);
    }

    /// Records the end of the clients: others follow.
    fn gone(&mut self, world: &mut World) {
        self.state = State::Gone;
        self.pending = None;
        if !self.is_replaced {
            worker_gone(world, self.slot, false);
        }
    }
}

impl Application for TxnWorkload {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if self.state == State::Gone {
            // Drops the events of clients that have ended.
            if !world.clients[client].crashed {
                self.poll_main_queue(world, client);
            }
            return (!world.is_finished(client)).then_some(LAST_WORDS_US);
        }
        let pause = world.app_rng.between(1, self.plan.pace_us * 2);
        let faults_enabled = world.phase == Phase::Hostile;
        if faults_enabled && self.stalled_until_us > world.now_us() {
            return Some(self.stalled_until_us - world.now_us());
        }
        self.poll_main_queue(world, client);
        if self.is_replaced && !faults_enabled {
            self.end(world, client, "was replaced, and ends");
            return None;
        }
        if faults_enabled && self.next_action_us <= world.now_us() {
            let mean = self.plan.action_every_us;
            self.next_action_us = world.now_us() + world.app_rng.between(mean / 10, mean * 2);
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

    fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
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
        uncommitted_probe.then(|| format!("client {client} has not committed a transaction in the probing phase"))
    }
}

/// Every call is completed this soon after its timeout.
const ANSWER_US: u64 = 1_000_000;
/// Calls that wait for no broker are completed this soon.
const SHORT_US: u64 = 1_000_000;

/// A call that is not completed, and its deadline.
#[derive(Debug)]
enum PendingCall {
    Transaction(TransactionCall, TransactionReply, u64),
    Committed(Arc<Reply<consumer::OffsetsResult>>, u64),
    Assign(Arc<Reply<Result<(), Error>>>, u64),
    Seek(Arc<Reply<consumer::OffsetsResult>>, u64),
}

fn metadata(position: Progress) -> Vec<u8> {
    position.count.to_string().into_bytes()
}

impl TxnWorkload {
    fn call(&mut self, world: &mut World, client: usize, call: TransactionCall) {
        trace!(world.trace, "c{client} app calls {call:?} for {:?}", self.tag);
        let timeout_us = match (&call, world.phase) {
            // A begin waits for no broker. After the faults, short timeouts are not needed.
            (TransactionCall::Begin, _) => SHORT_US,
            (_, Phase::Hostile) => world.app_rng.between(self.plan.call_us / 10, self.plan.call_us * 2),
            _ => 60_000_000,
        };
        match call {
            TransactionCall::Commit => world.check.transactions.on_commit_asked(self.tag),
            TransactionCall::Begin => {
                self.tag.number += 1;
                self.handed = 0;
                self.waited = 0;
            }
            _ => {}
        }
        let reply = world
            .shared(client)
            .transact(call.clone(), Some(Duration::from_micros(timeout_us)));
        let by_us = world.now_us() + timeout_us + ANSWER_US + world.plan.net.thread_delay_us;
        self.pending = Some(PendingCall::Transaction(call, reply, by_us));
    }

    fn commit(&mut self, world: &mut World, client: usize) {
        self.call(world, client, TransactionCall::Commit);
    }

    fn send_offsets(&mut self, world: &mut World, client: usize) {
        let offsets = self.rows();
        let group = GroupMetadata {
            group_id: group(self.plan.stage),
            generation: -1,
            member_id: String::new(),
            group_instance_id: None,
        };
        world
            .coverage
            .count("offsets sent to transactions", offsets.len() as u64);
        self.call(world, client, TransactionCall::SendOffsets { offsets, group });
    }

    /// Returns the offsets to commit with the open transaction.
    fn rows(&self) -> Vec<PartitionOffset> {
        let moved = self
            .progress
            .iter()
            .filter(|(p, position)| self.committed_progress.get(p) != Some(position));
        let rows = moved.map(|(partition, position)| {
            let mut row = PartitionOffset::new(self.input(*partition), position.offset);
            row.metadata = Some(metadata(*position));
            row
        });
        rows.collect()
    }

    fn input(&self, partition: i32) -> TopicPartition {
        TopicPartition::new(topic(self.plan.stage - 1).as_str(), partition)
    }

    fn ask(&mut self, world: &mut World, command: consumer::Command, pending: PendingCall) {
        let Some(consumer) = self.consumer else { return };
        trace!(world.trace, "c{consumer} app calls {command:?}");
        world.shared(consumer).send(Command::Consumer(command));
        self.pending = Some(pending);
    }

    fn ask_committed(&mut self, world: &mut World) {
        let timeout_us = 10_000_000;
        let partitions = self.plan.inputs.iter().map(|p| self.input(*p)).collect();
        let reply = Reply::new();
        let by_us = world.now_us() + timeout_us + ANSWER_US + world.plan.net.thread_delay_us;
        let command = consumer::Command::Committed {
            partitions,
            deadline: Instant::from_micros(world.now_us() + timeout_us),
            reply: reply.clone(),
        };
        self.ask(world, command, PendingCall::Committed(reply, by_us));
    }

    fn stand_rows(&self) -> Vec<PartitionOffset> {
        let rows = self.plan.inputs.iter().map(|partition| {
            let position = self.committed_progress.get(partition).copied().unwrap_or_default();
            let at = if position.offset == 0 {
                offset::BEGINNING
            } else {
                position.offset
            };
            PartitionOffset::new(self.input(*partition), at)
        });
        rows.collect()
    }

    fn assign(&mut self, world: &mut World) {
        let partitions = self.stand_rows();
        let reply = Reply::new();
        let by_us = world.now_us() + SHORT_US + world.plan.net.thread_delay_us;
        let pending = PendingCall::Assign(reply.clone(), by_us);
        self.ask(world, consumer::Command::Assign { partitions, reply }, pending);
    }

    /// Seeks to the positions before an aborted transaction.
    fn go_back(&mut self, world: &mut World) {
        self.progress.clone_from(&self.committed_progress);
        let partitions = self.stand_rows();
        let reply = Reply::new();
        let by_us = world.now_us() + SHORT_US + world.plan.net.thread_delay_us;
        let pending = PendingCall::Seek(reply.clone(), by_us);
        self.ask(world, consumer::Command::Seek { partitions, reply }, pending);
    }

    /// Commits offsets outside of the transaction, for a canary.
    fn commit_outside(&mut self, world: &mut World) {
        let offsets = self.rows();
        let Some(consumer) = self.consumer else { return };
        let command = consumer::Command::Commit {
            offsets: Some(offsets),
            target: consumer::CommitTarget::Reply(Reply::new()),
        };
        world.shared(consumer).send(Command::Consumer(command));
    }

    // ---------------------------------------------------------------- answers

    /// Takes the result of the pending call. Returns true when no call is pending.
    fn take_answer(&mut self, world: &mut World, client: usize) -> bool {
        let (reported, by_us) = match &self.pending {
            None => return true,
            Some(PendingCall::Transaction(_, reply, by_us)) => {
                (reply.try_take().map(|r| r.map(|()| Vec::new())), *by_us)
            }
            Some(PendingCall::Assign(reply, by_us)) => (reply.try_take().map(|r| r.map(|()| Vec::new())), *by_us),
            Some(PendingCall::Committed(reply, by_us) | PendingCall::Seek(reply, by_us)) => (reply.try_take(), *by_us),
        };
        let Some(reported) = reported else {
            if world.now_us() > by_us {
                let pending = &self.pending;
                world
                    .check
                    .violate(format!("client {client}: no answer to {pending:?}"));
            }
            return false;
        };
        trace!(world.trace, "c{client} app receives {reported:?}");
        match self.pending.take() {
            Some(PendingCall::Transaction(call, ..)) => self.on_call(world, client, call, reported.map(|_| ())),
            Some(PendingCall::Committed(..)) => self.on_committed(world, client, reported),
            Some(PendingCall::Assign(..)) => match reported {
                Ok(_) => self.state = State::Ready,
                Err(error) => self.fail(world, client, "an assignment", &error),
            },
            Some(PendingCall::Seek(..)) => match reported.and_then(first_error) {
                Ok(_) => self.state = State::Ready,
                Err(error) => self.fail(world, client, "a seek", &error),
            },
            None => {}
        }
        false
    }

    fn fail(&self, world: &mut World, client: usize, what: &str, error: &Error) {
        world.check.violate(format!("client {client}: {what} failed: {error}"));
    }

    fn on_committed(&mut self, world: &mut World, client: usize, reported: consumer::OffsetsResult) {
        // Errors of brokers are retried.
        let Ok(rows) = reported.and_then(first_error) else {
            return;
        };
        let is_assigned = !self.committed_progress.is_empty();
        for row in rows {
            let count = row
                .metadata
                .as_deref()
                .and_then(|m| std::str::from_utf8(m).ok()?.parse().ok());
            let position = match (row.offset, count) {
                (offset::INVALID, _) => Progress::default(),
                (offset, Some(count)) => Progress { offset, count },
                (offset, None) => {
                    let text = format!("client {client}: the offset {offset} of {:?} has no state", row.tp);
                    return world.check.violate(text);
                }
            };
            self.committed_progress.insert(row.tp.partition, position);
        }
        self.progress.clone_from(&self.committed_progress);
        self.state = State::AtCommitted;
        if is_assigned {
            self.go_back(world);
        }
    }

    fn on_call(&mut self, world: &mut World, client: usize, call: TransactionCall, reported: Result<(), Error>) {
        let error = match reported {
            Ok(()) => return self.on_success(world, client, &call),
            Err(error) => error,
        };
        if error.fatal {
            let kind = match error.code {
                ErrorCode::L_FENCED => "workers fenced",
                ErrorCode::L_UNSUPPORTED_FEATURE => "workers that cannot go on with old brokers",
                // No action of a worker has an invalid state.
                ErrorCode::INVALID_TXN_STATE => return self.fail(world, client, &format!("{call:?}"), &error),
                code if code.is_from_broker() => "workers ended by an error that was made up",
                _ => return self.fail(world, client, &format!("{call:?}"), &error),
            };
            if error.code == ErrorCode::L_FENCED {
                let result = world.check.fencing.on_fenced(client);
                world.check.expect(result);
            }
            world.coverage.count(kind, 1);
            return self.end(world, client, "cannot go on");
        }
        if error.txn_requires_abort {
            world.coverage.count("transactions that had to be aborted", 1);
            return match call {
                TransactionCall::Abort => self.fail(world, client, "an abort", &error),
                _ => self.call(world, client, TransactionCall::Abort),
            };
        }
        if error.retriable {
            world.coverage.count("calls of transactions made again", 1);
            return self.call(world, client, call);
        }
        self.fail(world, client, &format!("{call:?}"), &error);
    }

    fn on_success(&mut self, world: &mut World, client: usize, call: &TransactionCall) {
        match call {
            TransactionCall::Init => {
                self.state = match self.consumer {
                    Some(_) => State::Lost,
                    None => State::Ready,
                };
            }
            TransactionCall::Begin => self.state = State::Open,
            TransactionCall::SendOffsets { .. } => self.commit(world, client),
            TransactionCall::Commit => {
                world.coverage.count("transactions committed", 1);
                world.check.transactions.on_committed(self.tag);
                self.committed_progress.clone_from(&self.progress);
                self.has_committed_in_probe |= world.phase == Phase::Probing && self.handed > 0;
                self.state = State::Ready;
            }
            TransactionCall::Abort => {
                world.coverage.count("transactions aborted", 1);
                let result = world.check.transactions.on_aborted(self.tag);
                world.check.expect(result);
                match self.consumer {
                    // Where ids are forgotten, other processes may have had this one's id meanwhile and have been
                    // forgotten, too: only the committed offsets show the position.
                    Some(_) if world.plan.forgets_ids() => self.state = State::Lost,
                    Some(_) => self.go_back(world),
                    None => self.state = State::Ready,
                }
            }
        }
    }
}

/// Returns the rows, unless one has an error.
fn first_error(rows: Vec<PartitionOffset>) -> consumer::OffsetsResult {
    let bad = rows.iter().find(|r| r.error != ErrorCode::NO_ERROR);
    bad.map_or(Ok(()), |r| Err(Error::from(r.error))).map(|()| rows)
}
