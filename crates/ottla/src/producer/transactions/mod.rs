//! The transactional producer (KIP-98): one transaction after the other, each committed or aborted as a whole.
//!
//! ```text
//! call.rs       the application's calls: one at a time, resumed after a timeout
//! mod.rs        where the transaction stands, and what is to be asked next
//! requests.rs   what is asked of the coordinators, and what their answers change
//! table.rs      what each error code means
//! markers.rs    waiting until the transaction before has ended everywhere
//! sending.rs    what the transaction means for the sender: when it sends, what it gives up, what has failed
//! ```
//!
//! One request to a coordinator is under way at a time: their order is the transaction's.
//!
//! There are two generations of the protocol, and a transaction keeps the one that it was begun with. In the first one
//! partitions and groups are added at the coordinator before anything is written to them, and the epoch stays the same
//! until something went wrong; then it is raised with InitProducerId (KIP-360). In the second one (KIP-890, clusters whose
//! feature `transaction.version` is 2 or higher) partition leaders do the adding, and every end of a transaction gives the
//! next epoch, so that nothing that is late can get into the next transaction. The first one is made as safe where
//! brokers let it (Kafka 2.5): after a request that was lost, and may be on its way still, the epoch is raised before the
//! next transaction, which it would otherwise end, or give the offsets of the one before.

mod call;
mod markers;
mod requests;
mod sending;
mod statistics;
mod table;

pub use call::{TransactionCall, TransactionReply};
pub(super) use table::{Consequence, RequestKind, consequence};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use call::{Admission, CallKind, CurrentCall, Stage, admit};
use markers::Markers;

use super::PartitionId;
use super::accumulator::Accumulator;
use crate::cluster::{Cluster, Coordinator};
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Owner};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::request::CoordinatorType;
use crate::sys::{Instant, earliest};
use crate::types::{GroupMetadata, PartitionOffset};

/// The level of `transaction.version` from which on the second generation of the protocol is spoken.
const TRANSACTION_VERSION_2: i16 = 2;

/// Where the producer stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing was asked for yet.
    New,
    /// `init_transactions()` is under way.
    Initialising,
    /// No transaction is open.
    Ready,
    /// A transaction is open.
    Open,
    /// What was produced is being written, then the coordinator is told to commit.
    Committing,
    /// What is in flight is waited for, then the coordinator is told to abort.
    Aborting,
}

/// Offsets on their way into the transaction.
#[derive(Debug)]
struct Offsets {
    rows: Vec<PartitionOffset>,
    group: GroupMetadata,
}

/// A request that is not answered yet.
#[derive(Debug)]
struct Request {
    id: u64,
    kind: RequestKind,
    /// The call that it was sent for has ended: what it achieves is of no use, what it finds wrong is.
    abandoned: bool,
}

