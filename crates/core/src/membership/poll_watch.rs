//! `max.poll.interval.ms` (KIP-62).

use crate::config::ClientConfig;
use crate::config::units::millis;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::QueueActivity;
use crate::log::level;
use crate::sys::Instant;

/// The number of checks per interval: an exceeded interval is detected late by one such part at most.
const CHECKS_PER_INTERVAL: u64 = 16;
/// The time between checks while the member waits for the application to poll again, in milliseconds.
const CHECK_EXCEEDED_MS: u64 = 250;

/// Checks periodically whether the application polls its queues, which adds no cost to polling.
#[derive(Debug)]
pub(crate) struct PollWatch {
    interval_ms: u64,
    check_every_ms: u64,
    check_at: Instant,
    /// The check that last noticed a poll.
    polled_at: Instant,
    /// The number of polls of all queues at the last check.
    visits: u64,
}

impl PollWatch {
    pub(crate) fn new(conf: &ClientConfig) -> Self {
        let interval_ms = millis(conf.max_poll_interval_ms);
        let heartbeat_ms = millis(conf.heartbeat_interval_ms).max(1);
        PollWatch {
            interval_ms,
            check_every_ms: (interval_ms / CHECKS_PER_INTERVAL).clamp(1, heartbeat_ms),
            check_at: Instant::ORIGIN,
            polled_at: Instant::ORIGIN,
            visits: 0,
        }
    }

    /// Restarts the interval after another call of the application.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.polled_at = now;
        self.check_at = now;
    }

    /// Returns the time since the interval was exceeded, in milliseconds.
    pub(crate) fn overdue_ms(&self, now: Instant) -> u64 {
        let end = self.polled_at.plus_ms(self.interval_ms);
        u64::try_from(now.since(end).as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the time by which the next check is needed.
    pub(crate) fn next_check(&self) -> Instant {
        self.check_at
    }

    /// Returns true if a check is due soon: checking now saves a wake-up.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.check_at <= now.plus_ms(self.check_every_ms / 2)
    }

    /// Checks the activity of the queues; returns true unless the interval is exceeded.
    pub(crate) fn check(&mut self, now: Instant, queues: impl Iterator<Item = QueueActivity>) -> bool {
        let (mut visits, mut waited_on) = (0u64, false);
        for queue in queues {
            visits = visits.wrapping_add(queue.visits);
            waited_on |= queue.waited_on;
        }
        if waited_on || visits != self.visits {
            self.polled_at = now;
            self.visits = visits;
        }
        let silent = now >= self.polled_at.plus_ms(self.interval_ms);
        let until_next = if silent { CHECK_EXCEEDED_MS } else { self.check_every_ms };
        self.check_at = now.plus_ms(until_next);
        !silent
    }
}

/// Logs and returns the error of an application that has exceeded `max.poll.interval.ms` by `over_ms`.
pub(crate) fn max_poll_exceeded(ctx: &Ctx<'_>, over_ms: u64) -> Error {
    let text = exceeded_text(millis(ctx.conf.max_poll_interval_ms), over_ms);
    ctx.log.log(level::WARNING, "MAXPOLL", || text.clone());
    Error::new(ErrorCode::L_MAX_POLL_EXCEEDED, text)
}

/// Returns the error's text, in librdkafka's words.
fn exceeded_text(interval_ms: u64, over_ms: u64) -> String {
    format!(
        "Application maximum poll interval ({interval_ms}ms) exceeded by {over_ms}ms (adjust max.poll.interval.ms for \
         long-running message processing): leaving group; the consumer rejoins when it is polled again"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_text_contains_the_excess() {
        let text = exceeded_text(300_000, 88);
        let phrase = "Application maximum poll interval (300000ms) exceeded by 88ms (adjust max.poll.interval.ms";
        assert!(text.starts_with(phrase), "{text}");
    }

    #[test]
    fn waiting_and_visits_count_as_polls() {
        let mut conf = crate::config::Conf::new();
        conf.set("max.poll.interval.ms", "10000").unwrap();
        conf.set("session.timeout.ms", "6000").unwrap();
        let (conf, _) = conf.finalize(crate::types::ClientKind::Consumer).unwrap();
        let mut watch = PollWatch::new(&conf);
        let at = |ms| Instant::ORIGIN.plus_ms(ms);
        let mut check = |ms, visits, waited_on| watch.check(at(ms), [QueueActivity { visits, waited_on }].into_iter());
        assert!(check(0, 1, false));
        assert!(check(9_000, 1, true));
        assert!(check(18_000, 2, false));
        assert!(check(27_999, 2, false));
        assert!(!check(28_000, 2, false));
        assert_eq!(watch.overdue_ms(at(28_100)), 100);
        let mut check = |ms, visits, waited_on| watch.check(at(ms), [QueueActivity { visits, waited_on }].into_iter());
        assert!(check(28_250, 3, false));
    }
}
