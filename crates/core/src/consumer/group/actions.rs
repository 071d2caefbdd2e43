//! The actions that membership of a group requires from the consumer, for both group protocols.

use std::sync::Arc;

use crate::error::Error;
use crate::types::{PartitionOffset, TopicPartition, offset};

/// A change of the assignment, or an error for the application. Actions are executed in order; each revocation is confirmed
/// once it has been executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::consumer) enum GroupAction {
    /// Revoke all partitions (eager).
    Revoke {
        /// The member was removed from the group: the partitions may be another member's already.
        lost: bool,
    },
    /// Revoke these partitions and keep the others (cooperative).
    IncrementalRevoke {
        /// A part of the assignment.
        partitions: Vec<TopicPartition>,
        /// The member was removed from the group; the partitions are then its whole assignment.
        lost: bool,
    },
    /// The partitions that are being revoked may be another member's already.
    MarkLost,
    /// Replace the assignment (eager).
    Assign(Vec<TopicPartition>),
    /// Add to the assignment (cooperative). An empty list reports a rebalance that assigned nothing new.
    IncrementalAssign(Vec<TopicPartition>),
    /// Report an error to the application.
    ReportError(Error),
    /// Report an error of this topic to the application.
    ReportTopicError(Arc<str>, Error),
}

/// Returns the rows of an assignment, each with its committed offset as the start.
pub(in crate::consumer) fn rows<'a>(tps: impl IntoIterator<Item = &'a TopicPartition>) -> Vec<PartitionOffset> {
    tps.into_iter()
        .map(|tp| PartitionOffset::new(tp.clone(), offset::INVALID))
        .collect()
}
