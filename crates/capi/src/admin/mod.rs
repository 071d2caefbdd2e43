//! Admin calls, one file for each operation. Objects describe a request; the call copies them, and its result arrives in a
//! queue as an event.

pub mod acl;
pub mod alter_configs;
pub mod alter_consumer_group_offsets;
pub mod alter_user_scram_credentials;
mod call;
mod common;
pub mod config_resource;
pub mod create_acls;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_acls;
pub mod delete_consumer_group_offsets;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_topics;
pub mod describe_acls;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_consumer_groups;
pub mod describe_topics;
pub mod describe_user_scram_credentials;
pub mod elect_leaders;
pub mod group_result;
pub mod incremental_alter_configs;
pub mod list_consumer_group_offsets;
pub mod list_consumer_groups;
pub mod list_offsets;
pub mod node;
mod operations;
pub mod options;
pub mod topic_partition_result;
pub mod topic_result;
