//! The processor loop as a state machine without threads: each call of [`Worker::turn`] takes one small step.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::calls::{Calls, PendingReply};
use crate::output::Output;
use crate::process::{Input, Process, ProcessError};
use crate::settings::{Guarantee, LoopSettings};
use crate::uncommitted::Uncommitted;
use ottla_core::client::Shared;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Chunk, Event, PartitionNotice, Rebalance};
use ottla_core::producer::TransactionCall;
use ottla_core::sys::Instant;
use ottla_core::types::{PartitionOffset, TopicPartition};

/// Timeout of one attempt of a call to the cluster. After a retriable failure the call is made again.
const CALL_TIMEOUT_MS: u64 = 30_000;
/// Backoff before a failed call is retried.
const RETRY_BACKOFF_MS: u64 = 100;
/// Maximum time that one turn waits for a reply or for an event of the producer.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Maximum duration of a turn that processes records.
const TURN_MS: u64 = 20;
/// Maximum time between [`Worker::stop`] and the last commit.
const STOP_MS: u64 = 30_000;

/// The result of a turn.
#[derive(Debug)]
pub enum Turn {
    /// There is more work: call [`Worker::turn`] again at once.
    Busy,
    /// There is no work at present.
    Idle,
    /// The producer cannot continue: call [`Worker::replace_producer`] with a new one with the same settings.
    NeedsProducer,
    /// The loop has ended: it was stopped, or it failed.
    Ended(Result<(), ProcessError>),
}

/// An operation that waits for a reply of a client.
#[derive(Debug, Clone)]
enum Operation {
    Init,
    Begin,
    Subscribe,
    SendOffsets,
    CommitTransaction,
    CommitOffsets,
    Abort,
    Purge,
    Committed,
    Seek,
    Assign(Vec<TopicPartition>),
    Revoke(Vec<TopicPartition>),
    Close,
}

/// The remaining steps of a rollback to the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rollback {
    None,
    /// Discard the output since the last commit, then continue with `Input`.
    Output,
    /// Reset the positions in the input to the committed offsets.
    Input,
}

/// The loop. Its owner also owns the clients, and calls [`turn`](Self::turn) repeatedly until it returns [`Turn::Ended`].
///
/// At most one operation is pending at a time. When none is, `decide` checks the state in a fixed order and starts the first
/// operation that is due. The reply changes the state, and the next turn decides by the new state. So there is no separate
/// code path for recovery: a failure only sets the state from which the loop continues.
#[derive(Debug)]
pub struct Worker<P> {
    process: P,
    settings: LoopSettings,
    calls: Calls,
    output: Output,
    pending: Option<(Operation, PendingReply)>,
    /// The end of a backoff: no operation starts before.
    not_before: Instant,
    /// The producer cannot continue and must be replaced.
    needs_producer: bool,
    /// Number of InitProducerId requests of earlier producers whose outcome is unknown.
    unanswered_inits: usize,
    is_initialised: bool,
    is_subscribed: bool,
    in_transaction: bool,
    /// The offsets are part of the transaction, which is ready to be committed.
    offsets_sent: bool,
    rollback: Rollback,
    /// Fetched records that are not processed yet.
    chunks: VecDeque<Chunk>,
    uncommitted: Uncommitted,
    assigned: BTreeSet<TopicPartition>,
    /// Partitions to revoke after the commit of their processed records.
    revocation: Option<Rebalance>,
    /// The deadline of the last commit; set once the loop is stopping.
    stop_by: Option<Instant>,
    /// The first error that ends the loop.
    failure: Option<ProcessError>,
    has_ended: bool,
}

impl<P: Process> Worker<P> {
    /// Creates a loop that uses these two clients, which must be configured as by
    /// [`ProcessorConf`](crate::ProcessorConf). The consumer must report rebalances as events (`rebalance_event`), and
    /// the producer must report failed deliveries.
    pub fn new(settings: LoopSettings, consumer: Arc<Shared>, producer: Arc<Shared>, process: P) -> Self {
        Worker {
            process,
            settings,
            output: Output::new(producer.clone()),
            calls: Calls::new(consumer, producer),
            pending: None,
            not_before: Instant::ORIGIN,
            needs_producer: false,
            unanswered_inits: 0,
            is_initialised: false,
            is_subscribed: false,
            in_transaction: false,
            offsets_sent: false,
            rollback: Rollback::None,
            chunks: VecDeque::new(),
            uncommitted: Uncommitted::default(),
            assigned: BTreeSet::new(),
            revocation: None,
            stop_by: None,
            failure: None,
            has_ended: false,
        }
    }

