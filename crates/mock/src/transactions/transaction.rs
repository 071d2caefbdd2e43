//! The state of one transactional id, and its transitions.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;

use crate::ids::BrokerId;
use crate::time::Time;
use crate::timers::TimerId;

/// A state under Kafka's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionState {
    Empty,
    Ongoing,
    PrepareCommit,
    PrepareAbort,
    CompleteCommit,
    CompleteAbort,
}

/// The names of all states of Kafka's coordinators, also those that transactions of this cluster do not enter.
pub(crate) const STATE_NAMES: [&str; 8] = [
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
    "Dead",
];

impl TransactionState {
    /// Returns the name in DescribeTransactions and ListTransactions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
        }
    }

    pub(crate) fn is_prepared(self) -> bool {
        matches!(self, Self::PrepareCommit | Self::PrepareAbort)
    }

    /// Returns true when the markers of this state are COMMIT markers.
    pub(crate) fn commits(self) -> bool {
        matches!(self, Self::PrepareCommit | Self::CompleteCommit)
    }
}

/// A participant of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Participant {
    /// A partition of a topic.
    Partition((String, i32)),
    /// The offsets of a group.
    Offsets(String),
}

/// The protocol that ends a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionVersion {
    /// Transaction versions 0 and 1: the epoch stays.
    V1,
    /// Transaction version 2 (KIP-890): the epoch rises.
    V2,
}

/// The result of an accepted EndTxn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndCheck {
    /// The transaction begins to end.
    Begin,
    /// The request repeats an earlier one.
    Done,
}

/// A marker in a partition's log, with the offset whose replication completes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrittenMarker {
    pub(crate) leader_epoch: i32,
    pub(crate) end_offset: i64,
}

const NO_PRODUCER_ID: i64 = -1;
const NO_EPOCH: i16 = -1;

/// A transactional id.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) producer_id: i64,
    /// The producer id before the current one, whose epochs were exhausted.
    previous_producer_id: i64,
    /// The next producer id, from the end of the transaction on, when the current id's epochs are exhausted.
    next_producer_id: i64,
    /// -1 before the first producer.
    pub(crate) epoch: i16,
    /// The previous epoch, which identifies a repeated InitProducerId.
    last_epoch: i16,
    pub(crate) timeout_ms: i32,
    pub(crate) state: TransactionState,
    /// The version under which the transaction ends.
    pub(crate) transaction_version: TransactionVersion,
    /// The participants; while the transaction ends, those without a marker yet.
    pub(crate) participants: BTreeSet<Participant>,
    /// Markers that are written and may not be replicated yet.
    pub(crate) written: BTreeMap<Participant, WrittenMarker>,
    /// Milliseconds since 1970; -1 without transaction.
    pub(crate) started_ms: i64,
    pub(crate) timeout: Option<TimerId>,
    /// The last change of producer, epoch or state.
    pub(crate) used: Time,
    /// The coordinating broker, and the number of its changes.
    pub(crate) coordinator: Option<BrokerId>,
    pub(crate) coordinator_epoch: i32,
}

impl Transaction {
    pub(crate) fn is_open(&self) -> bool {
        self.state == TransactionState::Ongoing || self.state.is_prepared()
    }

    pub(crate) fn new(producer_id: i64, coordinator: Option<BrokerId>) -> Self {
        Self {
            producer_id,
            previous_producer_id: NO_PRODUCER_ID,
            next_producer_id: NO_PRODUCER_ID,
            epoch: NO_EPOCH,
            last_epoch: NO_EPOCH,
            timeout_ms: 0,
            state: TransactionState::Empty,
            transaction_version: TransactionVersion::V1,
            participants: BTreeSet::new(),
            written: BTreeMap::new(),
            started_ms: -1,
            timeout: None,
            used: Time::ZERO,
            coordinator,
            coordinator_epoch: 0,
        }
    }

    /// Returns the values whose change counts as a use of the transactional id.
    pub(crate) fn producer_and_state(&self) -> (TransactionState, i64, i16) {
        (self.state, self.producer_id, self.epoch)
    }

    /// Returns true in the states in which an unused transactional id may expire.
    pub(crate) fn may_expire(&self) -> bool {
        matches!(
            self.state,
            TransactionState::Empty | TransactionState::CompleteCommit | TransactionState::CompleteAbort
        )
    }

    /// Returns true when no epoch is left for another producer. The last epoch is reserved for fencing.
    fn is_exhausted(epoch: i16) -> bool {
        epoch >= i16::MAX - 1
    }

