//! Snapshots of transactional ids, for checkers.

use super::transaction::{Participant, Transaction};

/// A transactional id in its coordinator's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionView {
    /// The state under Kafka's name, as in DescribeTransactions.
    pub state: &'static str,
    /// The current producer id.
    pub producer_id: i64,
    /// The producer's epoch, -1 before the first.
    pub epoch: i16,
    /// The partitions in the transaction, by topic and number. While the transaction ends, those without a marker yet.
    pub partitions: Vec<(String, i32)>,
    /// The groups whose offsets are in the transaction, likewise.
    pub groups: Vec<String>,
}

impl TransactionView {
    pub(crate) fn new(transaction: &Transaction) -> Self {
        let (mut partitions, mut groups) = (Vec::new(), Vec::new());
        for participant in &transaction.participants {
            match participant {
                Participant::Partition(partition) => partitions.push(partition.clone()),
                Participant::Offsets(group) => groups.push(group.clone()),
            }
        }
        Self {
            state: transaction.state.name(),
            producer_id: transaction.producer_id,
            epoch: transaction.epoch,
            partitions,
            groups,
        }
    }
}
