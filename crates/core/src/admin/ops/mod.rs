//! The operations, one file each.

mod alter_configs;
mod config_resource;
mod create_partitions;
mod create_topics;
mod delete_topics;
mod describe_configs;
mod incremental_alter_configs;
mod list_consumer_groups;
mod list_groups;
mod topic_result;

pub use alter_configs::AlterConfigs;
pub use config_resource::{
    AlterOp, ConfigChange, ConfigChanges, ConfigEntry, ConfigSource, ConfigSynonym, ResourceResult, ResourceType,
};
pub use create_partitions::{CreatePartitions, NewPartitions};
pub use create_topics::{CreateTopics, NewTopic};
pub use delete_topics::DeleteTopics;
pub use describe_configs::{ConfigQuery, DescribeConfigs};
pub use incremental_alter_configs::IncrementalAlterConfigs;
pub use list_consumer_groups::{ConsumerGroupListing, ConsumerGroups, ListConsumerGroups};
pub use list_groups::{Group, GroupListing, ListGroups};
pub use topic_result::TopicResult;
