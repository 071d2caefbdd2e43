//! Synchronised fetches: an idle client wakes up once for all brokers without new records, not once for each.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::sys::Instant;
use crate::types::NodeId;

/// The part of `fetch.wait.max.ms` by which the next request to a broker without new records may be delayed, so that it is
/// sent together with others.
const DELAY_PART: u32 = 100;

/// Brokers that returned nothing and whose next requests wait for other responses that are due.
#[derive(Debug, Default)]
pub(super) struct Coalescing {
    nodes: BTreeSet<NodeId>,
    /// The end of the delay.
    until: Option<Instant>,
}

impl Coalescing {
    /// When [`take_due`](Self::take_due) is due if nothing happens before.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Delays the next request to a broker that returned nothing.
    pub(super) fn add(&mut self, node: NodeId, now: Instant, wait_max_ms: u64) {
        self.nodes.insert(node);
        let delay = Duration::from_millis(wait_max_ms) / DELAY_PART;
        self.until.get_or_insert(now + delay);
    }

    /// Returns the delayed brokers, unless another response is due before the delay ends. `ends` are the ends of the waits
    /// of the requests in flight.
    pub(super) fn take_due(&mut self, now: Instant, mut ends: impl Iterator<Item = Instant>) -> BTreeSet<NodeId> {
        let Some(until) = self.until else {
            return BTreeSet::new();
        };
        if now < until && ends.any(|end| end <= until) {
            return BTreeSet::new();
        }
        self.until = None;
        std::mem::take(&mut self.nodes)
    }
}

/// Returns the wait of a new request, in milliseconds: `longest`, or less if it then ends together with another broker's.
/// Brokers without new records soon respond at the same time. The wait is not shortened by more than half, and not if
/// `fetch.min.bytes` makes the broker gather records.
pub(super) fn wait_ms(now: Instant, longest: u64, min_bytes: i32, ends: impl Iterator<Item = Instant>) -> u64 {
    let last = ends.filter(|end| *end <= now.plus_ms(longest)).max();
    let left = last.map_or(0, |end| end.since(now).as_millis());
    match u64::try_from(left) {
        Ok(left) if left >= longest.div_ceil(2) && min_bytes <= 1 => left,
        _ => longest,
    }
}
