//! Records processed since the last commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_core::event::PartitionState;
use ottla_core::sys::Instant;
use ottla_core::types::{PartitionOffset, TopicPartition};

/// A range of processed records of one partition.
#[derive(Debug)]
struct OffsetRange {
    partition: Arc<PartitionState>,
    first: i64,
    /// The offset after the last record.
    next: i64,
    /// The leader epoch of the last record.
    leader_epoch: i32,
}

/// The processed and uncommitted records, by partition.
#[derive(Debug, Default)]
pub(crate) struct Uncommitted {
    /// The ranges by the partition's id in this client.
    ranges: BTreeMap<u32, OffsetRange>,
    /// The time at which the first of the records was processed.
    started_at: Option<Instant>,
}

impl Uncommitted {
    /// Adds a record that was processed, or whose processing failed.
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

    /// Returns the time at which the first of the records was processed.
    pub(crate) fn started_at(&self) -> Option<Instant> {
        self.started_at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the offsets to commit: those after the last records.
    pub(crate) fn offsets(&self) -> Vec<PartitionOffset> {
        let rows = self.ranges.values().map(|range| PartitionOffset {
            leader_epoch: range.leader_epoch,
            ..PartitionOffset::new(range.partition.tp(), range.next)
        });
        rows.collect()
    }

    /// Returns the offsets of the first records, at which reading restarts for partitions without a committed offset.
    pub(crate) fn first_offsets(&self) -> BTreeMap<TopicPartition, i64> {
        let rows = self.ranges.values().map(|range| (range.partition.tp(), range.first));
        rows.collect()
    }

    /// Removes the partitions for which `is_kept` returns false.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&TopicPartition) -> bool) {
        self.ranges.retain(|_, range| is_kept(&range.partition.tp()));
        if self.ranges.is_empty() {
            self.started_at = None;
        }
    }

    /// Removes all records, after a commit or a rollback.
    pub(crate) fn clear(&mut self) {
        *self = Uncommitted::default();
    }
}
