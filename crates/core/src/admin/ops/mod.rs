//! The operations, one file each.

mod acl;
mod acl_operation;
mod alter_configs;
mod alter_consumer_group_offsets;
mod config_resource;
mod create_acls;
mod create_partitions;
mod create_topics;
mod delete_acls;
mod delete_consumer_group_offsets;
mod delete_groups;
mod delete_records;
mod delete_topics;
mod describe_acls;
mod describe_cluster;
mod describe_configs;
mod describe_consumer_groups;
mod describe_topics;
mod elect_leaders;
mod group_result;
mod incremental_alter_configs;
mod list_consumer_group_offsets;
mod list_consumer_groups;
mod list_groups;
mod list_offsets;
mod partitions;
mod topic_result;

pub use acl::{AclBinding, AclFilter, AclResourceType, PatternType, PermissionType};
pub use acl_operation::AclOperation;
pub use alter_configs::AlterConfigs;
pub use alter_consumer_group_offsets::AlterConsumerGroupOffsets;
pub use config_resource::{
    AlterOp, ConfigChange, ConfigChanges, ConfigEntry, ConfigSource, ConfigSynonym, ResourceResult, ResourceType,
};
pub use create_acls::CreateAcls;
pub use create_partitions::{CreatePartitions, NewPartitions};
pub use create_topics::{CreateTopics, NewTopic};
pub use delete_acls::{DeleteAcls, DeleteAclsResult, DeletedAcl};
pub use delete_consumer_group_offsets::DeleteConsumerGroupOffsets;
pub use delete_groups::DeleteGroups;
pub use delete_records::DeleteRecords;
pub use delete_topics::DeleteTopics;
pub use describe_acls::DescribeAcls;
pub use describe_cluster::{ClusterDescription, DescribeCluster};
pub use describe_configs::{ConfigQuery, DescribeConfigs};
pub use describe_consumer_groups::{DescribeConsumerGroups, GroupDescription, MemberDescription};
pub use describe_topics::{DescribeTopics, PartitionDescription, TopicDescription};
pub use elect_leaders::{ElectLeaders, ElectionResult, ElectionType};
pub use group_result::GroupResult;
pub use incremental_alter_configs::IncrementalAlterConfigs;
pub use list_consumer_group_offsets::ListConsumerGroupOffsets;
pub use list_consumer_groups::{ConsumerGroupListing, ConsumerGroups, ListConsumerGroups};
pub use list_groups::{Group, GroupListing, ListGroups};
pub use list_offsets::{ListOffsets, ListedOffset, OffsetSpec};
pub use topic_result::TopicResult;
