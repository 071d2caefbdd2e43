//! The schedule of repeated attempts.

use std::time::Duration;

use crate::context::Ctx;
use crate::sys::Instant;

/// The number of failures in a row and the time of the next attempt. The first attempt is due at once by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attempts {
    failed: u32,
    next_at: Instant,
}

impl Attempts {
    /// Returns a schedule whose first attempt is due at `at`.
    pub fn starting_at(at: Instant) -> Self {
        Attempts { failed: 0, next_at: at }
    }

    /// Returns whether the next attempt is due.
    pub fn is_due(&self, now: Instant) -> bool {
        self.next_at <= now
    }

    /// Returns the time of the next attempt, [`Instant::NEVER`] while it is [suspended](Self::suspend).
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Returns the number of failures since the last success.
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// Counts a failure and schedules the next attempt after the pause of KIP-580 (`retry.backoff.ms`,
    /// `retry.backoff.max.ms`). Returns the pause.
    pub fn back_off(&mut self, ctx: &mut Ctx<'_>) -> Duration {
        let pause = ctx.retry_delay(self.failed);
        self.back_off_for(ctx.now, pause);
        pause
    }

    /// Counts a failure and schedules the next attempt after `pause`.
    pub fn back_off_for(&mut self, now: Instant, pause: Duration) {
        self.failed = self.failed.saturating_add(1);
        self.next_at = now + pause;
    }

    /// Notes a success: the next pause is the shortest again. The time of the next attempt stays.
    pub fn reset(&mut self) {
        self.failed = 0;
    }

    /// Raises the number of failures to `failed` at least: the next pause is as long as after that many.
    pub fn lengthen(&mut self, failed: u32) {
        self.failed = self.failed.max(failed);
    }

    /// Schedules the next attempt for `at`, without a failure.
    pub fn schedule(&mut self, at: Instant) {
        self.next_at = at;
    }

    /// Postpones the next attempt to `at` unless it is due later.
    pub fn delay(&mut self, at: Instant) {
        self.next_at = self.next_at.max(at);
    }

    /// Brings the next attempt forward to `at` unless it is due earlier.
    pub fn hasten(&mut self, at: Instant) {
        self.next_at = self.next_at.min(at);
    }

    /// Postpones the next attempt until [`hasten`](Self::hasten) or a failure schedules it.
    pub fn suspend(&mut self) {
        self.next_at = Instant::NEVER;
    }
}
