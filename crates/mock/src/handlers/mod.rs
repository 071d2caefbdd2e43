//! The APIs of the brokers, one file each, named like the protocol's. Each file begins with the behaviour per version, and
//! with the omissions.

use ottla_protocol::ApiKey;

mod described_groups;
mod handler;
mod k00_produce;
mod k01_fetch;
mod k02_list_offsets;
mod k03_metadata;
mod k08_offset_commit;
mod k09_offset_fetch;
mod k10_find_coordinator;
mod k11_join_group;
mod k12_heartbeat;
mod k13_leave_group;
mod k14_sync_group;
mod k15_describe_groups;
mod k16_list_groups;
mod k17_sasl_handshake;
pub(crate) mod k18_api_versions;
mod k19_create_topics;
mod k20_delete_topics;
mod k21_delete_records;
mod k22_init_producer_id;
mod k23_offset_for_leader_epoch;
mod k24_add_partitions_to_txn;
mod k25_add_offsets_to_txn;
mod k26_end_txn;
mod k27_write_txn_markers;
mod k28_txn_offset_commit;
mod k29_describe_acls;
mod k30_create_acls;
mod k31_delete_acls;
mod k32_describe_configs;
mod k33_alter_configs;
mod k34_alter_replica_log_dirs;
mod k35_describe_log_dirs;
mod k36_sasl_authenticate;
mod k37_create_partitions;
mod k38_create_delegation_token;
mod k39_renew_delegation_token;
mod k40_expire_delegation_token;
mod k41_describe_delegation_token;
mod k42_delete_groups;
mod k43_elect_leaders;
mod k44_incremental_alter_configs;
mod k45_alter_partition_reassignments;
mod k46_list_partition_reassignments;
mod k47_offset_delete;
mod k48_describe_client_quotas;
mod k49_alter_client_quotas;
mod k50_describe_user_scram_credentials;
mod k51_alter_user_scram_credentials;
mod k55_describe_quorum;
mod k57_update_features;
mod k60_describe_cluster;
mod k61_describe_producers;
mod k64_unregister_broker;
mod k65_describe_transactions;
mod k66_list_transactions;
mod k68_consumer_group_heartbeat;
mod k69_consumer_group_describe;
mod k71_get_telemetry_subscriptions;
mod k72_push_telemetry;
mod k74_list_config_resources;
mod k76_share_group_heartbeat;
mod k77_share_group_describe;
mod k78_share_fetch;
mod k79_share_acknowledge;
mod k80_add_raft_voter;
mod k81_remove_raft_voter;
mod k89_streams_group_describe;
mod k90_describe_share_group_offsets;
mod k91_alter_share_group_offsets;
mod k92_delete_share_group_offsets;

pub(crate) use handler::{Api, Served};

