//! The offsets that a group has committed.

use std::collections::BTreeMap;

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommittedOffset {
    pub(crate) offset: i64,
    /// Epoch of the leader that the last consumed record came from; -1 when the client did not say.
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: String,
}

/// All offsets of one group, by topic name and partition. (Offsets of open transactions will wait beside these.)
#[derive(Debug, Default)]
pub(crate) struct CommittedOffsets {
    topics: BTreeMap<String, BTreeMap<i32, CommittedOffset>>,
}

impl CommittedOffsets {
    pub(crate) fn get(&self, topic: &str, partition: i32) -> Option<&CommittedOffset> {
        self.topics.get(topic)?.get(&partition)
    }

    pub(crate) fn commit(&mut self, topic: &str, partition: i32, committed: CommittedOffset) {
        match self.topics.get_mut(topic) {
            Some(partitions) => {
                partitions.insert(partition, committed);
            }
            None => {
                self.topics
                    .insert(topic.to_owned(), BTreeMap::from([(partition, committed)]));
            }
        }
    }

    /// Topics with their partitions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &BTreeMap<i32, CommittedOffset>)> {
        self.topics.iter()
    }

    pub(crate) fn topic_deleted(&mut self, topic: &str) {
        self.topics.remove(topic);
    }
}
