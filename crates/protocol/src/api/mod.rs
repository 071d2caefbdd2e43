//! The messages: one module per API, one file per module, numbered by API key.
//!
//! Every file holds the whole schema of its API: request and response, all versions, from Kafka 0.8 to 4.3. The list at
//! its head says what each version added; versions that it does not name are as the ones before. [`APIS`], the
//! constants of [`ApiKey`] and the names of APIs come from the one table below.
//!
//! Left out are the APIs that only brokers and controllers use, and those of Raft voters, of the state of share groups
//! and of streams groups.
//!
//! Fields that mean the same everywhere:
//!
//! | field | meaning |
//! |---|---|
//! | `error_code` | an [`ErrorCode`](crate::ErrorCode), 0 for success |
//! | `error_message` | text for people, or null |
//! | `throttle_time_ms` | how long a quota holds the client back: the broker did wait or, from the version of KIP-219 on, the client should |
//! | `..._ms` | milliseconds; a timestamp when it counts from 1970 |
//! | `timeout_ms` | how long the broker may take |
//! | `topic_id` | all zeros for none; in versions that carry it the name may be missing |
//! | `leader_epoch` | counts the leaders of a partition, -1 for none |
//! | `rack` | the broker's `broker.rack`, or null |
//! | `operation` | of an access control entry: 1 any (in filters), 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action, 10 describe configs, 11 alter configs, 12 idempotent write, 13 create tokens, 14 describe tokens, 15 two-phase commit |
//! | `resource_type` | of an access control entry: 1 any (in filters), 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user |

use std::fmt;
use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Frame, Message, Reader, Writer};

macro_rules! apis {
    ($($constant:ident = $key:literal, $file:literal, $module:ident: $request:ident, $response:ident;)*) => {
        $(
            #[path = $file]
            pub mod $module;
        )*

        impl ApiKey {
            $(
                #[doc = concat!("Key ", $key, ": [`", stringify!($module), "`](crate::api::", stringify!($module), ").")]
                pub const $constant: Self = Self($key);
            )*
        }

        /// Every API with a schema here, by ascending key.
        pub const APIS: &[Api] = &[$(Api {
            key: ApiKey::$constant,
            request: Codec::of::<$module::$request>(),
            response: Codec::of::<$module::$response>(),
        }),*];
    };
}

