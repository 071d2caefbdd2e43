//! What a group's membership has the consumer do, whichever protocol the group speaks.

use std::sync::Arc;

use crate::error::Error;
use crate::types::{PartitionOffset, TopicPartition, offset};

/// How the members of a group hand partitions over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RebalanceProtocol {
    /// The client is in no group, or has not been told how its group does it.
    #[default]
    None,
    /// Everybody gives everything up before partitions are divided anew.
    Eager,
    /// Everybody keeps what stays its own (KIP-429, KIP-848): only what changes is given up or taken up.
    Cooperative,
}

/// What is to be done with the partitions, or told to the application. Each revocation is confirmed when it has been
/// carried out; orders are carried out in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::consumer) enum GroupAction {
    /// Give all partitions up (eager). `lost`: they may be another member's already.
    Revoke {
        /// The member was thrown out.
        lost: bool,
    },
    /// Give these partitions up and keep the others (cooperative).
    IncrementalRevoke {
        /// Some of what the group gave.
        partitions: Vec<TopicPartition>,
        /// The member was thrown out; then they are all that it has.
        lost: bool,
    },
    /// The partitions that are being given up may be another member's already.
    MarkLost,
    /// Consume these and no others (eager).
    Assign(Vec<TopicPartition>),
    /// Consume these as well (cooperative); none at all tells that the group has divided and nothing came.
    IncrementalAssign(Vec<TopicPartition>),
    /// Tell the application.
    ReportError(Error),
    /// Tell the application of an error of this topic.
    ReportTopicError(Arc<str>, Error),
}

/// The rows of an assignment: each at its committed offset.
pub(in crate::consumer) fn rows<'a>(tps: impl IntoIterator<Item = &'a TopicPartition>) -> Vec<PartitionOffset> {
    tps.into_iter()
        .map(|tp| PartitionOffset::new(tp.clone(), offset::INVALID))
        .collect()
}
