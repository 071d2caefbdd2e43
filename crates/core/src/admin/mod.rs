//! Admin operations of every client: topics, partitions, configuration, groups.
//!
//! [`Admin`] is the manager that the core drives. It keeps a struct for each call under way:
//!
//! - `list_groups`: requests to every broker for its groups, with or without their members;
//! - `single_request`: one request to one broker. [`Request`] lists these operations and their targets: the controller, the
//!   broker whose settings are requested, or any broker. `wire` builds the requests and decodes the responses, with the
//!   results in the order of the call.
//!
//! A command contains the queue that receives its result, as an [`AdminResult`](crate::event::AdminResult) in an event.

mod list_groups;
mod manager;
mod request;
mod single_request;
mod wire;

pub use crate::event::{
    AdminOp, AdminOutcome, AdminResult, ConfigEntry, ConfigSource, ConfigSynonym, ConsumerGroupListing, ConsumerGroups,
    ResourceResult, ResourceType, TopicResult,
};
pub use list_groups::{Group, GroupFilters, GroupListing};
pub use manager::{Admin, Command};
pub use request::{AlterOp, ConfigChange, ConfigChanges, ConfigQuery, NewPartitions, NewTopic, Options, Request};
pub use single_request::Destination;