apis! {
    PRODUCE = 0, "k00_produce.rs", produce: ProduceRequest, ProduceResponse;
    FETCH = 1, "k01_fetch.rs", fetch: FetchRequest, FetchResponse;
    LIST_OFFSETS = 2, "k02_list_offsets.rs", list_offsets: ListOffsetsRequest, ListOffsetsResponse;
    METADATA = 3, "k03_metadata.rs", metadata: MetadataRequest, MetadataResponse;
    OFFSET_COMMIT = 8, "k08_offset_commit.rs", offset_commit: OffsetCommitRequest, OffsetCommitResponse;
    OFFSET_FETCH = 9, "k09_offset_fetch.rs", offset_fetch: OffsetFetchRequest, OffsetFetchResponse;
    FIND_COORDINATOR = 10, "k10_find_coordinator.rs", find_coordinator: FindCoordinatorRequest, FindCoordinatorResponse;
    JOIN_GROUP = 11, "k11_join_group.rs", join_group: JoinGroupRequest, JoinGroupResponse;
    HEARTBEAT = 12, "k12_heartbeat.rs", heartbeat: HeartbeatRequest, HeartbeatResponse;
    LEAVE_GROUP = 13, "k13_leave_group.rs", leave_group: LeaveGroupRequest, LeaveGroupResponse;
    SYNC_GROUP = 14, "k14_sync_group.rs", sync_group: SyncGroupRequest, SyncGroupResponse;
    DESCRIBE_GROUPS = 15, "k15_describe_groups.rs", describe_groups: DescribeGroupsRequest, DescribeGroupsResponse;
    LIST_GROUPS = 16, "k16_list_groups.rs", list_groups: ListGroupsRequest, ListGroupsResponse;
    SASL_HANDSHAKE = 17, "k17_sasl_handshake.rs", sasl_handshake: SaslHandshakeRequest, SaslHandshakeResponse;
    API_VERSIONS = 18, "k18_api_versions.rs", api_versions: ApiVersionsRequest, ApiVersionsResponse;
    CREATE_TOPICS = 19, "k19_create_topics.rs", create_topics: CreateTopicsRequest, CreateTopicsResponse;
    DELETE_TOPICS = 20, "k20_delete_topics.rs", delete_topics: DeleteTopicsRequest, DeleteTopicsResponse;
    DELETE_RECORDS = 21, "k21_delete_records.rs", delete_records: DeleteRecordsRequest, DeleteRecordsResponse;
    INIT_PRODUCER_ID = 22, "k22_init_producer_id.rs", init_producer_id: InitProducerIdRequest, InitProducerIdResponse;
    OFFSET_FOR_LEADER_EPOCH = 23, "k23_offset_for_leader_epoch.rs", offset_for_leader_epoch: OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse;
    ADD_PARTITIONS_TO_TXN = 24, "k24_add_partitions_to_txn.rs", add_partitions_to_txn: AddPartitionsToTxnRequest, AddPartitionsToTxnResponse;
    ADD_OFFSETS_TO_TXN = 25, "k25_add_offsets_to_txn.rs", add_offsets_to_txn: AddOffsetsToTxnRequest, AddOffsetsToTxnResponse;
    END_TXN = 26, "k26_end_txn.rs", end_txn: EndTxnRequest, EndTxnResponse;
    WRITE_TXN_MARKERS = 27, "k27_write_txn_markers.rs", write_txn_markers: WriteTxnMarkersRequest, WriteTxnMarkersResponse;
    TXN_OFFSET_COMMIT = 28, "k28_txn_offset_commit.rs", txn_offset_commit: TxnOffsetCommitRequest, TxnOffsetCommitResponse;
    DESCRIBE_ACLS = 29, "k29_describe_acls.rs", describe_acls: DescribeAclsRequest, DescribeAclsResponse;
    CREATE_ACLS = 30, "k30_create_acls.rs", create_acls: CreateAclsRequest, CreateAclsResponse;
    DELETE_ACLS = 31, "k31_delete_acls.rs", delete_acls: DeleteAclsRequest, DeleteAclsResponse;
    DESCRIBE_CONFIGS = 32, "k32_describe_configs.rs", describe_configs: DescribeConfigsRequest, DescribeConfigsResponse;
    ALTER_CONFIGS = 33, "k33_alter_configs.rs", alter_configs: AlterConfigsRequest, AlterConfigsResponse;
    ALTER_REPLICA_LOG_DIRS = 34, "k34_alter_replica_log_dirs.rs", alter_replica_log_dirs: AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse;
    DESCRIBE_LOG_DIRS = 35, "k35_describe_log_dirs.rs", describe_log_dirs: DescribeLogDirsRequest, DescribeLogDirsResponse;
    SASL_AUTHENTICATE = 36, "k36_sasl_authenticate.rs", sasl_authenticate: SaslAuthenticateRequest, SaslAuthenticateResponse;
    CREATE_PARTITIONS = 37, "k37_create_partitions.rs", create_partitions: CreatePartitionsRequest, CreatePartitionsResponse;
    CREATE_DELEGATION_TOKEN = 38, "k38_create_delegation_token.rs", create_delegation_token: CreateDelegationTokenRequest, CreateDelegationTokenResponse;
    RENEW_DELEGATION_TOKEN = 39, "k39_renew_delegation_token.rs", renew_delegation_token: RenewDelegationTokenRequest, RenewDelegationTokenResponse;
    EXPIRE_DELEGATION_TOKEN = 40, "k40_expire_delegation_token.rs", expire_delegation_token: ExpireDelegationTokenRequest, ExpireDelegationTokenResponse;
    DESCRIBE_DELEGATION_TOKEN = 41, "k41_describe_delegation_token.rs", describe_delegation_token: DescribeDelegationTokenRequest, DescribeDelegationTokenResponse;
    DELETE_GROUPS = 42, "k42_delete_groups.rs", delete_groups: DeleteGroupsRequest, DeleteGroupsResponse;
    ELECT_LEADERS = 43, "k43_elect_leaders.rs", elect_leaders: ElectLeadersRequest, ElectLeadersResponse;
    INCREMENTAL_ALTER_CONFIGS = 44, "k44_incremental_alter_configs.rs", incremental_alter_configs: IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse;
    ALTER_PARTITION_REASSIGNMENTS = 45, "k45_alter_partition_reassignments.rs", alter_partition_reassignments: AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse;
    LIST_PARTITION_REASSIGNMENTS = 46, "k46_list_partition_reassignments.rs", list_partition_reassignments: ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse;
    OFFSET_DELETE = 47, "k47_offset_delete.rs", offset_delete: OffsetDeleteRequest, OffsetDeleteResponse;
    DESCRIBE_CLIENT_QUOTAS = 48, "k48_describe_client_quotas.rs", describe_client_quotas: DescribeClientQuotasRequest, DescribeClientQuotasResponse;
    ALTER_CLIENT_QUOTAS = 49, "k49_alter_client_quotas.rs", alter_client_quotas: AlterClientQuotasRequest, AlterClientQuotasResponse;
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, "k50_describe_user_scram_credentials.rs", describe_user_scram_credentials: DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse;
    ALTER_USER_SCRAM_CREDENTIALS = 51, "k51_alter_user_scram_credentials.rs", alter_user_scram_credentials: AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse;
    DESCRIBE_QUORUM = 55, "k55_describe_quorum.rs", describe_quorum: DescribeQuorumRequest, DescribeQuorumResponse;
    UPDATE_FEATURES = 57, "k57_update_features.rs", update_features: UpdateFeaturesRequest, UpdateFeaturesResponse;
    DESCRIBE_CLUSTER = 60, "k60_describe_cluster.rs", describe_cluster: DescribeClusterRequest, DescribeClusterResponse;
    DESCRIBE_PRODUCERS = 61, "k61_describe_producers.rs", describe_producers: DescribeProducersRequest, DescribeProducersResponse;
    UNREGISTER_BROKER = 64, "k64_unregister_broker.rs", unregister_broker: UnregisterBrokerRequest, UnregisterBrokerResponse;
    DESCRIBE_TRANSACTIONS = 65, "k65_describe_transactions.rs", describe_transactions: DescribeTransactionsRequest, DescribeTransactionsResponse;
    LIST_TRANSACTIONS = 66, "k66_list_transactions.rs", list_transactions: ListTransactionsRequest, ListTransactionsResponse;
    CONSUMER_GROUP_HEARTBEAT = 68, "k68_consumer_group_heartbeat.rs", consumer_group_heartbeat: ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse;
    CONSUMER_GROUP_DESCRIBE = 69, "k69_consumer_group_describe.rs", consumer_group_describe: ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse;
    GET_TELEMETRY_SUBSCRIPTIONS = 71, "k71_get_telemetry_subscriptions.rs", get_telemetry_subscriptions: GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse;
    PUSH_TELEMETRY = 72, "k72_push_telemetry.rs", push_telemetry: PushTelemetryRequest, PushTelemetryResponse;
    LIST_CONFIG_RESOURCES = 74, "k74_list_config_resources.rs", list_config_resources: ListConfigResourcesRequest, ListConfigResourcesResponse;
    DESCRIBE_TOPIC_PARTITIONS = 75, "k75_describe_topic_partitions.rs", describe_topic_partitions: DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse;
    SHARE_GROUP_HEARTBEAT = 76, "k76_share_group_heartbeat.rs", share_group_heartbeat: ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse;
    SHARE_GROUP_DESCRIBE = 77, "k77_share_group_describe.rs", share_group_describe: ShareGroupDescribeRequest, ShareGroupDescribeResponse;
    SHARE_FETCH = 78, "k78_share_fetch.rs", share_fetch: ShareFetchRequest, ShareFetchResponse;
    SHARE_ACKNOWLEDGE = 79, "k79_share_acknowledge.rs", share_acknowledge: ShareAcknowledgeRequest, ShareAcknowledgeResponse;
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, "k90_describe_share_group_offsets.rs", describe_share_group_offsets: DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse;
    ALTER_SHARE_GROUP_OFFSETS = 91, "k91_alter_share_group_offsets.rs", alter_share_group_offsets: AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse;
    DELETE_SHARE_GROUP_OFFSETS = 92, "k92_delete_share_group_offsets.rs", delete_share_group_offsets: DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse;
}

