//! The transactional producer (KIP-98): one transaction after the other, each committed or aborted as a whole.
//!
//! ```text
//! call.rs       the application's calls: one at a time, resumed after a timeout
//! mod.rs        the transaction's state and the next request
//! requests.rs   requests to the coordinators, and the effects of the responses
//! table.rs      the consequence of each error code
//! markers.rs    waiting for the markers of the previous transaction
//! ```
//!
//! One request to a coordinator is in flight at a time, so that they arrive in order.
//!
//! `produce()` refuses records outside a transaction. It reads one atomic of the accumulator, which is set before a call
//! returns that begins or ends the transaction, and before the application can see its failure. A record that another
//! thread produces while a commit begins waits for the next transaction, or is purged by an abort. A record that is not
//! delivered makes the transaction abort-only.
//!
//! A commit disables linger, waits until no record is queued or in flight, and sends EndTxn. An abort purges unsent records
//! and first waits for those in flight (KIP-654). Once an EndTxn may have reached the coordinator, neither a failed record
//! nor a call changes the requested result: EndTxn is repeated until it is answered.
//!
//! There are two versions of the protocol, and a transaction keeps the version that it was begun with. In transaction
//! version 1, partitions and groups are added at the coordinator before anything is written to them, and the epoch
//! stays the same until an error occurs; then it is raised with InitProducerId (KIP-360). In transaction version 2
//! (KIP-890, clusters whose feature `transaction.version` is 2 or higher) partition leaders add partitions, and every
//! end of a transaction assigns the next epoch, so that a late request cannot affect the next transaction. In version 1
//! the client prevents that where brokers support it (Kafka 2.5): after a request that was lost, and may still arrive,
//! it raises the epoch before the next transaction. Otherwise that request could end the next transaction, or add the
//! offsets of the previous one to it.

mod call;
mod markers;
mod requests;
mod table;
#[cfg(test)]
mod tests;

pub use call::{TransactionCall, TransactionReply};
pub(super) use table::{Consequence, RequestKind, consequence};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use call::{Admission, CallKind, CurrentCall, Stage, admit};
use markers::Markers;

use super::PartitionId;
use super::accumulator::Accumulator;
use super::sequence::ProducerId;
use crate::cluster::{Cluster, Router};
use crate::config::ClientConfig;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::request::Attempts;
use crate::stats::Eos;
use crate::sys::{Instant, earliest};
use crate::types::{GroupMetadata, PartitionOffset};

/// The level of the feature `transaction.version` from which on transaction version 2 is used.
const TRANSACTION_VERSION_2: i16 = 2;

/// The state of the producer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// `init_transactions()` was not called.
    New,
    /// `init_transactions()` is in progress.
    Initialising,
    /// No transaction is open.
    Ready,
    /// A transaction is open.
    Open,
    /// Waits for all records to be written, then requests the commit.
    Committing,
    /// Waits for the requests in flight, then requests the abort.
    Aborting,
}

/// Offsets to be added to the transaction.
#[derive(Debug)]
struct Offsets {
    rows: Vec<PartitionOffset>,
    group: GroupMetadata,
}

/// The request in flight. It is no `PendingRequest`: requests of other kinds may follow before it is repeated, and all share
/// one schedule.
#[derive(Debug)]
struct Request {
    id: u64,
    kind: RequestKind,
    /// The call that it was sent for has ended: a success is ignored, an error counts.
    abandoned: bool,
}

/// The state that the sender acted upon last.
#[derive(Debug, Default)]
struct AnnouncedState {
    sends: bool,
    aborts: bool,
    flushes: bool,
    fatal: bool,
}

/// The changes since the sender acted upon the transaction last.
#[derive(Debug)]
pub(super) struct TransactionChanges {
    /// The id and epoch of batches, while records may be sent.
    pub(super) producer_id: Option<ProducerId>,
    /// Records may be sent, which was not so before.
    pub(super) starts_sending: bool,
    /// The transaction is being aborted, which was not so before.
    pub(super) starts_aborting: bool,
    /// True to disable linger, false to enable it again; `None` without a change.
    pub(super) cut_linger: Option<bool>,
    /// Partitions that were added to the transaction.
    pub(super) added: Vec<PartitionId>,
    /// A fatal error that came up.
    pub(super) fatal: Option<Error>,
}