/// The APIs of the brokers, by ascending key.
pub(crate) static APIS: &[Api] = &[
    Api::of::<k00_produce::Produce>(),
    Api::of::<k01_fetch::Fetch>(),
    Api::of::<k02_list_offsets::ListOffsets>(),
    Api::of::<k03_metadata::Metadata>(),
    Api::of::<k08_offset_commit::OffsetCommit>(),
    Api::of::<k09_offset_fetch::OffsetFetch>(),
    Api::of::<k10_find_coordinator::FindCoordinator>(),
    Api::of::<k11_join_group::JoinGroup>(),
    Api::of::<k12_heartbeat::Heartbeat>(),
    Api::of::<k13_leave_group::LeaveGroup>(),
    Api::of::<k14_sync_group::SyncGroup>(),
    Api::of::<k15_describe_groups::DescribeGroups>(),
    Api::of::<k16_list_groups::ListGroups>(),
    Api::of::<k17_sasl_handshake::SaslHandshake>(),
    Api::of::<k18_api_versions::ApiVersions>(),
    Api::of::<k19_create_topics::CreateTopics>(),
    Api::of::<k20_delete_topics::DeleteTopics>(),
    Api::of::<k21_delete_records::DeleteRecords>(),
    Api::of::<k22_init_producer_id::InitProducerId>(),
    Api::of::<k23_offset_for_leader_epoch::OffsetForLeaderEpoch>(),
    Api::of::<k24_add_partitions_to_txn::AddPartitionsToTxn>(),
    Api::of::<k25_add_offsets_to_txn::AddOffsetsToTxn>(),
    Api::of::<k26_end_txn::EndTxn>(),
    Api::of::<k27_write_txn_markers::WriteTxnMarkers>(),
    Api::of::<k28_txn_offset_commit::TxnOffsetCommit>(),
    Api::of::<k29_describe_acls::DescribeAcls>(),
    Api::of::<k30_create_acls::CreateAcls>(),
    Api::of::<k31_delete_acls::DeleteAcls>(),
    Api::of::<k32_describe_configs::DescribeConfigs>(),
    Api::of::<k33_alter_configs::AlterConfigs>(),
    Api::of::<k34_alter_replica_log_dirs::AlterReplicaLogDirs>(),
    Api::of::<k35_describe_log_dirs::DescribeLogDirs>(),
    Api::of::<k36_sasl_authenticate::SaslAuthenticate>(),
    Api::of::<k37_create_partitions::CreatePartitions>(),
    Api::of::<k38_create_delegation_token::CreateDelegationToken>(),
    Api::of::<k39_renew_delegation_token::RenewDelegationToken>(),
    Api::of::<k40_expire_delegation_token::ExpireDelegationToken>(),
    Api::of::<k41_describe_delegation_token::DescribeDelegationToken>(),
    Api::of::<k42_delete_groups::DeleteGroups>(),
    Api::of::<k43_elect_leaders::ElectLeaders>(),
    Api::of::<k44_incremental_alter_configs::IncrementalAlterConfigs>(),
    Api::of::<k45_alter_partition_reassignments::AlterPartitionReassignments>(),
    Api::of::<k46_list_partition_reassignments::ListPartitionReassignments>(),
    Api::of::<k47_offset_delete::OffsetDelete>(),
    Api::of::<k48_describe_client_quotas::DescribeClientQuotas>(),
    Api::of::<k49_alter_client_quotas::AlterClientQuotas>(),
    Api::of::<k50_describe_user_scram_credentials::DescribeUserScramCredentials>(),
    Api::of::<k51_alter_user_scram_credentials::AlterUserScramCredentials>(),
    Api::of::<k55_describe_quorum::DescribeQuorum>(),
    Api::of::<k57_update_features::UpdateFeatures>(),
    Api::of::<k60_describe_cluster::DescribeCluster>(),
    Api::of::<k61_describe_producers::DescribeProducers>(),
    Api::of::<k64_unregister_broker::UnregisterBroker>(),
    Api::of::<k65_describe_transactions::DescribeTransactions>(),
    Api::of::<k66_list_transactions::ListTransactions>(),
    Api::of::<k68_consumer_group_heartbeat::ConsumerGroupHeartbeat>(),
    Api::of::<k69_consumer_group_describe::ConsumerGroupDescribe>(),
    Api::of::<k71_get_telemetry_subscriptions::GetTelemetrySubscriptions>(),
    Api::of::<k72_push_telemetry::PushTelemetry>(),
    Api::of::<k74_list_config_resources::ListConfigResources>(),
    Api::of::<k76_share_group_heartbeat::ShareGroupHeartbeat>(),
    Api::of::<k77_share_group_describe::ShareGroupDescribe>(),
    Api::of::<k78_share_fetch::ShareFetch>(),
    Api::of::<k79_share_acknowledge::ShareAcknowledge>(),
    Api::of::<k80_add_raft_voter::AddRaftVoter>(),
    Api::of::<k81_remove_raft_voter::RemoveRaftVoter>(),
    Api::of::<k89_streams_group_describe::StreamsGroupDescribe>(),
    Api::of::<k90_describe_share_group_offsets::DescribeShareGroupOffsets>(),
    Api::of::<k91_alter_share_group_offsets::AlterShareGroupOffsets>(),
    Api::of::<k92_delete_share_group_offsets::DeleteShareGroupOffsets>(),
];

/// Returns the handler of an API.
pub(crate) fn find(key: ApiKey) -> Option<&'static Api> {
    APIS.iter().find(|api| api.key == key)
}
