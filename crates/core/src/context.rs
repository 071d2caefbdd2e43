//! The context of a manager's decision.

use std::time::Duration;

use crate::config::ClientConfig;
use crate::connection::ConnectionTable;
use crate::log::Logger;
use crate::sys::{Instant, Rng};

/// Everything outside a manager that its decisions use: time, connections, randomness, log and settings.
pub struct Ctx<'a> {
    /// The monotonic time of this decision.
    pub now: Instant,
    /// The wall clock, milliseconds since the epoch.
    pub wall_ms: i64,
    /// The connections.
    pub connections: &'a mut ConnectionTable,
    /// The source of randomness, seeded in simulations.
    pub rng: &'a mut Rng,
    /// The client's log.
    pub log: &'a Logger,
    /// The client's settings.
    pub conf: &'a ClientConfig,
}

impl Ctx<'_> {
    /// Returns `socket.timeout.ms`, the response timeout of a connection.
    pub(crate) fn socket_timeout(&self) -> Duration {
        Duration::from_millis(self.conf.socket_timeout_ms.into())
    }

    /// Returns the pause after the `failed + 1`th failure of a request in a row (KIP-580): `retry.backoff.ms`, doubled
    /// with each failure, with a jitter of 20 %. Like Apache Kafka's Java client, it applies `retry.backoff.max.ms` before
    /// the jitter, so that the longest pauses vary, too, and after it, so that no pause exceeds the limit.
    pub(crate) fn retry_delay(&mut self, failed: u32) -> Duration {
        let base = Duration::from_millis(self.conf.retry_backoff_ms.into());
        let max = Duration::from_millis(self.conf.retry_backoff_max_ms.into());
        let doubled = base.saturating_mul(1 << failed.min(20)).min(max);
        self.rng.jitter(doubled, 0.2, 0.2).min(max)
    }
}
