//! The brokers' behaviour, seen through `Cluster::handle` and through sockets.

mod basics;
mod fetch;
mod front;
mod produce;