    /// Returns the application's process.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// Starts to stop the loop: the following turns commit the processed records, leave the group and return
    /// [`Turn::Ended`].
    pub fn stop(&mut self) {
        let by = self.calls.now().plus_ms(STOP_MS);
        self.stop_by.get_or_insert(by);
    }

    /// Continues with another producer, after [`Turn::NeedsProducer`].
    pub fn replace_producer(&mut self, producer: Arc<Shared>) {
        self.output.replace(producer.clone());
        self.calls.replace_producer(producer);
        self.needs_producer = false;
    }

    /// Takes the next step. Waits for at most `wait_max` if no work is pending.
    pub fn turn(&mut self, wait_max: Duration) -> Turn {
        if self.has_ended {
            return Turn::Ended(self.failure.take().map_or(Ok(()), Err));
        }
        self.poll_producer();
        self.poll_consumer();
        if let Some((operation, reply)) = self.pending.take() {
            let Some(result) = reply.poll(wait_max.min(POLL_INTERVAL)) else {
                if matches!(operation, Operation::Close) {
                    self.poll_while_closing();
                }
                self.pending = Some((operation, reply));
                return Turn::Idle;
            };
            self.on_reply(operation, result);
            return Turn::Busy;
        }
        self.decide(wait_max)
    }

    fn is_exactly_once(&self) -> bool {
        self.settings.guarantee == Guarantee::ExactlyOnce
    }

    fn start(&mut self, operation: Operation, reply: PendingReply) -> Turn {
        self.pending = Some((operation, reply));
        Turn::Busy
    }

    fn transact(&mut self, operation: Operation, call: TransactionCall) -> Turn {
        let deadline = self.calls.now().plus_ms(CALL_TIMEOUT_MS);
        let reply = self.calls.transact(call, deadline);
        self.start(operation, reply)
    }

    /// Starts the first operation that is due.
    fn decide(&mut self, wait_max: Duration) -> Turn {
        let now = self.calls.now();
        if let Some(fatal) = self.calls.consumer.fatal_error() {
            self.fail(fatal.into());
            return self.end();
        }
        let cannot_commit = self.needs_producer || (self.is_exactly_once() && !self.is_initialised);
        let discardable = self.uncommitted.is_empty() || self.failure.is_some();
        if self
            .stop_by
            .is_some_and(|by| by <= now || (cannot_commit && discardable))
        {
            return self.close();
        }
        if self.not_before > now {
            return self.wait_for_producer(wait_max);
        }
        if self.needs_producer {
            return Turn::NeedsProducer;
        }
        if self.is_exactly_once() && !self.is_initialised {
            return self.transact(Operation::Init, TransactionCall::Init);
        }
        if self.rollback == Rollback::Output {
            return self.roll_back_output();
        }
        if self.stop_by.is_some() && self.rollback == Rollback::Input {
            // No seek is needed: the next owner of the partitions starts at the committed offsets.
            return self.close();
        }
        if self.is_exactly_once() && !self.in_transaction {
            return self.transact(Operation::Begin, TransactionCall::Begin);
        }
        if !self.is_subscribed {
            let reply = self.calls.subscribe(self.settings.inputs.clone());
            return self.start(Operation::Subscribe, reply);
        }
        if self.rollback == Rollback::Input {
            return match self.revocation.take() {
                Some(revocation) => self.revoke(revocation),
                None => self.rewind(now),
            };
        }
        if let Some(error) = self.output.take_failure() {
            return self.roll_back(&error);
        }
        if !self.output.flush_queued() {
            return self.wait_for_producer(wait_max);
        }
        if !self.uncommitted.is_empty()
            && (self.revocation.is_some() || self.stop_by.is_some() || self.is_commit_due(now))
        {
            return self.commit(wait_max);
        }
        if let Some(revocation) = self.revocation.take() {
            return self.revoke(revocation);
        }
        if self.stop_by.is_some() {
            return self.close();
        }
        self.process_records(now, wait_max)
    }

