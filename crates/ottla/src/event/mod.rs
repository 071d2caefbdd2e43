//! What the client tells the application, and the queues it travels in.

mod admin;
mod callbacks;
mod chunk;
mod delivery;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod partition;
mod queue;
#[cfg(test)]
mod test_records;

pub use admin::{
    AdminOp, AdminOutcome, AdminResult, ConfigEntry, ConfigSource, ConfigSynonym, ConsumerGroupListing, ConsumerGroups,
    ResourceResult, ResourceType, TopicResult,
};
pub use callbacks::expect_callbacks;
pub(crate) use callbacks::has_callbacks;
pub use chunk::{Attachment, Chunk, ChunkBuilder, ChunkMemory, RecordRef};
pub use delivery::{DeliveredRecord, Delivery, DeliveryMode, Progress, Reservation};
pub use partition::{PartitionState, StoredOffset};
pub use queue::{Notify, Queue, QueueActivity};

use std::sync::Arc;

use crate::error::{Error, ErrorCode};
use crate::log::LogLine;
use crate::stats::Statistics;
use crate::types::{PartitionOffset, TopicPartition};

/// One item of a [`Queue`].
#[derive(Debug)]
pub enum Event {
    /// Delivery reports: records of one batch that met the same end.
    Delivery(Delivery),
    /// Fetched records of one partition.
    Records(Chunk),
    /// Something about a consumed partition that is not a record: end of partition or an error.
    Partition(PartitionNotice),
    /// A client-level error or notice: `all brokers down`, authentication, fatal errors …
    Error(Error),
    /// A log line, when logs go to a queue.
    Log(LogLine),
    /// What the client says of itself, every `statistics.interval.ms`.
    Stats(Box<Statistics>),
    /// A broker delayed a request because of a quota.
    Throttle(Throttle),
    /// The group's assignment changes.
    Rebalance(Rebalance),
    /// The result of an offset commit.
    Commit(CommitResult),
    /// The end of an admin call.
    Admin(Box<AdminResult>),
    /// Nothing: somebody wants the thread that waits on the queue to look up.
    Yield,
}

/// End of partition, or a consumer error that belongs to a partition.
#[derive(Debug)]
pub struct PartitionNotice {
    /// The partition; `None` for an error of the consumer as a whole.
    pub partition: Option<Arc<PartitionState>>,
    /// Names the partition where no state exists for it.
    pub tp: Option<TopicPartition>,
    /// The partition's epoch when this was queued; dropped when the partition has moved on.
    pub fetch_generation: u32,
    /// [`ErrorCode::L_PARTITION_EOF`] or an error.
    pub error: Error,
    /// The offset it is about.
    pub offset: i64,
}

/// A broker delayed a request (KIP-13, KIP-219), or does so no more.
#[derive(Debug, Clone)]
pub struct Throttle {
    /// `host:port` of the broker.
    pub broker_name: String,
    /// The broker's id.
    pub broker_id: i32,
    /// For how long, in milliseconds; 0 once when the delays are over.
    pub throttle_ms: i32,
}

/// The group gives or takes partitions.
#[derive(Debug, Clone)]
pub struct Rebalance {
    /// [`ErrorCode::L_ASSIGN_PARTITIONS`] or [`ErrorCode::L_REVOKE_PARTITIONS`].
    pub code: ErrorCode,
    /// Which partitions.
    pub partitions: Vec<PartitionOffset>,
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
    /// How many application-visible items this event holds.
    pub fn len(&self) -> usize {
        match self {
            Event::Delivery(d) => d.len(),
            Event::Records(c) => c.remaining(),
            Event::Yield => 0,
            _ => 1,
        }
    }

    /// Whether the event holds nothing for the application.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the event belongs to one place in a partition's log: records, an end of partition, an error at an offset.
    /// All other events are served before records, see [`Queue::push`].
    pub fn is_positional(&self) -> bool {
        match self {
            Event::Records(_) => true,
            Event::Partition(notice) => notice.partition.is_some(),
            _ => false,
        }
    }

    /// Whether it speaks of a partition as it was before a seek, a revocation or a stop.
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
