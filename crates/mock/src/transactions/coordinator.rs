//! The operations of the transaction coordinators.

use ottla_protocol::ErrorCode;
use ottla_protocol::record::ControlType;

use super::Transactions;
use super::transaction::{EndCheck, Participant, Transaction, TransactionState, TransactionVersion, WrittenMarker};
use crate::coordinators::CoordinatorKind;
use crate::groups::Groups;
use crate::history::{TransactionRecord, TransactionStep};
use crate::ids::ConnectionId;
use crate::replication::replicate;
use crate::state::ClusterState;
use crate::timers::Timer;
use crate::transaction_index::Marker;

/// How soon a marker is tried again that could not be written.
const RETRY_US: u64 = 10_000;

/// How far a participant's marker is.
enum Progress {
    /// All replicas have it, or nobody needs it.
    Done,
    /// The leader has it.
    Written(WrittenMarker),
    /// It could not be written.
    Blocked,
}

/// What the version of a request lets its broker do for the transaction (KIP-890).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionSupport {
    /// Ask whether it is in; the client does not know TRANSACTION_ABORTABLE.
    Verifies,
    /// Ask whether it is in.
    VerifiesAbortable,
    /// Bring it in (transaction version 2).
    AddsPartitions,
}

impl TransactionSupport {
    /// That of a Produce request.
    pub(crate) fn of_produce(version: i16) -> Self {
        match version {
            ..11 => Self::Verifies,
            11 => Self::VerifiesAbortable,
            _ => Self::AddsPartitions,
        }
    }

    /// That of a TxnOffsetCommit request.
    pub(crate) fn of_offset_commit(version: i16) -> Self {
        match version {
            ..4 => Self::Verifies,
            4 => Self::VerifiesAbortable,
            _ => Self::AddsPartitions,
        }
    }
}

/// A producer that writes into its transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransactionalWrite<'a> {
    pub(crate) transactional_id: &'a str,
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
    pub(crate) support: TransactionSupport,
}

/// All transaction coordinators, with the parts of the cluster that transactions change.
pub(crate) struct TransactionCoordinator<'a> {
    pub(crate) state: &'a mut ClusterState,
    pub(crate) groups: &'a mut Groups,
    pub(crate) transactions: &'a mut Transactions,
}