    /// Waits briefly for an event of the producer.
    fn wait_for_producer(&mut self, wait_max: Duration) -> Turn {
        if let Some(event) = self.calls.producer.main_queue.pop(Some(wait_max.min(POLL_INTERVAL))) {
            self.on_producer_event(event);
        }
        Turn::Idle
    }

    fn back_off(&mut self) {
        self.not_before = self.calls.now().plus_ms(RETRY_BACKOFF_MS);
    }

    fn commit_due_at(&self) -> Option<Instant> {
        Some(self.uncommitted.started_at()? + self.settings.commit_interval)
    }

    fn is_commit_due(&self, now: Instant) -> bool {
        self.commit_due_at().is_some_and(|at| at <= now)
    }

    // ---------------------------------------------------------------- records

    fn process_records(&mut self, now: Instant, wait_max: Duration) -> Turn {
        let until = now.plus_ms(TURN_MS);
        while !self.chunks.is_empty() {
            let now = self.calls.now();
            if now >= until || self.is_commit_due(now) {
                return Turn::Busy;
            }
            if let Err(error) = self.process_one(now) {
                self.fail(error);
                return Turn::Busy;
            }
            if !self.output.flush_queued() {
                return Turn::Busy;
            }
        }
        let left = self.commit_due_at().map_or(wait_max, |at| at.since(now).min(wait_max));
        let Some(event) = self.calls.consumer.consumer_queue.pop(Some(left)) else {
            return Turn::Idle;
        };
        self.on_event(event)
    }

    /// Processes the next fetched record.
    fn process_one(&mut self, now: Instant) -> Result<(), ProcessError> {
        // Restarts max.poll.interval.ms for each record.
        self.calls.consumer.consumer_queue.visit();
        let Some(chunk) = self.chunks.front_mut() else {
            return Ok(());
        };
        let partition = chunk.partition().clone();
        let Some(record) = chunk.next() else {
            self.chunks.pop_front();
            return Ok(());
        };
        let (offset, leader_epoch) = (record.offset, record.leader_epoch);
        let input = Input {
            topic: partition.topic().name(),
            partition: partition.partition(),
            record,
        };
        let result = self.process.process(&input, &mut self.output);
        self.uncommitted.note(&partition, offset, leader_epoch, now);
        result
    }

    fn on_event(&mut self, event: Event) -> Turn {
        match event {
            Event::Records(chunk) => self.chunks.push_back(chunk),
            Event::Rebalance(rebalance) => return self.on_rebalance(rebalance),
            Event::Partition(notice) => self.on_notice(&notice),
            Event::Error(error) => self.process.on_error(&error),
            _ => {}
        }
        Turn::Busy
    }

    fn on_notice(&mut self, notice: &PartitionNotice) {
        match notice.error.code {
            ErrorCode::L_PARTITION_EOF => {}
            // There is no position to continue at, and the loop cannot choose one.
            ErrorCode::L_AUTO_OFFSET_RESET | ErrorCode::L_LOG_TRUNCATION => self.fail(notice.error.clone().into()),
            _ => self.process.on_error(&notice.error),
        }
    }

    /// Handles the consumer's events other than records and rebalances.
    fn poll_consumer(&mut self) {
        while let Some(event) = self.calls.consumer.main_queue.pop(Some(Duration::ZERO)) {
            if let Event::Error(error) = event {
                self.process.on_error(&error);
            }
        }
    }

    fn poll_producer(&mut self) {
        while let Some(event) = self.calls.producer.main_queue.pop(Some(Duration::ZERO)) {
            self.on_producer_event(event);
        }
        if self.calls.producer.fatal_error().is_some() && !self.needs_producer {
            self.discard_producer();
        }
    }

    fn on_producer_event(&mut self, event: Event) {
        match event {
            // With exactly-once processing a failed delivery needs no handling: the transaction fails with it.
            Event::Delivery(delivery) if !self.is_exactly_once() && self.rollback == Rollback::None => {
                if let Some(error) = &delivery.error {
                    let error = error.clone();
                    self.roll_back(&error);
                }
            }
            Event::Error(error) => self.process.on_error(&error),
            _ => {}
        }
    }

