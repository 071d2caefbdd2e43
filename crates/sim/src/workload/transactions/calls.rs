//! The calls of a worker, and what it does about their answers.

use std::sync::Arc;
use std::time::Duration;

use ottla::client::Command;
use ottla::consumer;
use ottla::error::{Error, ErrorCode};
use ottla::producer::{TransactionCall, TransactionReply};
use ottla::reply::Reply;
use ottla::sys::Instant;
use ottla::types::{GroupMetadata, PartitionOffset, TopicPartition, offset};

use super::plan::{group, topic};
use super::{Progress, State, TxnWorkload};
use crate::trace::trace;
use crate::world::{Phase, World};

/// Every call is answered this soon after its timeout.
const ANSWER_US: u64 = 1_000_000;
/// Calls that wait for nobody are answered this soon.
const SHORT_US: u64 = 1_000_000;

/// Something asked that is not answered yet, and by when it has to be.
#[derive(Debug)]
pub(super) enum PendingCall {
    Transaction(TransactionCall, TransactionReply, u64),
    Committed(Arc<Reply<consumer::OffsetsResult>>, u64),
    Assign(Arc<Reply<Result<(), Error>>>, u64),
    Seek(Arc<Reply<consumer::OffsetsResult>>, u64),
}

fn metadata(position: Progress) -> Vec<u8> {
    position.count.to_string().into_bytes()
}

impl TxnWorkload {
    pub(super) fn call(&mut self, world: &mut World, client: usize, call: TransactionCall) {
        trace!(world.trace, "c{client} app calls {call:?} for {:?}", self.tag);
        let timeout_us = match (&call, world.phase) {
            // A begin waits for nobody; what takes part in nothing that was lost needs no short timeouts either.
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
        let by_us = world.now_us + timeout_us + ANSWER_US + world.plan.net.thread_delay_us;
        self.pending = Some(PendingCall::Transaction(call, reply, by_us));
    }

    pub(super) fn commit(&mut self, world: &mut World, client: usize) {
        self.call(world, client, TransactionCall::Commit);
    }

    pub(super) fn send_offsets(&mut self, world: &mut World, client: usize) {
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

    /// Where it stands with the open transaction, as offsets to commit.
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
        trace!(world.trace, "c{consumer} app asks {command:?}");
        world.shared(consumer).send(Command::Consumer(command));
        self.pending = Some(pending);
    }

    pub(super) fn ask_committed(&mut self, world: &mut World) {
        let timeout_us = 10_000_000;
        let partitions = self.plan.inputs.iter().map(|p| self.input(*p)).collect();
        let reply = Reply::new();
        let by_us = world.now_us + timeout_us + ANSWER_US + world.plan.net.thread_delay_us;
        let command = consumer::Command::Committed {
            partitions,
            deadline: Instant::from_micros(world.now_us + timeout_us),
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

    pub(super) fn assign(&mut self, world: &mut World) {
        let partitions = self.stand_rows();
        let reply = Reply::new();
        let by_us = world.now_us + SHORT_US + world.plan.net.thread_delay_us;
        let pending = PendingCall::Assign(reply.clone(), by_us);
        self.ask(world, consumer::Command::Assign { partitions, reply }, pending);
    }

    /// Goes back to where it stood before a transaction that came to nothing.
    fn go_back(&mut self, world: &mut World) {
        self.progress.clone_from(&self.committed_progress);
        let partitions = self.stand_rows();
        let reply = Reply::new();
        let by_us = world.now_us + SHORT_US + world.plan.net.thread_delay_us;
        let pending = PendingCall::Seek(reply.clone(), by_us);
        self.ask(world, consumer::Command::Seek { partitions, reply }, pending);
    }

    /// Does what a canary is for: commits offsets on their own.
    pub(super) fn commit_outside(&mut self, world: &mut World) {
        let offsets = self.rows();
        let Some(consumer) = self.consumer else { return };
        let command = consumer::Command::Commit {
            offsets: Some(offsets),
            target: consumer::CommitTarget::Reply(Reply::new()),
        };
        world.shared(consumer).send(Command::Consumer(command));
    }

    // ---------------------------------------------------------------- answers

    /// Whether nothing is waited for.
    pub(super) fn take_answer(&mut self, world: &mut World, client: usize) -> bool {
        let (reported, by_us) = match &self.pending {
            None => return true,
            Some(PendingCall::Transaction(_, reply, by_us)) => {
                (reply.try_take().map(|r| r.map(|()| Vec::new())), *by_us)
            }
            Some(PendingCall::Assign(reply, by_us)) => (reply.try_take().map(|r| r.map(|()| Vec::new())), *by_us),
            Some(PendingCall::Committed(reply, by_us) | PendingCall::Seek(reply, by_us)) => (reply.try_take(), *by_us),
        };
        let Some(reported) = reported else {
            if world.now_us > by_us {
                let pending = &self.pending;
                world
                    .check
                    .violate(format!("client {client}: no answer to {pending:?}"));
            }
            return false;
        };
        trace!(world.trace, "c{client} app is told {reported:?}");
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
        // What brokers have to say against it passes.
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
        self.state = State::DecodedMessage;
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
                // Nothing that a worker does is impossible.
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
                    // Where ids are forgotten, others may have had this one's meanwhile, and been forgotten as well: only what
                    // is committed tells where it stands.
                    Some(_) if world.plan.forgets_ids() => self.state = State::Lost,
                    Some(_) => self.go_back(world),
                    None => self.state = State::Ready,
                }
            }
        }
    }
}

/// The rows, unless one has an error of its own.
fn first_error(rows: Vec<PartitionOffset>) -> consumer::OffsetsResult {
    let bad = rows.iter().find(|r| r.error != ErrorCode::NO_ERROR);
    bad.map_or(Ok(()), |r| Err(Error::from(r.error))).map(|()| rows)
}
