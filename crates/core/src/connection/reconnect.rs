//! The time of the next attempt to connect.

use std::time::Duration;

use super::config::ConnectionConfig;
use crate::sys::{Instant, Rng};

/// The jitter of a pause before an attempt: -25 % to +50 %.
const JITTER: (f64, f64) = (0.25, 0.5);

/// Returns the pause before the next attempt, after `failures` failures in a row before the last one: `base`
/// (`reconnect.backoff.ms`), doubled for each of them, with jitter, and never above `max` (`reconnect.backoff.max.ms`).
pub fn reconnect_backoff(base: Duration, max: Duration, failures: u32, rng: &mut Rng) -> Duration {
    let max = max.max(base);
    let doubled = base.saturating_mul(1 << failures.min(20));
    rng.jitter(doubled.min(max), JITTER.0, JITTER.1).min(max)
}

/// The end of a connection or of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Time for which the connection was up; `None` for an attempt.
    pub(super) up_for: Option<Duration>,
    /// True for a failure, false when the client closed the connection or it was idle.
    pub(super) failed: bool,
}

/// The history of a connection's attempts and the plan for the next one.
#[derive(Debug, Default)]
pub(super) struct Reconnect {
    /// Failures since the last success, a connection that broke included.
    failures: u32,
    /// The last attempt to connect failed.
    unreachable: bool,
    /// Until then a lost connection is opened again without a request for it.
    kept_until: Instant,
    /// The time of that attempt while the connection is idle.
    renew_at: Option<Instant>,
    /// Connections in a row that ended soon after they came up.
    short_lives: u32,
    /// An attempt was made.
    tried: bool,
}

impl Reconnect {
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) fn is_unreachable(&self) -> bool {
        self.unreachable
    }

    pub(super) fn was_tried(&self) -> bool {
        self.tried
    }

    pub(super) fn kept_until(&self) -> Instant {
        self.kept_until
    }

    /// Returns the time of an attempt that needs no request.
    pub(super) fn renew_at(&self) -> Option<Instant> {
        self.renew_at
    }

    pub(super) fn is_renewal_due(&self, now: Instant) -> bool {
        self.renew_at.is_some_and(|at| at <= now)
    }

    /// Extends the time for which a lost connection is opened again.
    pub(super) fn keep_until(&mut self, until: Instant) {
        self.kept_until = self.kept_until.max(until);
    }

    /// Ends the renewal of lost connections.
    pub(super) fn stop_keeping(&mut self) {
        self.kept_until = Instant::ORIGIN;
    }

    /// Cancels the planned renewal as well.
    pub(super) fn cancel(&mut self) {
        self.stop_keeping();
        self.renew_at = None;
    }

    /// Forgets the failures at an address that the broker has left.
    pub(super) fn on_address_changed(&mut self) {
        self.failures = 0;
        self.unreachable = false;
    }

    /// Marks the broker as tried, without an attempt of this connection.
    pub(super) fn set_tried(&mut self) {
        self.tried = true;
    }

    pub(super) fn on_attempt(&mut self) {
        self.tried = true;
        self.renew_at = None;
    }

    pub(super) fn on_up(&mut self) {
        self.failures = 0;
        self.unreachable = false;
    }

    /// Plans the next attempt. Returns the end of the backoff after a failure.
    pub(super) fn on_down(
        &mut self,
        ended: Ended,
        config: &ConnectionConfig,
        rng: &mut Rng,
        now: Instant,
    ) -> Option<Instant> {
        let Ended { up_for, failed } = ended;
        self.unreachable |= failed && up_for.is_none();
        if let Some(up_for) = up_for {
            self.short_lives = match up_for >= config.reconnect_backoff_max {
                true => 0,
                false => self.short_lives.saturating_add(1),
            };
        }
        let (base, max) = (config.reconnect_backoff, config.reconnect_backoff_max);
        let is_kept = self.kept_until > now;
        self.renew_at = is_kept.then(|| now + reconnect_backoff(base, max, self.short_lives, rng));
        failed.then(|| {
            let until = now + reconnect_backoff(base, max, self.failures, rng);
            self.failures = self.failures.saturating_add(1);
            self.renew_at = self.renew_at.map(|at| at.max(until));
            until
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_with_jitter_and_never_exceeds_reconnect_backoff_max_ms() {
        let mut rng = Rng::from_seed(1);
        let ms = Duration::from_millis;
        for (failures, least, most) in [(0, 75, 150), (1, 150, 300), (5, 750, 1000), (u32::MAX, 750, 1000)] {
            let pauses: Vec<Duration> = (0..200)
                .map(|_| reconnect_backoff(ms(100), ms(1000), failures, &mut rng))
                .collect();
            assert!(
                pauses.iter().all(|p| (ms(least)..=ms(most)).contains(p)),
                "{failures}: {pauses:?}"
            );
            assert!(
                pauses.iter().any(|p| *p != pauses[0]),
                "no jitter after {failures} failures"
            );
        }
    }

    #[test]
    fn a_maximum_below_the_base_does_not_shorten_the_pause_to_it() {
        let mut rng = Rng::from_seed(1);
        let pause = reconnect_backoff(Duration::from_secs(10), Duration::from_secs(1), 3, &mut rng);
        assert!(
            pause > Duration::from_secs(7) && pause <= Duration::from_secs(10),
            "{pause:?}"
        );
    }
}
