//! The brokers' behaviour, seen through `Cluster::handle` and through sockets.

mod admin;
mod cluster;
mod cluster_admin;
mod consumer_groups;
mod coordinators;
mod faults;
mod fetch;
mod groups;
mod migration;
mod offsets;
mod produce;
mod rules;
mod sasl;
mod security;
mod share_groups;
mod tcp_server;
mod telemetry;
mod transactions;
pub(crate) mod util;