/// The transaction manager. It decides; [`Sender`](super::Sender) tells it what becomes of records.
#[derive(Debug)]
pub(super) struct Transactions {
    name: String,
    timeout_ms: i32,
    accumulator: Arc<Accumulator>,
    phase: Phase,
    call: Option<CurrentCall>,
    /// Why the transaction can only be aborted.
    failed: Option<Error>,
    /// Why nothing can be done any more.
    fatal: Option<Error>,
    /// Producer id and epoch.
    producer: Option<(i64, i16)>,
    /// The coordinator's level of `transaction.version` when it was last spoken to.
    transaction_version: i16,
    /// The transaction at hand is one of the second generation.
    v2: bool,
    coordinator: Coordinator,
    /// The coordinator of the group whose offsets are committed.
    group_coordinator: (String, Coordinator),
    request: Option<Request>,
    retry_at: Instant,
    tries: u32,
    /// The last refusal that was not the end, for texts.
    last: Option<(RequestKind, Error)>,
    /// Partitions to be added, those of the request under way, and those that were added.
    to_add: BTreeMap<PartitionId, Arc<str>>,
    adding: Vec<PartitionId>,
    added: BTreeSet<PartitionId>,
    /// Added since the sender last looked.
    newly_added: Vec<PartitionId>,
    offsets: Option<Offsets>,
    groups: BTreeSet<String>,
    /// The coordinator may know of the transaction: it has to be ended there.
    started: bool,
    /// Records were given numbers and not written, or nobody knows: the epoch must rise before the next transaction.
    bump_on_abort: bool,
    /// A request of this epoch is unanswered and may still reach a coordinator that would take it for the next transaction's.
    has_late_request: bool,
    /// One is left of the transaction before: the epoch is raised before anything of the next one is sent.
    bump_before_next: bool,
    /// Whether the coordinator raises the epoch of a producer that asks (KIP-360).
    can_bump: bool,
    /// The coordinator may have been told how the transaction ends: nothing can change that any more.
    ending: bool,
    /// A commit was sent, and not answered or so that nobody knows: the coordinator may have made it.
    commit_lost: bool,
    /// The coordinator has no use for an EndTxn: it does not know the producer any more, or not yet the transaction.
    forgotten: bool,
    /// Those of the transaction before.
    markers: Markers,
    /// What the sender was last told.
    announced: sending::AnnouncedState,
    /// How many times the coordinator gave an id or an epoch.
    assigned_count: u64,
}