/// The transaction manager. [`Sender`](super::Sender) reports the outcomes of records to it and acts on its
/// [`TransactionChanges`].
#[derive(Debug)]
pub(super) struct Transactions {
    name: String,
    timeout_ms: i32,
    accumulator: Arc<Accumulator>,
    phase: Phase,
    call: Option<CurrentCall>,
    /// The error after which the transaction can only be aborted.
    failed: Option<Error>,
    /// The fatal error.
    fatal: Option<Error>,
    /// The producer id and epoch.
    producer: Option<(i64, i16)>,
    /// The coordinator's level of `transaction.version` at the last request.
    transaction_version: i16,
    /// The present transaction uses transaction version 2.
    v2: bool,
    /// The group whose offsets are committed.
    group: String,
    request: Option<Request>,
    /// The schedule of the next request, of whichever kind.
    attempts: Attempts,
    /// The last retried error, for messages.
    last: Option<(RequestKind, Error)>,
    /// Partitions to be added, those of the request in flight, and those that were added.
    to_add: BTreeMap<PartitionId, Arc<str>>,
    adding: Vec<PartitionId>,
    added: BTreeSet<PartitionId>,
    /// Added since the last [`take_changes`](Self::take_changes).
    newly_added: Vec<PartitionId>,
    offsets: Option<Offsets>,
    groups: BTreeSet<String>,
    /// The coordinator may have begun the transaction: it has to be ended there.
    started: bool,
    /// Numbered records were not written, or may not have been: the epoch must rise before the next transaction.
    bump_on_abort: bool,
    /// A request of this epoch is unanswered; a coordinator that it still reaches would apply it to the next transaction.
    has_late_request: bool,
    /// The previous transaction left an unanswered request: the epoch is raised before the next transaction sends
    /// anything.
    bump_before_next: bool,
    /// The coordinator can raise a producer's epoch (KIP-360).
    can_bump: bool,
    /// EndTxn was sent: the result can no longer change.
    ending: bool,
    /// A commit was sent without a definite answer: the coordinator may have committed.
    commit_lost: bool,
    /// EndTxn is not needed: the coordinator has lost the producer's state, or has not begun the transaction.
    forgotten: bool,
    /// The markers of the previous transaction.
    markers: Markers,
    /// The state that the sender acted upon last.
    announced: AnnouncedState,
    /// The number of ids and epochs that the coordinator assigned.
    assigned_count: u64,
}

impl Transactions {
    /// Creates the manager of a client with `transactional.id`.
    pub(super) fn new(conf: &ClientConfig, accumulator: Arc<Accumulator>) -> Self {
        accumulator.set_in_transaction(false);
        Transactions {
            name: conf.transactional_id.clone(),
            timeout_ms: i32::try_from(conf.transaction_timeout_ms).unwrap_or(i32::MAX),
            accumulator,
            phase: Phase::New,
            call: None,
            failed: None,
            fatal: None,
            producer: None,
            transaction_version: 0,
            v2: false,
            group: String::new(),
            request: None,
            attempts: Attempts::default(),
            last: None,
            to_add: BTreeMap::new(),
            adding: Vec::new(),
            added: BTreeSet::new(),
            newly_added: Vec::new(),
            offsets: None,
            groups: BTreeSet::new(),
            started: false,
            bump_on_abort: false,
            has_late_request: false,
            bump_before_next: false,
            can_bump: false,
            ending: false,
            commit_lost: false,
            forgotten: false,
            markers: Markers::default(),
            announced: AnnouncedState::default(),
            assigned_count: 0,
        }
    }

    // ---------------------------------------------------------------- calls

