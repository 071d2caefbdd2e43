//! The loop without threads: what is done next, one small step a turn.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::calls::{Answer, Calls};
use super::output::Output;
use super::process::{Input, Process, ProcessError};
use super::settings::{Guarantee, LoopSettings};
use super::work::Work;
use crate::client::Shared;
use crate::error::{Error, ErrorCode};
use crate::event::{Chunk, Event, PartitionNotice, Rebalance};
use crate::producer::TransactionCall;
use crate::sys::Instant;
use crate::types::{PartitionOffset, TopicPartition};

/// How long one attempt of a call to the cluster may take; it is made again while that makes sense.
pub(super) const CALL_TIMEOUT_MS: u64 = 30_000;
/// How long to wait before a failed call is made again.
const PAUSE_MS: u64 = 100;
/// What other threads do is looked at after this time at the latest.
const LOOK: Duration = Duration::from_millis(5);
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
pub(super) enum Ask {
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
    TakeUp(Vec<TopicPartition>),
    GiveUp(Vec<TopicPartition>),
    Close,
}

/// What is left to do so that nothing is left of the work since the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undoing {
    Nothing,
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
    pub(super) process: P,
    pub(super) settings: LoopSettings,
    pub(super) calls: Calls,
    pub(super) output: Output,
    pub(super) pending: Option<(Ask, Answer)>,
    /// Nothing is asked before.
    pub(super) not_before: Instant,
    pub(super) needs_producer: bool,
    /// Requests for the transactional id of which the producers so far do not know what became of them.
    pub(super) unanswered_inits: usize,
    pub(super) is_initialised: bool,
    pub(super) is_subscribed: bool,
    pub(super) in_transaction: bool,
    /// The offsets are part of the transaction, which is only to be committed.
    pub(super) offsets_sent: bool,
    pub(super) undoing: Undoing,
    /// Records that were fetched and not processed.
    pub(super) chunks: VecDeque<Chunk>,
    pub(super) work: Work,
    pub(super) assigned: BTreeSet<TopicPartition>,
    /// Partitions that the group wants back, once what was done with them is committed.
    pub(super) revocation: Option<Rebalance>,
    /// The loop is to end; by then the last commit must have succeeded.
    pub(super) stop_by: Option<Instant>,
    pub(super) failure: Option<ProcessError>,
    pub(super) has_ended: bool,
}

impl<P: Process> Worker<P> {
    /// A loop over two clients made with the settings that [`ProcessorConf`](super::ProcessorConf) gives. The consumer's
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
            undoing: Undoing::Nothing,
            chunks: VecDeque::new(),
            work: Work::default(),
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

    /// Does what is to be done next. Waits no longer than `patience` when that is nothing.
    pub fn turn(&mut self, patience: Duration) -> Turn {
        if self.has_ended {
            return Turn::Ended(self.failure.take().map_or(Ok(()), Err));
        }
        self.hear_producer();
        self.hear_consumer();
        if let Some((ask, answer)) = self.pending.take() {
            let Some(result) = answer.take(patience.min(LOOK)) else {
                if matches!(ask, Ask::Close) {
                    self.serve_closing();
                }
                self.pending = Some((ask, answer));
                return Turn::Idle;
            };
            self.on_answer(ask, result);
            return Turn::Busy;
        }
        self.decide(patience)
    }

    pub(super) fn is_exactly_once(&self) -> bool {
        self.settings.guarantee == Guarantee::ExactlyOnce
    }

    pub(super) fn ask(&mut self, ask: Ask, answer: Answer) -> Turn {
        self.pending = Some((ask, answer));
        Turn::Busy
    }

    pub(super) fn transact(&mut self, ask: Ask, call: TransactionCall) -> Turn {
        let deadline = self.calls.now().plus_ms(CALL_TIMEOUT_MS);
        let answer = self.calls.transact(call, deadline);
        self.ask(ask, answer)
    }

