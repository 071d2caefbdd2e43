//! Counters of fetched data, for statistics.

use std::collections::BTreeMap;

use crate::types::NodeId;

/// Messages and bytes that were put into the application's queues.
#[derive(Debug, Default, Clone, Copy)]
pub struct Received {
    /// Messages.
    pub messages: u64,
    /// Bytes of their records, uncompressed.
    pub bytes: u64,
}

impl Received {
    fn add(&mut self, other: Received) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// The counters of one consumer.
#[derive(Debug, Default)]
pub(in crate::consumer) struct FetchCounts {
    total: Received,
    /// By the partitions' ids: these counters outlive assignments.
    by_partition: Vec<Received>,
    /// Batches that were cut off, by broker.
    partial: BTreeMap<NodeId, u64>,
}

impl FetchCounts {
    pub(super) fn on_delivered(&mut self, id: u32, delivered: Received) {
        let index = id as usize;
        if index >= self.by_partition.len() {
            self.by_partition.resize_with(index + 1, Received::default);
        }
        if let Some(of) = self.by_partition.get_mut(index) {
            of.add(delivered);
        }
        self.total.add(delivered);
    }

    pub(super) fn on_partial(&mut self, node: NodeId) {
        *self.partial.entry(node).or_default() += 1;
    }

    pub(in crate::consumer) fn total(&self) -> Received {
        self.total
    }

    pub(in crate::consumer) fn of(&self, id: u32) -> Received {
        self.by_partition.get(id as usize).copied().unwrap_or_default()
    }

    pub(in crate::consumer) fn partial(&self) -> impl Iterator<Item = (NodeId, u64)> {
        self.partial.iter().map(|(node, count)| (*node, *count))
    }
}
