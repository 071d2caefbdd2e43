//! The settings of a cluster and its brokers.

use crate::ids::BrokerId;
use crate::sasl_config::SaslConfig;

/// The settings of a [`Cluster`](crate::Cluster). Names and defaults are those of Kafka's broker configuration. The
/// fields with another default say so.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// The number of brokers, at least 1. Their ids are 1 to this number.
    pub brokers: i32,
    /// Determines topic ids, member ids, session ids and the cluster id.
    pub seed: u64,
    /// The wall clock, in milliseconds since 1970, at [`Time::ZERO`](crate::Time::ZERO).
    pub wall_clock_ms: i64,
    /// The advertised host of the brokers.
    pub host: String,
    /// The advertised port of broker 1; the other brokers have the following ports.
    /// [`EmbeddedCluster`](crate::EmbeddedCluster) replaces them.
    pub first_port: u16,
    /// The racks of the brokers in order of their ids; brokers beyond its end have none.
    pub racks: Vec<String>,
    /// `num.partitions`: partitions of a topic that is created without a number. Here 4.
    pub default_partitions: i32,
    /// `default.replication.factor`. Here the lesser of 3 and the number of brokers.
    pub default_replication_factor: Option<i16>,
    /// `auto.create.topics.enable`.
    pub auto_create_topics: bool,
    /// The delay in microseconds after which clients see a new topic. Until then Metadata answers
    /// UNKNOWN_TOPIC_OR_PARTITION, as a Kafka broker does before it has received the controller's decision.
    pub topic_creation_delay_us: u64,
    /// The time in microseconds that followers take to copy an append. 0 means at once. Until then the high watermark
    /// stays behind, `acks=all` waits, and a crash of the leader loses the records.
    pub replication_delay_us: u64,
    /// The time in microseconds that a broker takes to copy a replica that a reassignment adds, and to copy a replica to
    /// another of its log directories. 0 means at once.
    pub replica_copy_delay_us: u64,
    /// `message.max.bytes`: the largest record batch of a topic without `max.message.bytes`.
    pub message_max_bytes: i32,
    /// `fetch.max.bytes`: the upper limit of any fetch response.
    pub fetch_max_bytes: i32,
    /// `log.message.timestamp.after.max.ms`: the maximum by which a record's timestamp may be ahead of the broker's
    /// clock.
    pub message_timestamp_after_max_ms: i64,
    /// `min.insync.replicas`.
    pub min_insync_replicas: i32,
    /// Retained bytes of each partition's log, after which the oldest batches are deleted; `None` keeps all.
    /// `retention.bytes` of a topic takes precedence.
    pub max_log_bytes: Option<u64>,
    /// `producer.id.expiration.ms`: the time without a batch after which a partition removes a producer's state.
    pub producer_id_expiration_ms: i64,
    /// Brokers answer UNKNOWN_PRODUCER_ID to a batch of an unknown producer that is not its first, as before Kafka 2.5.
    pub refuse_unknown_producers: bool,
    /// `transaction.max.timeout.ms`: the maximum transaction timeout of a producer.
    pub transaction_max_timeout_ms: i32,
    /// `transactional.id.expiration.ms`: the time without a transaction after which a transactional id is removed.
    pub transactional_id_expiration_ms: u64,
    /// The finalized level of the feature `transaction.version`. With 2 producers add partitions by writing to them,
    /// and their epoch rises with every transaction (KIP-890); with 0 and 1, as in clusters before Kafka 4.0, neither.
    pub transaction_version: i16,
    /// `transaction.partition.verification.enable`: leaders verify with the coordinator that a partition is in the
    /// transaction, before the first batch of a transaction is appended (KIP-890, part 1). Brokers before Kafka 3.6 do
    /// not.
    pub transaction_partition_verification: bool,
    /// The time in microseconds from the decision to end a transaction to the writing of its markers. 0 means at once,
    /// before EndTxn is answered.
    pub transaction_marker_delay_us: u64,
    /// `max.incremental.fetch.session.cache.slots` of each broker. 0 turns fetch sessions off.
    pub fetch_session_slots: usize,
    /// `group.initial.rebalance.delay.ms`. Here 0, so that tests need not wait; Kafka's default is 3000.
    pub group_initial_rebalance_delay_ms: i32,
    /// `group.min.session.timeout.ms`.
    pub group_min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub group_max_session_timeout_ms: i32,
    /// `group.max.size`: the maximum number of members of a group.
    pub group_max_size: usize,
    /// `group.consumer.heartbeat.interval.ms`: the heartbeat interval of members of the consumer protocol (KIP-848).
    pub group_consumer_heartbeat_interval_ms: i32,
    /// `group.consumer.session.timeout.ms`: the session timeout of members of the consumer protocol.
    pub group_consumer_session_timeout_ms: i32,
    /// `group.consumer.max.size`: the maximum number of members of a group of the consumer protocol.
    pub group_consumer_max_size: usize,
    /// `group.consumer.migration.policy`: the allowed changes of a group's protocol while it has members.
    pub migration_policy: MigrationPolicy,
    /// The minimum interval between two evaluations of a group's regular expressions. Here 0; in Kafka always 10000.
    pub group_regex_refresh_min_interval_ms: i32,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_max_bytes: usize,
    /// `delegation.token.secret.key`: the secret from which delegation tokens are made (KIP-48); `None` refuses requests for
    /// them. Here set; in Kafka unset.
    pub delegation_token_secret_key: Option<String>,
    /// `delegation.token.max.lifetime.ms`: the time after which a token cannot be renewed.
    pub delegation_token_max_lifetime_ms: i64,
    /// `delegation.token.expiry.time.ms`: the time after which a token must be renewed.
    pub delegation_token_expiry_time_ms: i64,
    /// `socket.request.max.bytes`: a larger request closes the connection.
    pub socket_request_max_bytes: usize,
    /// Brokers ignore bytes after the last field of a request, as Kafka's do. By default such a request closes the
    /// connection here, because it shows a defect of the client.
    pub ignore_trailing_bytes: bool,
    /// Leaders send consumers with a rack to a replica in that rack, as Kafka's `RackAwareReplicaSelector` does
    /// (KIP-392).
    pub rack_aware_fetch: bool,
    /// The authentication of clients on all listeners; `None` for listeners without SASL.
    pub sasl: Option<SaslConfig>,
}

