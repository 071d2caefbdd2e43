//! Ottla: an Apache Kafka client.
//!
//! Sending, fetching, group membership, transactions and metadata are decided by *managers*: plain structs without I/O,
//! clock or threads. A [`core`] wires the managers of one client together. [`runtime`] owns the sockets and drives the core
//! in production; a simulator drives the same core on virtual time. [`client`] is the application's handle.
//!
//! `ARCHITECTURE.md` follows a produced and a fetched record through the modules.

pub mod admin;
pub mod client;
pub mod cluster;
pub mod config;
pub mod connection;
pub mod consumer;
pub mod context;
pub mod core;
pub mod credentials;
pub mod error;
pub mod event;
pub mod interceptor;
pub mod log;
mod membership;
pub mod memory;
pub mod producer;
pub mod records;
pub mod reply;
pub mod request;
pub mod runtime;
pub mod sasl;
pub mod share;
pub mod stats;
pub mod sys;
pub mod telemetry;
#[cfg(test)]
mod test_kit;
pub mod transport;
pub mod types;
pub mod work;
