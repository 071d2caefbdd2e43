//! Admin operations of every client: topics, partitions, configuration, groups.
//!
//! [`Admin`] is the manager that the core drives. It keeps a call for each operation under way:
//!
//! - `operation`: the interface of an [`Operation`]: its keys, their brokers, its requests, the verdicts of responses;
//! - `call`: the engine that runs a call of any operation. It groups keys by broker, repeats requests for the keys that are
//!   open, keeps the deadline, and delivers the result in the caller's order;
//! - `leaders`, `coordinators`: the brokers of a call's partitions and groups, looked up many at a time (`lookups`); the
//!   controller comes from the router;
//! - `retry`: the errors of brokers after which a key is asked again;
//! - `ops`: one file for each operation.
//!
//! A command contains the destination of its result: a reply, or a queue that receives it as an
//! [`AdminResult`](crate::event::AdminResult) in an event.

mod call;
mod coordinators;
mod leaders;
mod lookups;
mod manager;
mod node;
mod operation;
mod ops;
mod retry;

pub use crate::event::AdminResult;
pub use call::Destination;
pub use manager::{Admin, Command};
pub use node::Node;
pub use operation::{Operation, Options};
pub use ops::*;
