//! Which brokers and topics there are: bootstrap, metadata cache, metadata refresh.

mod bootstrap;
mod cache;
mod coordinator;
mod manager;
#[cfg(test)]
mod tests;

pub use bootstrap::{Endpoint, parse_endpoints};
pub use cache::{PartitionMeta, TopicMeta};
pub(crate) use coordinator::{Coordinated, Coordinator, is_coordinator_error};
pub use manager::{Answer, Change, Cluster, Command, MetadataReply, MetadataScope, NodeInfo, Survey};

use std::time::Duration;

use crate::config::ClientConfig;
use crate::connection::ConnectionTable;
use crate::event::Logger;
use crate::sys::{Instant, Rng};

/// What every manager is handed when it is to decide.
pub struct Ctx<'a> {
    /// The monotonic time of this decision.
    pub now: Instant,
    /// The wall clock, milliseconds since the epoch.
    pub wall_ms: i64,
    /// The connections.
    pub connections: &'a mut ConnectionTable,
    /// Chance.
    pub rng: &'a mut Rng,
    /// The client's log.
    pub log: &'a Logger,
    /// The client's settings.
    pub conf: &'a ClientConfig,
}

impl Ctx<'_> {
    /// How long to wait after a request has failed for the `failed + 1`th time in a row (KIP-580): `retry.backoff.ms`,
    /// doubled each time, `retry.backoff.max.ms` at most, give or take a fifth.
    pub(crate) fn retry_delay(&mut self, failed: u32) -> Duration {
        let base = Duration::from_millis(self.conf.retry_backoff_ms.into());
        let max = Duration::from_millis(self.conf.retry_backoff_max_ms.into());
        let delay = base.saturating_mul(1 << failed.min(10)).min(max);
        self.rng.jitter(delay, 0.2, 0.2)
    }
}
