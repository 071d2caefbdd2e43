//! Concurrent connection attempts to the addresses of one broker (RFC 8305, "Happy Eyeballs").

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use super::net::ConnId;
use crate::sys::{Instant, earliest};

/// Delay between the start of an attempt and the concurrent attempt at the next address ("Connection Attempt Delay" of
/// RFC 8305).
pub(super) const HEAD_START: Duration = Duration::from_millis(250);

/// A connection attempt in progress.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) conn: ConnId,
    pub(super) addr: SocketAddr,
    /// The start of the attempt.
    pub(super) since: Instant,
    /// The time at which the attempt is given up.
    pub(super) deadline: Instant,
}

/// The attempts in progress and the addresses that were not tried yet.
#[derive(Debug, Default)]
pub(super) struct Race {
    runners: Vec<Runner>,
    left: VecDeque<SocketAddr>,
    /// Time at which the next address is tried concurrently. `None`: the next address is tried only after a failure.
    next_at: Option<Instant>,
}

impl Race {
    /// Returns a race over `addrs`, in that order.
    pub(super) fn new(addrs: impl IntoIterator<Item = SocketAddr>) -> Self {
        Race {
            left: addrs.into_iter().collect(),
            ..Race::default()
        }
    }

    /// Removes and returns the next address. The caller must start the attempt and pass it to [`begin`](Self::begin).
    pub(super) fn next_addr(&mut self) -> Option<SocketAddr> {
        self.left.pop_front()
    }

    /// Adds an attempt that was started. With `head_start`, the next address is tried concurrently after that time.
    pub(super) fn begin(&mut self, runner: Runner, head_start: Option<Duration>) {
        self.next_at = head_start.filter(|_| !self.left.is_empty()).map(|h| runner.since + h);
        self.runners.push(runner);
    }

    /// Removes and returns an attempt that has ended.
    pub(super) fn end(&mut self, conn: ConnId) -> Option<Runner> {
        let at = self.runners.iter().position(|r| r.conn == conn)?;
        Some(self.runners.remove(at))
    }

    /// Removes and returns one attempt whose deadline has passed.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Runner> {
        let at = self.runners.iter().position(|r| r.deadline <= now)?;
        Some(self.runners.remove(at))
    }

    /// Returns true when the next address must be tried concurrently.
    pub(super) fn is_next_due(&self, now: Instant) -> bool {
        self.next_at.is_some_and(|at| at <= now)
    }

    /// Returns true when no attempt is in progress.
    pub(super) fn is_empty(&self) -> bool {
        self.runners.is_empty()
    }

    /// Returns true when no address is left to try.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the attempts in progress.
    pub(super) fn runners(&self) -> &[Runner] {
        &self.runners
    }

    /// Returns the time of the next event: the deadline of an attempt, or the start of the next one.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = self.runners.iter().map(|r| r.deadline).min();
        earliest(first, self.next_at)
    }
}
