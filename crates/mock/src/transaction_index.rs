//! The index of the transactions in a partition's log: the starts of open ones, and the aborted ones.

use std::collections::BTreeMap;

use ottla_protocol::record::ControlType;

/// The contents of a transaction marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
    pub(crate) outcome: ControlType,
    pub(crate) coordinator_epoch: i32,
}

/// A transaction that was aborted: what its producer wrote between the two offsets does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AbortedTransaction {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
    /// That of the marker.
    pub(crate) last_offset: i64,
}

#[derive(Debug, Default)]
pub(crate) struct TransactionIndex {
    /// The first offset of each producer's open transaction.
    open: BTreeMap<i64, i64>,
    /// Ended transactions whose marker is not replicated yet: first offset, and the marker's offset.
    unreplicated: BTreeMap<i64, i64>,
    /// In the order of their markers.
    aborted: Vec<AbortedTransaction>,
}

impl TransactionIndex {
    /// Returns the first offset of a producer's open transaction.
    pub(crate) fn open(&self, producer_id: i64) -> Option<i64> {
        self.open.get(&producer_id).copied()
    }

    /// Adds a transactional batch.
    pub(crate) fn appended(&mut self, producer_id: i64, offset: i64) {
        self.open.entry(producer_id).or_insert(offset);
    }

    /// Adds a marker.
    pub(crate) fn ended(&mut self, marker: &Marker, offset: i64) {
        let Some(first_offset) = self.open.remove(&marker.producer_id) else {
            return;
        };
        self.unreplicated.insert(first_offset, offset);
        if marker.outcome == ControlType::ABORT {
            self.aborted.push(AbortedTransaction {
                producer_id: marker.producer_id,
                first_offset,
                last_offset: offset,
            });
        }
    }

    /// Removes the ended transactions whose marker is below the high watermark.
    pub(crate) fn replicated(&mut self, high_watermark: i64) {
        self.unreplicated.retain(|_, marker| *marker >= high_watermark);
    }

    /// Returns the first offset of the first transaction whose end is not replicated.
    pub(crate) fn first_unstable(&self) -> Option<i64> {
        let open = self.open.values().min().copied();
        let ended = self.unreplicated.keys().next().copied();
        open.into_iter().chain(ended).min()
    }

    /// Returns the aborted transactions that overlap the offsets from `from` to before `to`, in the order of their
    /// markers.
    pub(crate) fn aborted(&self, from: i64, to: i64) -> impl Iterator<Item = &AbortedTransaction> {
        let first = self.aborted.partition_point(|a| a.last_offset < from);
        let later = self.aborted.get(first..).unwrap_or_default();
        later.iter().filter(move |a| a.first_offset < to)
    }

    /// Removes the transactions wholly before an offset.
    pub(crate) fn delete_before(&mut self, offset: i64) {
        let gone = self.aborted.partition_point(|a| a.last_offset < offset);
        self.aborted.drain(..gone);
    }

    /// Forgets everything; the caller replays the batches that are left.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