/// The allowed changes of a group's protocol (`group.consumer.migration.policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MigrationPolicy {
    /// From the classic to the consumer protocol and back.
    #[default]
    Bidirectional,
    /// To the consumer protocol only.
    Upgrade,
    /// Back to the classic protocol only.
    Downgrade,
    /// Neither way.
    Disabled,
}

impl MigrationPolicy {
    /// Returns Kafka's name of the value.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bidirectional => "bidirectional",
            Self::Upgrade => "upgrade",
            Self::Downgrade => "downgrade",
            Self::Disabled => "disabled",
        }
    }
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self {
            brokers: 3,
            seed: 0,
            wall_clock_ms: 1_700_000_000_000,
            host: "127.0.0.1".into(),
            first_port: 9092,
            racks: Vec::new(),
            default_partitions: 4,
            default_replication_factor: None,
            auto_create_topics: true,
            topic_creation_delay_us: 0,
            replication_delay_us: 0,
            replica_copy_delay_us: 500_000,
            message_max_bytes: 1_048_588,
            fetch_max_bytes: 57_671_680,
            message_timestamp_after_max_ms: 3_600_000,
            min_insync_replicas: 1,
            max_log_bytes: None,
            producer_id_expiration_ms: 86_400_000,
            refuse_unknown_producers: false,
            transaction_max_timeout_ms: 900_000,
            transactional_id_expiration_ms: 604_800_000,
            transaction_version: 2,
            transaction_partition_verification: true,
            transaction_marker_delay_us: 1000,
            fetch_session_slots: 1000,
            group_initial_rebalance_delay_ms: 0,
            group_min_session_timeout_ms: 6000,
            group_max_session_timeout_ms: 1_800_000,
            group_max_size: i32::MAX as usize,
            group_consumer_heartbeat_interval_ms: 5000,
            group_consumer_session_timeout_ms: 45_000,
            group_consumer_max_size: i32::MAX as usize,
            migration_policy: MigrationPolicy::default(),
            group_regex_refresh_min_interval_ms: 0,
            offset_metadata_max_bytes: 4096,
            delegation_token_secret_key: Some("secret".into()),
            delegation_token_max_lifetime_ms: 604_800_000,
            delegation_token_expiry_time_ms: 86_400_000,
            socket_request_max_bytes: 104_857_600,
            ignore_trailing_bytes: false,
            rack_aware_fetch: false,
            sasl: None,
        }
    }
}

impl ClusterConfig {
    /// Returns the ids of all brokers.
    pub(crate) fn broker_ids(&self) -> impl Iterator<Item = BrokerId> + use<> {
        (1..=self.brokers.max(1)).map(BrokerId)
    }

    /// Returns the replication factor of a topic that is created without one.
    pub(crate) fn replication_factor(&self) -> i16 {
        let brokers = i16::try_from(self.brokers.max(1)).unwrap_or(i16::MAX);
        self.default_replication_factor.unwrap_or(brokers.min(3))
    }
}
