//! Which brokers and topics there are: bootstrap, metadata cache, metadata refresh.

mod bootstrap;
mod cache;
mod manager;
#[cfg(test)]
mod tests;

pub use bootstrap::{Endpoint, parse_endpoints};
pub use cache::{PartitionMeta, TopicMeta};
pub use manager::{Change, Cluster, Command, MetadataReply, MetadataScope, NodeInfo};

use crate::config::ClientConfig;
use crate::connection::Links;
use crate::env::{Instant, Rng};
use crate::event::Logger;

/// What every manager is handed when it is to decide.
pub struct Ctx<'a> {
    /// The monotonic time of this decision.
    pub now: Instant,
    /// The wall clock, milliseconds since the epoch.
    pub wall_ms: i64,
    /// The connections.
    pub links: &'a mut Links,
    /// Chance.
    pub rng: &'a mut Rng,
    /// The client's log.
    pub log: &'a Logger,
    /// The client's settings.
    pub conf: &'a ClientConfig,
}
