//! The loop without threads: what is done next, one small step a turn.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::calls::{Calls, PendingReply};
use crate::output::Output;
use crate::process::{Input, Process, ProcessError};
use crate::settings::{Guarantee, LoopSettings};
use crate::uncommitted::Uncommitted;
use ottla::client::Shared;
use ottla::error::{Error, ErrorCode};
use ottla::event::{Chunk, Event, PartitionNotice, Rebalance};
use ottla::producer::TransactionCall;
use ottla::sys::Instant;
use ottla::types::{PartitionOffset, TopicPartition};

/// How long one attempt of a call to the cluster may take; it is made again while that makes sense.
const CALL_TIMEOUT_MS: u64 = 30_000;
/// How long to wait before a failed call is made again.
const RETRY_BACKOFF_MS: u64 = 100;
/// What other threads do is looked at after this time at the latest.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// A turn takes no more records after this time.
const TURN_MS: u64 = 20;
/// How long the last commit is tried after the loop was told to stop.
const STOP_MS: u64 = 30_000;

/// What came of a turn.
#[derive(Debug)]
pub enum Turn {
    /// There is more to do.
    Busy,
    /// There is nothing to do now.
    Idle,
    /// The producer cannot go on: [`Worker::replace_producer`] wants another one with the same settings.
    NeedsProducer,
    /// The loop has ended: it was stopped, or it failed.
    Ended(Result<(), ProcessError>),
}

/// What an answer is awaited to.
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

/// What is left to do so that nothing is left of the work since the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rollback {
    None,
    /// The output, then the rest.
    Output,
    /// The positions in the input.
    Input,
}

/// The loop. Its owner owns the clients as well, and calls [`turn`](Self::turn) again and again until it has ended.
///
/// One answer is awaited at a time. When there is none to wait for, `decide` looks at what is true and asks for what is
/// lacking, in a fixed order; answers change what is true. So there is one way on from every place where something may fail.
#[derive(Debug)]
pub struct Worker<P> {
    process: P,
    settings: LoopSettings,
    calls: Calls,
    output: Output,
    pending: Option<(Operation, PendingReply)>,
    /// Nothing is asked before.
    not_before: Instant,
    needs_producer: bool,
    /// Requests for the transactional id of which the producers so far do not know what became of them.
    unanswered_inits: usize,
    is_initialised: bool,
    is_subscribed: bool,
    in_transaction: bool,
    /// The offsets are part of the transaction, which is only to be committed.
    offsets_sent: bool,
    rollback: Rollback,
    /// Records that were fetched and not processed.
    chunks: VecDeque<Chunk>,
    uncommitted: Uncommitted,
    assigned: BTreeSet<TopicPartition>,
    /// Partitions that the group wants back, once what was done with them is committed.
    revocation: Option<Rebalance>,
    /// The loop is to end; by then the last commit must have succeeded.
    stop_by: Option<Instant>,
    failure: Option<ProcessError>,
    has_ended: bool,
}

impl<P: Process> Worker<P> {
    /// A loop over two clients made with the settings that [`ProcessorConf`](crate::ProcessorConf) gives. The consumer's
    /// application must carry out rebalances itself (`rebalance_event`), and the producer's hear of failed deliveries.
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

    /// What processes the records.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// Commits what was processed, leaves the group and ends. The loop needs further turns for that.
    pub fn stop(&mut self) {
        let by = self.calls.now().plus_ms(STOP_MS);
        self.stop_by.get_or_insert(by);
    }

    /// Goes on with another producer, after [`Turn::NeedsProducer`].
    pub fn replace_producer(&mut self, producer: Arc<Shared>) {
        self.output.replace(producer.clone());
        self.calls.replace_producer(producer);
        self.needs_producer = false;
    }

    /// Does what is to be done next. Waits no longer than `wait_max` when that is nothing.
    pub fn turn(&mut self, wait_max: Duration) -> Turn {
        if self.has_ended {
            return Turn::Ended(self.failure.take().map_or(Ok(()), Err));
        }
        self.poll_producer();
        self.poll_consumer();
        if let Some((ask, answer)) = self.pending.take() {
            let Some(result) = answer.poll(wait_max.min(POLL_INTERVAL)) else {
                if matches!(ask, Operation::Close) {
                    self.poll_while_closing();
                }
                self.pending = Some((ask, answer));
                return Turn::Idle;
            };
            self.on_answer(ask, result);
            return Turn::Busy;
        }
        self.decide(wait_max)
    }

