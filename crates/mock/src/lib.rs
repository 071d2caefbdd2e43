//! An in-process Kafka cluster for demos, tests and simulations.
//!
//! [`Cluster`] is a whole cluster as a state machine: requests and the time go in, responses come out, and nothing else
//! happens. [`EmbeddedCluster`] puts it behind TCP sockets of this machine. It behaves as Kafka 4.x brokers do, error codes
//! included; each file under `handlers/` says what its API does and what it leaves out.

#![forbid(unsafe_code)]

mod api_error;
mod batch_validation;
mod brokers;
mod cluster;
mod cluster_control;
mod config;
mod connections;
mod coordinators;
mod dispatch;
mod faults;
mod fetch;
mod fetch_session;
mod groups;
mod handlers;
mod history;
mod ids;
mod log;
mod metadata;
mod observer;
mod producer_ids;
mod producer_state;
mod purgatory;
mod recorder;
mod replication;
mod request;
mod request_parts;
mod rng;
mod rules;
mod state;
mod tcp_server;
mod telemetry;
#[cfg(test)]
mod test_util;
#[cfg(test)]
mod tests;
mod time;
mod timers;
mod topic_config;
mod topic_creation;
mod topics;
mod transaction_index;
mod transactions;

pub use api_error::ApiError;
pub use cluster::{Cluster, Watermarks};
pub use config::{ClusterConfig, MigrationPolicy};
pub use connections::{Delivery, Outgoing};
pub use coordinators::CoordinatorKind;
pub use dispatch::Reply;
pub use faults::{Fault, FaultAction, LeaderHints};
pub use groups::{GroupMemberView, GroupView};
pub use history::{CommitRecord, JoinRecord, TransactionRecord, TransactionStep};
pub use ids::{BrokerId, ConnectionId};
pub use recorder::{ClientAction, Recorded};
pub use request::CloseReason;
pub use request_parts::RequestPart;
pub use rules::{RequestMatch, Rule, RuleId};
pub use tcp_server::EmbeddedCluster;
pub use telemetry::{MetricsPush, MetricsSubscription};
pub use time::Time;
pub use topic_creation::NewTopic;
pub use transactions::TransactionView;
