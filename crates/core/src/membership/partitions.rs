//! Partitions by topic id, as in heartbeats.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::Uuid;
use ottla_protocol::api::{consumer_group_heartbeat, share_group_heartbeat};

/// A set of partitions. A topic that was deleted and created again has another id, and therefore other partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Partitions(BTreeMap<Uuid, BTreeSet<i32>>);

impl Partitions {
    /// Iterates over topic ids with their partitions, in order.
    pub(crate) fn by_topic(&self) -> impl Iterator<Item = (Uuid, Vec<i32>)> + '_ {
        self.0.iter().map(|(id, set)| (*id, set.iter().copied().collect()))
    }

    fn insert(&mut self, topic: Uuid, partitions: impl IntoIterator<Item = i32>) {
        let mut partitions = partitions.into_iter().peekable();
        if partitions.peek().is_some() {
            self.0.entry(topic).or_default().extend(partitions);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn topics(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.0.keys().copied()
    }

    pub(crate) fn has_topic(&self, topic: Uuid) -> bool {
        self.0.contains_key(&topic)
    }

    /// Iterates over topic ids and partitions, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Uuid, i32)> + '_ {
        self.0.iter().flat_map(|(id, set)| set.iter().map(|p| (*id, *p)))
    }

    /// Returns the partitions that `other` lacks.
    pub(crate) fn minus(&self, other: &Partitions) -> Partitions {
        let mut rest = Partitions::default();
        for (id, set) in &self.0 {
            let theirs = other.0.get(id);
            let mine = set.iter().filter(|p| theirs.is_none_or(|t| !t.contains(p)));
            rest.insert(*id, mine.copied());
        }
        rest
    }

    /// Removes the topics for which `keep` returns false.
    pub(crate) fn retain_topics(&mut self, keep: impl Fn(Uuid) -> bool) {
        self.0.retain(|id, _| keep(*id));
    }

    pub(crate) fn extend(&mut self, other: &Partitions) {
        for (id, set) in &other.0 {
            self.insert(*id, set.iter().copied());
        }
    }
}

/// Collects topics with their partitions; a topic may occur more than once.
impl FromIterator<(Uuid, Vec<i32>)> for Partitions {
    fn from_iter<I: IntoIterator<Item = (Uuid, Vec<i32>)>>(topics: I) -> Self {
        let mut all = Partitions::default();
        for (id, partitions) in topics {
            all.insert(id, partitions);
        }
        all
    }
}

impl From<consumer_group_heartbeat::Assignment> for Partitions {
    fn from(assignment: consumer_group_heartbeat::Assignment) -> Self {
        let topics = assignment.topic_partitions.into_iter();
        topics.map(|t| (t.topic_id, t.partitions)).collect()
    }
}

impl From<share_group_heartbeat::Assignment> for Partitions {
    fn from(assignment: share_group_heartbeat::Assignment) -> Self {
        let topics = assignment.topic_partitions.into_iter();
        topics.map(|t| (t.topic_id, t.partitions)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(rows: &[(u8, &[i32])]) -> Partitions {
        rows.iter().map(|(id, p)| (Uuid([*id; 16]), p.to_vec())).collect()
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
    fn topics_are_in_order_and_not_empty() {
        let mut all = set(&[(2, &[5, 3]), (1, &[0])]);
        let topics: Vec<_> = all.by_topic().collect();
        assert_eq!(topics, [(Uuid([1; 16]), vec![0]), (Uuid([2; 16]), vec![3, 5])]);
        all.extend(&set(&[(1, &[4]), (3, &[])]));
        assert_eq!(all, set(&[(1, &[0, 4]), (2, &[3, 5])]));
        assert!(set(&[(1, &[])]).is_empty());
    }

    #[test]
    fn assignments_of_both_protocols_are_read() {
        let consumer = consumer_group_heartbeat::TopicPartitions {
            topic_id: Uuid([1; 16]),
            partitions: vec![2, 0],
            ..Default::default()
        };
        let consumer = consumer_group_heartbeat::Assignment {
            topic_partitions: vec![consumer, Default::default()],
            ..Default::default()
        };
        assert_eq!(Partitions::from(consumer), set(&[(1, &[0, 2])]));
        let share = share_group_heartbeat::TopicPartitions {
            topic_id: Uuid([3; 16]),
            partitions: vec![1],
            ..Default::default()
        };
        let share = share_group_heartbeat::Assignment {
            topic_partitions: vec![share.clone(), share],
            ..Default::default()
        };
        assert_eq!(Partitions::from(share), set(&[(3, &[1])]));
    }
}
