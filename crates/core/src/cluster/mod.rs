//! Brokers, topics and coordinators.
//!
//! [`Cluster`] is the manager of metadata. Its parts are independent of each other:
//!
//! - `brokers`: bootstrap addresses and the broker list; `bootstrap` parses addresses, `canonical` resolves their names;
//! - `broker_selection`: the choice of a broker that any request can go to, and the attempts to connect to one;
//! - `topics`: the metadata of topics; `cache` has the rules by which a response replaces it;
//! - `schedule`: when topics, the broker list and the names of all topics are refreshed;
//! - `metadata_requests`: the requests in flight, and the brokers that are late to answer;
//! - `calls`: metadata calls of the application;
//! - `statistics`: brokers and topics in the statistics.
//!
//! [`Router`] resolves the target of a request to a connection; `coordinator` finds the coordinator of a group or a
//! transactional id.

mod bootstrap;
mod broker_selection;
mod brokers;
mod cache;
mod calls;
mod canonical;
mod coordinator;
mod manager;
mod metadata_requests;
mod router;
mod schedule;
mod statistics;
mod topics;

pub use bootstrap::{Endpoint, parse_endpoints};
pub use brokers::NodeInfo;
pub use cache::{PartitionMeta, TopicMeta};
pub use calls::{Answer, MetadataReply, MetadataScope};
pub(crate) use coordinator::{Coordinator, is_coordinator_error};
pub use manager::{Change, Cluster, Command};
pub use router::Router;
pub use statistics::Survey;
