//! The brokers' behaviour, seen through `Cluster::handle` and through sockets.

mod admin;
mod basics;
mod consumer_groups;
mod faults;
mod fetch;
mod front;
mod groups;
mod migration;
mod offsets;
mod produce;
mod rules;
mod telemetry;
mod transactions;
