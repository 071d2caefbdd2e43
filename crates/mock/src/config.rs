//! What a cluster is made of and how its brokers are set up.

use crate::ids::BrokerId;

/// The settings of a [`Cluster`](crate::Cluster). Names and defaults are those of Kafka's broker configuration, except
/// where a test cluster wants another default; those fields say so.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// How many brokers; their ids are 1 to this number. At least 1.
    pub brokers: i32,
    /// Determines topic ids, member ids, session ids and the cluster id.
    pub seed: u64,
    /// The wall clock, in milliseconds since 1970, at [`Time::ZERO`](crate::Time::ZERO).
    pub wall_clock_ms: i64,
    /// The host under which the brokers are advertised.
    pub host: String,
    /// The port that is advertised for broker 1, the others follow it. The TCP front replaces these by its own.
    pub first_port: u16,
    /// The racks of the brokers in order of their ids; brokers beyond its end have none.
    pub racks: Vec<String>,
    /// `num.partitions`: partitions of a topic for which no number was asked. Here 4.
    pub default_partitions: i32,
    /// `default.replication.factor`. Here the lesser of 3 and the number of brokers.
    pub default_replication_factor: Option<i16>,
    /// `auto.create.topics.enable`.
    pub auto_create_topics: bool,
    /// How long after its creation a topic becomes visible to clients, in microseconds. Until then Metadata answers
    /// UNKNOWN_TOPIC_OR_PARTITION, as a Kafka broker does until the controller's decision has reached it.
    pub topic_creation_delay_us: u64,
    /// How long followers take to copy what the leader appended, in microseconds. 0 means at once. Until then the high
    /// watermark stays behind, `acks=all` waits, and a crash of the leader loses the records.
    pub replication_delay_us: u64,
    /// `message.max.bytes`: the largest record batch of a topic that has no `max.message.bytes` of its own.
    pub message_max_bytes: i32,
    /// `fetch.max.bytes`: the upper limit of any fetch response.
    pub fetch_max_bytes: i32,
    /// `log.message.timestamp.after.max.ms`: how far ahead of the broker's clock a record may be.
    pub message_timestamp_after_max_ms: i64,
    /// `min.insync.replicas`.
    pub min_insync_replicas: i32,
    /// Bytes kept of each partition's log, oldest batches going first; `None` keeps all. Topics may have their own
    /// `retention.bytes`.
    pub max_log_bytes: Option<u64>,
    /// `producer.id.expiration.ms`: after this long without a batch, a partition forgets a producer.
    pub producer_id_expiration_ms: i64,
    /// Whether brokers answer UNKNOWN_PRODUCER_ID to a batch of a producer that they do not remember unless it is its
    /// first, as those before Kafka 2.5 do.
    pub refuse_unknown_producers: bool,
    /// `transaction.max.timeout.ms`: the longest timeout that a producer may ask for its transactions.
    pub transaction_max_timeout_ms: i32,
    /// `transactional.id.expiration.ms`: after this long without a transaction the coordinator forgets a transactional id.
    pub transactional_id_expiration_ms: u64,
    /// The level of the feature `transaction.version` that the cluster has settled on. With 2 producers add partitions
    /// by writing to them, and their epoch rises with every transaction (KIP-890); with 0 and 1, as in clusters of
    /// before Kafka 4.0, neither.
    pub transaction_version: i16,
    /// `transaction.partition.verification.enable`: whether leaders ask the coordinator before they take a batch of a
    /// transaction that is not yet open in their partition (KIP-890, part 1). Brokers before Kafka 3.6 do not.
    pub transaction_partition_verification: bool,
    /// How long after the end of a transaction was decided its markers are written, in microseconds. 0 means at once,
    /// before EndTxn is answered.
    pub transaction_marker_delay_us: u64,
    /// `max.incremental.fetch.session.cache.slots` of each broker. 0 turns fetch sessions off.
    pub fetch_session_slots: usize,
    /// `group.initial.rebalance.delay.ms`. Here 0, as tests have no use for waiting; Kafka's own default is 3000.
    pub group_initial_rebalance_delay_ms: i32,
    /// `group.min.session.timeout.ms`.
    pub group_min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub group_max_session_timeout_ms: i32,
    /// `group.max.size`: members a group may have.
    pub group_max_size: usize,
    /// `group.consumer.heartbeat.interval.ms`: how often members of the consumer protocol (KIP-848) shall be heard of.
    pub group_consumer_heartbeat_interval_ms: i32,
    /// `group.consumer.session.timeout.ms`: how long they may stay silent.
    pub group_consumer_session_timeout_ms: i32,
    /// `group.consumer.max.size`: members a group of the consumer protocol may have.
    pub group_consumer_max_size: usize,
    /// `group.consumer.migration.policy`: whether groups may change their protocol while they have members.
    pub migration_policy: MigrationPolicy,
    /// How soon after the regular expressions of a group were matched with the topics that may be done again. Here 0;
    /// in Kafka always 10000.
    pub group_regex_refresh_min_interval_ms: i32,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_max_bytes: usize,
    /// `socket.request.max.bytes`: a larger request closes the connection.
    pub socket_request_max_bytes: usize,
    /// Whether bytes behind the last field of a request are ignored, as Kafka's brokers do. Here such a request closes
    /// the connection by default: it shows a defect of the client.
    pub ignore_trailing_bytes: bool,
    /// Whether leaders send consumers that name their rack to a replica there, as Kafka's `RackAwareReplicaSelector`
    /// does (KIP-392).
    pub rack_aware_fetch: bool,
}

/// Which way groups may go (`group.consumer.migration.policy`).
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
    /// The value under Kafka's name.
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
            socket_request_max_bytes: 104_857_600,
            ignore_trailing_bytes: false,
            rack_aware_fetch: false,
        }
    }
}

impl ClusterConfig {
    /// The ids of all brokers.
    pub(crate) fn broker_ids(&self) -> impl Iterator<Item = BrokerId> + use<> {
        (1..=self.brokers.max(1)).map(BrokerId)
    }

    /// The replication factor of a topic for which none was asked.
    pub(crate) fn replication_factor(&self) -> i16 {
        let brokers = i16::try_from(self.brokers.max(1)).unwrap_or(i16::MAX);
        self.default_replication_factor.unwrap_or(brokers.min(3))
    }
}
