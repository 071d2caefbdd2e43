//! The commands of the application, and the acknowledgements in them.

use std::sync::Arc;

use ottla_protocol::Uuid;

use super::acknowledge_type::AcknowledgeType;
use crate::error::{Error, ErrorCode};
use crate::event::{OffsetRange, ShareSessionId};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::TopicPartition;

/// Records with the same acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcknowledgedRange {
    /// The records.
    pub offsets: OffsetRange,
    /// Their acknowledgement.
    pub ty: AcknowledgeType,
}

/// Acknowledgements of one partition's records from one acquisition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionAcknowledgements {
    /// The session that the records were acquired in.
    pub session: ShareSessionId,
    /// The acquisition, see [`ShareBatch::acquisition`](crate::event::ShareBatch::acquisition).
    pub acquisition: u64,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partition.
    pub tp: TopicPartition,
    /// The records in ascending order of offsets; ranges do not overlap.
    pub ranges: Vec<AcknowledgedRange>,
}

/// The results of a synchronous commit: each partition once, with its error.
pub type CommitResults = Vec<(TopicPartition, ErrorCode)>;

/// A synchronous commit: its deadline, and its results.
#[derive(Debug, Clone)]
pub struct CommitCall {
    /// The time at which partitions without a result fail with `REQUEST_TIMED_OUT`.
    pub deadline: Instant,
    /// Filled when each partition has a result.
    pub reply: Arc<Reply<Result<CommitResults, Error>>>,
}

/// A command of the application. Every `reply` is filled exactly once.
#[derive(Debug)]
pub enum Command {
    /// Joins the group for these topics, or changes the topics. An empty list is [`Unsubscribe`](Command::Unsubscribe).
    Subscribe {
        /// Topic names, each once.
        topics: Vec<String>,
        /// Filled when the subscription is stored; the member joins later.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Leaves the group. Records can still be acknowledged.
    Unsubscribe {
        /// Filled when the subscription is removed.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Returns the subscription.
    Subscription {
        /// Topic names.
        reply: Arc<Reply<Result<Vec<String>, Error>>>,
    },
    /// The application waits for records, or has taken a batch.
    Poll {
        /// Acknowledgements of records from earlier polls.
        acknowledgements: Vec<PartitionAcknowledgements>,
        /// The time until which the application waits for records; `None` if it has taken a batch.
        wait_until: Option<Instant>,
        /// The time from the last batch to this poll, in microseconds; `None` if there was no batch.
        busy_us: Option<u64>,
    },
    /// Sends acknowledgements.
    Commit {
        /// The acknowledgements.
        acknowledgements: Vec<PartitionAcknowledgements>,
        /// The waiting call; `None` for an asynchronous commit.
        call: Option<CommitCall>,
    },
    /// Sends acknowledgements, closes the sessions, and leaves the group.
    Close {
        /// Acknowledgements of records from earlier polls.
        acknowledgements: Vec<PartitionAcknowledgements>,
        /// Filled when the consumer is closed.
        reply: Arc<Reply<Result<(), Error>>>,
    },
}

impl Command {
    /// Fails a command that is not executed.
    pub fn refuse(self, error: Error) {
        match self {
            Command::Subscribe { reply, .. } | Command::Unsubscribe { reply } | Command::Close { reply, .. } => {
                reply.fill(Err(error));
            }
            Command::Subscription { reply } => reply.fill(Err(error)),
            Command::Commit { call: Some(call), .. } => call.reply.fill(Err(error)),
            Command::Commit { call: None, .. } | Command::Poll { .. } => {}
        }
    }
}
