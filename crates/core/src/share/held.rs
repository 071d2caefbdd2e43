//! The records that a member holds in a session, each with the acquisition that it belongs to.
//!
//! Brokers distinguish the acquisitions of a record by the member only. An acknowledgement of an acquisition whose lock has
//! run out would therefore apply to a later acquisition by the same member. The client compares acquisitions itself, so that
//! an acknowledgement applies only to the delivery that the application has seen.

use std::collections::BTreeMap;

use super::acknowledge_type::AcknowledgeType;
use super::acknowledgements::{AcknowledgementSet, PartitionId};
use crate::event::OffsetRange;

/// Consecutive records of one acquisition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    last: i64,
    acquisition: u64,
}

/// The records that a session holds.
///
/// Order of calls for a record: [`acquire`](Self::acquire), then [`take`](Self::take) for each acknowledgement.
#[derive(Debug, Default)]
pub(super) struct HeldRecords {
    /// Runs that do not overlap, by their first offsets.
    by_partition: BTreeMap<PartitionId, BTreeMap<i64, Run>>,
}

impl HeldRecords {
    /// Adds acquired records. They belong to no earlier acquisition any more.
    pub(super) fn acquire(&mut self, id: PartitionId, offsets: &[OffsetRange], acquisition: u64) {
        let runs = self.by_partition.entry(id).or_default();
        for offsets in offsets {
            cut(runs, *offsets);
            let run = Run {
                last: offsets.last,
                acquisition,
            };
            runs.insert(offsets.first, run);
        }
    }

    /// Removes records, whichever acquisition they belong to.
    pub(super) fn drop_all(&mut self, id: PartitionId, offsets: OffsetRange) {
        if let Some(runs) = self.by_partition.get_mut(&id) {
            cut(runs, offsets);
        }
    }

    /// Returns whether all acknowledged records belong to this acquisition. Those that are not renewed are held no longer.
    pub(super) fn take(&mut self, set: &AcknowledgementSet, acquisition: u64) -> bool {
        let mut ranges = set.ranges.iter();
        let is_held = ranges.all(|r| self.holds(set.id, r.offsets, acquisition));
        for range in set.ranges.iter().filter(|r| r.ty != AcknowledgeType::Renew as i8) {
            self.give_up(set.id, range.offsets, acquisition);
        }
        is_held
    }

    /// Returns whether all of these records are held by this acquisition.
    fn holds(&self, id: PartitionId, offsets: OffsetRange, acquisition: u64) -> bool {
        let Some(runs) = self.by_partition.get(&id) else {
            return false;
        };
        let mut next = offsets.first;
        while next <= offsets.last {
            let run = runs.range(..=next).next_back().map(|(_, run)| run);
            match run.filter(|run| run.last >= next && run.acquisition == acquisition) {
                Some(run) => next = run.last + 1,
                None => return false,
            }
        }
        true
    }

    /// Removes records of this acquisition: the member sends no further acknowledgement of it.
    fn give_up(&mut self, id: PartitionId, offsets: OffsetRange, acquisition: u64) {
        let Some(runs) = self.by_partition.get_mut(&id) else {
            return;
        };
        for (first, run) in overlapping(runs, offsets) {
            if run.acquisition == acquisition {
                let both = OffsetRange {
                    first: first.max(offsets.first),
                    last: run.last.min(offsets.last),
                };
                cut(runs, both);
            }
        }
        if runs.is_empty() {
            self.by_partition.remove(&id);
        }
    }

    /// Removes all records.
    pub(super) fn clear(&mut self) {
        self.by_partition.clear();
    }
}

/// Returns the runs that contain any of these offsets.
fn overlapping(runs: &BTreeMap<i64, Run>, offsets: OffsetRange) -> Vec<(i64, Run)> {
    let before = runs.range(..offsets.first).next_back();
    let before = before.filter(|(_, run)| run.last >= offsets.first);
    let within = runs.range(offsets.first..=offsets.last);
    before
        .into_iter()
        .chain(within)
        .map(|(first, run)| (*first, *run))
        .collect()
}

/// Removes offsets from runs.
fn cut(runs: &mut BTreeMap<i64, Run>, offsets: OffsetRange) {
    for (first, run) in overlapping(runs, offsets) {
        runs.remove(&first);
        if first < offsets.first {
            let last = offsets.first - 1;
            runs.insert(first, Run { last, ..run });
        }
        if run.last > offsets.last {
            runs.insert(offsets.last + 1, run);
        }
    }
}

#[cfg(test)]
mod tests {
    use ottla_protocol::Uuid;

    use super::*;

    const ID: PartitionId = (Uuid([1; 16]), 0);

    fn range(first: i64, last: i64) -> OffsetRange {
        OffsetRange { first, last }
    }

    #[test]
    fn later_acquisition_replaces_an_earlier_one() {
        let mut held = HeldRecords::default();
        held.acquire(ID, &[range(0, 9), range(20, 29)], 1);
        assert!(held.holds(ID, range(0, 9), 1) && held.holds(ID, range(20, 29), 1));
        assert!(!held.holds(ID, range(0, 10), 1), "offset 10 was not acquired");
        held.acquire(ID, &[range(4, 5), range(8, 21)], 2);
        for (offsets, acquisition) in [
            (range(0, 3), 1),
            (range(4, 5), 2),
            (range(6, 7), 1),
            (range(8, 21), 2),
            (range(22, 29), 1),
        ] {
            assert!(held.holds(ID, offsets, acquisition), "{offsets:?}");
            assert!(!held.holds(ID, offsets, 3 - acquisition), "{offsets:?}");
        }
        assert!(!held.holds(ID, range(3, 4), 1), "offset 4 was acquired again");
        assert!(!held.holds((ID.0, 1), range(0, 0), 1), "another partition");
    }

    #[test]
    fn records_are_held_until_they_are_given_up() {
        let mut held = HeldRecords::default();
        held.acquire(ID, &[range(0, 9)], 1);
        held.give_up(ID, range(3, 5), 1);
        assert!(held.holds(ID, range(0, 2), 1) && held.holds(ID, range(6, 9), 1));
        assert!(!held.holds(ID, range(5, 5), 1) && !held.holds(ID, range(3, 3), 1));
        held.acquire(ID, &[range(8, 8)], 2);
        held.give_up(ID, range(0, 9), 1);
        assert!(!held.holds(ID, range(0, 0), 1));
        assert!(held.holds(ID, range(8, 8), 2), "the later acquisition is held");
        held.give_up(ID, range(8, 8), 2);
        assert!(held.by_partition.is_empty());
    }
}
