//! Connections to brokers as a pure state machine: connecting, negotiating versions, requests in flight, backoff.
//!
//! A manager that has something for a broker asks [`ConnectionTable::ready`]; while the answer is not [`Ready::Yes`] the connection is
//! remembered as wanted and is brought up, and [`ConnectionEvent::Up`] tells when it is. Requests are therefore made at the
//! last moment, for a known broker version, and never queue inside a connection.
//!
//! The driver calls [`ConnectionTable::on_net`] for what the network reports, [`ConnectionTable::poll`] when time has passed, and after
//! either drains [`ConnectionTable::next_action`] (for the network) and [`ConnectionTable::next_event`] (for the managers).

mod broker_connection;
mod config;
mod connection_stats;
mod frame_reader;
mod net;
mod race;
mod table;
mod versions;

pub use broker_connection::{DisconnectKind, Failure, FailureKind, Outcome, Reply};
pub use config::ConnectionConfig;
pub use connection_stats::Totals;
pub use frame_reader::FrameReader;
pub use net::{CloseReason, ConnId, LookupId, NetAction, NetEvent};
pub use table::{BrokerKey, ConnectionEvent, ConnectionTable, Owner, Purpose, Ready, Tag};
pub use versions::BrokerVersions;
