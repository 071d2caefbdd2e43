//! The plan of a world: drawn from its seed before anything happens.

mod admin;
mod application;
mod consumer;
mod faults;
mod group;
mod jobs;
mod net;
mod producer;
mod sasl;
mod seeds;
mod settings;
mod share;
mod statistics;
mod tls;
mod topics;
mod transactions;
mod world;

pub(crate) use admin::{AdminFault, AdminPlan};
pub(crate) use consumer::ConsumerPlan;
pub(crate) use faults::{FaultKind, GroupFault, TransactionFault};
pub(crate) use group::{CommitMode, GroupProtocol, GroupsPlan, MemberPlan};
pub(crate) use jobs::JobsPlan;
pub(crate) use net::NetPlan;
pub(crate) use producer::{ProducerPlan, TopicUse};
pub(crate) use sasl::{SaslFault, SaslPlan, TokenPlan};
pub(crate) use settings::{SOCKET_TIMEOUT_MAX_MS, Settings, lookup};
pub(crate) use share::{SHARE_TOPIC, ShareFault, ShareMemberPlan, SharePace, SharePlan};
pub(crate) use tls::TlsPlan;
pub(crate) use transactions::{LoopPlan, ReaderPlan, TransactionsPlan, TxnWorkerPlan};
pub(crate) use world::{IDLE_MAX_US, Plan};