    /// Handles a call of the application. It is answered at `deadline` at the latest.
    pub(super) fn on_call(
        &mut self,
        now: Instant,
        router: &mut Router,
        call: TransactionCall,
        deadline: Instant,
        reply: TransactionReply,
    ) {
        if let Some(fatal) = &self.fatal {
            return reply.fill(Err(fatal.clone()));
        }
        let kind = call.kind();
        let reply = match admit(&mut self.call, kind, deadline, reply) {
            Admission::New(reply) => reply,
            Admission::Handled => return self.expire_call(now),
        };
        if let Err(error) = self.check(kind) {
            return reply.fill(Err(error));
        }
        match call {
            TransactionCall::Begin => {
                self.v2 = self.transaction_version >= TRANSACTION_VERSION_2;
                self.enter(Phase::Open);
                return reply.fill(Ok(()));
            }
            TransactionCall::SendOffsets { mut offsets, group } => {
                offsets.retain(|row| row.offset >= 0);
                if offsets.is_empty() {
                    return reply.fill(Ok(()));
                }
                if self.group != group.group_id {
                    router.forget(&self.target(RequestKind::CommitOffsets));
                    self.group.clone_from(&group.group_id);
                }
                self.offsets = Some(Offsets { rows: offsets, group });
            }
            TransactionCall::Init => self.enter(Phase::Initialising),
            TransactionCall::Commit => self.enter(Phase::Committing),
            TransactionCall::Abort => {
                self.to_add.clear();
                self.offsets = None;
                self.enter(Phase::Aborting);
            }
        }
        self.last = None;
        let stage = Stage::Waiting { reply, deadline };
        self.call = Some(CurrentCall { kind, stage });
    }

    /// Checks that a call is allowed in the present state.
    fn check(&self, kind: CallKind) -> Result<(), Error> {
        let (phase, failed) = (self.phase, self.failed.as_ref());
        let fits = match kind {
            CallKind::Init => phase == Phase::New,
            CallKind::Begin => phase == Phase::Ready,
            CallKind::SendOffsets | CallKind::Commit => phase == Phase::Open && failed.is_none(),
            CallKind::Abort => phase == Phase::Open,
        };
        if fits {
            return Ok(());
        }
        if let Some(failed) = failed {
            return Err(failed.clone());
        }
        let state = match phase {
            Phase::New => "init_transactions() has not been called",
            Phase::Initialising => "init_transactions() has not ended",
            Phase::Ready => "no transaction is open",
            Phase::Open => "a transaction is open",
            Phase::Committing => "the transaction is being committed",
            Phase::Aborting => "the transaction is being aborted",
        };
        let text = format!("{} cannot be called now: {state}", kind.name());
        Err(Error::new(ErrorCode::L_STATE, text))
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.update_record_gate();
    }

    /// Lets `produce()` accept or refuse records. To be called before the application learns of the change.
    fn update_record_gate(&self) {
        self.accumulator.set_in_transaction(self.takes_records());
    }

    fn takes_records(&self) -> bool {
        self.phase == Phase::Open && self.failed.is_none() && self.fatal.is_none()
    }

    fn end_call(&mut self, result: Result<(), Error>) {
        let Some(mut call) = self.call.take() else { return };
        match call.stage {
            Stage::Waiting { reply, .. } => reply.fill(result),
            Stage::TimedOut | Stage::Done(_) => {
                call.stage = Stage::Done(result);
                self.call = Some(call);
            }
        }
    }

    fn expire_call(&mut self, now: Instant) {
        let Some(call) = &mut self.call else { return };
        let Stage::Waiting { reply, deadline } = &call.stage else {
            return;
        };
        if *deadline > now {
            return;
        }
        let name = call.kind.name();
        let why = match &self.last {
            Some((kind, error)) => format!("the last {} failed: {error}", kind.name()),
            None => "no answer has come yet".to_owned(),
        };
        let text = format!("{name} has not ended in time: {why}");
        reply.fill(Err(Error::new(ErrorCode::L_TIMED_OUT, text).into_retriable()));
        if call.kind == CallKind::SendOffsets {
            // The next call may be about other offsets.
            self.call = None;
            self.abandon_offsets();
        } else {
            call.stage = Stage::TimedOut;
        }
    }

    /// Drops the offsets to be sent: their call has ended, and a late answer must not end another call.
    fn abandon_offsets(&mut self) {
        self.offsets = None;
        if let Some(request) = self.request.as_mut() {
            request.abandoned |= matches!(request.kind, RequestKind::AddOffsets | RequestKind::CommitOffsets);
        }
    }

    /// Ends the waiting call, as the client is closed.
    pub(super) fn close(&mut self, error: &Error) {
        self.end_call(Err(error.clone()));
        self.fatal.get_or_insert_with(|| error.clone());
    }

    // ---------------------------------------------------------------- errors

