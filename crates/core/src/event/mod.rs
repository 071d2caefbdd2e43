//! The events that the client delivers to the application, and their queues.

mod admin;
mod callbacks;
mod chunk;
mod delivery;
mod fetched_records;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod partition;
mod queue;
mod share;
#[cfg(test)]
pub(crate) mod test_records;

pub use admin::AdminResult;
pub use callbacks::expect_callbacks;
pub(crate) use callbacks::has_callbacks;
pub use chunk::{Attachment, Chunk, ChunkBuilder};
pub use delivery::{DeliveredRecord, Delivery, DeliveryMode, Progress, Reservation};
pub use fetched_records::{ChunkMemory, RecordRef};
pub use partition::{PartitionState, StoredOffset};
pub use queue::{Notify, Queue, QueueActivity};
pub use share::{
    AcknowledgementResult, AcquiredPartition, AcquiredPartitionBuilder, AcquiredRange, AcquiredRecords, OffsetRange,
    ShareBatch, ShareSessionId, UnreadableRecords, WaitingBatches,
};

use std::sync::Arc;

use crate::config::Secret;
use crate::error::{Error, ErrorCode};
use crate::log::LogLine;
use crate::stats::Statistics;
use crate::types::{PartitionOffset, TopicPartition};

/// One item of a [`Queue`].
#[derive(Debug)]
pub enum Event {
    /// Delivery reports: records of one batch with the same outcome.
    Delivery(Delivery),
    /// Fetched records of one partition.
    Records(Chunk),
    /// End of partition or an error of a consumed partition.
    Partition(PartitionNotice),
    /// Records that a member of a share group has acquired.
    Acquired(Box<ShareBatch>),
    /// The result of acknowledgements in a share group.
    Acknowledged(AcknowledgementResult),
    /// A client-level error or notice: `all brokers down`, authentication, fatal errors …
    Error(Error),
    /// A log line, when logs go to a queue.
    Log(LogLine),
    /// Statistics, every `statistics.interval.ms`.
    Stats(Box<Statistics>),
    /// A broker delayed a request because of a quota.
    Throttle(Throttle),
    /// The group's assignment changes.
    Rebalance(Rebalance),
    /// The result of an offset commit.
    Commit(CommitResult),
    /// A token of OAUTHBEARER is needed (KIP-255): the application answers with
    /// [`Client::set_token`](crate::client::Client::set_token) or
    /// [`Client::set_token_failure`](crate::client::Client::set_token_failure). The request is repeated when the event was
    /// dropped without an answer.
    TokenRefresh(Arc<TokenRequest>),
    /// The result of an admin call.
    Admin(Box<AdminResult>),
    /// No event: ends the wait of a thread on the queue.
    Yield,
}

/// End of partition, or a consumer error that belongs to a partition.
#[derive(Debug)]
pub struct PartitionNotice {
    /// The partition; `None` for an error of the consumer as a whole.
    pub partition: Option<Arc<PartitionState>>,
    /// The partition's name if it has no state.
    pub tp: Option<TopicPartition>,
    /// The partition's fetch generation when the notice was queued; the notice is stale in a later one.
    pub fetch_generation: u32,
    /// [`ErrorCode::L_PARTITION_EOF`] or an error.
    pub error: Error,
    /// The offset of the end or the error.
    pub offset: i64,
}

/// A broker delayed a request (KIP-13, KIP-219), or has stopped to delay requests.
#[derive(Debug, Clone)]
pub struct Throttle {
    /// `host:port` of the broker.
    pub broker_name: String,
    /// The broker's id.
    pub broker_id: i32,
    /// The delay in milliseconds; 0 once after the last delay.
    pub throttle_ms: i32,
}

/// The group assigns or revokes partitions.
#[derive(Debug, Clone)]
pub struct Rebalance {
    /// [`ErrorCode::L_ASSIGN_PARTITIONS`] or [`ErrorCode::L_REVOKE_PARTITIONS`].
    pub code: ErrorCode,
    /// The partitions.
    pub partitions: Vec<PartitionOffset>,
}

/// The request for a token.
#[derive(Debug)]
pub struct TokenRequest {
    /// `sasl.oauthbearer.config`.
    pub config: Secret,
}

/// The result of an offset commit.
#[derive(Debug, Clone)]
pub struct CommitResult {
    /// The request's error, or none.
    pub error: ErrorCode,
    /// The offsets, each with its own error.
    pub offsets: Vec<PartitionOffset>,
    /// The application's pointer given with the commit.
    pub opaque: usize,
}

impl Event {
    /// Returns the number of items that the application sees.
    pub fn len(&self) -> usize {
        match self {
            Event::Delivery(d) => d.len(),
            Event::Records(c) => c.remaining(),
            Event::Acquired(batch) => batch.len(),
            Event::Yield => 0,
            _ => 1,
        }
    }

    /// Returns whether the event holds no item for the application.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the event belongs to a position in a partition's log: records, an end of partition, an error at an
    /// offset. All other events are served before records, see [`Queue::push`].
    pub fn is_positional(&self) -> bool {
        match self {
            Event::Records(_) | Event::Acquired(_) => true,
            Event::Partition(notice) => notice.partition.is_some(),
            _ => false,
        }
    }

    /// Returns whether the event was fetched before a seek, a revocation or a stop of its partition.
    pub fn is_stale(&self) -> bool {
        match self {
            Event::Records(c) => c.is_stale(),
            Event::Partition(n) => n
                .partition
                .as_ref()
                .is_some_and(|p| p.fetch_generation() != n.fetch_generation),
            _ => false,
        }
    }
}