    fn is_exactly_once(&self) -> bool {
        self.settings.guarantee == Guarantee::ExactlyOnce
    }

    fn ask(&mut self, ask: Operation, answer: PendingReply) -> Turn {
        self.pending = Some((ask, answer));
        Turn::Busy
    }

    fn transact(&mut self, ask: Operation, call: TransactionCall) -> Turn {
        let deadline = self.calls.now().plus_ms(CALL_TIMEOUT_MS);
        let answer = self.calls.transact(call, deadline);
        self.ask(ask, answer)
    }

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
            // Whoever has the partitions next begins with what is committed.
            return self.close();
        }
        if self.is_exactly_once() && !self.in_transaction {
            return self.transact(Operation::Begin, TransactionCall::Begin);
        }
        if !self.is_subscribed {
            let answer = self.calls.subscribe(self.settings.inputs.clone());
            return self.ask(Operation::Subscribe, answer);
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

    /// Waits a little for what the producer has to tell.
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

    /// Processes the next record at hand.
    fn process_one(&mut self, now: Instant) -> Result<(), ProcessError> {
        // However long the application takes for a record, it is being served.
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
            // Nobody but the application can say where to go on.
            ErrorCode::L_AUTO_OFFSET_RESET | ErrorCode::L_LOG_TRUNCATION => self.fail(notice.error.clone().into()),
            _ => self.process.on_error(&notice.error),
        }
    }

    /// What does not come with the records.
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
            // What is not delivered fails a transaction by itself.
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

    /// Takes what the consumer has to tell, up to what the group wants to be done about partitions.
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
            let answer = self.calls.assign(rebalance.partitions, incremental);
            return self.ask(Operation::Assign(tps), answer);
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
        let answer = self.calls.unassign(tps.clone(), self.calls.is_cooperative());
        self.ask(Operation::Revoke(tps), answer)
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
        // What tells of it waits behind the records, and what is committed now would be refused for ever. Offsets that are in
        // the transaction already were the group's to refuse.
        if !self.offsets_sent && self.calls.is_assignment_lost() {
            return self.roll_back(&assignment_lost());
        }
        if !self.is_exactly_once() {
            // Offsets must not be committed before what was made of their records is in the log.
            if self.calls.outstanding() > 0 {
                self.calls.cut_linger(true);
                return self.wait_for_producer(wait_max);
            }
            self.calls.cut_linger(false);
            let answer = self.calls.commit_offsets(self.uncommitted.offsets());
            return self.ask(Operation::CommitOffsets, answer);
        }
        if self.offsets_sent {
            return self.transact(Operation::CommitTransaction, TransactionCall::Commit);
        }
        let Some(group) = self.calls.group() else {
            self.fail(Error::invalid_arg("the input's client is not a consumer").into());
            return Turn::Busy;
        };
        // Nobody is fenced who says no name: a member that the group has put out while its application was busy would commit
        // beside the partitions' new owners.
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

    /// What was done since the last commit is not to have happened.
    fn roll_back(&mut self, why: &Error) -> Turn {
        self.process.on_error(why);
        self.rollback = Rollback::Output;
        Turn::Busy
    }

    fn roll_back_output(&mut self) -> Turn {
        self.output.clear();
        if !self.is_exactly_once() {
            self.calls.cut_linger(false);
            let answer = self.calls.purge();
            return self.ask(Operation::Purge, answer);
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

    /// Whether the producer's transactional id was taken from it. A coordinator fences a producer also when its transaction
    /// was open for too long, but none before that.
    fn is_fenced(&self) -> bool {
        let fatal = self.calls.producer.fatal_error();
        let started_at = self.uncommitted.started_at();
        let may_have_timed_out =
            started_at.is_some_and(|at| at + self.settings.transaction_timeout <= self.calls.now());
        fatal.is_some_and(|error| error.code == ErrorCode::L_FENCED) && !may_have_timed_out
    }

    /// Whether the transactional id may have been taken for one of this loop's own producers: a request for the id of which
    /// nobody told what became of it may be served beside the one that was answered. Each does so once, so that of two
    /// processes with one name one ends all the same.
    fn consume_unanswered_init(&mut self) -> bool {
        let any = self.unanswered_inits > 0;
        self.unanswered_inits = self.unanswered_inits.saturating_sub(1);
        any
    }

    /// Reading goes back to what the coordinator says is committed: what is remembered here may be older, where the answer
    /// to a commit was lost. A partition of which nothing was ever committed goes back to where the work began.
    fn rewind(&mut self, now: Instant) -> Turn {
        // The group goes on meanwhile: what it wants comes first.
        self.poll_group();
        if self.pending.is_some() || self.revocation.is_some() {
            return Turn::Busy;
        }
        let partitions: Vec<_> = self.uncommitted.first_offsets().into_keys().collect();
        if partitions.is_empty() {
            self.on_rewound();
            return Turn::Busy;
        }
        let answer = self.calls.committed(partitions, now.plus_ms(CALL_TIMEOUT_MS));
        self.ask(Operation::Committed, answer)
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
        let answer = self.calls.seek(rows.collect());
        self.ask(Operation::Seek, answer);
    }

    fn on_rewound(&mut self) {
        self.chunks.retain(|chunk| !chunk.is_stale());
        self.uncommitted.clear();
        self.rollback = Rollback::None;
    }

    // ---------------------------------------------------------------- answers

    fn on_answer(&mut self, ask: Operation, result: Result<Vec<PartitionOffset>, Error>) {
        match result {
            Ok(rows) => self.on_success(ask, rows),
            Err(error) => self.on_failure(ask, &error),
        }
    }

    fn on_success(&mut self, ask: Operation, rows: Vec<PartitionOffset>) {
        match ask {
            Operation::Init => self.is_initialised = true,
            Operation::Begin => self.in_transaction = true,
            Operation::Subscribe => self.is_subscribed = true,
            Operation::SendOffsets => self.offsets_sent = true,
            Operation::CommitTransaction => self.on_committed(),
            Operation::CommitOffsets => match rows.iter().find(|row| row.error != ErrorCode::NO_ERROR) {
                None => self.on_committed(),
                Some(row) => self.on_failure(ask, &Error::classified(row.error, "")),
            },
            Operation::Abort => self.on_output_rolled_back(),
            Operation::Purge => {
                // The reports of what was purged.
                self.poll_producer();
                self.on_output_rolled_back();
            }
            Operation::Committed => self.on_committed_offsets(rows),
            Operation::Seek => match rows.iter().all(|row| row.error == ErrorCode::NO_ERROR) {
                true => self.on_rewound(),
                // The partition was taken away meanwhile, which the next look will find.
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

    fn on_failure(&mut self, ask: Operation, error: &Error) {
        match ask {
            Operation::Init | Operation::Subscribe | Operation::Begin if !error.retriable => {
                self.fail(error.clone().into())
            }
            _ if error.fatal => self.discard_producer(),
            Operation::SendOffsets | Operation::CommitTransaction if !error.retriable => {
                self.roll_back(error);
            }
            // The next owner does the work again.
            Operation::CommitOffsets if self.revocation.is_some() => {
                self.roll_back(error);
            }
            Operation::CommitOffsets => {
                self.process.on_error(error);
                self.poll_group();
                self.back_off();
            }
            // The transaction is over in another way: a new producer's beginning ends what may be left of it.
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

    // ---------------------------------------------------------------- the end

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
            // It is not tried any more to commit it.
            self.on_output_rolled_back();
        }
        // Closing goes on when this has been answered.
        if let Some(revocation) = self.revocation.take() {
            self.revoke_while_closing(revocation);
        }
        let answer = self.calls.close_consumer();
        self.ask(Operation::Close, answer)
    }

    /// The consumer gives its partitions up as it leaves. What it is still asked to do wants to be done, one after the other;
    /// the end of closing is the answer to all.
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

    /// Gives partitions up while closing.
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
    Error::new(ErrorCode::L_ASSIGNMENT_LOST, "the group gave the partitions away")
}

#[cfg(test)]
mod tests;
