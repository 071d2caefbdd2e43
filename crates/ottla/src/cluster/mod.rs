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
