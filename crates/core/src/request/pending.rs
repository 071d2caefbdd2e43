//! A request that is repeated until it is answered or its deadline passes.

use std::time::Duration;

use super::Attempts;
use crate::connection::BrokerKey;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::sys::Instant;

/// A request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// The connection that it was sent on.
    pub key: BrokerKey,
    /// The id of its tag.
    pub id: u64,
}

/// The state of one request from its first attempt to its answer.
#[derive(Debug)]
pub struct PendingRequest {
    deadline: Instant,
    attempts: Attempts,
    in_flight: Option<InFlight>,
    last_error: Option<Error>,
}

impl Default for PendingRequest {
    /// Returns a request that is due at once and has no deadline.
    fn default() -> Self {
        PendingRequest::new(Instant::ORIGIN, Instant::NEVER)
    }
}

impl PendingRequest {
    /// Returns a request that is due at once and fails at `deadline`, [`Instant::NEVER`] for none.
    pub fn new(now: Instant, deadline: Instant) -> Self {
        PendingRequest {
            deadline,
            attempts: Attempts::starting_at(now),
            in_flight: None,
            last_error: None,
        }
    }

    /// Returns the deadline.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns whether the deadline has passed.
    pub fn is_expired(&self, now: Instant) -> bool {
        self.deadline <= now
    }

    /// Returns whether the request is to be sent: it is not in flight and its next attempt is due.
    pub fn may_send(&self, now: Instant) -> bool {
        self.in_flight.is_none() && self.attempts.is_due(now)
    }

    /// Returns the time of the next attempt, `None` while the request is in flight.
    pub fn next_at(&self) -> Option<Instant> {
        self.in_flight.is_none().then(|| self.attempts.next_at())
    }

    /// Notes that the request was sent.
    pub fn on_sent(&mut self, key: BrokerKey, id: u64) {
        self.in_flight = Some(InFlight { key, id });
    }

    /// Returns the request in flight.
    pub fn in_flight(&self) -> Option<InFlight> {
        self.in_flight
    }

    /// Returns whether the request in flight has this id.
    pub fn is_in_flight(&self, id: u64) -> bool {
        self.in_flight.is_some_and(|request| request.id == id)
    }

    /// Notes the outcome of the request in flight, of whichever kind.
    pub fn on_outcome(&mut self) {
        self.in_flight = None;
    }

    /// Notes an answer after which a further request of the same subject follows at once.
    pub fn on_answer(&mut self) {
        self.in_flight = None;
        self.attempts.reset();
    }

    /// Schedules the next attempt after a failure. Returns the pause until then.
    pub fn retry(&mut self, ctx: &mut Ctx<'_>, error: Error) -> Duration {
        self.last_error = Some(error);
        self.postpone(ctx)
    }

    /// Schedules the next attempt after the pause of a failure, because something that it needs is missing. The error of the
    /// last failure stays. Returns the pause.
    pub fn postpone(&mut self, ctx: &mut Ctx<'_>) -> Duration {
        self.in_flight = None;
        self.attempts.back_off(ctx)
    }

    /// Brings the next attempt forward to now.
    pub fn hasten(&mut self, now: Instant) {
        self.attempts.hasten(now);
    }

    /// Returns when the request needs attention if nothing else happens: at its next attempt, at the latest at its deadline.
    /// An attempt that is due already waits for an event of a connection.
    pub fn wake(&self, now: Instant) -> Instant {
        match self.in_flight.is_none() && !self.attempts.is_due(now) {
            true => self.attempts.next_at().min(self.deadline),
            false => self.deadline,
        }
    }

    /// Returns the error of the last failed attempt.
    pub fn last_error(&self) -> Option<&Error> {
        self.last_error.as_ref()
    }

    /// Returns the error for a passed deadline: `text` and the last failure's message.
    pub fn timeout_error(&self, text: impl Into<String>) -> Error {
        let mut text = text.into();
        if let Some(error) = &self.last_error {
            text += &format!("; last error: {}", error.message);
        }
        Error::new(ErrorCode::L_TIMED_OUT, text)
    }
}
