//! The offsets that a group has committed, and those that wait for the end of a transaction.

use std::collections::BTreeMap;

use crate::ids::{BrokerId, ConnectionId};

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommittedOffset {
    pub(crate) offset: i64,
    /// Epoch of the leader of the last consumed record; -1 when the client did not send it.
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: String,
}

/// The origin of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committer {
    /// Empty for a consumer outside of the group.
    pub(crate) member: String,
    /// Or the member's epoch; -1 outside of the group.
    pub(crate) generation: i32,
    pub(crate) broker: BrokerId,
    pub(crate) connection: ConnectionId,
}

/// An offset that takes effect when its transaction commits.
#[derive(Debug)]
pub(super) struct PendingOffset {
    pub(super) committed: CommittedOffset,
    pub(super) committer: Committer,
    order: u64,
}

/// By topic name and partition.
type ByPartition<T> = BTreeMap<String, BTreeMap<i32, T>>;

/// All offsets of one group.
#[derive(Debug, Default)]
pub(crate) struct CommittedOffsets {
    /// With the number of the commit.
    committed: ByPartition<(u64, CommittedOffset)>,
    /// By producer id (KIP-98).
    pending: BTreeMap<i64, ByPartition<PendingOffset>>,
    /// The last epochs of producers in commits and ended transactions.
    epochs: BTreeMap<i64, i16>,
    commits: u64,
}

impl CommittedOffsets {
    pub(crate) fn get(&self, topic: &str, partition: i32) -> Option<&CommittedOffset> {
        let (_, committed) = self.committed.get(topic)?.get(&partition)?;
        Some(committed)
    }

    pub(crate) fn commit(&mut self, topic: &str, partition: i32, committed: CommittedOffset) {
        self.commits += 1;
        self.store(topic, partition, self.commits, committed);
    }

    /// Stores a commit. Returns false when a later commit is already stored.
    fn store(&mut self, topic: &str, partition: i32, order: u64, committed: CommittedOffset) -> bool {
        let partitions = match self.committed.get_mut(topic) {
            Some(partitions) => partitions,
            None => self.committed.entry(topic.to_owned()).or_default(),
        };
        let is_latest = partitions.get(&partition).is_none_or(|(stored, _)| *stored < order);
        if is_latest {
            partitions.insert(partition, (order, committed));
        }
        is_latest
    }

    /// Returns the topics with their partitions, including those with pending offsets only.
    pub(crate) fn partitions(&self) -> BTreeMap<&str, Vec<i32>> {
        let mut all: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
        for (topic, partitions) in &self.committed {
            all.entry(topic).or_default().extend(partitions.keys());
        }
        for (topic, partitions) in self.pending.values().flatten() {
            all.entry(topic).or_default().extend(partitions.keys());
        }
        for partitions in all.values_mut() {
            partitions.sort_unstable();
            partitions.dedup();
        }
        all
    }

    /// Removes a committed offset. A pending one stays.
    pub(crate) fn delete(&mut self, topic: &str, partition: i32) {
        if let Some(partitions) = self.committed.get_mut(topic) {
            partitions.remove(&partition);
            if partitions.is_empty() {
                self.committed.remove(topic);
            }
        }
    }

    pub(crate) fn topic_deleted(&mut self, topic: &str) {
        self.committed.remove(topic);
        for pending in self.pending.values_mut() {
            pending.remove(topic);
        }
    }

    // ---------------------------------------------------------------- transactions

    /// Returns true when an offset waits for the end of a transaction (KIP-447).
    pub(crate) fn is_pending(&self, topic: &str, partition: i32) -> bool {
        let mut pending = self.pending.values();
        pending.any(|p| p.get(topic).is_some_and(|p| p.contains_key(&partition)))
    }

    /// Returns true when a producer has offsets in its open transaction of this epoch.
    pub(crate) fn has_open_transaction(&self, producer_id: i64, epoch: i16) -> bool {
        self.pending.contains_key(&producer_id) && self.epochs.get(&producer_id) == Some(&epoch)
    }