impl Transactions {
    /// A manager for a client with `transactional.id`.
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
            coordinator: Coordinator::new(CoordinatorType::Transaction, Owner::Producer),
            group_coordinator: (String::new(), Coordinator::new(CoordinatorType::Group, Owner::Producer)),
            request: None,
            retry_at: Instant::ORIGIN,
            tries: 0,
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
            announced: sending::AnnouncedState::default(),
            assigned_count: 0,
        }
    }

    // ---------------------------------------------------------------- calls

    /// Takes a call of the application. It is answered at `deadline` at the latest.
    pub(super) fn on_call(&mut self, now: Instant, call: TransactionCall, deadline: Instant, reply: TransactionReply) {
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
                if self.group_coordinator.0 != group.group_id {
                    let coordinator = Coordinator::new(CoordinatorType::Group, Owner::Producer);
                    self.group_coordinator = (group.group_id.clone(), coordinator);
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

    /// Whether a call has its place where the producer stands.
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
        let standing = match phase {
            Phase::New => "init_transactions() has not been called",
            Phase::Initialising => "init_transactions() has not ended",
            Phase::Ready => "no transaction is open",
            Phase::Open => "a transaction is open",
            Phase::Committing => "the transaction is being committed",
            Phase::Aborting => "the transaction is being aborted",
        };
        let text = format!("{} cannot be called now: {standing}", kind.name());
        Err(Error::new(ErrorCode::L_STATE, text))
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.update_record_gate();
    }

    /// Tells `produce()` whether it may take records. Before the application hears of what has changed it.
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

    /// Offsets are not to be sent any more: the call that gave them has ended, and must not be answered for another.
    fn abandon_offsets(&mut self) {
        self.offsets = None;
        if let Some(request) = self.request.as_mut() {
            request.abandoned |= matches!(request.kind, RequestKind::AddOffsets | RequestKind::CommitOffsets);
        }
    }

    /// Ends whoever waits, as the client ends.
    pub(super) fn close(&mut self, error: &Error) {
        self.end_call(Err(error.clone()));
        self.fatal.get_or_insert_with(|| error.clone());
    }

    // ---------------------------------------------------------------- errors

    /// The transaction can only be aborted from now on. The first reason counts.
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

    /// Nothing can be done any more. Who waits hears of it from [`fail_call_with_fatal`](Self::fail_call_with_fatal).
    fn raise(&mut self, error: Error) {
        self.fatal.get_or_insert_with(|| error.into_fatal());
        self.update_record_gate();
    }

    /// Answers who waits, once the client as a whole knows of the fatal error.
    pub(super) fn fail_call_with_fatal(&mut self) {
        if let Some(fatal) = self.fatal.clone() {
            self.end_call(Err(fatal));
        }
    }

    /// What follows from a coordinator's error.
    fn on_error(&mut self, ctx: &mut Ctx<'_>, kind: RequestKind, error: Error) {
        match consequence(kind, error.code) {
            Consequence::RetrySoon => {
                // While the transaction before has not ended, the coordinator has not begun this one, and would find
                // nothing to abort.
                let adds = matches!(kind, RequestKind::AddPartitions | RequestKind::AddOffsets);
                if adds && self.added.is_empty() && self.groups.is_empty() {
                    self.started = false;
                }
                self.retry_at = ctx.now + concurrent_txn_backoff(self.tries);
                self.tries = self.tries.saturating_add(1);
                self.last = Some((kind, error));
            }
            Consequence::Retry => {
                self.back_off(ctx);
                self.last = Some((kind, error));
            }
            Consequence::FindAgain => {
                match kind {
                    RequestKind::CommitOffsets => self.group_coordinator.1.forget(ctx),
                    _ => self.coordinator.forget(ctx),
                }
                self.last = Some((kind, error));
            }
            _ => self.give_up(kind, &error),
        }
    }

    /// What follows from an error after which the transaction cannot go on, with what is known of the transaction.
    ///
    /// A coordinator that has not begun a transaction refuses to abort it. Before the second generation it finds that
    /// impossible after another one, as when AddPartitionsToTxn was lost on its way. In the second it calls the producer
    /// fenced as long as it is ending the transaction before: to it the epoch is that of a request which comes too early. Asked
    /// for the next epoch it says whether there is a newer producer, and whatever is late under this one begins nothing.
    ///
    /// One that has forgotten the producer since a commit that it has not answered may have made that commit: nobody can say
    /// that the transaction was aborted.
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

    /// What follows from an error after which the transaction cannot go on.
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
                    _ => ", or has served late what this producer had asked before it was answered",
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

    fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        self.retry_at = ctx.now + ctx.retry_delay(self.tries);
        self.tries = self.tries.saturating_add(1);
    }

    // ---------------------------------------------------------------- what comes next

    /// What is to be asked now; ends what needs no question. `settled`: no record is waiting or in flight.
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

    /// The transaction has ended.
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

    /// Goes on as far as possible; gives when to be called again at the latest.
    pub(super) fn poll(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        next_id: &mut u64,
        settled: bool,
    ) -> Option<Instant> {
        self.expire_call(ctx.now);
        self.markers.expire(ctx.now);
        let mut wake = self.markers.wake().filter(|_| self.awaits_markers());
        if self.request.is_none()
            && let Some(kind) = self.next_request(settled)
        {
            if self.retry_at <= ctx.now {
                self.send(ctx, cluster, next_id, kind);
            }
            if self.retry_at > ctx.now {
                wake = earliest(wake, Some(self.retry_at));
            }
            wake = earliest(wake, self.coordinator.wake(ctx.now));
            wake = earliest(wake, self.group_coordinator.1.wake(ctx.now));
        }
        earliest(wake, self.deadline())
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.call.as_ref()?.stage {
            Stage::Waiting { deadline, .. } => Some(*deadline),
            Stage::TimedOut | Stage::Done(_) => None,
        }
    }

    /// A connection went down, or an attempt failed.
    pub(super) fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        self.coordinator.on_connection_down(ctx, key, error);
        self.group_coordinator.1.on_connection_down(ctx, key, error);
    }
}

/// The pause before something is sent again that came while the transaction before was about to end, after `failed`
/// attempts before the last one: markers are written in a few milliseconds, mostly.
pub(super) fn concurrent_txn_backoff(failed: u32) -> Duration {
    Duration::from_millis(5 << failed.min(3))
}
