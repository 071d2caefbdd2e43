//! Logs that lost a committed end to the election of a replica that lacked it: whoever has read beyond comes back to where
//! the log was cut, and leaves out nothing that came since.

use std::collections::BTreeMap;

use super::{Groups, Tp};

/// What a log kept, and the leader epoch of what came afterwards.
#[derive(Debug, Clone, Copy)]
struct Truncation {
    kept: i64,
    epoch: i32,
    /// Where readers found the end before.
    end: i64,
    at_us: u64,
}

/// All cuts, in their order.
#[derive(Debug, Default)]
pub(super) struct Truncations(BTreeMap<Tp, Vec<Truncation>>);

impl Truncations {
    fn of(&self, tp: &Tp) -> &[Truncation] {
        self.0.get(tp).map_or(&[], Vec::as_slice)
    }

    /// Whether there was any.
    pub(super) fn exist(&self, tp: &Tp) -> bool {
        !self.of(tp).is_empty()
    }

    /// Whether who stands at `from` may find itself at `to`: where the log was cut below it.
    pub(super) fn may_lead(&self, tp: &Tp, from: i64, to: i64) -> bool {
        self.of(tp).iter().any(|cut| cut.kept < from && cut.kept == to)
    }

    /// Whether a cut has taken what lies before an offset.
    pub(super) fn reach(&self, tp: &Tp, offset: i64) -> bool {
        self.of(tp).iter().any(|cut| cut.kept < offset)
    }

    /// Whether a commit of `offset` may have been overtaken by a lower one: who made that had come back to where the log was
    /// cut below the first.
    pub(super) fn overtakes(&self, tp: &Tp, (made_us, lower): (u64, i64), offset: i64) -> bool {
        let mut truncations = self.of(tp).iter();
        truncations.any(|cut| cut.kept < offset && cut.kept <= lower && cut.at_us <= made_us)
    }

    /// Whether a record was taken, which may still be handed out by who does not know.
    pub(super) fn took(&self, tp: &Tp, (offset, leader_epoch): (i64, i32)) -> bool {
        self.of(tp)
            .iter()
            .any(|cut| leader_epoch < cut.epoch && cut.kept <= offset)
    }

    /// The latest end that readers may have found: who stands there may not know yet of a cut below it.
    pub(super) fn latest_end(&self, tp: &Tp, now: i64) -> i64 {
        self.of(tp).iter().map(|cut| cut.end).fold(now, i64::max)
    }

    /// The part of an offset's history that no cut has made doubtful.
    pub(super) fn known(&self, tp: &Tp, offset: i64) -> i64 {
        let kept = self.of(tp).iter().map(|cut| cut.kept);
        kept.fold(offset, i64::min)
    }
}

impl Groups {
    /// A partition lost what lay from `kept` to `end`, though it may have been read; what comes there has this leader epoch
    /// or a later one.
    pub(crate) fn on_lost(&mut self, tp: &Tp, (kept, end): (i64, i64), epoch: i32, at_us: u64) {
        self.truncations.0.entry(tp.clone()).or_default().push(Truncation {
            kept,
            epoch,
            end,
            at_us,
        });
        for ((_, lost), book) in &mut self.books {
            if lost == tp {
                book.seen.retain(|offset, _| *offset < kept);
            }
        }
    }

    pub(super) fn forget_cuts(&mut self, topic: &str) {
        self.truncations.0.retain(|(name, _), _| name != topic);
    }
}
