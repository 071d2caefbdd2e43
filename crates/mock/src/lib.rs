//! An in-process Kafka cluster for demos, tests and simulations.
//!
//! [`Cluster`] is a whole cluster as a state machine: requests and the time go in, responses come out, and nothing else
//! happens. [`EmbeddedCluster`] puts it behind TCP sockets of this machine. It behaves as Kafka 4.x brokers do, error codes
//! included; each file under `handlers/` says what its API does and what it leaves out.

#![forbid(unsafe_code)]

mod cluster;
mod cluster_control;
mod config;
mod connection;
mod coordinators;
mod dispatch;
mod faults;
mod fetch_session;
mod groups;
mod handlers;
mod limits;
mod log;
mod message_sets;
mod observer;
mod pending_produce;
mod producer_state;
mod producers;
mod purgatory;
mod recorder;
mod request_parts;
mod rng;
mod rules;
mod tcp_server;
mod telemetry;
#[cfg(test)]
mod test_util;
#[cfg(test)]
mod tests;
mod time;
mod timers;
mod topic_config;
mod topics;
mod transaction_index;
mod transactions;
mod watchers;

pub use cluster::{BrokerId, Cluster, ConnectionId};
pub use cluster_control::{ApiError, NewTopic, Watermarks};
pub use config::ClusterConfig;
pub use coordinators::CoordinatorKind;
pub use dispatch::{CloseReason, Delivery, Outgoing, Reply};
pub use faults::{Fault, FaultAction, LeaderHints};
pub use groups::{CommitRecord, GroupMemberView, GroupView, JoinRecord, MigrationPolicy};
pub use recorder::{ClientAction, Recorded};
pub use request_parts::RequestPart;
pub use rules::{RequestMatch, Rule, RuleId};
pub use tcp_server::EmbeddedCluster;
pub use telemetry::{MetricsPush, MetricsSubscription};
pub use time::Time;
pub use transactions::{TransactionRecord, TransactionStep, TransactionView};