    fn decide(&mut self, patience: Duration) -> Turn {
        let now = self.calls.now();
        if let Some(fatal) = self.calls.consumer.fatal_error() {
            self.fail(fatal.into());
            return self.end();
        }
        let cannot_commit = self.needs_producer || (self.is_exactly_once() && !self.is_initialised);
        let undone = self.work.is_empty() || self.failure.is_some();
        if self.stop_by.is_some_and(|by| by <= now || (cannot_commit && undone)) {
            return self.close();
        }
        if self.not_before > now {
            return self.rest(patience);
        }
        if self.needs_producer {
            return Turn::NeedsProducer;
        }
        if self.is_exactly_once() && !self.is_initialised {
            return self.transact(Ask::Init, TransactionCall::Init);
        }
        if self.undoing == Undoing::Output {
            return self.undo_output();
        }
        if self.stop_by.is_some() && self.undoing == Undoing::Input {
            // Whoever has the partitions next begins with what is committed.
            return self.close();
        }
        if self.is_exactly_once() && !self.in_transaction {
            return self.transact(Ask::Begin, TransactionCall::Begin);
        }
        if !self.is_subscribed {
            let answer = self.calls.subscribe(self.settings.inputs.clone());
            return self.ask(Ask::Subscribe, answer);
        }
        if self.undoing == Undoing::Input {
            return match self.revocation.take() {
                Some(revocation) => self.give_up(revocation),
                None => self.rewind(now),
            };
        }
        if let Some(error) = self.output.take_failure() {
            return self.undo(&error);
        }
        if !self.output.push_held() {
            return self.rest(patience);
        }
        if !self.work.is_empty() && (self.revocation.is_some() || self.stop_by.is_some() || self.is_due(now)) {
            return self.commit(patience);
        }
        if let Some(revocation) = self.revocation.take() {
            return self.give_up(revocation);
        }
        if self.stop_by.is_some() {
            return self.close();
        }
        self.work(now, patience)
    }

    /// Waits a little for what the producer has to tell.
    fn rest(&mut self, patience: Duration) -> Turn {
        if let Some(event) = self.calls.producer.main_queue.pop(Some(patience.min(LOOK))) {
            self.on_producer_event(event);
        }
        Turn::Idle
    }

    pub(super) fn pause(&mut self) {
        self.not_before = self.calls.now().plus_ms(PAUSE_MS);
    }

    fn due_at(&self) -> Option<Instant> {
        Some(self.work.begun_at()? + self.settings.commit_interval)
    }

    fn is_due(&self, now: Instant) -> bool {
        self.due_at().is_some_and(|at| at <= now)
    }

    // ---------------------------------------------------------------- records

    fn work(&mut self, now: Instant, patience: Duration) -> Turn {
        let until = now.plus_ms(TURN_MS);
        while !self.chunks.is_empty() {
            let now = self.calls.now();
            if now >= until || self.is_due(now) {
                return Turn::Busy;
            }
            if let Err(error) = self.process_one(now) {
                self.fail(error);
                return Turn::Busy;
            }
            if !self.output.push_held() {
                return Turn::Busy;
            }
        }
        let left = self.due_at().map_or(patience, |at| at.since(now).min(patience));
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
        self.work.note(&partition, offset, leader_epoch, now);
        result
    }