/// One API of the table, for code that handles messages without knowing their types.
#[derive(Debug, Clone, Copy)]
pub struct Api {
    key: ApiKey,
    request: Codec,
    response: Codec,
}

/// Which of an API's two messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the broker.
    Request,
    /// From the broker to the client.
    Response,
}

#[derive(Debug, Clone, Copy)]
struct Codec {
    name: &'static str,
    min_version: i16,
    max_version: i16,
    header_version: fn(i16) -> i16,
    transcode: fn(&mut Reader, i16) -> Result<Frame, TranscodeError>,
    encode_default: fn(i16) -> Result<Frame, EncodeError>,
}

impl Codec {
    const fn of<M: Message>() -> Self {
        Self {
            name: M::NAME,
            min_version: M::MIN_VERSION,
            max_version: M::MAX_VERSION,
            header_version: M::header_version,
            transcode: |r, version| {
                let message = M::decode(r, version).map_err(TranscodeError::Decode)?;
                r.finish()
                    .map_err(|e| TranscodeError::Decode(e.in_message(M::NAME)))?;
                let mut w = Writer::new();
                message
                    .encode(&mut w, version)
                    .map_err(TranscodeError::Encode)?;
                Ok(w.finish())
            },
            encode_default: |version| {
                let mut w = Writer::new();
                M::default().encode(&mut w, version)?;
                Ok(w.finish())
            },
        }
    }
}

