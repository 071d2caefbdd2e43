//! The state of a member's heartbeats.
//!
//! A heartbeat contains everything when the member joins, and after a failed one; otherwise only changes since the last one
//! that was acknowledged.

use std::time::Duration;

use crate::config::ClientConfig;
use crate::config::units::millis;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::request::Attempts;
use crate::sys::Instant;

/// The interval of heartbeats before the coordinator has sent its own, in milliseconds.
const FIRST_INTERVAL_MS: u64 = 5000;
/// The minimum time after which an unanswered heartbeat is lost and the coordinator is looked up again, in milliseconds.
const ANSWER_TIMEOUT_MS: u64 = 10_000;

/// The state of heartbeats, of which one at most is in flight. `S` is the state of the member that a heartbeat sends to the
/// coordinator. Order of calls: [`on_sent`](Self::on_sent), then one of [`on_accepted`](Self::on_accepted),
/// [`on_failed`](Self::on_failed) and [`forget`](Self::forget).
#[derive(Debug)]
pub(crate) struct Heartbeat<S> {
    /// The heartbeat in flight, and the state in it.
    in_flight: Option<(u64, S)>,
    /// The state that the coordinator has acknowledged; `None` if the next heartbeat has to contain everything.
    acknowledged: Option<S>,
    /// The time by which the next heartbeat is sent.
    due: Instant,
    /// The earliest time of the next heartbeat.
    attempts: Attempts,
    interval_ms: u64,
    /// The last error that was reported to the application.
    reported: Option<ErrorCode>,
}

impl<S> Heartbeat<S> {
    /// Without a heartbeat in flight; the first one is due at once.
    pub(crate) fn new() -> Self {
        Heartbeat {
            in_flight: None,
            acknowledged: None,
            due: Instant::ORIGIN,
            attempts: Attempts::default(),
            interval_ms: FIRST_INTERVAL_MS,
            reported: None,
        }
    }

    // ---------------------------------------------------------------- queries

    /// Returns when the next heartbeat is sent; `None` while one is in flight. An `urgent` one waits for the end of a
    /// backoff only, not for the interval.
    pub(crate) fn next_at(&self, urgent: bool) -> Option<Instant> {
        let not_before = self.attempts.next_at();
        let next_at = if urgent { not_before } else { self.due.max(not_before) };
        self.in_flight.is_none().then_some(next_at)
    }

    /// Returns true if the heartbeat in flight has this id.
    pub(crate) fn is_in_flight(&self, id: u64) -> bool {
        self.in_flight.as_ref().is_some_and(|(sent, _)| *sent == id)
    }

    /// Returns true when the last heartbeat was answered without an error.
    pub(crate) fn is_answered(&self) -> bool {
        self.in_flight.is_none() && self.acknowledged.is_some()
    }

    /// Returns the state that the coordinator has acknowledged; `None` if the next heartbeat has to contain everything.
    pub(crate) fn acknowledged(&self) -> Option<&S> {
        self.acknowledged.as_ref()
    }

    /// Returns the time after which a heartbeat without a response is lost.
    pub(crate) fn timeout(&self, conf: &ClientConfig) -> Duration {
        let answer_timeout_ms = ANSWER_TIMEOUT_MS.max(self.interval_ms.saturating_mul(2));
        Duration::from_millis(answer_timeout_ms.min(millis(conf.socket_timeout_ms)))
    }

    // ---------------------------------------------------------------- events

    /// Notes that a heartbeat with this state was sent.
    pub(crate) fn on_sent(&mut self, id: u64, state: S) {
        self.in_flight = Some((id, state));
    }

    /// Handles a failed heartbeat: the next one is delayed and contains everything.
    pub(crate) fn on_failed(&mut self, ctx: &mut Ctx<'_>) {
        self.forget();
        self.attempts.back_off(ctx);
    }

    /// Handles a response without an error, which sets the interval of heartbeats in milliseconds. Returns the state that
    /// was acknowledged before.
    pub(crate) fn on_accepted(&mut self, now: Instant, interval_ms: i32) -> Option<S> {
        let accepted = self.in_flight.take().map(|(_, state)| state);
        self.attempts = Attempts::default();
        self.reported = None;
        self.interval_ms = millis(interval_ms).max(1);
        self.due = now.plus_ms(self.interval_ms);
        std::mem::replace(&mut self.acknowledged, accepted)
    }

