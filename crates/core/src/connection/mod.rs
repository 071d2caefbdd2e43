//! Connections to brokers as a pure state machine: connecting, TLS, versions, authentication, requests in flight, backoff.
//!
//! Before a manager builds a request it calls [`ConnectionTable::ready`]. While the result is not [`Ready::Yes`] the
//! connection is wanted and is opened, and [`ConnectionEvent::Up`] reports that it accepts requests. Requests are
//! therefore built at the last moment, for a known broker version, and never queue inside a connection. Connections exist
//! only to brokers that have requests (*sparse connections*).
//!
//! After a failure, the effect of a request is unknown if the kernel has taken any byte of it
//! ([`Failure::written`]); the state of the connection is irrelevant. A Produce request with acks=0 has no response:
//! it is in flight until the kernel has taken all of it, and responses are matched to the first request that expects one.
//!
//! The driver calls [`ConnectionTable::on_net`] for each event of the network and [`ConnectionTable::poll`] when time has
//! passed, and after either drains [`ConnectionTable::next_action`] (for the network) and
//! [`ConnectionTable::next_event`] (for the managers).
//!
//! | module | subject |
//! |---|---|
//! | `table` | the interface to managers and driver, timers, pauses |
//! | `broker_connection`, `broker_connection::setup` | one connection: states, requests, timeouts, end; the way from idle to up |
//! | `certificates` | when certificate files are looked at, and connections renewed after a change |
//! | `tls_error` | the texts of TLS failures |
//! | `authentication` | SASL over SaslHandshake and SaslAuthenticate |
//! | `requests`, `addresses`, `race`, `reconnect`, `connection_stats` | the parts of a connection, each with its invariants |
//! | `table_state` | settings, log and queues that all connections share |
//! | `net`, `events`, `key`, `config`, `versions` | the vocabulary |
//! | `log` | log lines |
//! | `frame_reader` | frames from a byte stream, for the transport |

mod addresses;
mod authentication;
mod broker_connection;
mod certificates;
mod config;
mod connection_stats;
mod events;
mod frame_reader;
mod key;
mod log;
mod net;
mod race;
mod reconnect;
mod requests;
mod table;
mod table_state;
mod tls_error;
mod versions;

pub use config::{CertificateRenewal, ConnectionConfig, Security};
pub use connection_stats::Totals;
pub use events::{ConnectionEvent, DisconnectKind, Failure, FailureKind, Outcome, Ready, Reply};
pub use frame_reader::FrameReader;
pub use key::{BrokerKey, Owner, Purpose, Tag};
pub use net::{
    CertificateRefresh, CloseReason, ConnId, LookupId, NetAction, NetEvent, TlsFailure, TlsPeer, TlsSession, WorkId,
};
pub use reconnect::reconnect_backoff;
pub use table::ConnectionTable;
pub use versions::BrokerVersions;
