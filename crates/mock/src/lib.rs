//! An in-process Kafka cluster for demos, tests and simulations.
//!
//! [`Cluster`] is a whole cluster as a state machine: requests and the time go in, responses come out, and nothing else
//! happens. [`Embedded`] puts it behind TCP sockets of this machine. It behaves as Kafka 4.x brokers do, error codes
//! included; each file under `handlers/` says what its API does and what it leaves out.

#![forbid(unsafe_code)]

mod cluster;
mod config;
mod connection;
mod control;
mod coordinators;
mod dispatch;
mod faults;
mod fetch_session;
mod front;
mod groups;
mod handlers;
mod limits;
mod log;
mod message_sets;
mod observer;
mod parked;
mod pending_produce;
mod producer_state;
mod producers;
mod recorder;
mod request_parts;
mod rng;
mod rules;
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
mod waiters;

pub use cluster::{BrokerId, Cluster, ConnectionId};
pub use config::ClusterConfig;
pub use control::{NewTopic, Refusal, Watermarks};
pub use coordinators::CoordinatorKind;
pub use dispatch::{CloseReason, Delivery, Outgoing, Reply};
pub use faults::{Fault, FaultAction, LeaderHints};
pub use front::Embedded;
pub use groups::{CommitRecord, GroupMemberView, GroupView, JoinRecord, MigrationPolicy};
pub use recorder::{ClientAction, Recorded};
pub use request_parts::RequestPart;
pub use rules::{RequestMatch, Rule, RuleId};
pub use telemetry::{MetricsPush, MetricsSubscription};
pub use time::Time;
pub use transactions::{TransactionRecord, TransactionStep, TransactionView};
