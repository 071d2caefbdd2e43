//! The messages: one module per API, one file per module, numbered by API key.
//!
//! Every file holds the whole schema of its API: request and response, all versions, from Kafka 0.8 to 4.3. The list at
//! its head says what each version added; versions that it does not name are as the ones before. [`APIS`], the
//! constants of [`ApiKey`] and the names of APIs come from the one table below.
//!
//! Left out are the APIs that only brokers and controllers use, and those of the state of share groups and of
//! the members of streams groups.
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

mod names;

use std::fmt;
use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Frame, Message, Reader, Request, Writer};

macro_rules! apis {
    ($($constant:ident = $key:literal, $module:ident, $file:literal;)*) => {
        $(
            #[path = $file]
            pub mod $module;
        )*

        impl ApiKey {
            $(
                #[doc = concat!("Key ", $key, ": [`api::", stringify!($module), "`](crate::api::", stringify!($module), ").")]
                pub const $constant: Self = Self($key);
            )*
        }

        /// Every API with a schema here, by ascending key.
        pub const APIS: &[Api] = &[$(Api {
            key: ApiKey::$constant,
            request: Codec::of::<$module::TheRequest>(),
            response: Codec::of::<<$module::TheRequest as Request>::Response>(),
        }),*];
    };
}

apis! {
    PRODUCE = 0, produce, "k00_produce.rs";
    FETCH = 1, fetch, "k01_fetch.rs";
    LIST_OFFSETS = 2, list_offsets, "k02_list_offsets.rs";
    METADATA = 3, metadata, "k03_metadata.rs";
    OFFSET_COMMIT = 8, offset_commit, "k08_offset_commit.rs";
    OFFSET_FETCH = 9, offset_fetch, "k09_offset_fetch.rs";
    FIND_COORDINATOR = 10, find_coordinator, "k10_find_coordinator.rs";
    JOIN_GROUP = 11, join_group, "k11_join_group.rs";
    HEARTBEAT = 12, heartbeat, "k12_heartbeat.rs";
    LEAVE_GROUP = 13, leave_group, "k13_leave_group.rs";
    SYNC_GROUP = 14, sync_group, "k14_sync_group.rs";
    DESCRIBE_GROUPS = 15, describe_groups, "k15_describe_groups.rs";
    LIST_GROUPS = 16, list_groups, "k16_list_groups.rs";
    SASL_HANDSHAKE = 17, sasl_handshake, "k17_sasl_handshake.rs";
    API_VERSIONS = 18, api_versions, "k18_api_versions.rs";
    CREATE_TOPICS = 19, create_topics, "k19_create_topics.rs";
    DELETE_TOPICS = 20, delete_topics, "k20_delete_topics.rs";
    DELETE_RECORDS = 21, delete_records, "k21_delete_records.rs";
    INIT_PRODUCER_ID = 22, init_producer_id, "k22_init_producer_id.rs";
    OFFSET_FOR_LEADER_EPOCH = 23, offset_for_leader_epoch, "k23_offset_for_leader_epoch.rs";
    ADD_PARTITIONS_TO_TXN = 24, add_partitions_to_txn, "k24_add_partitions_to_txn.rs";
    ADD_OFFSETS_TO_TXN = 25, add_offsets_to_txn, "k25_add_offsets_to_txn.rs";
    END_TXN = 26, end_txn, "k26_end_txn.rs";
    WRITE_TXN_MARKERS = 27, write_txn_markers, "k27_write_txn_markers.rs";
    TXN_OFFSET_COMMIT = 28, txn_offset_commit, "k28_txn_offset_commit.rs";
    DESCRIBE_ACLS = 29, describe_acls, "k29_describe_acls.rs";
    CREATE_ACLS = 30, create_acls, "k30_create_acls.rs";
    DELETE_ACLS = 31, delete_acls, "k31_delete_acls.rs";
    DESCRIBE_CONFIGS = 32, describe_configs, "k32_describe_configs.rs";
    ALTER_CONFIGS = 33, alter_configs, "k33_alter_configs.rs";
    ALTER_REPLICA_LOG_DIRS = 34, alter_replica_log_dirs, "k34_alter_replica_log_dirs.rs";
    DESCRIBE_LOG_DIRS = 35, describe_log_dirs, "k35_describe_log_dirs.rs";
    SASL_AUTHENTICATE = 36, sasl_authenticate, "k36_sasl_authenticate.rs";
    CREATE_PARTITIONS = 37, create_partitions, "k37_create_partitions.rs";
    CREATE_DELEGATION_TOKEN = 38, create_delegation_token, "k38_create_delegation_token.rs";
    RENEW_DELEGATION_TOKEN = 39, renew_delegation_token, "k39_renew_delegation_token.rs";
    EXPIRE_DELEGATION_TOKEN = 40, expire_delegation_token, "k40_expire_delegation_token.rs";
    DESCRIBE_DELEGATION_TOKEN = 41, describe_delegation_token, "k41_describe_delegation_token.rs";
    DELETE_GROUPS = 42, delete_groups, "k42_delete_groups.rs";
    ELECT_LEADERS = 43, elect_leaders, "k43_elect_leaders.rs";
    INCREMENTAL_ALTER_CONFIGS = 44, incremental_alter_configs, "k44_incremental_alter_configs.rs";
    ALTER_PARTITION_REASSIGNMENTS = 45, alter_partition_reassignments, "k45_alter_partition_reassignments.rs";
    LIST_PARTITION_REASSIGNMENTS = 46, list_partition_reassignments, "k46_list_partition_reassignments.rs";
    OFFSET_DELETE = 47, offset_delete, "k47_offset_delete.rs";
    DESCRIBE_CLIENT_QUOTAS = 48, describe_client_quotas, "k48_describe_client_quotas.rs";
    ALTER_CLIENT_QUOTAS = 49, alter_client_quotas, "k49_alter_client_quotas.rs";
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, describe_user_scram_credentials, "k50_describe_user_scram_credentials.rs";
    ALTER_USER_SCRAM_CREDENTIALS = 51, alter_user_scram_credentials, "k51_alter_user_scram_credentials.rs";
    DESCRIBE_QUORUM = 55, describe_quorum, "k55_describe_quorum.rs";
    UPDATE_FEATURES = 57, update_features, "k57_update_features.rs";
    DESCRIBE_CLUSTER = 60, describe_cluster, "k60_describe_cluster.rs";
    DESCRIBE_PRODUCERS = 61, describe_producers, "k61_describe_producers.rs";
    UNREGISTER_BROKER = 64, unregister_broker, "k64_unregister_broker.rs";
    DESCRIBE_TRANSACTIONS = 65, describe_transactions, "k65_describe_transactions.rs";
    LIST_TRANSACTIONS = 66, list_transactions, "k66_list_transactions.rs";
    CONSUMER_GROUP_HEARTBEAT = 68, consumer_group_heartbeat, "k68_consumer_group_heartbeat.rs";
    CONSUMER_GROUP_DESCRIBE = 69, consumer_group_describe, "k69_consumer_group_describe.rs";
    GET_TELEMETRY_SUBSCRIPTIONS = 71, get_telemetry_subscriptions, "k71_get_telemetry_subscriptions.rs";
    PUSH_TELEMETRY = 72, push_telemetry, "k72_push_telemetry.rs";
    LIST_CONFIG_RESOURCES = 74, list_config_resources, "k74_list_config_resources.rs";
    DESCRIBE_TOPIC_PARTITIONS = 75, describe_topic_partitions, "k75_describe_topic_partitions.rs";
    SHARE_GROUP_HEARTBEAT = 76, share_group_heartbeat, "k76_share_group_heartbeat.rs";
    SHARE_GROUP_DESCRIBE = 77, share_group_describe, "k77_share_group_describe.rs";
    SHARE_FETCH = 78, share_fetch, "k78_share_fetch.rs";
    SHARE_ACKNOWLEDGE = 79, share_acknowledge, "k79_share_acknowledge.rs";
    ADD_RAFT_VOTER = 80, add_raft_voter, "k80_add_raft_voter.rs";
    REMOVE_RAFT_VOTER = 81, remove_raft_voter, "k81_remove_raft_voter.rs";
    STREAMS_GROUP_DESCRIBE = 89, streams_group_describe, "k89_streams_group_describe.rs";
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, describe_share_group_offsets, "k90_describe_share_group_offsets.rs";
    ALTER_SHARE_GROUP_OFFSETS = 91, alter_share_group_offsets, "k91_alter_share_group_offsets.rs";
    DELETE_SHARE_GROUP_OFFSETS = 92, delete_share_group_offsets, "k92_delete_share_group_offsets.rs";
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
                r.finish().map_err(|e| TranscodeError::Decode(e.in_message(M::NAME)))?;
                let mut w = Writer::new();
                message.encode(&mut w, version).map_err(TranscodeError::Encode)?;
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
    /// Returns the API with this key, if it has a schema here.
    pub fn find(key: ApiKey) -> Option<&'static Self> {
        let index = APIS.binary_search_by_key(&key, |api| api.key).ok()?;
        APIS.get(index)
    }

    /// Returns the API's key.
    pub const fn key(&self) -> ApiKey {
        self.key
    }

    /// Returns the API's name, as in `Fetch`.
    pub fn name(&self) -> &'static str {
        let name = self.request.name;
        name.strip_suffix("Request").unwrap_or(name)
    }

    /// Returns the versions of both messages.
    pub const fn versions(&self) -> RangeInclusive<i16> {
        self.request.min_version..=self.request.max_version
    }

    const fn codec(&self, direction: Direction) -> &Codec {
        match direction {
            Direction::Request => &self.request,
            Direction::Response => &self.response,
        }
    }

    /// Returns the version of the header that goes with `version` of the message.
    pub fn header_version(&self, direction: Direction, version: i16) -> i16 {
        (self.codec(direction).header_version)(version)
    }

    /// Decodes a body, without header, and encodes the result again. Well-formed bytes as Kafka writes them come back
    /// unchanged.
    ///
    /// # Errors
    /// [`TranscodeError`] when the body is malformed, has bytes left over, or the version is not in the schema.
    pub fn transcode(&self, direction: Direction, version: i16, body: Bytes) -> Result<Frame, TranscodeError> {
        (self.codec(direction).transcode)(&mut Reader::new(body), version)
    }

    /// Returns the body of a message with default values.
    ///
    /// # Errors
    /// [`EncodeError`] when the version is not in the schema.
    pub fn encode_default(&self, direction: Direction, version: i16) -> Result<Frame, EncodeError> {
        (self.codec(direction).encode_default)(version)
    }
}
