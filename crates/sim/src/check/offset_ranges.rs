//! Sets of offsets, as spans.

use std::collections::BTreeMap;

/// Offsets; those next to each other take one place.
#[derive(Debug, Default)]
pub(super) struct OffsetRanges(BTreeMap<i64, i64>);

impl OffsetRanges {
    /// Adds the offsets from `from` up to but without `to`.
    pub(super) fn add(&mut self, from: i64, to: i64) {
        if from >= to {
            return;
        }
        let (mut from, mut to) = (from, to);
        while let Some((&start, &end)) = self.0.range(..=to).next_back().filter(|(_, end)| **end >= from) {
            self.0.remove(&start);
            from = from.min(start);
            to = to.max(end);
        }
        self.0.insert(from, to);
    }

    /// The first offset from `from` on and before `to` that is not there.
    pub(super) fn first_gap(&self, from: i64, to: i64) -> Option<i64> {
        if from >= to {
            return None;
        }
        match self.0.range(..=from).next_back() {
            Some((_, &end)) if end > from => (end < to).then_some(end),
            _ => Some(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_grow_together() {
        let mut offset_ranges = OffsetRanges::default();
        offset_ranges.add(5, 7);
        offset_ranges.add(0, 2);
        assert_eq!(offset_ranges.first_gap(0, 7), Some(2));
        assert_eq!(offset_ranges.first_gap(5, 7), None);
        offset_ranges.add(2, 5);
        assert_eq!(offset_ranges.0.len(), 1);
        assert_eq!(offset_ranges.first_gap(0, 7), None);
        assert_eq!(offset_ranges.first_gap(0, 8), Some(7));
        offset_ranges.add(10, 12);
        offset_ranges.add(1, 20);
        assert_eq!(offset_ranges.0, BTreeMap::from([(0, 20)]));
        assert_eq!(offset_ranges.first_gap(25, 26), Some(25));
        assert_eq!(offset_ranges.first_gap(3, 3), None);
    }
}
