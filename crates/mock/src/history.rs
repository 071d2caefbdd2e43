//! Records of what brokers and coordinators did, for checkers: joins, commits, steps of transactions, requests.

use ottla_protocol::ApiKey;

use crate::ids::{BrokerId, ConnectionId};

/// A committed offset, as a record of `__consumer_offsets` would have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRecord {
    /// The group.
    pub group: String,
    /// The committing member; empty for a consumer outside of the group.
    pub member: String,
    /// The member's generation or epoch, -1 outside of the group.
    pub generation: i32,
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The committed offset.
    pub offset: i64,
    /// The previously committed offset.
    pub before: Option<i64>,
    /// The broker that received the commit.
    pub broker: BrokerId,
    /// The connection of the commit.
    pub connection: ConnectionId,
    /// The producer in whose transaction the offset was committed. Such a commit is recorded when it takes effect.
    pub producer_id: Option<i64>,
}

/// A join that the coordinator accepted: the member is in the group from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinRecord {
    /// The group.
    pub group: String,
    /// The member's id.
    pub member: String,
    /// The connection of the request. Its client may have closed it before the coordinator served the request.
    pub connection: ConnectionId,
}

/// A step in the life of a transactional id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStep {
    /// A producer sent InitProducerId, and the previous producer has lost the transactional id. The new producer received
    /// an epoch, or an open transaction is aborted first.
    Initialized {
        /// The connection of the request.
        connection: ConnectionId,
        /// The request named the producer's id and epoch to bump the epoch (KIP-360).
        resumed: bool,
    },
    /// The first partition or group was added.
    Begun,
    /// The producer requested the commit, which is final from here on.
    Committed,
    /// The producer requested the abort.
    Aborted,
    /// Another producer initialized the transactional id, which aborts the transaction.
    Fenced,
    /// The transaction exceeded its timeout and is aborted (KIP-588).
    TimedOut,
    /// The transactional id was unused for `transactional.id.expiration.ms` and is removed. The record has its last state.
    Expired,
    /// All markers are written.
    Completed {
        /// The markers are COMMIT markers.
        commits: bool,
    },
}

/// A step of a transaction, as a record of `__transaction_state` would have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionRecord {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer id before the step; after it for [`TransactionStep::Initialized`] and
    /// [`TransactionStep::Completed`].
    pub producer_id: i64,
    /// The producer's epoch, likewise.
    pub epoch: i16,
    /// The step.
    pub step: TransactionStep,
}

/// A request that a broker has served or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedRequest {
    /// The API.
    pub api: ApiKey,
    /// The broker.
    pub broker: BrokerId,
    /// The connection of the request.
    pub connection: ConnectionId,
    /// The request's number on its connection.
    pub correlation_id: i32,
    /// The broker has executed it. Otherwise a fault or the authentication refused it.
    pub is_executed: bool,
}

/// A list of records that is kept only once it was enabled.
#[derive(Debug)]
pub(crate) struct RecordList<T>(Option<Vec<T>>);

impl<T> Default for RecordList<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> RecordList<T> {
    pub(crate) fn enable(&mut self) {
        self.0.get_or_insert_default();
    }

    /// Appends a record, which is built only if the list is enabled.
    pub(crate) fn push(&mut self, record: impl FnOnce() -> T) {
        if let Some(list) = &mut self.0 {
            list.push(record());
        }
    }

    /// Returns the records since the last call, in order.
    pub(crate) fn take(&mut self) -> Vec<T> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// The enabled records.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) joins: RecordList<JoinRecord>,
    pub(crate) commits: RecordList<CommitRecord>,
    pub(crate) transaction_steps: RecordList<TransactionRecord>,
    pub(crate) requests: RecordList<ServedRequest>,
}
