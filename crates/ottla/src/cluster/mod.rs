//! Brokers, topics and coordinators: bootstrap, metadata cache and refresh, the connection for a request's target.

mod bootstrap;
mod cache;
mod coordinator;
mod manager;
mod router;
#[cfg(test)]
mod tests;

pub use bootstrap::{Endpoint, parse_endpoints};
pub use cache::{PartitionMeta, TopicMeta};
pub(crate) use coordinator::{Coordinator, is_coordinator_error};
pub use manager::{Answer, Change, Cluster, Command, MetadataReply, MetadataScope, NodeInfo, Survey};
pub use router::Router;
