//! The state of a member's heartbeats.
//!
//! A heartbeat contains everything when the member joins, and after a failed one; otherwise only changes since the last one
//! that was acknowledged.

use super::heartbeat_subscription::HeartbeatSubscription;
use super::partitions::Partitions;
use crate::error::ErrorCode;
use crate::request::Attempts;
use crate::sys::Instant;

/// The interval of heartbeats before the coordinator has sent its own, in milliseconds.
const FIRST_INTERVAL_MS: u64 = 5000;

/// The state that a heartbeat has sent to the coordinator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentState {
    pub(super) subscription: HeartbeatSubscription,
    pub(super) owned: Partitions,
}

/// The state of heartbeats. It records the request in flight itself, because the state that the request contains belongs to
/// it.
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// The heartbeat in flight, and the state in it.
    pub(super) in_flight: Option<(u64, SentState)>,
    /// The state that the coordinator has acknowledged; `None` if the next heartbeat has to contain everything.
    pub(super) acknowledged: Option<SentState>,
    /// The time by which the next heartbeat is sent.
    pub(super) due: Instant,
    /// The earliest time of the next heartbeat.
    pub(super) attempts: Attempts,
    pub(super) interval_ms: u64,
    /// The coordinator has refused the subscription: it is not sent again.
    pub(super) subscription_refused: bool,
    /// The last error that was reported to the application.
    pub(super) reported: Option<ErrorCode>,
}

impl Heartbeat {
    pub(super) fn new() -> Self {
        Heartbeat {
            in_flight: None,
            acknowledged: None,
            due: Instant::ORIGIN,
            attempts: Attempts::default(),
            interval_ms: FIRST_INTERVAL_MS,
            subscription_refused: false,
            reported: None,
        }
    }

    /// Returns true when the last heartbeat was answered without an error.
    pub(super) fn is_answered(&self) -> bool {
        self.in_flight.is_none() && self.acknowledged.is_some()
    }

    /// Handles the loss of membership.
    pub(super) fn forget(&mut self) {
        self.in_flight = None;
        self.acknowledged = None;
    }

    /// Ends the backoff and the refusal of a subscription, after a call of the application.
    pub(super) fn clear_backoff(&mut self, now: Instant) {
        self.attempts.hasten(now);
        self.subscription_refused = false;
        self.reported = None;
    }
}
