//! What clients and leaders ask of the coordinator.

use ottla_protocol::ErrorCode;

use super::transaction::EndCheck;
use super::{Participant, Transaction, TransactionState, TransactionStep, TransactionVersion};
use crate::cluster::{Cluster, ConnectionId};
use crate::coordinators::CoordinatorKind;
use crate::timers::Timer;

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

impl Cluster {
    /// Gives a transactional id to a producer that asks on `connection` (InitProducerId). `resumed` is what the producer has
    /// had.
    pub(crate) fn init_transactional_id(
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
        self.expire_transactional_id(id);
        if self.transactions.get(id).is_none() {
            let producer_id = self.producer_ids.allocate();
            let coordinator = self.coordinator(CoordinatorKind::Transaction, id);
            let transaction = Transaction::new(producer_id, coordinator);
            self.transactions.by_id.insert(id.to_owned(), transaction);
        }
        let done = self.with_transaction(id, |cluster, transaction| {
            if let Some(resumed) = resumed {
                transaction.check_resumed(resumed)?;
            }
            match transaction.state {
                TransactionState::PrepareCommit | TransactionState::PrepareAbort => {
                    Err(ErrorCode::CONCURRENT_TRANSACTIONS)
                }
                TransactionState::Ongoing => {
                    cluster.note_step(id, transaction, taken);
                    cluster.fence(id, transaction, TransactionStep::Fenced);
                    Err(ErrorCode::CONCURRENT_TRANSACTIONS)
                }
                _ => {
                    let given = transaction.init(resumed, timeout_ms, || cluster.producer_ids.allocate())?;
                    cluster.note_step(id, transaction, taken);
                    Ok(given)
                }
            }
        });
        done.unwrap_or(Err(ErrorCode::UNKNOWN_SERVER_ERROR))
    }

    /// Brings participants into a producer's transaction, which begins with the first.
    pub(crate) fn add_to_transaction(
        &mut self,
        id: &str,
        producer_id: i64,
        epoch: i16,
        participants: impl IntoIterator<Item = Participant>,
    ) -> Result<(), ErrorCode> {
        self.expire_transactional_id(id);
        let now_ms = self.wall_clock_ms();
        let done = self.with_transaction(id, |cluster, transaction| {
            transaction.check_active(producer_id, epoch)?;
            transaction.participants.extend(participants);
            if transaction.state != TransactionState::Ongoing {
                transaction.state = TransactionState::Ongoing;
                transaction.started_ms = now_ms;
                let at = cluster.now.plus_ms(transaction.timeout_ms);
                let timer = Timer::TransactionTimeout { id: id.to_owned() };
                transaction.timeout = Some(cluster.timers.set(at, timer));
                cluster.note_step(id, transaction, TransactionStep::Begun);
            }
            Ok(())
        });
        done.unwrap_or(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING))
    }

    /// Whether a participant is in a producer's open transaction (KIP-890, part 1).
    pub(crate) fn verify_transaction(
        &mut self,
        id: &str,
        producer_id: i64,
        epoch: i16,
        participant: &Participant,
    ) -> Result<(), ErrorCode> {
        self.expire_transactional_id(id);
        let found = self.transactions.get(id);
        let transaction = found.ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        transaction.check_active(producer_id, epoch)?;
        match transaction.participants.contains(participant) {
            true => Ok(()),
            false => Err(ErrorCode::TRANSACTION_ABORTABLE),
        }
    }

    /// A leader makes sure that the transaction knows of what is about to be written, on behalf of a client.
    pub(crate) fn join_transaction(
        &mut self,
        who: &TransactionalWrite<'_>,
        participant: Participant,
    ) -> Result<(), ErrorCode> {
        let id = who.transactional_id;
        if self.coordinator(CoordinatorKind::Transaction, id).is_none() {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        if let Some(error) = self.coordinator_error(CoordinatorKind::Transaction, id) {
            return Err(error);
        }
        let adds = who.support == TransactionSupport::AddsPartitions;
        if !adds && !self.config.transaction_partition_verification {
            return Ok(());
        }
        let joined = match adds {
            true => self.add_to_transaction(id, who.producer_id, who.epoch, [participant]),
            false => self.verify_transaction(id, who.producer_id, who.epoch, &participant),
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
    pub(crate) fn end_transaction(
        &mut self,
        id: &str,
        (producer_id, epoch): (i64, i16),
        commit: bool,
        transaction_version: TransactionVersion,
    ) -> Result<(i64, i16), ErrorCode> {
        self.expire_transactional_id(id);
        let now_ms = self.wall_clock_ms();
        let done = self.with_transaction(id, |cluster, transaction| {
            if transaction.check_end(transaction_version, producer_id, epoch, commit)? == EndCheck::Begin {
                let step = match commit {
                    true => TransactionStep::Committed,
                    false => TransactionStep::Aborted,
                };
                cluster.note_step(id, transaction, step);
                transaction.prepare(transaction_version, commit, now_ms, || cluster.producer_ids.allocate());
                cluster.begin_markers(id, transaction);
            }
            Ok(transaction.next_producer())
        });
        done.unwrap_or(Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING))
    }

    /// A transaction has been open for as long as it may (KIP-588): it is aborted, its producer fenced. A coordinator
    /// that cannot serve does it as soon as it can.
    pub(crate) fn transaction_timed_out(&mut self, id: &str) {
        let kind = CoordinatorKind::Transaction;
        if self.coordinator(kind, id).is_none() || self.coordinator_error(kind, id).is_some() {
            let at = self.now.plus_us(super::markers::RETRY_US);
            let timer = self.timers.set(at, Timer::TransactionTimeout { id: id.to_owned() });
            self.with_transaction(id, |_, transaction| transaction.timeout = Some(timer));
            return;
        }
        self.with_transaction(id, |cluster, transaction| {
            transaction.timeout = None;
            if transaction.state == TransactionState::Ongoing {
                cluster.fence(id, transaction, TransactionStep::TimedOut);
            }
        });
    }

    /// Aborts an open transaction without its producer, which it fences.
    fn fence(&mut self, id: &str, transaction: &mut Transaction, why: TransactionStep) {
        self.note_step(id, transaction, why);
        transaction.prepare_fence(match self.config.transaction_version {
            ..2 => TransactionVersion::V1,
            _ => TransactionVersion::V2,
        });
        self.begin_markers(id, transaction);
    }
}
