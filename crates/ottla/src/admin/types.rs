//! Keys and values of results that the core has in another form.

use ottla_core::admin::{ConfigQuery, ResourceType};
use ottla_core::types::{PartitionOffset, TopicPartition};

/// A resource with settings: its type and its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigResource {
    /// The type of the resource.
    pub kind: ResourceType,
    /// Its name: a topic's or group's name, a broker's id in decimal, empty for the default of all brokers.
    pub name: String,
}

impl ConfigResource {
    /// Returns the resource of a topic.
    pub fn topic(name: impl Into<String>) -> Self {
        ConfigResource {
            kind: ResourceType::TOPIC,
            name: name.into(),
        }
    }

    /// Returns the resource of a broker.
    pub fn broker(id: i32) -> Self {
        ConfigResource {
            kind: ResourceType::BROKER,
            name: id.to_string(),
        }
    }

    /// Returns the resource of a group (KIP-848).
    pub fn group(id: impl Into<String>) -> Self {
        ConfigResource {
            kind: ResourceType::GROUP,
            name: id.into(),
        }
    }
}

impl From<ConfigResource> for ConfigQuery {
    /// Returns the query of all settings of the resource.
    fn from(resource: ConfigResource) -> Self {
        ConfigQuery {
            kind: resource.kind,
            name: resource.name,
            configs: Vec::new(),
        }
    }
}

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetAndMetadata {
    /// The offset of the next record to consume.
    pub offset: i64,
    /// The leader epoch of the record before it (KIP-320), if it is known.
    pub leader_epoch: Option<i32>,
    /// The text that was committed with the offset, often empty.
    pub metadata: String,
}

impl From<i64> for OffsetAndMetadata {
    /// Returns the offset without leader epoch or text.
    fn from(offset: i64) -> Self {
        OffsetAndMetadata {
            offset,
            leader_epoch: None,
            metadata: String::new(),
        }
    }
}

impl OffsetAndMetadata {
    pub(super) fn into_row(self, tp: TopicPartition) -> PartitionOffset {
        PartitionOffset {
            leader_epoch: self.leader_epoch.unwrap_or(-1),
            metadata: (!self.metadata.is_empty()).then(|| self.metadata.into_bytes()),
            ..PartitionOffset::new(tp, self.offset)
        }
    }

    /// Returns the committed offset of a row, `None` if there is none.
    pub(super) fn from_row(row: PartitionOffset) -> Option<Self> {
        (row.offset >= 0).then(|| OffsetAndMetadata {
            offset: row.offset,
            leader_epoch: Some(row.leader_epoch).filter(|epoch| *epoch >= 0),
            metadata: row
                .metadata
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default(),
        })
    }
}

/// The start offset of a share group in a partition: the first record that the group has not processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartOffset {
    /// The offset.
    pub offset: i64,
    /// The leader epoch of the record before it, if it is known.
    pub leader_epoch: Option<i32>,
    /// The number of records that the group has not processed (KIP-1226, Kafka 4.3), if the broker knows it.
    pub lag: Option<i64>,
}

impl StartOffset {
    /// Returns the start offset of a row, `None` if there is none.
    pub(super) fn from_row(row: &PartitionOffset, lag: Option<i64>) -> Option<Self> {
        (row.offset >= 0).then_some(StartOffset {
            offset: row.offset,
            leader_epoch: Some(row.leader_epoch).filter(|epoch| *epoch >= 0),
            lag,
        })
    }
}
