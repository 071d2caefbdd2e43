//! Ottla: an Apache Kafka client.
//!
//! What decides (sending, fetching, group membership, metadata) is a *manager*: a plain struct without
//! I/O, clock or threads, driven by [`client`]'s core. [`runtime`] owns the sockets and drives the core in
//! production; a simulator drives the same core on virtual time.
//!
//! `ARCHITECTURE.md` walks a produced and a fetched record through the modules.

pub mod admin;
pub mod client;
pub mod cluster;
pub mod config;
pub mod connection;
pub mod consumer;
pub mod context;
pub mod error;
pub mod event;
pub mod interceptor;
pub mod log;
pub mod memory;
pub mod producer;
pub mod records;
pub mod reply;
pub mod request;
pub mod runtime;
pub mod sasl;
pub mod stats;
pub mod sys;
pub mod telemetry;
pub mod transport;
pub mod types;
