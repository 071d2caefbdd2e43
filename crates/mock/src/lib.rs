//! An in-process Kafka cluster for demos, tests and simulations.
//!
//! [`Cluster`] is a whole cluster as a state machine: a function of requests and time, without I/O, for tests on virtual
//! time. [`EmbeddedCluster`] runs one in a thread behind TCP sockets of this machine. Both behave as Kafka 4.x brokers do,
//! error codes included. Each file under `handlers/` describes its API and lists its omissions.
//!
//! A test injects faults by rule ([`Cluster::add_rule`]), by request ([`Cluster::push_fault`]) or by broker
//! ([`Cluster::crash_broker`], [`Cluster::set_reachable`]), and reads the clients' requests as data
//! ([`Cluster::recorded`]):
//!
//! ```
//! use ottla_mock::{ApiKey, ClusterConfig, EmbeddedCluster, ErrorCode, Fault, FaultAction, RequestMatch, Rule};
//!
//! let cluster = EmbeddedCluster::start(ClusterConfig::default())?;
//! cluster.with(|c| c.create_topic("orders", 2, None))?;
//! // The third Produce request fails.
//! let rule = Rule {
//!     on: RequestMatch { api: Some(ApiKey::PRODUCE), ..RequestMatch::default() },
//!     skip: 2,
//!     times: Some(1),
//!     fault: Fault { action: FaultAction::Error(ErrorCode::REQUEST_TIMED_OUT), delay_us: 0 },
//! };
//! cluster.with(|c| {
//!     c.add_rule(rule);
//!     c.record();
//! });
//! let servers = cluster.bootstrap_servers();
//! // Run a client with these servers, then read its requests:
//! let requests = cluster.with(|c| c.recorded().len());
//! # assert_eq!(requests, 0);
//! # assert_eq!(servers.split(',').count(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod acls;
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
mod sasl;
mod sasl_config;
mod scram_credentials;
mod state;
mod tcp_server;
mod telemetry;
#[cfg(test)]
mod tests;
mod time;
mod timers;
mod topic_config;
mod topic_creation;
mod topics;
mod transaction_index;
mod transactions;

pub use acls::Acl;
pub use api_error::ApiError;
pub use cluster::{Cluster, Watermarks};
pub use config::{ClusterConfig, MigrationPolicy};
pub use connections::{Delivery, Outgoing};
pub use coordinators::CoordinatorKind;
pub use dispatch::Reply;
pub use faults::{Fault, FaultAction, LeaderHints};
pub use groups::{GroupMemberView, GroupView};
pub use history::{CommitRecord, JoinRecord, ServedRequest, TransactionRecord, TransactionStep};
pub use ids::{BrokerId, ConnectionId};
pub use recorder::{ClientAction, Recorded};
pub use request::CloseReason;
pub use request_parts::RequestPart;
pub use rules::{RequestMatch, Rule, RuleId};
pub use sasl::{SaslCounts, SaslEvent, SaslRecord};
pub use sasl_config::{AcceptedToken, SaslConfig, SaslMechanism, SaslUser};
pub use tcp_server::EmbeddedCluster;
pub use telemetry::{MetricsPush, MetricsSubscription};
pub use time::Time;
pub use topic_creation::NewTopic;
pub use transactions::TransactionView;

pub use ottla_protocol::{ApiKey, ErrorCode};