    /// Makes the transaction abort-only. The first error counts.
    fn fail(&mut self, error: Error) {
        if !matches!(self.phase, Phase::Open | Phase::Committing) || self.failed.is_some() {
            return;
        }
        self.ending = false;
        self.commit_lost = false;
        let error = error.into_abortable();
        self.failed = Some(error.clone());
        self.to_add.clear();
        self.abandon_offsets();
        self.enter(Phase::Open);
        self.end_call(Err(error));
    }

    /// Raises a fatal error. [`fail_call_with_fatal`](Self::fail_call_with_fatal) answers the waiting call.
    pub(super) fn raise(&mut self, error: Error) {
        self.fatal.get_or_insert_with(|| error.into_fatal());
        self.update_record_gate();
    }

    /// Answers the waiting call, once the client has recorded the fatal error.
    pub(super) fn fail_call_with_fatal(&mut self) {
        if let Some(fatal) = self.fatal.clone() {
            self.end_call(Err(fatal));
        }
    }

    /// Handles a coordinator's error.
    fn on_error(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        (kind, error): (RequestKind, Error),
    ) {
        match consequence(kind, error.code) {
            Consequence::RetrySoon => {
                // While the previous transaction has not ended, the coordinator has not begun this one, and has nothing
                // to abort.
                let adds = matches!(kind, RequestKind::AddPartitions | RequestKind::AddOffsets);
                if adds && self.added.is_empty() && self.groups.is_empty() {
                    self.started = false;
                }
                let pause = concurrent_txn_backoff(self.attempts.failed());
                self.attempts.back_off_for(ctx.now, pause);
                self.last = Some((kind, error));
            }
            Consequence::Retry => self.retry(ctx, kind, error),
            Consequence::FindAgain => {
                router.refresh(ctx, cluster, &self.target(kind));
                self.last = Some((kind, error));
            }
            _ => self.give_up(kind, &error),
        }
    }

    /// Returns the consequence of an error in the present state of the transaction.
    ///
    /// A coordinator that has not begun a transaction rejects its abort. In transaction version 1 it returns
    /// INVALID_TXN_STATE after another transaction, for instance when AddPartitionsToTxn was lost. In transaction
    /// version 2 it reports the producer as fenced while it ends the previous transaction, because the epoch is that of
    /// a request which arrives too early. InitProducerId then shows whether there is a newer producer, and late
    /// requests of this epoch begin no transaction.
    ///
    /// A coordinator that has lost the producer's state after an unanswered commit may have committed: the transaction
    /// cannot be reported as aborted.
    fn consequence(&self, kind: RequestKind, code: ErrorCode) -> Consequence {
        match consequence(kind, code) {
            Consequence::Forgotten if kind == RequestKind::Commit && self.commit_lost => Consequence::Fatal,
            Consequence::Fenced if kind == RequestKind::Abort && self.v2 => Consequence::Forgotten,
            Consequence::Fatal if kind == RequestKind::Abort && !self.v2 && code == ErrorCode::INVALID_TXN_STATE => {
                Consequence::Forgotten
            }
            consequence => consequence,
        }
    }

    /// Handles an error after which the transaction cannot continue.
    fn give_up(&mut self, kind: RequestKind, error: &Error) {
        let refused = || Error::new(error.code, format!("{} was refused: {}", kind.name(), error.message));
        match self.consequence(kind, error.code) {
            Consequence::Abort => self.fail(refused()),
            Consequence::Forgotten => {
                self.forgotten = true;
                self.bump_on_abort = true;
                self.fail(refused());
            }
            Consequence::Fatal => self.raise(refused()),
            Consequence::Fenced => {
                let late = match self.accumulator.unanswered_inits() {
                    0 => "",
                    _ => ", or has executed late an earlier request of this producer that was not answered",
                };
                let text = format!(
                    "{} was refused ({}): a newer producer has the transactional.id \"{}\", or the coordinator has ended a \
                     transaction that took longer than transaction.timeout.ms{late}",
                    kind.name(),
                    error.code.name(),
                    self.name
                );
                self.raise(Error::new(ErrorCode::L_FENCED, text));
            }
            Consequence::Done | Consequence::RetrySoon | Consequence::Retry | Consequence::FindAgain => {}
        }
    }

    fn retry(&mut self, ctx: &mut Ctx<'_>, kind: RequestKind, error: Error) {
        self.attempts.back_off(ctx);
        self.last = Some((kind, error));
    }

    // ---------------------------------------------------------------- progress

