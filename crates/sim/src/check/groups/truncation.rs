//! Logs that lost a committed end to an unclean election: a consumer that has read beyond the truncation returns to it,
//! and skips no record written since.

use std::collections::BTreeMap;

use crate::check::tp::Tp;

/// The end of the log after a truncation, and the leader epoch of the records that follow.
#[derive(Debug, Clone, Copy)]
struct Truncation {
    kept: i64,
    epoch: i32,
    /// The end of the log before, for readers.
    end: i64,
    at_us: u64,
}

/// All truncations, in order.
#[derive(Debug, Default)]
pub(super) struct Truncations(BTreeMap<Tp, Vec<Truncation>>);

impl Truncations {
    fn of(&self, tp: &Tp) -> &[Truncation] {
        self.0.get(tp).map_or(&[], Vec::as_slice)
    }

    /// Returns true when the log was truncated.
    pub(super) fn exist(&self, tp: &Tp) -> bool {
        !self.of(tp).is_empty()
    }

    /// Returns true when a truncation moves a consumer from the position `from` to `to`.
    pub(super) fn may_lead(&self, tp: &Tp, from: i64, to: i64) -> bool {
        self.of(tp).iter().any(|cut| cut.kept < from && cut.kept == to)
    }

    /// Returns true when a truncation has removed records below an offset.
    pub(super) fn reach(&self, tp: &Tp, offset: i64) -> bool {
        self.of(tp).iter().any(|cut| cut.kept < offset)
    }

    /// Returns true when a commit of `offset` may have been overtaken by a lower one, of a consumer that had returned
    /// to a truncation below the offset.
    pub(super) fn overtakes(&self, tp: &Tp, (made_us, lower): (u64, i64), offset: i64) -> bool {
        let mut truncations = self.of(tp).iter();
        truncations.any(|cut| cut.kept < offset && cut.kept <= lower && cut.at_us <= made_us)
    }

    /// Returns true when a record was truncated. A consumer that has not detected this may still deliver it.
    pub(super) fn took(&self, tp: &Tp, (offset, leader_epoch): (i64, i32)) -> bool {
        self.of(tp)
            .iter()
            .any(|cut| leader_epoch < cut.epoch && cut.kept <= offset)
    }

    /// Returns the latest end that readers may have found. A consumer there may not have detected a truncation below
    /// it.
    pub(super) fn latest_end(&self, tp: &Tp, now: i64) -> i64 {
        self.of(tp).iter().map(|cut| cut.end).fold(now, i64::max)
    }

    /// Returns the offset up to which no truncation has changed the log.
    pub(super) fn known(&self, tp: &Tp, offset: i64) -> i64 {
        let kept = self.of(tp).iter().map(|cut| cut.kept);
        kept.fold(offset, i64::min)
    }

    /// Records that a log lost the offsets from `kept` to `end`. Later records there have this leader epoch or a
    /// later one.
    pub(super) fn add(&mut self, tp: &Tp, (kept, end): (i64, i64), epoch: i32, at_us: u64) {
        self.0.entry(tp.clone()).or_default().push(Truncation {
            kept,
            epoch,
            end,
            at_us,
        });
    }

    /// Discards the truncations of a deleted topic.
    pub(super) fn remove_topic(&mut self, topic: &str) {
        self.0.retain(|(name, _), _| name != topic);
    }
}
