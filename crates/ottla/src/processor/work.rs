//! What was processed since the last commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::PartitionState;
use crate::sys::Instant;
use crate::types::{PartitionOffset, TopicPartition};

/// A run of records of one partition.
#[derive(Debug)]
struct Span {
    partition: Arc<PartitionState>,
    first: i64,
    next: i64,
    /// Of the last record.
    leader_epoch: i32,
}

/// The records that were processed and are not committed, by partition.
#[derive(Debug, Default)]
pub(super) struct Work {
    spans: BTreeMap<u32, Span>,
    begun_at: Option<Instant>,
}

impl Work {
    /// A record was processed, or passed over in a way that makes it to be read again.
    pub(super) fn note(&mut self, partition: &Arc<PartitionState>, offset: i64, leader_epoch: i32, now: Instant) {
        self.begun_at.get_or_insert(now);
        let span = self.spans.entry(partition.id()).or_insert_with(|| Span {
            partition: partition.clone(),
            first: offset,
            next: offset,
            leader_epoch,
        });
        span.next = offset.saturating_add(1);
        span.leader_epoch = leader_epoch;
    }

    /// When the first of the records was processed.
    pub(super) fn begun_at(&self) -> Option<Instant> {
        self.begun_at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Where reading would go on: what is to be committed.
    pub(super) fn offsets(&self) -> Vec<PartitionOffset> {
        let rows = self.spans.values().map(|span| PartitionOffset {
            leader_epoch: span.leader_epoch,
            ..PartitionOffset::new(span.partition.tp(), span.next)
        });
        rows.collect()
    }

    /// Where the work began: what is to be read again where nothing was ever committed.
    pub(super) fn beginnings(&self) -> BTreeMap<TopicPartition, i64> {
        let rows = self.spans.values().map(|span| (span.partition.tp(), span.first));
        rows.collect()
    }

    /// Forgets partitions.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&TopicPartition) -> bool) {
        self.spans.retain(|_, span| is_kept(&span.partition.tp()));
        if self.spans.is_empty() {
            self.begun_at = None;
        }
    }

    /// It is committed, or everything is read again.
    pub(super) fn clear(&mut self) {
        *self = Work::default();
    }
}
