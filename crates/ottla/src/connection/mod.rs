//! Connections to brokers as a pure state machine: connecting, negotiating versions, requests in flight, backoff.
//!
//! A manager that has something for a broker asks [`Links::ready`]; while the answer is not [`Ready::Yes`] the link is
//! remembered as wanted and is brought up, and [`LinkEvent::Up`] tells when it is. Requests are therefore made at the
//! last moment, for a known broker version, and never queue inside a connection.
//!
//! The driver calls [`Links::on_net`] for what the network reports, [`Links::poll`] when time has passed, and after
//! either drains [`Links::next_action`] (for the network) and [`Links::next_event`] (for the managers).

mod frame_reader;
mod link;
mod link_config;
mod links;
mod net;
mod traffic;
mod versions;

pub use frame_reader::FrameReader;
pub use link::{Failure, FailureKind, Loss, Outcome, Reply};
pub use link_config::LinkConfig;
pub use links::{LinkEvent, LinkKey, Links, Owner, Purpose, Ready, Tag};
pub use net::{CloseReason, ConnId, LookupId, NetAction, NetEvent};
pub use traffic::Totals;
pub use versions::BrokerVersions;
