//! `max.poll.interval.ms`: whether the application still takes what it is given (KIP-62).

use super::millis;
use crate::config::ClientConfig;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::QueueActivity;
use crate::log::level;
use crate::sys::Instant;

/// The time between looks, as a part of the interval; an application counts as silent that much too late at most.
const LOOKS_PER_INTERVAL: u64 = 16;
/// The time between looks while the member waits for the application to come back, in milliseconds.
const LOOK_PARKED_MS: u64 = 250;

/// Looks at the queues that the application serves, now and then: serving them costs nothing more for being watched.
#[derive(Debug)]
pub(super) struct PollWatch {
    interval_ms: u64,
    look_every_ms: u64,
    look_at: Instant,
    /// When a visit was last noticed.
    seen_at: Instant,
    /// Visits of all queues together, at the last look.
    visits: u64,
}

impl PollWatch {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        let interval_ms = millis(conf.max_poll_interval_ms);
        let heartbeat_ms = millis(conf.heartbeat_interval_ms).max(1);
        PollWatch {
            interval_ms,
            look_every_ms: (interval_ms / LOOKS_PER_INTERVAL).clamp(1, heartbeat_ms),
            look_at: Instant::ORIGIN,
            seen_at: Instant::ORIGIN,
            visits: 0,
        }
    }

    /// The application has just shown itself in another way.
    pub(super) fn restart(&mut self, now: Instant) {
        self.seen_at = now;
        self.look_at = now;
    }

    /// Returns how long the application has been silent beyond `max.poll.interval.ms`.
    pub(super) fn overdue_ms(&self, now: Instant) -> u64 {
        let end = self.seen_at.plus_ms(self.interval_ms);
        u64::try_from(now.since(end).as_millis()).unwrap_or(u64::MAX)
    }

    /// When to look next, at the latest.
    pub(super) fn next_look(&self) -> Instant {
        self.look_at
    }

    /// Whether to look now that the client is awake: waking up for it later would cost more.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.look_at <= now.plus_ms(self.look_every_ms / 2)
    }

    /// Takes in what became of the queues since the last look; true while the application is not silent for too long.
    pub(super) fn look(&mut self, now: Instant, queues: impl Iterator<Item = QueueActivity>) -> bool {
        let (mut visits, mut waited_on) = (0u64, false);
        for queue in queues {
            visits = visits.wrapping_add(queue.visits);
            waited_on |= queue.waited_on;
        }
        if waited_on || visits != self.visits {
            self.seen_at = now;
            self.visits = visits;
        }
        let silent = now >= self.seen_at.plus_ms(self.interval_ms);
        let until_next = if silent { LOOK_PARKED_MS } else { self.look_every_ms };
        self.look_at = now.plus_ms(until_next);
        !silent
    }
}

/// Returns the application's error when it has not polled for `max.poll.interval.ms` and `over_ms` more, and logs it.
pub(super) fn exceeded(ctx: &Ctx<'_>, over_ms: u64) -> Error {
    let text = exceeded_text(millis(ctx.conf.max_poll_interval_ms), over_ms);
    ctx.log.log(level::WARNING, "MAXPOLL", || text.clone());
    Error::new(ErrorCode::L_MAX_POLL_EXCEEDED, text)
}

/// Returns the error's text, with librdkafka's words.
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
    fn the_text_says_by_how_much_the_interval_was_exceeded() {
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
        let mut look = |ms, visits, waited_on| watch.look(at(ms), [QueueActivity { visits, waited_on }].into_iter());
        assert!(look(0, 1, false));
        assert!(look(9_000, 1, true));
        assert!(look(18_000, 2, false));
        assert!(look(27_999, 2, false));
        assert!(!look(28_000, 2, false));
        assert_eq!(watch.overdue_ms(at(28_100)), 100);
        let mut look = |ms, visits, waited_on| watch.look(at(ms), [QueueActivity { visits, waited_on }].into_iter());
        assert!(look(28_250, 3, false));
    }
}
