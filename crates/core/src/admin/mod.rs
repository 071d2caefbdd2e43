//! Admin operations of every client: topics, partitions, configuration, groups.
//!
//! [`Admin`] is the manager that the core drives. It keeps a struct for each call under way:
//!
//! - `list_groups`: requests to every broker for its groups, with or without their members;
//! - `single_request`: one request to one broker. [`Request`] lists these operations, `wire` builds their requests and
//!   decodes the responses.

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
