//! The statistics of brokers and topics, to which several managers contribute.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cache::PartitionMeta;
use super::topics::Topics;
use crate::connection::BrokerKey;
use crate::stats;
use crate::sys::Instant;
use crate::types::NodeId;

/// The parts of a statistics document to which several managers contribute.
#[derive(Debug, Default)]
pub struct Survey {
    /// The connections.
    pub brokers: BTreeMap<BrokerKey, stats::Broker>,
    /// The topics, by name.
    pub topics: BTreeMap<String, stats::Topic>,
}

impl Survey {
    /// Returns a partition, which is added if metadata does not contain it; `None` for a topic that the client does not use.
    pub fn partition(&mut self, topic: &str, partition: i32) -> Option<&mut stats::Partition> {
        let topic = self.topics.get_mut(topic)?;
        let new = || stats::Partition::numbered(partition);
        Some(topic.partitions.entry(partition).or_insert_with(new))
    }

    /// Sets the broker that a partition is produced to or fetched from.
    pub fn delegate(&mut self, topic: &str, partition: i32, node: NodeId) {
        if let Some(to) = self.partition(topic, partition) {
            to.broker = node.0;
        }
        if let Some(broker) = self.brokers.get_mut(&BrokerKey::general(node)) {
            let toppar = stats::Toppar {
                topic: topic.to_owned(),
                partition,
            };
            broker.toppars.insert(format!("{topic}-{partition}"), toppar);
        }
    }
}

impl Survey {
    /// Adds topics, each with the time since when the client uses it, and their metadata.
    pub(super) fn add_topics(
        &mut self,
        known: &Topics,
        topics: impl Iterator<Item = (Arc<str>, Instant)>,
        now: Instant,
    ) {
        let ms = |since: Instant| u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX);
        for (name, since) in topics {
            let mut topic = stats::Topic {
                topic: name.to_string(),
                age_ms: ms(since),
                metadata_age_ms: -1,
                ..Default::default()
            };
            if let Some(meta) = known.get(&name) {
                topic.metadata_age_ms = i64::try_from(ms(meta.fetched_at)).unwrap_or(i64::MAX);
                topic.partitions = (0..).zip(&meta.partitions).map(|(i, p)| (i, partition(i, p))).collect();
            }
            self.topics.insert(topic.topic.clone(), topic);
        }
    }
}

/// Returns a partition's statistics as far as metadata contains them.
fn partition(index: i32, meta: &PartitionMeta) -> stats::Partition {
    stats::Partition {
        leader: meta.leader.map_or(-1, |node| node.0),
        leader_epoch: meta.leader_epoch,
        unknown: false,
        ..stats::Partition::numbered(index)
    }
}
