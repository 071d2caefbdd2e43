//! What is asked of the cluster apart from producing and consuming. Every client can ask.
//!
//! [`Admin`] is the manager that the core drives; it keeps a struct for each call under way:
//!
//! - `list_groups`: the groups of every broker, with their members or without;
//! - `one_broker`: what is one request to one broker. [`Request`] tells which calls these are, `wire` makes their requests
//!   and reads the responses.

mod list_groups;
mod manager;
mod one_broker;
mod request;
mod wire;

pub use crate::event::{
    AdminOp, AdminOutcome, AdminResult, ConfigEntry, ConfigSource, ConfigSynonym, ConsumerGroupListing, ConsumerGroups,
    ResourceResult, ResourceType, TopicResult,
};
pub use list_groups::{Group, GroupFilters, GroupListing};
pub use manager::{Admin, Command};
pub use one_broker::Destination;
pub use request::{AlterOp, ConfigChange, ConfigChanges, ConfigQuery, NewPartitions, NewTopic, Options, Request};
