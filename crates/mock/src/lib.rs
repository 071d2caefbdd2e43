//! An in-process Kafka cluster for demos, tests and simulations.
//!
//! [`Cluster`] is a whole cluster as a state machine: a function of requests and time, without I/O, for tests on virtual
//! time. [`EmbeddedCluster`] runs one in a thread behind TCP sockets of this machine. Both behave as Kafka 4.x brokers do,
//! error codes included. Each file under `handlers/` describes its API and lists its omissions. `docs/TESTING.md` is the guide
//! for tests of applications.
//!
//! # A test of an application
//!
//! The application connects to the addresses of an [`EmbeddedCluster`]. The test acts on the cluster with
//! [`EmbeddedCluster::with`], and waits for the application with [`EmbeddedCluster::wait_for`]:
//!
//! | the test | functions |
//! |---|---|
//! | writes and reads records without a client | [`Cluster::append`], [`Cluster::records`], [`Cluster::delete_records`] |
//! | changes topics and leaders | [`Cluster::create_topic`], [`Cluster::set_leader`], [`Cluster::set_topic_error`] |
//! | injects faults by pattern and number of the request | [`Cluster::add_rule`] |
//! | injects faults into the next requests of an API or a partition | [`Cluster::push_fault`], [`Cluster::push_request_errors`], [`Cluster::push_partition_errors`] |
//! | delays responses | [`Cluster::set_round_trip_us`], [`Cluster::set_throttle_ms`] |
//! | stops brokers | [`Cluster::crash_broker`], [`Cluster::set_reachable`], [`Cluster::set_broker_down`] |
//! | changes the set of brokers | [`EmbeddedCluster::add_broker`], [`Cluster::remove_broker`], [`Cluster::hide_broker`] |
//! | makes metadata stale | [`Cluster::push_leader_response`], [`Cluster::hold_metadata`] |
//! | sends consumers to followers | [`Cluster::set_follower`], [`Cluster::set_follower_watermarks`] |
//! | moves and fails coordinators | [`Cluster::set_coordinator`], [`Cluster::set_coordinator_error`] |
//! | chooses the partitions of members (KIP-848) | [`Cluster::set_target_assignment`] |
//! | reads the clients' requests as data | [`Cluster::record`], [`Cluster::recorded`], [`Cluster::count_requests`] |
//! | looks at groups and transactions | [`Cluster::group_view`], [`Cluster::committed_offset`], [`Cluster::transaction_view`] |
//!
//! ```
//! use std::time::Duration;
//!
//! use ottla_mock::{
//!     ApiKey, ClusterConfig, EmbeddedCluster, ErrorCode, Fault, FaultAction, NewRecord, RequestMatch, Rule,
//! };
//!
//! let cluster = EmbeddedCluster::start(ClusterConfig::default())?;
//! cluster.with(|c| c.create_topic("orders", 2, None))?;
//! // The third Produce request fails.
//! let produce = RequestMatch::api(ApiKey::PRODUCE);
//! let rule = Rule {
//!     on: produce.clone(),
//!     skip: 2,
//!     times: Some(1),
//!     fault: Fault { action: FaultAction::Error(ErrorCode::REQUEST_TIMED_OUT), delay_us: 0 },
//! };
//! cluster.with(|c| {
//!     c.add_rule(rule);
//!     c.record();
//!     // Input of the application.
//!     c.append("orders", 0, &[NewRecord::keyed("7", "a book")])
//! })?;
//! let servers = cluster.bootstrap_servers();
//! // Run the application with these servers, and wait for its output:
//! let output = cluster.wait_for(Duration::from_secs(10), |c| {
//!     c.records("orders", 0).ok().filter(|records| !records.is_empty())
//! });
//! let requests = cluster.with(|c| c.count_requests(&produce));
//! # assert_eq!(output.unwrap()[0].value.as_deref(), Some(b"a book".as_slice()));
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
mod delegation_tokens;
mod dispatch;
mod faults;
mod features;
mod fetch;
mod fetch_session;
mod group_config;
mod groups;
mod handlers;
mod history;
mod ids;
mod log;
mod log_dirs;
mod metadata;
mod name_pattern;
mod observer;
mod producer_ids;
mod producer_state;
mod purgatory;
mod quorum;
mod quotas;
mod reassignments;
mod recorder;
mod records;
mod replication;
mod request;
mod request_parts;
mod rng;
mod rules;
mod sasl;
mod sasl_config;
mod scram_credentials;
mod share;
mod share_config;
mod share_key;
mod share_leader;
mod state;
mod streams_groups;
mod target_assignments;
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
pub use records::{NewRecord, StoredRecord};
pub use request::CloseReason;
pub use request_parts::RequestPart;
pub use rules::{RequestMatch, Rule, RuleId};
pub use sasl::{SaslCounts, SaslEvent, SaslRecord};
pub use sasl_config::{AcceptedToken, SaslConfig, SaslMechanism, SaslUser};
pub use share::{ArchiveCause, DeliveryState, ShareChange, ShareEvent, SharePartitionView, ShareRecordsView};
pub use share_config::{ShareGroupConfig, ShareOffsetReset};
pub use target_assignments::TargetAssignment;
pub use tcp_server::{AddBrokerError, EmbeddedCluster};
pub use telemetry::{MetricsPush, MetricsSubscription};
pub use time::Time;
pub use topic_creation::NewTopic;
pub use transactions::TransactionView;

pub use ottla_protocol::{ApiKey, ErrorCode};
