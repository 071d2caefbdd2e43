//! When to fetch: records are acquired for an application that waits for them.
//!
//! Acquired records are locked for a limited time, and each delivery counts. A record that waits in a queue until its lock
//! runs out has lost one of its deliveries without having been seen. So a request is sent only while the application waits,
//! with one exception: an application that has processed its last batches in a small part of the lock's duration gets one
//! batch of each broker ahead.

use std::collections::VecDeque;
use std::time::Duration;

use crate::sys::Instant;

/// The number of batches whose processing times are considered.
const REMEMBERED: usize = 4;
/// An application is fast if it processes a batch within this part of the lock's duration.
const FAST_PART: u32 = 50;

/// A poll that does not wait counts as waiting for this time, in milliseconds, so that it causes a request.
const WAIT_MIN_MS: u64 = 100;

/// The application's need of records.
#[derive(Debug, Default)]
pub(super) struct Demand {
    /// The application waits until then for records.
    wait_until: Option<Instant>,
    /// The processing times of the last batches.
    busy: VecDeque<Duration>,
    /// The duration of acquisition locks, once a response has stated it.
    lock: Option<Duration>,
}

impl Demand {
    /// Handles a poll; see [`Command::Poll`](super::Command::Poll).
    pub(super) fn on_poll(&mut self, now: Instant, wait_until: Option<Instant>, busy: Option<Duration>) {
        self.wait_until = wait_until.map(|until| until.max(now.plus_ms(WAIT_MIN_MS)));
        if let Some(busy) = busy {
            self.busy.push_back(busy);
            if self.busy.len() > REMEMBERED {
                self.busy.pop_front();
            }
        }
    }

    /// Ends the demand: a batch is in the application's queue, or the application does not want one.
    pub(super) fn clear(&mut self) {
        self.wait_until = None;
    }

    pub(super) fn set_lock(&mut self, lock: Duration) {
        self.lock = Some(lock);
    }

    pub(super) fn lock(&self) -> Option<Duration> {
        self.lock
    }

    /// Returns whether the application waits for records.
    pub(super) fn is_waiting(&self, now: Instant) -> bool {
        self.wait_until.is_some_and(|until| until >= now)
    }

    /// Returns whether the application processes batches in a small part of the lock's duration.
    pub(super) fn is_fast(&self) -> bool {
        let longest = self.busy.iter().max();
        let Some((lock, longest)) = self.lock.zip(longest) else {
            return false;
        };
        longest.saturating_mul(FAST_PART) <= lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_fast_considers_the_slowest_of_the_last_batches() {
        let mut demand = Demand::default();
        demand.on_poll(Instant::ORIGIN, None, Some(Duration::from_millis(600)));
        assert!(!demand.is_fast(), "the lock's duration is unknown");
        demand.set_lock(Duration::from_secs(30));
        assert!(demand.is_fast());
        demand.on_poll(Instant::ORIGIN, None, Some(Duration::from_millis(601)));
        for _ in 0..REMEMBERED - 1 {
            demand.on_poll(Instant::ORIGIN, None, Some(Duration::ZERO));
            assert!(!demand.is_fast());
        }
        demand.on_poll(Instant::ORIGIN, None, Some(Duration::ZERO));
        assert!(demand.is_fast());
    }

    #[test]
    fn is_waiting_until_the_deadline() {
        let mut demand = Demand::default();
        let at = |ms| Instant::ORIGIN.plus_ms(ms);
        demand.on_poll(at(0), Some(at(500)), None);
        assert!(demand.is_waiting(at(500)) && !demand.is_waiting(at(501)));
        demand.on_poll(at(600), Some(at(600)), None);
        assert!(demand.is_waiting(at(700)), "a poll that does not wait causes a request");
        assert!(!demand.is_waiting(at(701)));
        demand.on_poll(at(800), None, None);
        assert!(!demand.is_waiting(at(800)));
    }
}