    /// Returns the next request; ends the transaction if none is needed. `settled`: no record is waiting or in flight.
    fn next_request(&mut self, settled: bool) -> Option<RequestKind> {
        let settled = settled || self.ending;
        if self.fatal.is_some() {
            return None;
        }
        if self.bump_before_next {
            return Some(RequestKind::Init);
        }
        match self.phase {
            Phase::New | Phase::Ready => None,
            Phase::Initialising => Some(RequestKind::Init),
            Phase::Open | Phase::Committing if !settled && self.awaits_markers() => Some(RequestKind::Describe),
            Phase::Open => self.next_request_while_open(),
            Phase::Committing => match self.next_request_while_open() {
                None if settled && self.started => Some(RequestKind::Commit),
                None if settled => {
                    self.finish();
                    None
                }
                kind => kind,
            },
            Phase::Aborting if !settled => None,
            Phase::Aborting if self.started && !self.forgotten => Some(RequestKind::Abort),
            Phase::Aborting if self.bump_on_abort => Some(RequestKind::Init),
            Phase::Aborting => {
                self.finish();
                None
            }
        }
    }

    fn next_request_while_open(&self) -> Option<RequestKind> {
        if self.failed.is_some() {
            return None;
        }
        if !self.to_add.is_empty() {
            return Some(RequestKind::AddPartitions);
        }
        let offsets = self.offsets.as_ref()?;
        let known = self.v2 || self.groups.contains(&offsets.group.group_id);
        Some(if known {
            RequestKind::CommitOffsets
        } else {
            RequestKind::AddOffsets
        })
    }

    /// Handles the end of the transaction.
    fn finish(&mut self) {
        self.failed = None;
        self.to_add.clear();
        self.added.clear();
        self.newly_added.clear();
        self.groups.clear();
        self.started = false;
        self.bump_on_abort = false;
        self.bump_before_next = std::mem::take(&mut self.has_late_request) && self.can_bump;
        self.ending = false;
        self.commit_lost = false;
        self.forgotten = false;
        self.enter(Phase::Ready);
        self.end_call(Ok(()));
    }

    /// Advances the transaction. Returns the time of the next call at the latest.
    pub(super) fn poll(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        settled: bool,
    ) -> Option<Instant> {
        self.expire_call(ctx.now);
        self.markers.expire(ctx.now);
        let mut wake = self.markers.wake().filter(|_| self.awaits_markers());
        if self.request.is_none()
            && let Some(kind) = self.next_request(settled)
        {
            if self.attempts.is_due(ctx.now) {
                self.send(ctx, cluster, router, kind);
            }
            if !self.attempts.is_due(ctx.now) {
                wake = earliest(wake, Some(self.attempts.next_at()));
            }
            wake = earliest(wake, router.wake(ctx.now));
        }
        earliest(wake, self.deadline())
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.call.as_ref()?.stage {
            Stage::Waiting { deadline, .. } => Some(*deadline),
            Stage::TimedOut | Stage::Done(_) => None,
        }
    }

    // ---------------------------------------------------------------- for the sender

    /// Returns the changes since the last call.
    pub(super) fn take_changes(&mut self) -> TransactionChanges {
        let sends = self.may_send();
        let flushes = self.phase == Phase::Committing && !self.ending;
        let aborts = self.phase == Phase::Aborting;
        let now = AnnouncedState {
            sends,
            aborts,
            flushes,
            fatal: self.fatal.is_some(),
        };
        let before = std::mem::replace(&mut self.announced, now);
        TransactionChanges {
            producer_id: self
                .producer
                .filter(|_| sends)
                .map(|(id, epoch)| ProducerId::Transactional { id, epoch }),
            starts_sending: sends && !before.sends,
            starts_aborting: aborts && !before.aborts,
            cut_linger: (flushes != before.flushes).then_some(flushes),
            added: std::mem::take(&mut self.newly_added),
            fatal: self.fatal.clone().filter(|_| !before.fatal),
        }
    }

