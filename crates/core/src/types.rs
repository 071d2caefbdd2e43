//! Common types: topics, partitions, offsets, nodes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub use crate::config::ClientKind;
use crate::config::TopicConfig;
use crate::error::ErrorCode;
pub use ottla_protocol::Uuid;

/// Logical offsets of the public API.
pub mod offset {
    /// The log start offset.
    pub const BEGINNING: i64 = -2;
    /// The end of the partition: the offset of the next record to be produced.
    pub const END: i64 = -1;
    /// The committed offset.
    pub const STORED: i64 = -1000;
    /// No offset.
    pub const INVALID: i64 = -1001;
    /// `TAIL_BASE - n` is `n` records before the end.
    pub const TAIL_BASE: i64 = -2000;

    /// Returns the `n` of a `TAIL_BASE - n` offset.
    pub fn tail(offset: i64) -> Option<i64> {
        (offset <= TAIL_BASE).then(|| TAIL_BASE - offset)
    }
}

/// No partition: the partitioner chooses one.
pub const PARTITION_UA: i32 = -1;

/// Returns true for a topic name that Kafka's brokers accept: 1 to 249 of the characters `a-z A-Z 0-9 . _ -`, but not `.`
/// or `..`.
pub fn is_valid_topic_name(name: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=249).contains(&name.len()) && name != "." && name != ".." && name.bytes().all(is_legal)
}

/// A map by topic name, with several look-ups per batch. Its hash is fast and randomly seeded, since names come from the
/// cluster.
pub type NameMap<V> = HashMap<Arc<str>, V, foldhash::fast::RandomState>;

/// A broker's id, negative for bootstrap addresses whose broker id is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub i32);

impl NodeId {
    /// Returns true for a bootstrap address, false for a broker from metadata.
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

/// The application's partitioner: `(topic, key, partition count, the record's opaque) -> partition`, or [`PARTITION_UA`] for
/// none. Called on the thread that produces, or on the client's thread when the partition count becomes known later.
pub type PartitionerFn = Arc<dyn Fn(&Topic, Option<&[u8]>, i32, usize) -> i32 + Send + Sync>;

/// Returns a topic by its name, and creates it if it is unknown.
pub type TopicSource = Arc<dyn Fn(&str) -> Result<Arc<Topic>, crate::error::Error> + Send + Sync>;

/// Settings of a topic that are not textual.
#[derive(Clone, Default)]
pub struct TopicHooks {
    /// The application's own partitioner.
    pub partitioner: Option<PartitionerFn>,
    /// The application's pointer for callbacks, never dereferenced.
    pub opaque: usize,
}

/// A topic of a client: created once per name, shared by all users of the topic, alive as long as the client.
pub struct Topic {
    name: Arc<str>,
    conf: TopicConfig,
    hooks: TopicHooks,
    index: u32,
    /// The number of handles that the application holds.
    handles: AtomicU32,
}

impl Topic {
    /// Creates a topic; `index` is its position in the client's topic table.
    pub fn new(name: &str, conf: TopicConfig, hooks: TopicHooks, index: u32) -> Self {
        Topic {
            name: name.into(),
            conf,
            hooks,
            index,
            handles: AtomicU32::new(0),
        }
    }

    /// Returns the topic's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the topic's name, shared.
    pub fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// Returns the topic's settings.
    pub fn conf(&self) -> &TopicConfig {
        &self.conf
    }

    /// Returns the application's partitioner and opaque.
    pub fn hooks(&self) -> &TopicHooks {
        &self.hooks
    }

    /// Returns the topic's position in the client's topic table.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// Counts a handle returned to the application.
    pub fn acquire(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a handle released by the application; false if it held none.
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
    /// Creates one from a name and a number.
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

/// A consumer's membership in its group, for a producer that commits offsets for it (KIP-447). With only a group id, the
/// coordinator cannot check that the consumer still owns the partitions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupMetadata {
    /// `group.id`.
    pub group_id: String,
    /// The generation or member epoch, -1 without one.
    pub generation: i32,
    /// The member id assigned by the coordinator, empty without one.
    pub member_id: String,
    /// `group.instance.id`.
    pub group_instance_id: Option<String>,
}

/// One row of a list of partitions in the arguments and results of public calls.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionOffset {
    /// The partition.
    pub tp: TopicPartition,
    /// An absolute or logical offset; in some calls a timestamp in milliseconds.
    pub offset: i64,
    /// The leader epoch of the record before `offset` (KIP-320), or -1.
    pub leader_epoch: i32,
    /// Metadata stored with a committed offset.
    pub metadata: Option<Vec<u8>>,
    /// The result of this row.
    pub error: ErrorCode,
}

impl PartitionOffset {
    /// Creates a row without metadata or error.
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

/// The persistence of a record in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersistStatus {
    /// Never sent, or rejected by the broker: sending it again cannot duplicate it.
    NotPersisted,
    /// Sent without a response: it may be in the log.
    PossiblyPersisted,
    /// Written and acknowledged according to `acks`.
    Persisted,
}

/// The type of a record's timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimestampType {
    /// No timestamp (message format 0).
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
    fn is_valid_topic_name_follows_the_brokers_rules() {
        for good in ["a", "A-b_c.9", "...", &"x".repeat(249)] {
            assert!(is_valid_topic_name(good), "{good}");
        }
        for bad in ["", ".", "..", "a b", "é", "#!$", &"x".repeat(250)] {
            assert!(!is_valid_topic_name(bad), "{bad}");
        }
    }
}
