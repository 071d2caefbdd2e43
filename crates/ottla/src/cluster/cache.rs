//! What is known of topics.

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataResponsePartition, MetadataResponseTopic};

use crate::env::Instant;
use crate::error::ErrorCode;
use crate::types::NodeId;

/// What is known of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMeta {
    /// The partition's own error in metadata, or none.
    pub error: ErrorCode,
    /// The leader, when there is one.
    pub leader: Option<NodeId>,
    /// The leader's epoch, -1 when the broker does not tell.
    pub leader_epoch: i32,
    /// All replicas.
    pub replicas: Vec<i32>,
    /// Replicas in sync.
    pub isrs: Vec<i32>,
}

impl PartitionMeta {
    fn from_wire(p: &MetadataResponsePartition) -> Self {
        PartitionMeta {
            error: ottla_protocol::ErrorCode(p.error_code).into(),
            leader: (p.leader_id >= 0).then_some(NodeId(p.leader_id)),
            leader_epoch: p.leader_epoch,
            replicas: p.replica_nodes.clone(),
            isrs: p.isr_nodes.clone(),
        }
    }

    fn unknown() -> Self {
        PartitionMeta {
            error: ErrorCode::LEADER_NOT_AVAILABLE,
            leader: None,
            leader_epoch: -1,
            replicas: Vec::new(),
            isrs: Vec::new(),
        }
    }
}

/// What is known of a topic.
#[derive(Clone, Debug)]
pub struct TopicMeta {
    /// The topic's id (KIP-516), [`Uuid::ZERO`] from brokers that have none.
    pub id: Uuid,
    /// The topic's error in metadata, or none.
    pub error: ErrorCode,
    /// By partition number; empty while unknown.
    pub partitions: Vec<PartitionMeta>,
    /// When this was learned.
    pub fetched_at: Instant,
    /// Since when brokers have said that the topic does not exist.
    pub missing_since: Option<Instant>,
}

impl TopicMeta {
    /// Reads a broker's answer. `before` is what was known: a partition whose leader epoch is newer there is kept, since
    /// brokers learn of elections at different times.
    pub(super) fn from_wire(topic: &MetadataResponseTopic, before: Option<&TopicMeta>, now: Instant) -> Self {
        let error: ErrorCode = ottla_protocol::ErrorCode(topic.error_code).into();
        let before = before.filter(|b| b.id == topic.topic_id || topic.topic_id == Uuid::ZERO);
        let mut partitions: Vec<PartitionMeta> = Vec::with_capacity(topic.partitions.len());
        for wire in &topic.partitions {
            let Ok(index) = usize::try_from(wire.partition_index) else {
                continue;
            };
            if index >= topic.partitions.len().saturating_mul(2).max(1024) {
                continue; // partition numbers are dense; anything else is a broken answer
            }
            if partitions.len() <= index {
                partitions.resize_with(index + 1, PartitionMeta::unknown);
            }
            let mut meta = PartitionMeta::from_wire(wire);
            let known = before.and_then(|b| b.partitions.get(index));
            if let Some(known) = known.filter(|k| meta.leader_epoch >= 0 && k.leader_epoch > meta.leader_epoch) {
                meta = known.clone();
            }
            if let Some(slot) = partitions.get_mut(index) {
                *slot = meta;
            }
        }
        let missing = error == ErrorCode::UNKNOWN_TOPIC_OR_PART || error == ErrorCode::UNKNOWN_TOPIC_ID;
        TopicMeta {
            id: topic.topic_id,
            error,
            partitions,
            fetched_at: now,
            missing_since: missing.then(|| before.and_then(|b| b.missing_since).unwrap_or(now)),
        }
    }

    /// Whether the topic exists and its partitions are known.
    pub fn is_usable(&self) -> bool {
        self.error == ErrorCode::NO_ERROR && !self.partitions.is_empty()
    }

    /// The number of partitions, 0 while unknown.
    pub fn partition_count(&self) -> i32 {
        i32::try_from(self.partitions.len()).unwrap_or(i32::MAX)
    }

    /// Whether some partition has no leader or an error that a refresh may mend.
    pub fn is_incomplete(&self) -> bool {
        self.error != ErrorCode::NO_ERROR || self.partitions.iter().any(|p| p.leader.is_none())
    }

    /// A partition of this topic.
    pub fn partition(&self, index: i32) -> Option<&PartitionMeta> {
        self.partitions.get(usize::try_from(index).ok()?)
    }

    pub(super) fn partition_mut(&mut self, index: i32) -> Option<&mut PartitionMeta> {
        self.partitions.get_mut(usize::try_from(index).ok()?)
    }

    /// Whether what matters to producers and consumers differs.
    pub(super) fn differs_from(&self, other: &TopicMeta) -> bool {
        self.id != other.id
            || self.error != other.error
            || self.partitions.len() != other.partitions.len()
            || self
                .partitions
                .iter()
                .zip(&other.partitions)
                .any(|(a, b)| a.leader != b.leader || a.leader_epoch != b.leader_epoch || a.error != b.error)
    }
}