    // ---------------------------------------------------------------- rebalances

    /// Handles events of the consumer until a rebalance starts an operation or a revocation.
    fn poll_group(&mut self) {
        while self.pending.is_none()
            && self.revocation.is_none()
            && let Some(event) = self.calls.consumer.consumer_queue.pop(Some(Duration::ZERO))
        {
            self.on_event(event);
        }
    }

    fn on_rebalance(&mut self, rebalance: Rebalance) -> Turn {
        if rebalance.code == ErrorCode::L_ASSIGN_PARTITIONS {
            let tps = rebalance.partitions.iter().map(|row| row.tp.clone()).collect();
            let incremental = self.calls.is_cooperative();
            let reply = self.calls.assign(rebalance.partitions, incremental);
            return self.start(Operation::Assign(tps), reply);
        }
        let is_lost = self.calls.is_assignment_lost();
        self.revocation = Some(rebalance);
        if is_lost && !self.uncommitted.is_empty() && self.rollback == Rollback::None {
            self.roll_back(&assignment_lost());
        }
        Turn::Busy
    }

    fn revoke(&mut self, revocation: Rebalance) -> Turn {
        let tps: Vec<_> = revocation.partitions.into_iter().map(|row| row.tp).collect();
        let reply = self.calls.unassign(tps.clone(), self.calls.is_cooperative());
        self.start(Operation::Revoke(tps), reply)
    }

    fn on_revoked_partitions(&mut self, tps: &[TopicPartition]) {
        self.chunks.retain(|chunk| !chunk.is_stale());
        for tp in tps {
            self.assigned.remove(tp);
        }
        let assigned = &self.assigned;
        self.uncommitted.retain(|tp| assigned.contains(tp));
        self.process.on_revoked(tps);
    }

    // ---------------------------------------------------------------- commit

    fn commit(&mut self, wait_max: Duration) -> Turn {
        // The event of the lost assignment may still be queued behind records. The coordinator would reject a commit. If it
        // has already accepted the offsets for the transaction, the commit can proceed.
        if !self.offsets_sent && self.calls.is_assignment_lost() {
            return self.roll_back(&assignment_lost());
        }
        if !self.is_exactly_once() {
            // Offsets must not be committed before the output of their records is in the log.
            if self.calls.outstanding() > 0 {
                self.calls.cut_linger(true);
                return self.wait_for_producer(wait_max);
            }
            self.calls.cut_linger(false);
            let reply = self.calls.commit_offsets(self.uncommitted.offsets());
            return self.start(Operation::CommitOffsets, reply);
        }
        if self.offsets_sent {
            return self.transact(Operation::CommitTransaction, TransactionCall::Commit);
        }
        let Some(group) = self.calls.group() else {
            self.fail(Error::invalid_arg("the input's client is not a consumer").into());
            return Turn::Busy;
        };
        // The coordinator cannot fence a commit without a member id. A member that was removed from the group while its
        // application was busy could commit although the partitions have new owners.
        if group.member_id.is_empty() || group.generation < 0 {
            return self.roll_back(&assignment_lost());
        }
        let offsets = self.uncommitted.offsets();
        self.transact(Operation::SendOffsets, TransactionCall::SendOffsets { offsets, group })
    }

    fn on_committed(&mut self) {
        self.uncommitted.clear();
        self.in_transaction = false;
        self.offsets_sent = false;
        self.process.on_committed();
    }

    // ---------------------------------------------------------------- rollback

    /// Starts a rollback to the last commit.
    fn roll_back(&mut self, why: &Error) -> Turn {
        self.process.on_error(why);
        self.rollback = Rollback::Output;
        Turn::Busy
    }

    fn roll_back_output(&mut self) -> Turn {
        self.output.clear();
        if !self.is_exactly_once() {
            self.calls.cut_linger(false);
            let reply = self.calls.purge();
            return self.start(Operation::Purge, reply);
        }
        if self.in_transaction {
            return self.transact(Operation::Abort, TransactionCall::Abort);
        }
        self.on_output_rolled_back();
        Turn::Busy
    }