    /// Returns true when a producer has used a later epoch.
    pub(crate) fn is_fenced(&self, producer_id: i64, epoch: i16) -> bool {
        self.epochs.get(&producer_id).is_some_and(|e| *e > epoch)
    }

    /// Commits an offset as part of a producer's transaction.
    pub(crate) fn commit_in_transaction(
        &mut self,
        (producer_id, epoch): (i64, i16),
        topic: &str,
        partition: i32,
        committed: CommittedOffset,
        committer: Committer,
    ) {
        self.commits += 1;
        self.epochs.insert(producer_id, epoch);
        let topics = self.pending.entry(producer_id).or_default();
        let offset = PendingOffset {
            committed,
            committer,
            order: self.commits,
        };
        topics.entry(topic.to_owned()).or_default().insert(partition, offset);
    }

    /// Ends a producer's transaction. Commits its offsets, except where another commit came later, and returns the
    /// committed ones.
    pub(super) fn end_transaction(
        &mut self,
        producer_id: i64,
        epoch: i16,
        commits: bool,
    ) -> Vec<(String, i32, PendingOffset, Option<i64>)> {
        self.epochs.insert(producer_id, epoch);
        let mut ended = Vec::new();
        for (topic, partitions) in self.pending.remove(&producer_id).unwrap_or_default() {
            for (partition, pending) in partitions {
                let before = self.get(&topic, partition).map(|c| c.offset);
                let committed = pending.committed.clone();
                if commits && self.store(&topic, partition, pending.order, committed) {
                    ended.push((topic.clone(), partition, pending, before));
                }
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: i64) -> CommittedOffset {
        CommittedOffset {
            offset,
            leader_epoch: -1,
            metadata: String::new(),
        }
    }

    fn no_member() -> Committer {
        Committer {
            member: String::new(),
            generation: -1,
            broker: BrokerId(1),
            connection: ConnectionId(0),
        }
    }

    #[test]
    fn transactional_offsets_take_effect_on_commit() {
        let mut offsets = CommittedOffsets::default();
        offsets.commit("t", 0, at(1));
        offsets.commit_in_transaction((7, 0), "t", 0, at(5), no_member());
        offsets.commit_in_transaction((7, 0), "u", 1, at(6), no_member());
        assert!(offsets.is_pending("t", 0) && offsets.is_pending("u", 1) && !offsets.is_pending("u", 0));
        assert_eq!(offsets.partitions(), BTreeMap::from([("t", vec![0]), ("u", vec![1])]));
        assert_eq!(offsets.get("t", 0), Some(&at(1)));
        assert_eq!(offsets.end_transaction(7, 0, true).len(), 2);
        assert_eq!(offsets.get("t", 0), Some(&at(5)));
        assert!(!offsets.is_pending("t", 0));
        offsets.commit_in_transaction((7, 0), "t", 0, at(9), no_member());
        assert!(offsets.end_transaction(7, 1, false).is_empty());
        assert_eq!(offsets.get("t", 0), Some(&at(5)));
        assert!(offsets.is_fenced(7, 0) && !offsets.is_fenced(7, 1) && !offsets.is_fenced(8, 0));
    }

    #[test]
    fn later_commit_wins_over_transaction_end() {
        let mut offsets = CommittedOffsets::default();
        offsets.commit_in_transaction((7, 0), "t", 0, at(5), no_member());
        offsets.commit_in_transaction((8, 0), "t", 0, at(6), no_member());
        offsets.end_transaction(8, 0, true);
        assert!(offsets.end_transaction(7, 0, true).is_empty());
        assert_eq!(offsets.get("t", 0), Some(&at(6)));
        offsets.commit_in_transaction((7, 0), "t", 0, at(7), no_member());
        offsets.commit("t", 0, at(8));
        offsets.end_transaction(7, 0, true);
        assert_eq!(offsets.get("t", 0), Some(&at(8)));
    }
}
