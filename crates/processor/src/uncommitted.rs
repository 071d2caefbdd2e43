//! What was processed since the last commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla::event::PartitionState;
use ottla::sys::Instant;
use ottla::types::{PartitionOffset, TopicPartition};

/// A run of records of one partition.
#[derive(Debug)]
struct OffsetRange {
    partition: Arc<PartitionState>,
    first: i64,
    next: i64,
    /// Of the last record.
    leader_epoch: i32,
}

/// The records that were processed and are not committed, by partition.
#[derive(Debug, Default)]
pub(crate) struct Uncommitted {
    ranges: BTreeMap<u32, OffsetRange>,
    started_at: Option<Instant>,
}

impl Uncommitted {
    /// A record was processed, or passed over in a way that makes it to be read again.
    pub(crate) fn note(&mut self, partition: &Arc<PartitionState>, offset: i64, leader_epoch: i32, now: Instant) {
        self.started_at.get_or_insert(now);
        let range = self.ranges.entry(partition.id()).or_insert_with(|| OffsetRange {
            partition: partition.clone(),
            first: offset,
            next: offset,
            leader_epoch,
        });
        range.next = offset.saturating_add(1);
        range.leader_epoch = leader_epoch;
    }

    /// When the first of the records was processed.
    pub(crate) fn started_at(&self) -> Option<Instant> {
        self.started_at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Where reading would go on: what is to be committed.
    pub(crate) fn offsets(&self) -> Vec<PartitionOffset> {
        let rows = self.ranges.values().map(|range| PartitionOffset {
            leader_epoch: range.leader_epoch,
            ..PartitionOffset::new(range.partition.tp(), range.next)
        });
        rows.collect()
    }

    /// Where the work began: what is to be read again where nothing was ever committed.
    pub(crate) fn first_offsets(&self) -> BTreeMap<TopicPartition, i64> {
        let rows = self.ranges.values().map(|range| (range.partition.tp(), range.first));
        rows.collect()
    }

    /// Forgets partitions.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&TopicPartition) -> bool) {
        self.ranges.retain(|_, range| is_kept(&range.partition.tp()));
        if self.ranges.is_empty() {
            self.started_at = None;
        }
    }

    /// It is committed, or everything is read again.
    pub(crate) fn clear(&mut self) {
        *self = Uncommitted::default();
    }
}