/// Why [`Api::transcode`] failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscodeError {
    /// The bytes are not the message, or more than the message.
    Decode(DecodeError),
    /// The decoded message cannot be written.
    Encode(EncodeError),
}

impl fmt::Display for TranscodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TranscodeError {}

impl Api {
    /// The API with this key, if it has a schema here.
    pub fn find(key: ApiKey) -> Option<&'static Self> {
        let index = APIS.binary_search_by_key(&key, |api| api.key).ok()?;
        APIS.get(index)
    }

    /// The API's key.
    pub const fn key(&self) -> ApiKey {
        self.key
    }

    /// The API's name, as in `Fetch`.
    pub fn name(&self) -> &'static str {
        let name = self.request.name;
        name.strip_suffix("Request").unwrap_or(name)
    }

    /// The versions of both messages.
    pub const fn versions(&self) -> RangeInclusive<i16> {
        self.request.min_version..=self.request.max_version
    }

    const fn codec(&self, direction: Direction) -> &Codec {
        match direction {
            Direction::Request => &self.request,
            Direction::Response => &self.response,
        }
    }

    /// The version of the header that goes with `version` of the message.
    pub fn header_version(&self, direction: Direction, version: i16) -> i16 {
        (self.codec(direction).header_version)(version)
    }

    /// Decodes a body, without header, and encodes the result again. Well-formed bytes as Kafka writes them come back
    /// unchanged.
    ///
    /// # Errors
    /// [`TranscodeError`] when the body is malformed, has bytes left over, or the version is not in the schema.
    pub fn transcode(
        &self,
        direction: Direction,
        version: i16,
        body: Bytes,
    ) -> Result<Frame, TranscodeError> {
        (self.codec(direction).transcode)(&mut Reader::new(body), version)
    }

    /// The body of a message with default values.
    ///
    /// # Errors
    /// [`EncodeError`] when the version is not in the schema.
    pub fn encode_default(&self, direction: Direction, version: i16) -> Result<Frame, EncodeError> {
        (self.codec(direction).encode_default)(version)
    }
}
