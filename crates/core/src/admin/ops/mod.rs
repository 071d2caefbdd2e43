//! The operations, one file each.

mod acl;
mod acl_operation;
mod alter_configs;
mod alter_consumer_group_offsets;
mod alter_share_group_offsets;
mod alter_user_scram_credentials;
mod config_changes;
mod config_resource;
mod create_acls;
mod create_partitions;
mod create_topics;
mod delete_acls;
mod delete_consumer_group_offsets;
mod delete_groups;
mod delete_records;
mod delete_share_group_offsets;
mod delete_topics;
mod describe_acls;
mod describe_classic_groups;
mod describe_cluster;
mod describe_configs;
mod describe_consumer_groups;
mod describe_share_groups;
mod describe_streams_groups;
mod describe_topics;
mod describe_user_scram_credentials;
mod elect_leaders;
mod group_descriptions;
mod group_result;
mod incremental_alter_configs;
mod list_and_describe_groups;
mod list_consumer_group_offsets;
mod list_consumer_groups;
mod list_groups;
mod list_offsets;
mod list_share_group_offsets;
mod listed_groups;
mod partitions;
mod remove_members_from_consumer_group;
mod scram_credential;
mod topic_result;

pub use acl::{AclBinding, AclFilter, AclResourceType, PatternType, PermissionType};
pub use acl_operation::AclOperation;
pub use alter_configs::AlterConfigs;
pub use alter_consumer_group_offsets::AlterConsumerGroupOffsets;
pub use alter_share_group_offsets::AlterShareGroupOffsets;
pub use alter_user_scram_credentials::{AlterUserScramCredentials, ScramAlteration, ScramUpsertion, UserScramResult};
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
pub use delete_share_group_offsets::{DeleteShareGroupOffsets, DeletedShareGroupOffsets};
pub use delete_topics::DeleteTopics;
pub use describe_acls::DescribeAcls;
pub use describe_classic_groups::{ClassicGroupDescription, DescribeClassicGroups};
pub use describe_cluster::{ClusterDescription, DescribeCluster};
pub use describe_configs::{ConfigQuery, DescribeConfigs};
pub use describe_consumer_groups::{DescribeConsumerGroups, GroupDescription, MemberDescription};
pub use describe_share_groups::{DescribeShareGroups, ShareGroupDescription, ShareMember};
pub use describe_streams_groups::{
    DescribeStreamsGroups, StreamsGroupDescription, StreamsMember, StreamsTasks, Subtopology, SubtopologyTopic,
    TaskOffset, Tasks,
};
pub use describe_topics::{DescribeTopics, PartitionDescription, TopicDescription};
pub use describe_user_scram_credentials::{DescribeUserScramCredentials, ScramCredentialInfo, UserScramCredentials};
pub use elect_leaders::{ElectLeaders, ElectionResult, ElectionType};
pub use group_descriptions::{DescribeGroups, DescribedGroup};
pub use group_result::GroupResult;
pub use incremental_alter_configs::IncrementalAlterConfigs;
pub use list_and_describe_groups::{DescribedGroups, Group, ListAndDescribeGroups};
pub use list_consumer_group_offsets::ListConsumerGroupOffsets;
pub use list_consumer_groups::{ConsumerGroupListing, ConsumerGroups, ListConsumerGroups};
pub use list_groups::{GroupListing, GroupListings, ListGroups};
pub use list_offsets::{ListOffsets, ListedOffset, OffsetSpec};
pub use list_share_group_offsets::{ListShareGroupOffsets, ShareGroupOffsets, ShareOffset};
pub use remove_members_from_consumer_group::{MemberToRemove, RemoveMembersFromConsumerGroup, RemovedMember};
pub use scram_credential::ScramMechanism;
pub use topic_result::TopicResult;
