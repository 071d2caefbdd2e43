//! What brokers and topics have to say of themselves, for managers to fill in their part.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Cluster;
use crate::cluster::PartitionMeta;
use crate::connection::BrokerKey;
use crate::stats;
use crate::sys::Instant;
use crate::types::NodeId;

/// The parts of a statistics document that several managers know something of.
#[derive(Debug, Default)]
pub struct Survey {
    /// The connections.
    pub brokers: BTreeMap<BrokerKey, stats::Broker>,
    /// The topics, by name.
    pub topics: BTreeMap<String, stats::Topic>,
}

impl Survey {
    /// A partition, made where metadata does not name it; `None` of a topic that the client does not use.
    pub fn partition(&mut self, topic: &str, partition: i32) -> Option<&mut stats::Partition> {
        let topic = self.topics.get_mut(topic)?;
        let made = || stats::Partition::numbered(partition);
        Some(topic.partitions.entry(partition).or_insert_with(made))
    }

    /// Says which broker a partition is sent to or read from.
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

impl Cluster {
    /// Topics of which metadata is known.
    pub fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// Lists topics, each with the time since when it is used, as metadata knows them.
    pub fn survey(&self, topics: impl Iterator<Item = (Arc<str>, Instant)>, now: Instant, survey: &mut Survey) {
        let ms = |since: Instant| u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX);
        for (name, since) in topics {
            let mut topic = stats::Topic {
                topic: name.to_string(),
                age_ms: ms(since),
                metadata_age_ms: -1,
                ..Default::default()
            };
            if let Some(meta) = self.topic(&name) {
                topic.metadata_age_ms = i64::try_from(ms(meta.fetched_at)).unwrap_or(i64::MAX);
                topic.partitions = (0..).zip(&meta.partitions).map(|(i, p)| (i, told(i, p))).collect();
            }
            survey.topics.insert(topic.topic.clone(), topic);
        }
    }
}

/// A partition as metadata knows it.
fn told(partition: i32, meta: &PartitionMeta) -> stats::Partition {
    stats::Partition {
        leader: meta.leader.map_or(-1, |node| node.0),
        leader_epoch: meta.leader_epoch,
        unknown: false,
        ..stats::Partition::numbered(partition)
    }
}
