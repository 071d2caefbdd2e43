//! Admin calls, one file for each operation. Objects describe a request; the call copies them, and its result arrives in a
//! queue as an event.

pub mod alter_configs;
mod call;
mod common;
pub mod config_resource;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_topics;
pub mod describe_configs;
pub mod incremental_alter_configs;
pub mod list_consumer_groups;
pub mod options;
pub mod topic_result;