    fn on_output_rolled_back(&mut self) {
        self.in_transaction = false;
        self.offsets_sent = false;
        self.rollback = Rollback::Input;
        self.process.on_rolled_back();
    }

    /// Gives up the producer after a fatal error. Requests a new one, or fails if another process has fenced this loop.
    fn discard_producer(&mut self) {
        let producer = self.calls.producer.producer.as_ref();
        self.unanswered_inits += producer.map_or(0, |a| a.unanswered_inits());
        if self.is_fenced()
            && !self.consume_unanswered_init()
            && let Some(instance) = &self.settings.instance
        {
            let text = format!("another process has taken the instance.id \"{instance}\"");
            self.fail(Error::new(ErrorCode::L_FENCED, text).into());
        }
        self.needs_producer = true;
        self.is_initialised = false;
        self.pending = None;
        self.output.clear();
        self.on_output_rolled_back();
        self.back_off();
    }

    /// Returns true if another producer has fenced this one. Returns false if the transaction may have timed out, since the
    /// coordinator also fences a producer whose transaction it aborts for that.
    fn is_fenced(&self) -> bool {
        let fatal = self.calls.producer.fatal_error();
        let started_at = self.uncommitted.started_at();
        let may_have_timed_out =
            started_at.is_some_and(|at| at + self.settings.transaction_timeout <= self.calls.now());
        fatal.is_some_and(|error| error.code == ErrorCode::L_FENCED) && !may_have_timed_out
    }

    /// Returns true if an InitProducerId request of this loop's own producers may have caused the fencing: the
    /// coordinator may serve a request without a response late, after the one that was answered. Each such request
    /// explains one fencing only, so that one of two processes with the same `instance.id` still ends.
    fn consume_unanswered_init(&mut self) -> bool {
        let any = self.unanswered_inits > 0;
        self.unanswered_inits = self.unanswered_inits.saturating_sub(1);
        any
    }

    /// Fetches the committed offsets of the partitions with uncommitted records; the reply starts the seek. The
    /// coordinator is asked because the offsets remembered here are too old if the response to a commit was lost. A
    /// partition without a committed offset restarts at its first uncommitted record.
    fn rewind(&mut self, now: Instant) -> Turn {
        // Rebalances take precedence.
        self.poll_group();
        if self.pending.is_some() || self.revocation.is_some() {
            return Turn::Busy;
        }
        let partitions: Vec<_> = self.uncommitted.first_offsets().into_keys().collect();
        if partitions.is_empty() {
            self.on_rewound();
            return Turn::Busy;
        }
        let reply = self.calls.committed(partitions, now.plus_ms(CALL_TIMEOUT_MS));
        self.start(Operation::Committed, reply)
    }

    fn on_committed_offsets(&mut self, rows: Vec<PartitionOffset>) {
        if rows.iter().any(|row| row.error != ErrorCode::NO_ERROR) {
            return self.back_off();
        }
        let mut first_offsets = self.uncommitted.first_offsets();
        let rows = rows.into_iter().map(|mut row| {
            if let Some(first) = first_offsets.remove(&row.tp).filter(|_| row.offset < 0) {
                row.offset = first;
            }
            row.metadata = None;
            row
        });
        let reply = self.calls.seek(rows.collect());
        self.start(Operation::Seek, reply);
    }

    fn on_rewound(&mut self) {
        self.chunks.retain(|chunk| !chunk.is_stale());
        self.uncommitted.clear();
        self.rollback = Rollback::None;
    }

    // ---------------------------------------------------------------- replies

    fn on_reply(&mut self, operation: Operation, result: Result<Vec<PartitionOffset>, Error>) {
        match result {
            Ok(rows) => self.on_success(operation, rows),
            Err(error) => self.on_failure(operation, &error),
        }
    }

