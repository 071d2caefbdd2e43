//! What checkers see of transactions.

use super::{Participant, Transaction, TransactionState};
use crate::cluster::{Cluster, ConnectionId};

/// A transactional id as its coordinator has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionView {
    /// The state under Kafka's name, as DescribeTransactions gives it.
    pub state: &'static str,
    /// The id of the producer that has it.
    pub producer_id: i64,
    /// The producer's epoch, -1 before the first.
    pub epoch: i16,
    /// The partitions in the transaction by topic and number; while it is being ended, those that have not got their
    /// marker yet.
    pub partitions: Vec<(String, i32)>,
    /// Likewise the groups whose offsets are in the transaction.
    pub groups: Vec<String>,
}

/// What happened to a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStep {
    /// A producer asked for the transactional id on this connection (InitProducerId), and took it from the one that had it:
    /// it was given an epoch, or has an open transaction aborted first.
    Initialized {
        /// The connection that the request came by.
        connection: ConnectionId,
        /// The producer says which id and epoch it has, and asks for the next epoch (KIP-360).
        resumed: bool,
    },
    /// The first partition or group was added.
    Begun,
    /// Its producer had it committed. From here on it is.
    Committed,
    /// Its producer had it aborted.
    Aborted,
    /// Another producer took the transactional id, which aborts it.
    Fenced,
    /// It was open for too long, and is aborted (KIP-588).
    TimedOut,
    /// Nobody has used the transactional id for long enough: the coordinator has forgotten it, as it was then.
    Expired,
    /// All markers are written.
    Completed {
        /// Whether they say COMMIT.
        commits: bool,
    },
}

/// A step of a transaction, as it would lie in `__transaction_state`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionRecord {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer before the step, for [`TransactionStep::Initialized`] and [`TransactionStep::Completed`] after it.
    pub producer_id: i64,
    /// Its epoch, likewise.
    pub epoch: i16,
    /// What happened.
    pub step: TransactionStep,
}

impl Cluster {
    /// A transactional id as it is now; `None` when no producer ever asked for it.
    pub fn transaction_view(&self, id: &str) -> Option<TransactionView> {
        let transaction = self.transactions.get(id)?;
        let (mut partitions, mut groups) = (Vec::new(), Vec::new());
        for participant in &transaction.participants {
            match participant {
                Participant::Partition(place) => partitions.push(place.clone()),
                Participant::Offsets(group) => groups.push(group.clone()),
            }
        }
        Some(TransactionView {
            state: transaction.state.name(),
            producer_id: transaction.producer_id,
            epoch: transaction.epoch,
            partitions,
            groups,
        })
    }

    /// Whether any transaction is open or being ended.
    pub fn has_open_transactions(&self) -> bool {
        let is_open = |t: &Transaction| t.state == TransactionState::Ongoing || t.state.is_prepared();
        self.transactions.iter().any(|(_, t)| is_open(t))
    }

    /// Writes every step of every transaction down from now on, to be taken with [`Cluster::take_transaction_steps`].
    pub fn log_transaction_steps(&mut self) {
        self.transactions.log.get_or_insert_default();
    }

    /// The steps since the last call, in order.
    pub fn take_transaction_steps(&mut self) -> Vec<TransactionRecord> {
        self.transactions.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn note_step(&mut self, id: &str, transaction: &Transaction, step: TransactionStep) {
        if let Some(log) = &mut self.transactions.log {
            log.push(TransactionRecord {
                transactional_id: id.to_owned(),
                producer_id: transaction.producer_id,
                epoch: transaction.epoch,
                step,
            });
        }
    }
}
