//! The brokers' behaviour, seen through `Cluster::handle` and through sockets.

mod admin;
mod basics;
mod faults;
mod fetch;
mod front;
mod groups;
mod offsets;
mod produce;