    /// Assigns the transactional id to a producer. A producer that sends its id and epoch receives the next epoch
    /// (KIP-360). `new_id` allocates a producer id when the epochs are exhausted. There must be no open transaction.
    ///
    /// # Errors
    /// PRODUCER_FENCED when another producer has the transactional id.
    pub(crate) fn init(
        &mut self,
        expected: Option<(i64, i16)>,
        timeout_ms: i32,
        new_id: impl FnOnce() -> i64,
    ) -> Result<(i64, i16), ErrorCode> {
        let last_epoch = if expected.is_some() { self.epoch } else { NO_EPOCH };
        let is_current = |epoch| self.epoch == NO_EPOCH || epoch == self.epoch;
        if Self::is_exhausted(self.epoch) && expected.is_none_or(|(_, epoch)| epoch == self.epoch) {
            self.previous_producer_id = self.producer_id;
            self.producer_id = new_id();
            self.epoch = 0;
            self.last_epoch = last_epoch;
        } else if expected.is_none_or(|(_, epoch)| is_current(epoch)) {
            self.epoch += 1;
            self.last_epoch = last_epoch;
        } else if expected.is_some_and(|(_, epoch)| epoch != self.last_epoch) {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        self.timeout_ms = timeout_ms;
        self.state = TransactionState::Empty;
        self.participants.clear();
        self.started_ms = -1;
        Ok((self.producer_id, self.epoch))
    }

    /// Checks the producer id and epoch of a producer that resumes.
    pub(crate) fn check_resumed(&self, (producer_id, epoch): (i64, i16)) -> Result<(), ErrorCode> {
        let retried = producer_id == self.previous_producer_id && Self::is_exhausted(epoch);
        match self.epoch == NO_EPOCH || producer_id == self.producer_id || retried {
            true => Ok(()),
            false => Err(ErrorCode::PRODUCER_FENCED),
        }
    }

    /// Checks that a producer has the transactional id.
    ///
    /// # Errors
    /// INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED.
    fn check_producer(&self, producer_id: i64, epoch: i16) -> Result<(), ErrorCode> {
        if self.producer_id != producer_id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        match self.epoch == epoch {
            true => Ok(()),
            false => Err(ErrorCode::PRODUCER_FENCED),
        }
    }

    /// Checks that the producer may add to its transaction, or begin one.
    ///
    /// # Errors
    /// Those of `check_producer`, and CONCURRENT_TRANSACTIONS while the previous transaction is being ended.
    pub(crate) fn check_active(&self, producer_id: i64, epoch: i16) -> Result<(), ErrorCode> {
        self.check_producer(producer_id, epoch)?;
        match self.state.is_prepared() {
            true => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            false => Ok(()),
        }
    }

    /// Checks a request to end the transaction.
    pub(crate) fn check_end(
        &self,
        transaction_version: TransactionVersion,
        producer_id: i64,
        epoch: i16,
        commit: bool,
    ) -> Result<EndCheck, ErrorCode> {
        match transaction_version {
            TransactionVersion::V1 => self.check_end_v1(producer_id, epoch, commit),
            TransactionVersion::V2 => self.check_end_v2(producer_id, epoch, commit),
        }
    }

    fn check_end_v1(&self, producer_id: i64, epoch: i16, commit: bool) -> Result<EndCheck, ErrorCode> {
        self.check_producer(producer_id, epoch)?;
        let same = self.state.commits() == commit;
        match self.state {
            TransactionState::Ongoing => Ok(EndCheck::Begin),
            TransactionState::CompleteCommit | TransactionState::CompleteAbort if same => Ok(EndCheck::Done),
            TransactionState::PrepareCommit | TransactionState::PrepareAbort if same => {
                Err(ErrorCode::CONCURRENT_TRANSACTIONS)
            }
            _ => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }

    /// Checks a request of transaction version 2, where the epoch distinguishes this transaction from the previous one.
    fn check_end_v2(&self, producer_id: i64, epoch: i16, commit: bool) -> Result<EndCheck, ErrorCode> {
        let overflown = self.previous_producer_id == producer_id && epoch == i16::MAX - 1 && self.epoch == 0;
        let repeated = epoch.checked_add(1) == Some(self.epoch) || overflown;
        if self.producer_id != producer_id && !overflown {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        let current = epoch == self.epoch;
        let valid = match self.state {
            TransactionState::Ongoing | TransactionState::Empty => current,
            TransactionState::PrepareCommit | TransactionState::PrepareAbort => repeated,
            TransactionState::CompleteCommit | TransactionState::CompleteAbort => current || repeated,
        };
        if !valid {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match self.state {
            TransactionState::Ongoing => Ok(EndCheck::Begin),
            TransactionState::PrepareCommit | TransactionState::PrepareAbort => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            _ if repeated => match self.state.commits() == commit {
                true => Ok(EndCheck::Done),
                false => Err(ErrorCode::INVALID_TXN_STATE),
            },
            // A producer aborts when it does not know if any of its batches was appended.
            _ if !commit => Ok(EndCheck::Begin),
            _ => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }

    /// Decides the end of the transaction. The decision is final.
    pub(crate) fn prepare(
        &mut self,
        transaction_version: TransactionVersion,
        commit: bool,
        now_ms: i64,
        new_id: impl FnOnce() -> i64,
    ) {
        self.transaction_version = transaction_version;
        if transaction_version == TransactionVersion::V2 {
            if Self::is_exhausted(self.epoch) {
                self.next_producer_id = new_id();
            }
            self.last_epoch = self.epoch;
            self.epoch = self.epoch.saturating_add(1);
        }
        if self.state != TransactionState::Ongoing {
            self.started_ms = now_ms;
        }
        self.state = match commit {
            true => TransactionState::PrepareCommit,
            false => TransactionState::PrepareAbort,
        };
    }

    /// Aborts an open transaction and fences its producer.
    pub(crate) fn prepare_fence(&mut self, transaction_version: TransactionVersion) {
        self.transaction_version = transaction_version;
        self.last_epoch = match transaction_version {
            TransactionVersion::V1 => NO_EPOCH,
            TransactionVersion::V2 => self.epoch,
        };
        self.epoch = self.epoch.saturating_add(1);
        self.state = TransactionState::PrepareAbort;
    }

    /// Completes the transaction after all markers are written.
    pub(crate) fn complete(&mut self) {
        self.state = match self.state.commits() {
            true => TransactionState::CompleteCommit,
            false => TransactionState::CompleteAbort,
        };
        if self.next_producer_id != NO_PRODUCER_ID {
            self.previous_producer_id = self.producer_id;
            self.producer_id = std::mem::replace(&mut self.next_producer_id, NO_PRODUCER_ID);
            self.epoch = 0;
        }
        self.participants.clear();
        self.written.clear();
    }

    /// Returns the producer id and epoch of the next transaction, which EndTxn returns from version 5 on.
    pub(crate) fn next_producer(&self) -> (i64, i16) {
        match self.next_producer_id {
            NO_PRODUCER_ID => (self.producer_id, self.epoch),
            id => (id, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TransactionState::{CompleteAbort, CompleteCommit, Empty, Ongoing, PrepareAbort, PrepareCommit};
    use TransactionVersion::{V1, V2};

    const ID: i64 = 5;

    fn transaction(state: TransactionState, epoch: i16) -> Transaction {
        let mut transaction = Transaction::new(ID, None);
        transaction.epoch = epoch;
        transaction.state = state;
        transaction
    }

    #[test]
    fn end_with_version_1_is_checked_by_state() {
        let invalid = Err(ErrorCode::INVALID_TXN_STATE);
        let concurrent = Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        let cases = [
            (Ongoing, Ok(EndCheck::Begin), Ok(EndCheck::Begin)),
            (Empty, invalid, invalid),
            (PrepareCommit, concurrent, invalid),
            (PrepareAbort, invalid, concurrent),
            (CompleteCommit, Ok(EndCheck::Done), invalid),
            (CompleteAbort, invalid, Ok(EndCheck::Done)),
        ];
        for (state, committed, aborted) in cases {
            let transaction = transaction(state, 3);
            assert_eq!(transaction.check_end(V1, ID, 3, true), committed, "{state:?}");
            assert_eq!(transaction.check_end(V1, ID, 3, false), aborted, "{state:?}");
            for epoch in [2, 4] {
                let other = transaction.check_end(V1, ID, epoch, true);
                assert_eq!(other, Err(ErrorCode::PRODUCER_FENCED), "{state:?}");
            }
            let other = transaction.check_end(V1, 6, 3, true);
            assert_eq!(other, Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
        }
    }

    #[test]
    fn end_with_version_2_is_checked_by_epoch() {
        let fenced = Err(ErrorCode::PRODUCER_FENCED);
        let invalid = Err(ErrorCode::INVALID_TXN_STATE);
        let concurrent = Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        let (begin, done) = (Ok(EndCheck::Begin), Ok(EndCheck::Done));
        // Repeated abort, abort, repeated commit, commit: the table of Kafka's coordinator.
        let cases = [
            (Empty, [fenced, begin, fenced, invalid]),
            (CompleteAbort, [done, begin, invalid, invalid]),
            (CompleteCommit, [invalid, begin, done, invalid]),
            (Ongoing, [fenced, begin, fenced, begin]),
            (PrepareAbort, [concurrent, fenced, concurrent, fenced]),
            (PrepareCommit, [concurrent, fenced, concurrent, fenced]),
        ];
        for (state, expected) in cases {
            let transaction = transaction(state, 3);
            let asked = [(2, false), (3, false), (2, true), (3, true)];
            let found = asked.map(|(epoch, commit)| transaction.check_end(V2, ID, epoch, commit));
            assert_eq!(found, expected, "{state:?}");
            assert_eq!(transaction.check_end(V2, ID, 1, true), fenced, "{state:?}");
            assert_eq!(transaction.check_end(V2, ID, 4, true), fenced, "{state:?}");
        }
    }

    #[test]
    fn version_2_bumps_the_epoch_per_transaction() {
        let mut transaction = transaction(Ongoing, 3);
        transaction.prepare(V2, true, 0, || panic!("epochs are left"));
        assert_eq!(transaction.next_producer(), (ID, 4));
        transaction.complete();
        assert_eq!((transaction.state, transaction.epoch), (CompleteCommit, 4));
        assert_eq!(transaction.check_end(V2, ID, 3, true), Ok(EndCheck::Done));
        assert_eq!(transaction.check_active(ID, 3), Err(ErrorCode::PRODUCER_FENCED));
        assert_eq!(transaction.check_active(ID, 4), Ok(()));
    }

    #[test]
    fn exhausted_epochs_allocate_a_producer_id() {
        let mut transaction = transaction(Ongoing, i16::MAX - 1);
        transaction.prepare(V2, false, 0, || 9);
        assert_eq!(transaction.next_producer(), (9, 0));
        assert_eq!((transaction.producer_id, transaction.epoch), (ID, i16::MAX));
        transaction.complete();
        assert_eq!((transaction.producer_id, transaction.epoch), (9, 0));
        assert_eq!(transaction.check_end(V2, ID, i16::MAX - 1, false), Ok(EndCheck::Done));
        // The same holds for InitProducerId.
        let mut transaction = self::transaction(Empty, i16::MAX - 1);
        let expected = Some((ID, i16::MAX - 1));
        assert_eq!(transaction.init(expected, 1, || 9), Ok((9, 0)));
        assert_eq!(transaction.check_resumed((ID, i16::MAX - 1)), Ok(()));
        assert_eq!(transaction.init(expected, 1, || 10), Ok((9, 0)));
        assert_eq!(transaction.check_resumed((ID, 4)), Err(ErrorCode::PRODUCER_FENCED));
    }

    #[test]
    fn resumed_producer_continues_until_fenced() {
        let new_id = || panic!("epochs are left");
        let mut transaction = Transaction::new(ID, None);
        assert_eq!(transaction.init(None, 1, new_id), Ok((ID, 0)));
        assert_eq!(transaction.init(Some((ID, 0)), 1, new_id), Ok((ID, 1)));
        // A repetition after a lost response gets the same epoch.
        assert_eq!(transaction.init(Some((ID, 0)), 1, new_id), Ok((ID, 1)));
        assert_eq!(transaction.init(None, 1, new_id), Ok((ID, 2)));
        for epoch in [0, 1, 3] {
            let resumed = transaction.init(Some((ID, epoch)), 1, new_id);
            assert_eq!(resumed, Err(ErrorCode::PRODUCER_FENCED));
        }
    }

    #[test]
    fn fence_bumps_the_epoch() {
        for transaction_version in [V1, V2] {
            let mut transaction = transaction(Ongoing, 3);
            transaction.prepare_fence(transaction_version);
            assert_eq!((transaction.state, transaction.epoch), (PrepareAbort, 4));
            assert_eq!(transaction.check_active(ID, 3), Err(ErrorCode::PRODUCER_FENCED));
            transaction.complete();
            let ended = transaction.check_end(transaction_version, ID, 3, true);
            let expected = match transaction_version {
                V1 => ErrorCode::PRODUCER_FENCED,
                V2 => ErrorCode::INVALID_TXN_STATE,
            };
            assert_eq!(ended, Err(expected));
        }
    }
}