    fn on_success(&mut self, operation: Operation, rows: Vec<PartitionOffset>) {
        match operation {
            Operation::Init => self.is_initialised = true,
            Operation::Begin => self.in_transaction = true,
            Operation::Subscribe => self.is_subscribed = true,
            Operation::SendOffsets => self.offsets_sent = true,
            Operation::CommitTransaction => self.on_committed(),
            Operation::CommitOffsets => match rows.iter().find(|row| row.error != ErrorCode::NO_ERROR) {
                None => self.on_committed(),
                Some(row) => self.on_failure(operation, &Error::classified(row.error, "")),
            },
            Operation::Abort => self.on_output_rolled_back(),
            Operation::Purge => {
                // Handles the delivery reports of the purged records now: after the rollback they would start another one.
                self.poll_producer();
                self.on_output_rolled_back();
            }
            Operation::Committed => self.on_committed_offsets(rows),
            Operation::Seek => match rows.iter().all(|row| row.error == ErrorCode::NO_ERROR) {
                true => self.on_rewound(),
                // A partition was revoked meanwhile; a later turn handles the rebalance and seeks again.
                false => self.back_off(),
            },
            Operation::Assign(tps) => {
                self.assigned.extend(tps.iter().cloned());
                self.process.on_assigned(&tps);
            }
            Operation::Revoke(tps) => self.on_revoked_partitions(&tps),
            Operation::Close => {
                self.end();
            }
        }
    }

    fn on_failure(&mut self, operation: Operation, error: &Error) {
        match operation {
            Operation::Init | Operation::Subscribe | Operation::Begin if !error.retriable => {
                self.fail(error.clone().into())
            }
            _ if error.fatal => self.discard_producer(),
            Operation::SendOffsets | Operation::CommitTransaction if !error.retriable => {
                self.roll_back(error);
            }
            // There is no time for another attempt: the next owner of the partitions processes the records again.
            Operation::CommitOffsets if self.revocation.is_some() => {
                self.roll_back(error);
            }
            Operation::CommitOffsets => {
                self.process.on_error(error);
                self.poll_group();
                self.back_off();
            }
            // This producer cannot abort the transaction. InitProducerId of the next one aborts it if it is still open.
            Operation::Abort if !error.retriable => self.discard_producer(),
            Operation::Revoke(tps) => self.on_revoked_partitions(&tps),
            Operation::Close => {
                self.process.on_error(error);
                self.end();
            }
            Operation::Assign(_) => self.process.on_error(error),
            _ => self.back_off(),
        }
    }

    // ---------------------------------------------------------------- end

    /// Stops the loop with an error, after a rollback of the uncommitted output.
    fn fail(&mut self, error: ProcessError) {
        self.failure.get_or_insert(error);
        if self.rollback == Rollback::None {
            self.rollback = Rollback::Output;
        }
        self.stop();
    }

    fn close(&mut self) -> Turn {
        self.stop_by = None;
        self.chunks.clear();
        if !self.uncommitted.is_empty() && self.rollback != Rollback::Input {
            // No further commit is attempted: the application must discard the effects of the uncommitted records.
            self.on_output_rolled_back();
        }
        // Revokes first: the consumer waits for the reply to a rebalance before it continues to close.
        if let Some(revocation) = self.revocation.take() {
            self.revoke_while_closing(revocation);
        }
        let reply = self.calls.close_consumer();
        self.start(Operation::Close, reply)
    }

    /// Handles rebalances while the consumer closes, since it revokes its partitions before it leaves the group. Does
    /// not wait for the replies to the rebalances: the reply to the close follows them.
    fn poll_while_closing(&mut self) {
        while let Some(event) = self.calls.consumer.consumer_queue.pop(Some(Duration::ZERO)) {
            let Event::Rebalance(rebalance) = event else {
                continue;
            };
            match rebalance.code == ErrorCode::L_ASSIGN_PARTITIONS {
                true => drop(self.calls.assign(rebalance.partitions, self.calls.is_cooperative())),
                false => self.revoke_while_closing(rebalance),
            }
        }
    }

    /// Revokes partitions while the consumer closes.
    fn revoke_while_closing(&mut self, revocation: Rebalance) {
        let tps: Vec<_> = revocation.partitions.into_iter().map(|row| row.tp).collect();
        drop(self.calls.unassign(tps.clone(), self.calls.is_cooperative()));
        self.on_revoked_partitions(&tps);
    }

    fn end(&mut self) -> Turn {
        self.has_ended = true;
        Turn::Busy
    }
}

fn assignment_lost() -> Error {
    Error::new(ErrorCode::L_ASSIGNMENT_LOST, "the group has reassigned the partitions")
}

#[cfg(test)]
mod tests;