    pub(super) fn on_event(&mut self, event: Event) -> Turn {
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
    fn hear_consumer(&mut self) {
        while let Some(event) = self.calls.consumer.main_queue.pop(Some(Duration::ZERO)) {
            if let Event::Error(error) = event {
                self.process.on_error(&error);
            }
        }
    }

    pub(super) fn hear_producer(&mut self) {
        while let Some(event) = self.calls.producer.main_queue.pop(Some(Duration::ZERO)) {
            self.on_producer_event(event);
        }
        if self.calls.producer.fatal_error().is_some() && !self.needs_producer {
            self.lose_producer();
        }
    }

    fn on_producer_event(&mut self, event: Event) {
        match event {
            // What is not delivered fails a transaction by itself.
            Event::Delivery(delivery) if !self.is_exactly_once() && self.undoing == Undoing::Nothing => {
                if let Some(error) = &delivery.error {
                    let error = error.clone();
                    self.undo(&error);
                }
            }
            Event::Error(error) => self.process.on_error(&error),
            _ => {}
        }
    }

    // ---------------------------------------------------------------- rebalances

    /// Takes what the consumer has to tell, up to what the group wants to be done about partitions.
    pub(super) fn hear_group(&mut self) {
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
            return self.ask(Ask::TakeUp(tps), answer);
        }
        let is_lost = self.calls.is_assignment_lost();
        self.revocation = Some(rebalance);
        if is_lost && !self.work.is_empty() && self.undoing == Undoing::Nothing {
            self.undo(&assignment_lost());
        }
        Turn::Busy
    }

    fn give_up(&mut self, revocation: Rebalance) -> Turn {
        let tps: Vec<_> = revocation.partitions.into_iter().map(|row| row.tp).collect();
        let answer = self.calls.unassign(tps.clone(), self.calls.is_cooperative());
        self.ask(Ask::GiveUp(tps), answer)
    }

    fn on_given_up(&mut self, tps: &[TopicPartition]) {
        self.chunks.retain(|chunk| !chunk.is_stale());
        for tp in tps {
            self.assigned.remove(tp);
        }
        let assigned = &self.assigned;
        self.work.retain(|tp| assigned.contains(tp));
        self.process.on_revoked(tps);
    }

    // ---------------------------------------------------------------- commit

    fn commit(&mut self, patience: Duration) -> Turn {
        // What tells of it waits behind the records, and what is committed now would be refused for ever. Offsets that are in
        // the transaction already were the group's to refuse.
        if !self.offsets_sent && self.calls.is_assignment_lost() {
            return self.undo(&assignment_lost());
        }
        if !self.is_exactly_once() {
            // Offsets must not be committed before what was made of their records is in the log.
            if self.calls.outstanding() > 0 {
                self.calls.hurry(true);
                return self.rest(patience);
            }
            self.calls.hurry(false);
            let answer = self.calls.commit_offsets(self.work.offsets());
            return self.ask(Ask::CommitOffsets, answer);
        }
        if self.offsets_sent {
            return self.transact(Ask::CommitTransaction, TransactionCall::Commit);
        }
        let Some(group) = self.calls.group() else {
            self.fail(Error::invalid_arg("the input's client is not a consumer").into());
            return Turn::Busy;
        };
        // Nobody is fenced who says no name: a member that the group has put out while its application was busy would commit
        // beside the partitions' new owners.
        if group.member_id.is_empty() || group.generation < 0 {
            return self.undo(&assignment_lost());
        }
        let offsets = self.work.offsets();
        self.transact(Ask::SendOffsets, TransactionCall::SendOffsets { offsets, group })
    }

    fn on_committed(&mut self) {
        self.work.clear();
        self.in_transaction = false;
        self.offsets_sent = false;
        self.process.on_committed();
    }

    // ---------------------------------------------------------------- answers

    fn on_answer(&mut self, ask: Ask, result: Result<Vec<PartitionOffset>, Error>) {
        match result {
            Ok(rows) => self.on_success(ask, rows),
            Err(error) => self.on_failure(ask, &error),
        }
    }