impl TransactionCoordinator<'_> {
    /// Gives a transactional id to a producer that asks on `connection` (InitProducerId). `resumed` is what the producer has
    /// had.
    pub(crate) fn init(
        &mut self,
        connection: ConnectionId,
        id: &str,
        timeout_ms: i32,
        resumed: Option<(i64, i16)>,
    ) -> Result<(i64, i16), ErrorCode> {
        let taken = TransactionStep::Initialized {
            connection,
            resumed: resumed.is_some(),
        };
        self.expire(id);
        if self.transactions.get(id).is_none() {
            let producer_id = self.state.producer_ids.allocate();
            let coordinator = self.state.coordinator(CoordinatorKind::Transaction, id);
            let transaction = Transaction::new(producer_id, coordinator);
            self.transactions.by_id.insert(id.to_owned(), transaction);
        }
        let done = self.with_transaction(id, |coordinator, transaction| {
            if let Some(resumed) = resumed {
                transaction.check_resumed(resumed)?;
            }
            match transaction.state {
                TransactionState::PrepareCommit | TransactionState::PrepareAbort => {
                    Err(ErrorCode::CONCURRENT_TRANSACTIONS)
                }
                TransactionState::Ongoing => {
                    coordinator.record_step(id, transaction, taken);
                    coordinator.fence(id, transaction, TransactionStep::Fenced);
                    Err(ErrorCode::CONCURRENT_TRANSACTIONS)
                }
                _ => {
                    let given = transaction.init(resumed, timeout_ms, || coordinator.state.producer_ids.allocate())?;
                    coordinator.record_step(id, transaction, taken);
                    Ok(given)
                }
            }
        });
        done.unwrap_or(Err(ErrorCode::UNKNOWN_SERVER_ERROR))
    }

    /// Brings participants into a producer's transaction, which begins with the first.
    pub(crate) fn add(
        &mut self,
        id: &str,
        producer_id: i64,
        epoch: i16,
        participants: impl IntoIterator<Item = Participant>,
    ) -> Result<(), ErrorCode> {
        self.expire(id);
        let now_ms = self.state.wall_clock_ms();
        let done = self.with_transaction(id, |coordinator, transaction| {
            transaction.check_active(producer_id, epoch)?;
            transaction.participants.extend(participants);
            if transaction.state != TransactionState::Ongoing {
                transaction.state = TransactionState::Ongoing;
                transaction.started_ms = now_ms;
                let at = coordinator.state.now.plus_ms(transaction.timeout_ms);
                let timer = Timer::TransactionTimeout { id: id.to_owned() };
                transaction.timeout = Some(coordinator.state.timers.set(at, timer));
                coordinator.record_step(id, transaction, TransactionStep::Begun);
            }
            Ok(())
        });
        done.unwrap_or(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING))
    }

    /// Whether a participant is in a producer's open transaction (KIP-890, part 1).
    pub(crate) fn verify(
        &mut self,
        id: &str,
        producer_id: i64,
        epoch: i16,
        participant: &Participant,
    ) -> Result<(), ErrorCode> {
        self.expire(id);
        let found = self.transactions.get(id);
        let transaction = found.ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        transaction.check_active(producer_id, epoch)?;
        match transaction.participants.contains(participant) {
            true => Ok(()),
            false => Err(ErrorCode::TRANSACTION_ABORTABLE),
        }
    }

    /// A leader makes sure that the transaction knows of what is about to be written, on behalf of a client.
    pub(crate) fn prepare_write(
        &mut self,
        who: &TransactionalWrite<'_>,
        participant: Participant,
    ) -> Result<(), ErrorCode> {
        let id = who.transactional_id;
        if self.state.coordinator(CoordinatorKind::Transaction, id).is_none() {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        if let Some(error) = self.state.coordinators.error(CoordinatorKind::Transaction, id) {
            return Err(error);
        }
        let adds = who.support == TransactionSupport::AddsPartitions;
        if !adds && !self.state.config.transaction_partition_verification {
            return Ok(());
        }
        let joined = match adds {
            true => self.add(id, who.producer_id, who.epoch, [participant]),
            false => self.verify(id, who.producer_id, who.epoch, &participant),
        };
        joined.map_err(|error| match error {
            ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
            ErrorCode::TRANSACTION_ABORTABLE if who.support == TransactionSupport::Verifies => {
                ErrorCode::INVALID_TXN_STATE
            }
            error => error,
        })
    }

    /// Ends a producer's transaction (EndTxn) and gives id and epoch of its next.
    pub(crate) fn end(
        &mut self,
        id: &str,
        (producer_id, epoch): (i64, i16),
        commit: bool,
        transaction_version: TransactionVersion,
    ) -> Result<(i64, i16), ErrorCode> {
        self.expire(id);
        let now_ms = self.state.wall_clock_ms();
        let done = self.with_transaction(id, |coordinator, transaction| {
            if transaction.check_end(transaction_version, producer_id, epoch, commit)? == EndCheck::Begin {
                let step = match commit {
                    true => TransactionStep::Committed,
                    false => TransactionStep::Aborted,
                };
                coordinator.record_step(id, transaction, step);
                transaction.prepare(transaction_version, commit, now_ms, || {
                    coordinator.state.producer_ids.allocate()
                });
                coordinator.begin_markers(id, transaction);
            }
            Ok(transaction.next_producer())
        });
        done.unwrap_or(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING))
    }

    /// A transaction has been open for as long as it may (KIP-588): it is aborted, its producer fenced. A coordinator
    /// that cannot serve does it as soon as it can.
    pub(crate) fn timed_out(&mut self, id: &str) {
        let kind = CoordinatorKind::Transaction;
        if !self.state.has_working_coordinator(kind, id) {
            let at = self.state.now.plus_us(RETRY_US);
            let timer = self
                .state
                .timers
                .set(at, Timer::TransactionTimeout { id: id.to_owned() });
            self.with_transaction(id, |_, transaction| transaction.timeout = Some(timer));
            return;
        }
        self.with_transaction(id, |coordinator, transaction| {
            transaction.timeout = None;
            if transaction.state == TransactionState::Ongoing {
                coordinator.fence(id, transaction, TransactionStep::TimedOut);
            }
        });
    }

    /// Aborts an open transaction without its producer, which it fences.
    fn fence(&mut self, id: &str, transaction: &mut Transaction, why: TransactionStep) {
        self.record_step(id, transaction, why);
        transaction.prepare_fence(match self.state.config.transaction_version {
            ..2 => TransactionVersion::V1,
            _ => TransactionVersion::V2,
        });
        self.begin_markers(id, transaction);
    }

    // ---------------------------------------------------------------- markers

    /// A transaction's end is decided: its markers follow in a while.
    fn begin_markers(&mut self, id: &str, transaction: &mut Transaction) {
        if let Some(timer) = transaction.timeout.take() {
            self.state.timers.cancel(timer);
        }
        if self.state.config.transaction_marker_delay_us == 0 {
            self.write_markers(id, transaction);
        } else {
            self.schedule_markers(id, self.state.config.transaction_marker_delay_us);
        }
    }

    fn schedule_markers(&mut self, id: &str, delay_us: u64) {
        let at = self.state.now.plus_us(delay_us);
        self.state
            .timers
            .set(at, Timer::TransactionMarkers { id: id.to_owned() });
    }

    /// The time for a transaction's markers has come.
    pub(crate) fn markers_due(&mut self, id: &str) {
        self.with_transaction(id, |coordinator, transaction| {
            if transaction.state.is_prepared() {
                coordinator.write_markers(id, transaction);
            }
        });
    }

    /// Writes what markers can be written. When all replicas have all of them, the transaction has ended.
    fn write_markers(&mut self, id: &str, transaction: &mut Transaction) {
        let kind = CoordinatorKind::Transaction;
        if !self.state.has_working_coordinator(kind, id) {
            self.schedule_markers(id, RETRY_US);
            return;
        }
        let mut delay_us = None;
        for participant in transaction.participants.clone() {
            let progress = match &participant {
                Participant::Offsets(group) => self.end_offsets(transaction, group),
                Participant::Partition((topic, index)) => {
                    let written = transaction.written.get(&participant).copied();
                    self.write_marker(transaction, topic, *index, written)
                }
            };
            let again_us = match progress {
                Progress::Done => {
                    transaction.written.remove(&participant);
                    transaction.participants.remove(&participant);
                    continue;
                }
                Progress::Written(marker) => {
                    transaction.written.insert(participant, marker);
                    self.state.config.replication_delay_us
                }
                Progress::Blocked => RETRY_US,
            };
            delay_us = Some(delay_us.map_or(again_us, |d: u64| d.min(again_us)));
        }
        match delay_us {
            Some(delay_us) => self.schedule_markers(id, delay_us.max(1)),
            None => {
                let commits = transaction.state == TransactionState::PrepareCommit;
                transaction.complete();
                self.record_step(id, transaction, TransactionStep::Completed { commits });
            }
        }
    }

    fn write_marker(
        &mut self,
        transaction: &Transaction,
        topic: &str,
        index: i32,
        written: Option<WrittenMarker>,
    ) -> Progress {
        let now_ms = self.state.wall_clock_ms();
        let Some(found) = self.state.topics.by_name_mut(topic) else {
            return Progress::Done;
        };
        let (id, min_insync) = (found.id, found.config.min_insync_replicas);
        let Some(partition) = found.partition_mut(index) else {
            return Progress::Done;
        };
        if let Some(marker) = written
            && marker.leader_epoch == partition.leader_epoch
        {
            return match partition.log.high_watermark() >= marker.end_offset {
                true => Progress::Done,
                false => Progress::Written(marker),
            };
        }
        let insync = i32::try_from(partition.isr.len()).unwrap_or(i32::MAX);
        if partition.leader.is_none() || insync < min_insync {
            return Progress::Blocked;
        }
        let marker = Marker {
            producer_id: transaction.producer_id,
            epoch: transaction.epoch,
            outcome: match transaction.state.commits() {
                true => ControlType::COMMIT,
                false => ControlType::ABORT,
            },
            coordinator_epoch: transaction.coordinator_epoch,
        };
        // A marker of a past epoch comes too late; with epoch bumps so does one that lies here already.
        let current = partition.log.producers.epoch(marker.producer_id).unwrap_or(-1);
        let late = match transaction.transaction_version {
            TransactionVersion::V1 => marker.epoch < current,
            TransactionVersion::V2 => marker.epoch <= current,
        };
        if late || self.state.faults.take_marker_drop() {
            return Progress::Done;
        }
        let leader_epoch = partition.leader_epoch;
        let Some(appended) = partition.log.append_marker(marker, leader_epoch, now_ms) else {
            return Progress::Done;
        };
        let end_offset = appended.base_offset + 1;
        replicate(self.state, id, index, end_offset);
        let partition = self.state.topics.by_id(id).and_then(|t| t.partition(index));
        match partition.is_none_or(|p| p.log.high_watermark() >= end_offset) {
            true => Progress::Done,
            false => Progress::Written(WrittenMarker {
                leader_epoch,
                end_offset,
            }),
        }
    }

    /// Has the offsets that a group got in the transaction count, or forgets them.
    fn end_offsets(&mut self, transaction: &Transaction, group: &str) -> Progress {
        let kind = CoordinatorKind::Group;
        if !self.state.has_working_coordinator(kind, group) {
            return Progress::Blocked;
        }
        let (producer_id, epoch) = (transaction.producer_id, transaction.epoch);
        let commits = transaction.state.commits();
        if let Some(group) = self.groups.get_mut(group) {
            group.end_transaction(self.state, producer_id, epoch, commits);
        }
        Progress::Done
    }

    /// The coordinators of transactions may have moved. What is under way goes on under the new ones, which write their
    /// markers under their own epoch.
    pub(crate) fn coordinators_moved(&mut self) {
        let ids: Vec<_> = self.transactions.iter().map(|(id, _)| id.clone()).collect();
        for id in ids {
            let coordinator = self.state.coordinator(CoordinatorKind::Transaction, &id);
            self.with_transaction(&id, |_, transaction| {
                if transaction.coordinator != coordinator {
                    transaction.coordinator = coordinator;
                    transaction.coordinator_epoch += 1;
                }
            });
        }
    }

    // ---------------------------------------------------------------- transactional ids

    /// Forgets a transactional id whose time is over (`transactional.id.expiration.ms`).
    fn expire(&mut self, id: &str) {
        let longest_us = self.state.config.transactional_id_expiration_ms.saturating_mul(1000);
        let is_over = |t: &Transaction| t.may_expire() && t.used.plus_us(longest_us) <= self.state.now;
        if self.transactions.get(id).is_some_and(is_over)
            && let Some(transaction) = self.transactions.by_id.remove(id)
        {
            self.record_step(id, &transaction, TransactionStep::Expired);
        }
    }

    /// Works on a transaction that exists, with the rest of the cluster at hand.
    pub(crate) fn with_transaction<T>(
        &mut self,
        id: &str,
        f: impl FnOnce(&mut Self, &mut Transaction) -> T,
    ) -> Option<T> {
        let (id, mut transaction) = self.transactions.by_id.remove_entry(id)?;
        let before = transaction.producer_and_state();
        let result = f(self, &mut transaction);
        if transaction.producer_and_state() != before {
            transaction.used = self.state.now;
        }
        self.transactions.by_id.insert(id, transaction);
        Some(result)
    }

    fn record_step(&mut self, id: &str, transaction: &Transaction, step: TransactionStep) {
        self.state.history.transaction_steps.push(|| TransactionRecord {
            transactional_id: id.to_owned(),
            producer_id: transaction.producer_id,
            epoch: transaction.epoch,
            step,
        });
    }
}
