//! Waiting for the transaction markers of the previous transaction.
//!
//! A coordinator answers EndTxn once the result is decided; the markers are written afterwards, usually within a few
//! milliseconds. Until then it begins no other transaction. In transaction version 2 a partition's leader detects this
//! with the first batch. It keeps the batch, and all requests behind it on the connection, for
//! `add.partitions.to.txn.retry.backoff.ms` (20 ms) before it retries. Therefore the producer queries the coordinator
//! itself (DescribeTransactions, KIP-664) and sends nothing before the markers are written, or before the leader would
//! have retried. With a high latency to the coordinator the markers are written before a batch arrives, and no query is
//! sent.

use std::time::Duration;

use crate::sys::Instant;

/// The maximum time for which batches are delayed: the backoff of a partition leader.
const WAIT_MAX: Duration = Duration::from_millis(20);
/// The maximum round-trip time to a coordinator that is queried.
const NEAR_RTT_MAX: Duration = Duration::from_millis(5);
/// The pause before the coordinator is queried again.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The markers of the previous transaction.
#[derive(Debug, Default)]
pub(super) struct Markers {
    /// The time until which unwritten markers delay batches; `None` when they are written.
    until: Option<Instant>,
    /// The coordinator does not answer queries.
    disabled: bool,
    /// The shortest round-trip time to the coordinator.
    min_rtt: Option<Duration>,
}

impl Markers {
    /// Notes a round-trip time to the coordinator.
    pub(super) fn observe_rtt(&mut self, took: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(took, |q| q.min(took)));
    }

    /// Starts the delay after the end of a transaction.
    pub(super) fn begin(&mut self, now: Instant) {
        let near = self.min_rtt.filter(|took| *took <= NEAR_RTT_MAX && !self.disabled);
        self.until = near.map(|took| now + WAIT_MAX.saturating_sub(took));
    }

    /// Ends the delay.
    pub(super) fn end(&mut self) {
        self.until = None;
    }

    /// Disables queries, as the coordinator does not support or authorize them.
    pub(super) fn disable(&mut self) {
        self.disabled = true;
        self.until = None;
    }

    /// Ends the delay if its time has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        self.until = self.until.filter(|until| *until > now);
    }

    /// Returns the end of the delay, if there is one.
    pub(super) fn wake(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests;
