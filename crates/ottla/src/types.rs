//! The vocabulary of the client: topics, partitions, offsets, nodes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::config::TopicConfig;
use crate::error::ErrorCode;

/// Logical offsets, as the public API knows them.
pub mod offset {
    /// The partition's log start.
    pub const BEGINNING: i64 = -2;
    /// The partition's end: the next record to be produced.
    pub const END: i64 = -1;
    /// The committed offset.
    pub const STORED: i64 = -1000;
    /// No offset.
    pub const INVALID: i64 = -1001;
    /// `TAIL_BASE - n` is n records before the end.
    pub const TAIL_BASE: i64 = -2000;

    /// The `n` of a `TAIL_BASE - n` offset.
    pub fn tail(offset: i64) -> Option<i64> {
        (offset <= TAIL_BASE).then(|| TAIL_BASE - offset)
    }
}

/// "Unassigned": the partitioner is to choose.
pub const PARTITION_UA: i32 = -1;

/// Whether Kafka's brokers take a topic's name: 1 to 249 of the characters `a-z A-Z 0-9 . _ -`, but not `.` or `..`.
pub fn is_valid_topic_name(name: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=249).contains(&name.len()) && name != "." && name != ".." && name.bytes().all(is_legal)
}

/// By the name of a topic: what is asked several times for each batch. The hash is quick and seeded at random, for names
/// come from the cluster.
pub type NameMap<V> = HashMap<Arc<str>, V, foldhash::fast::RandomState>;

/// A broker's id. Bootstrap brokers whose id is not known yet have negative numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub i32);

impl NodeId {
    /// Whether this is a bootstrap address rather than a broker named by metadata.
    pub fn is_bootstrap(self) -> bool {
        self.0 < 0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_bootstrap() {
            f.write_str("bootstrap")
        } else {
            self.0.fmt(f)
        }
    }
}

/// Whether a client produces or consumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientKind {
    /// Sends records.
    Producer,
    /// Reads records.
    Consumer,
}

impl fmt::Display for ClientKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientKind::Producer => "producer",
            ClientKind::Consumer => "consumer",
        })
    }
}

/// The application's partitioner: `(topic, key, partition count, the record's opaque) -> partition` or
/// [`PARTITION_UA`] when it cannot say. Called on the thread that produces, or on the client's own when the topic's
/// partition count becomes known later.
pub type PartitionerFn = Arc<dyn Fn(&Topic, Option<&[u8]>, i32, usize) -> i32 + Send + Sync>;

/// What a topic handle carries besides its textual settings.
#[derive(Clone, Default)]
pub struct TopicHooks {
    /// The application's own partitioner.
    pub partitioner: Option<PartitionerFn>,
    /// The application's pointer for callbacks, never looked at.
    pub opaque: usize,
}

/// A topic known to a client: created once per name, shared by everything that speaks of the topic, alive as long as
/// the client.
pub struct Topic {
    name: Arc<str>,
    conf: TopicConfig,
    hooks: TopicHooks,
    index: u32,
    /// Handles that the application holds.
    handles: AtomicU32,
}

impl Topic {
    /// A topic with its settings; `index` is its place in the client's table of topics.
    pub fn new(name: &str, conf: TopicConfig, hooks: TopicHooks, index: u32) -> Self {
        Topic {
            name: name.into(),
            conf,
            hooks,
            index,
            handles: AtomicU32::new(0),
        }
    }

    /// The topic's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The topic's name, shared.
    pub fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// The topic's settings.
    pub fn conf(&self) -> &TopicConfig {
        &self.conf
    }

    /// The application's partitioner and opaque.
    pub fn hooks(&self) -> &TopicHooks {
        &self.hooks
    }

    /// The topic's place in the client's table of topics.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// Counts a handle given to the application.
    pub fn acquire(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a handle given back; false when there was none out.
    pub fn release(&self) -> bool {
        self.handles
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
            .is_ok()
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topic")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A topic name and a partition.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number, or [`PARTITION_UA`].
    pub partition: i32,
}

impl TopicPartition {
    /// From a name and a number.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        TopicPartition {
            topic: topic.into(),
            partition,
        }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.topic, self.partition)
    }
}

/// Who a consumer is in its group, for a producer that commits offsets for it (KIP-447). With only a group id, nothing
/// tells whether the consumer still owns what it has read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupMetadata {
    /// `group.id`.
    pub group_id: String,
    /// The generation or member epoch, -1 outside of one.
    pub generation: i32,
    /// The member id that the coordinator gave, empty without one.
    pub member_id: String,
    /// `group.instance.id`.
    pub group_instance_id: Option<String>,
}

/// One row of a list of partitions as it goes in and out of the public calls.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionOffset {
    /// Which partition.
    pub tp: TopicPartition,
    /// An absolute or logical offset; a timestamp in milliseconds where a call says so.
    pub offset: i64,
    /// The leader epoch of the record before `offset` (KIP-320), or -1.
    pub leader_epoch: i32,
    /// Metadata stored with a committed offset.
    pub metadata: Option<Vec<u8>>,
    /// This row's own result.
    pub error: ErrorCode,
}

impl PartitionOffset {
    /// A row without metadata or error.
    pub fn new(tp: TopicPartition, offset: i64) -> Self {
        PartitionOffset {
            tp,
            offset,
            leader_epoch: -1,
            metadata: None,
            error: ErrorCode::NO_ERROR,
        }
    }
}

/// Whether a record reached the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersistStatus {
    /// Never sent, or refused by the broker: sending it again cannot double it.
    NotPersisted,
    /// Sent, but no answer came: it may be in the log.
    PossiblyPersisted,
    /// Written and acknowledged as `acks` asks.
    Persisted,
}

/// What a record's timestamp means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimestampType {
    /// The record has none (message format 0).
    NotAvailable,
    /// Set by the producer.
    CreateTime,
    /// Set by the broker.
    LogAppendTime,
}

#[cfg(test)]
mod tests {
    use super::is_valid_topic_name;

    #[test]
    fn topic_names_are_judged_as_brokers_do() {
        for good in ["a", "A-b_c.9", "...", &"x".repeat(249)] {
            assert!(is_valid_topic_name(good), "{good}");
        }
        for bad in ["", ".", "..", "a b", "é", "#!$", &"x".repeat(250)] {
            assert!(!is_valid_topic_name(bad), "{bad}");
        }
    }
}
