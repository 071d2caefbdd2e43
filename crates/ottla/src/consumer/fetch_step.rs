//! Leaders in step: an idle client is woken once for all leaders that have nothing, not once for each.

use std::collections::BTreeSet;
use std::time::Duration;

use super::fetcher::Fetcher;
use crate::sys::{Instant, earliest};
use crate::types::NodeId;

/// The part of `fetch.wait.max.ms` that a leader with nothing new may wait for others to be asked together with them.
const WAIT_PART: u32 = 100;

/// Leaders that had nothing, and wait for the answers of others that are due: all are asked anew together.
#[derive(Debug, Default)]
pub(super) struct Coalescing {
    leaders: BTreeSet<NodeId>,
    /// No longer than until then.
    until: Option<Instant>,
}

impl Coalescing {
    /// When [`Fetcher::send_coalesced`] is due if nothing comes before.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }
}

impl Fetcher {
    /// The longest wait, or a shorter one that ends together with another leader's: leaders that have nothing answer in
    /// step before long. It is not shortened by more than half, and not where it is there to gather records.
    pub(super) fn coalesced_wait_ms(&self, now: Instant) -> u64 {
        let longest = self.settings.wait_max_ms;
        let ends = self.requests.values().map(|fetch| fetch.wait_ends);
        let last = ends.filter(|end| *end <= now.plus_ms(longest)).max();
        let left = last.map_or(0, |end| end.since(now).as_millis());
        match u64::try_from(left) {
            Ok(left) if left >= longest.div_ceil(2) && self.settings.min_bytes <= 1 => left,
            _ => longest,
        }
    }

    /// A leader had nothing: it is asked again at once, or together with those whose waits are over, too.
    pub(super) fn coalesce(&mut self, node: NodeId, now: Instant) {
        let longest = Duration::from_millis(self.settings.wait_max_ms) / WAIT_PART;
        self.coalescing.leaders.insert(node);
        self.coalescing.until.get_or_insert(now + longest);
    }

    /// Has the leaders that rest be asked, unless another answer is due just now.
    pub(super) fn send_coalesced(&mut self, now: Instant) {
        let Some(until) = self.coalescing.until else { return };
        let is_due = self.requests.values().any(|fetch| fetch.wait_ends <= until);
        if until <= now || !is_due {
            self.coalescing.until = None;
            self.dirty.append(&mut self.coalescing.leaders);
        }
    }

    /// When [`poll`](Self::poll) is needed if nothing else happens.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        earliest(self.positions.next_timer(), self.coalescing.until())
    }
}
