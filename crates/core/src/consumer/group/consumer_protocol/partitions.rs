//! Partitions by topic id, as in heartbeats.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::Uuid;
use ottla_protocol::api::consumer_group_heartbeat::TopicPartitions;

/// A set of partitions. A topic that was deleted and created again has another id, and therefore other partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Partitions(BTreeMap<Uuid, BTreeSet<i32>>);

impl Partitions {
    pub(super) fn from_wire(topics: Vec<TopicPartitions>) -> Self {
        let mut all = Partitions::default();
        for topic in topics {
            all.insert(topic.topic_id, topic.partitions);
        }
        all
    }

    pub(super) fn to_wire(&self) -> Vec<TopicPartitions> {
        let topics = self.0.iter().map(|(id, set)| TopicPartitions {
            topic_id: *id,
            partitions: set.iter().copied().collect(),
            ..Default::default()
        });
        topics.collect()
    }

    fn insert(&mut self, topic: Uuid, partitions: impl IntoIterator<Item = i32>) {
        let mut partitions = partitions.into_iter().peekable();
        if partitions.peek().is_some() {
            self.0.entry(topic).or_default().extend(partitions);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.0.keys().copied()
    }

    pub(super) fn has_topic(&self, topic: Uuid) -> bool {
        self.0.contains_key(&topic)
    }

    /// Iterates over topic ids and partitions, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Uuid, i32)> + '_ {
        self.0.iter().flat_map(|(id, set)| set.iter().map(|p| (*id, *p)))
    }

    /// Returns the partitions that `other` lacks.
    pub(super) fn minus(&self, other: &Partitions) -> Partitions {
        let mut rest = Partitions::default();
        for (id, set) in &self.0 {
            let theirs = other.0.get(id);
            let mine = set.iter().filter(|p| theirs.is_none_or(|t| !t.contains(p)));
            rest.insert(*id, mine.copied());
        }
        rest
    }

    /// Removes the topics for which `keep` returns false.
    pub(super) fn retain_topics(&mut self, keep: impl Fn(Uuid) -> bool) {
        self.0.retain(|id, _| keep(*id));
    }

    pub(super) fn extend(&mut self, other: &Partitions) {
        for (id, set) in &other.0 {
            self.insert(*id, set.iter().copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(rows: &[(u8, &[i32])]) -> Partitions {
        let mut all = Partitions::default();
        for (id, partitions) in rows {
            all.insert(Uuid([*id; 16]), partitions.iter().copied());
        }
        all
    }

    #[test]
    fn minus_leaves_no_empty_topic() {
        let owned = set(&[(1, &[0, 1]), (2, &[0])]);
        let target = set(&[(1, &[1, 2]), (2, &[0])]);
        assert_eq!(owned.minus(&target), set(&[(1, &[0])]));
        assert_eq!(target.minus(&owned), set(&[(1, &[2])]));
        assert!(owned.minus(&owned).is_empty());
    }

    #[test]
    fn wire_form_round_trips() {
        let mut all = set(&[(2, &[5, 3]), (1, &[0])]);
        assert_eq!(Partitions::from_wire(all.to_wire()), all);
        all.extend(&set(&[(1, &[4]), (3, &[])]));
        assert_eq!(all, set(&[(1, &[0, 4]), (2, &[3, 5])]));
        assert!(Partitions::from_wire(vec![TopicPartitions::default()]).is_empty());
    }
}