    fn on_success(&mut self, ask: Ask, rows: Vec<PartitionOffset>) {
        match ask {
            Ask::Init => self.is_initialised = true,
            Ask::Begin => self.in_transaction = true,
            Ask::Subscribe => self.is_subscribed = true,
            Ask::SendOffsets => self.offsets_sent = true,
            Ask::CommitTransaction => self.on_committed(),
            Ask::CommitOffsets => match rows.iter().find(|row| row.error != ErrorCode::NO_ERROR) {
                None => self.on_committed(),
                Some(row) => self.on_failure(ask, &Error::classified(row.error, "")),
            },
            Ask::Abort => self.on_output_undone(),
            Ask::Purge => {
                // The reports of what was purged.
                self.hear_producer();
                self.on_output_undone();
            }
            Ask::Committed => self.on_beginnings(rows),
            Ask::Seek => match rows.iter().all(|row| row.error == ErrorCode::NO_ERROR) {
                true => self.on_rewound(),
                // The partition was taken away meanwhile, which the next look will find.
                false => self.pause(),
            },
            Ask::TakeUp(tps) => {
                self.assigned.extend(tps.iter().cloned());
                self.process.on_assigned(&tps);
            }
            Ask::GiveUp(tps) => self.on_given_up(&tps),
            Ask::Close => {
                self.end();
            }
        }
    }

    fn on_failure(&mut self, ask: Ask, error: &Error) {
        match ask {
            Ask::Init | Ask::Subscribe | Ask::Begin if !error.retriable => self.fail(error.clone().into()),
            _ if error.fatal => self.lose_producer(),
            Ask::SendOffsets | Ask::CommitTransaction if !error.retriable => {
                self.undo(error);
            }
            // The next owner does the work again.
            Ask::CommitOffsets if self.revocation.is_some() => {
                self.undo(error);
            }
            Ask::CommitOffsets => {
                self.process.on_error(error);
                self.hear_group();
                self.pause();
            }
            // The transaction is over in another way: a new producer's beginning ends what may be left of it.
            Ask::Abort if !error.retriable => self.lose_producer(),
            Ask::GiveUp(tps) => self.on_given_up(&tps),
            Ask::Close => {
                self.process.on_error(error);
                self.end();
            }
            Ask::TakeUp(_) => self.process.on_error(error),
            _ => self.pause(),
        }
    }

    // ---------------------------------------------------------------- the end

    pub(super) fn fail(&mut self, error: ProcessError) {
        self.failure.get_or_insert(error);
        if self.undoing == Undoing::Nothing {
            self.undoing = Undoing::Output;
        }
        self.stop();
    }

    fn close(&mut self) -> Turn {
        self.stop_by = None;
        self.chunks.clear();
        if !self.work.is_empty() && self.undoing != Undoing::Input {
            // It is not tried any more to commit it.
            self.on_output_undone();
        }
        // Closing goes on when this has been answered.
        if let Some(revocation) = self.revocation.take() {
            self.let_go(revocation);
        }
        let answer = self.calls.close_consumer();
        self.ask(Ask::Close, answer)
    }

    /// The consumer gives its partitions up as it leaves. What it is still asked to do wants to be done, one after the other;
    /// the end of closing is the answer to all.
    fn serve_closing(&mut self) {
        while let Some(event) = self.calls.consumer.consumer_queue.pop(Some(Duration::ZERO)) {
            let Event::Rebalance(rebalance) = event else {
                continue;
            };
            match rebalance.code == ErrorCode::L_ASSIGN_PARTITIONS {
                true => drop(self.calls.assign(rebalance.partitions, self.calls.is_cooperative())),
                false => self.let_go(rebalance),
            }
        }
    }

    /// Gives partitions up while closing.
    fn let_go(&mut self, revocation: Rebalance) {
        let tps: Vec<_> = revocation.partitions.into_iter().map(|row| row.tp).collect();
        drop(self.calls.unassign(tps.clone(), self.calls.is_cooperative()));
        self.on_given_up(&tps);
    }

    fn end(&mut self) -> Turn {
        self.has_ended = true;
        Turn::Busy
    }
}

fn assignment_lost() -> Error {
    Error::new(ErrorCode::L_ASSIGNMENT_LOST, "the group gave the partitions away")
}
