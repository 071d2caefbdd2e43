//! The identity of share partitions.

use ottla_protocol::Uuid;

/// A partition of a topic.
pub(crate) type PartitionId = (Uuid, i32);

/// A partition of a topic as a share group reads it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShareKey {
    pub(crate) group: String,
    pub(crate) topic: Uuid,
    pub(crate) partition: i32,
}

impl ShareKey {
    pub(crate) fn new(group: &str, (topic, partition): PartitionId) -> Self {
        Self {
            group: group.to_owned(),
            topic,
            partition,
        }
    }

    pub(crate) fn id(&self) -> PartitionId {
        (self.topic, self.partition)
    }
}