    /// Ignores the heartbeat in flight; the next one contains everything.
    pub(crate) fn forget(&mut self) {
        self.in_flight = None;
        self.acknowledged = None;
    }

    // ---------------------------------------------------------------- the next heartbeat

    /// Sends the next heartbeat by `at` at the latest, unless it backs off.
    pub(crate) fn hasten(&mut self, at: Instant) {
        self.due = self.due.min(at);
    }

    /// Ends a backoff without the end of the failures that led to it.
    pub(crate) fn retry_at_once(&mut self, now: Instant) {
        self.attempts.schedule(now);
    }

    /// Delays the next heartbeat by the usual interval, because repetition does not end the cause of the failure.
    pub(crate) fn retry_at_interval(&mut self, now: Instant) {
        self.attempts.delay(now.plus_ms(self.interval_ms));
    }

    /// Ends a backoff, after a call of the application. An error that persists is reported again.
    pub(crate) fn clear_backoff(&mut self, now: Instant) {
        self.attempts.hasten(now);
        self.reported = None;
    }

    /// Returns the error, unless the last reported one has the same code.
    pub(crate) fn report_once(&mut self, error: Error) -> Option<Error> {
        let is_new = self.reported.replace(error.code) != Some(error.code);
        is_new.then_some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeat_in_flight_excludes_another() {
        let at = |ms| Instant::ORIGIN.plus_ms(ms);
        let mut heartbeat = Heartbeat::new();
        assert_eq!(heartbeat.next_at(false), Some(at(0)));
        heartbeat.on_sent(7, "first");
        assert_eq!((heartbeat.next_at(true), heartbeat.is_answered()), (None, false));
        assert!(heartbeat.is_in_flight(7) && !heartbeat.is_in_flight(6));
        assert_eq!(heartbeat.on_accepted(at(10), 3000), None);
        assert_eq!(
            (heartbeat.acknowledged(), heartbeat.is_answered()),
            (Some(&"first"), true)
        );
        assert_eq!(heartbeat.next_at(false), Some(at(3010)));
        assert_eq!(heartbeat.next_at(true), Some(at(0)));
        heartbeat.on_sent(8, "second");
        assert_eq!(heartbeat.on_accepted(at(3010), 3000), Some("first"));
        heartbeat.hasten(at(4000));
        heartbeat.hasten(at(5000));
        assert_eq!(heartbeat.next_at(false), Some(at(4000)));
    }

    #[test]
    fn forgotten_heartbeat_is_not_acknowledged() {
        let mut heartbeat = Heartbeat::new();
        heartbeat.on_sent(1, ());
        heartbeat.forget();
        assert!(!heartbeat.is_in_flight(1) && heartbeat.acknowledged().is_none());
    }

    #[test]
    fn delayed_retry_waits_for_the_interval() {
        let at = |ms| Instant::ORIGIN.plus_ms(ms);
        let mut heartbeat = Heartbeat::<()>::new();
        heartbeat.retry_at_interval(at(100));
        assert_eq!(heartbeat.next_at(true), Some(at(100 + FIRST_INTERVAL_MS)));
        heartbeat.clear_backoff(at(200));
        assert_eq!(heartbeat.next_at(true), Some(at(200)));
    }

    #[test]
    fn error_is_reported_once_until_another_or_success() {
        let error = |code| Error::new(code, "");
        let mut heartbeat = Heartbeat::<()>::new();
        let (one, other) = (ErrorCode::GROUP_AUTHORIZATION_FAILED, ErrorCode::INVALID_GROUP_ID);
        assert!(heartbeat.report_once(error(one)).is_some());
        assert!(heartbeat.report_once(error(one)).is_none());
        assert!(heartbeat.report_once(error(other)).is_some());
        assert!(heartbeat.report_once(error(one)).is_some());
        heartbeat.on_accepted(Instant::ORIGIN, 1000);
        assert!(heartbeat.report_once(error(one)).is_some());
    }
}