    /// Returns whether the transaction is being committed or aborted.
    pub(super) fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Committing | Phase::Aborting)
    }

    /// Returns whether records may be sent now.
    fn may_send(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Committing)
            && !self.ending
            && !self.bump_before_next
            && !self.awaits_markers()
            && self.failed.is_none()
            && self.fatal.is_none()
    }

    /// Returns whether a partition is part of the transaction. Otherwise it will be added and be in
    /// [`TransactionChanges::added`].
    pub(super) fn require_partition(&mut self, id: PartitionId, name: &Arc<str>) -> bool {
        if self.v2 || self.added.contains(&id) {
            return true;
        }
        self.to_add.insert(id, name.clone());
        false
    }

    /// Notes that a request with records of this transaction was sent.
    pub(super) fn on_sent(&mut self) {
        self.started = true;
    }

    /// Returns the transactional id.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the transaction uses transaction version 2 (KIP-890).
    pub(super) fn is_v2(&self) -> bool {
        self.v2
    }

    /// Returns whether the transaction is being aborted: batches that come back fail.
    pub(super) fn is_aborting(&self) -> bool {
        self.phase == Phase::Aborting
    }

    /// Handles undelivered records of the transaction. `numbered`: they have sequence numbers.
    pub(super) fn on_undelivered(&mut self, count: usize, numbered: bool, error: &Error) {
        self.bump_on_abort |= numbered;
        if self.ending || !matches!(self.phase, Phase::Open | Phase::Committing) {
            return;
        }
        match consequence(RequestKind::Produce, error.code) {
            Consequence::Fatal | Consequence::Fenced | Consequence::Forgotten => {
                self.give_up(RequestKind::Produce, error);
            }
            _ => {
                let text = format!("{count} record(s) of the transaction were not delivered: {error}");
                // Delivery reports contain the client's own errors.
                let code = match error.code.is_from_broker() {
                    true => error.code,
                    false => ErrorCode::L_INCONSISTENT,
                };
                self.fail(Error::new(code, text));
            }
        }
    }

    /// Returns whether the transaction waits for the markers of the previous one.
    fn awaits_markers(&self) -> bool {
        let goes_on = matches!(self.phase, Phase::Open | Phase::Committing) && self.failed.is_none();
        goes_on && self.v2 && self.markers.wake().is_some()
    }

    // ---------------------------------------------------------------- statistics

    /// Returns the states of the producer id and of the transaction by librdkafka's names.
    pub(super) fn public_states(&self) -> (&'static str, &'static str) {
        (self.id_state(), self.transaction_state())
    }

    fn id_state(&self) -> &'static str {
        let init_in_flight = self.request.as_ref().is_some_and(|r| r.kind == RequestKind::Init);
        match (self.fatal.is_some(), self.producer) {
            (true, _) => "FatalError",
            (false, Some(_)) => "Assigned",
            (false, None) if init_in_flight => "WaitPID",
            (false, None) if self.phase == Phase::Initialising => "RequestPID",
            (false, None) => "Init",
        }
    }

    fn transaction_state(&self) -> &'static str {
        if self.fatal.is_some() {
            return "FatalError";
        }
        match self.phase {
            Phase::New => "Init",
            Phase::Initialising => "WaitPID",
            Phase::Ready => match &self.call {
                Some(CurrentCall {
                    kind,
                    stage: Stage::Done(_),
                }) => match kind {
                    CallKind::Commit => "CommitNotAcked",
                    CallKind::Abort => "AbortedNotAcked",
                    CallKind::Init | CallKind::Begin | CallKind::SendOffsets => "ReadyNotAcked",
                },
                _ => "Ready",
            },
            Phase::Open if self.failed.is_some() => "AbortableError",
            Phase::Open => "InTransaction",
            Phase::Committing if self.ending => "CommittingTransaction",
            Phase::Committing => "BeginCommit",
            Phase::Aborting if self.ending => "AbortingTransaction",
            Phase::Aborting => "BeginAbort",
        }
    }

    /// Writes the producer id into the statistics.
    pub(super) fn write_stats(&self, to: &mut Eos) {
        to.txn_may_enq = self.takes_records();
        to.epoch_cnt = self.assigned_count;
        if let Some((id, epoch)) = self.producer {
            to.producer_id = id;
            to.producer_epoch = epoch.into();
        }
    }
}

/// Returns the backoff of a request that was rejected while the previous transaction was ending, after `failed` attempts
/// before the last one. Markers are usually written within a few milliseconds.
pub(super) fn concurrent_txn_backoff(failed: u32) -> Duration {
    Duration::from_millis(5 << failed.min(3))
}
