//! Produce (key 0): appends record batches to partitions; goes to each partition's leader.
//!
//! With `acks` 0 the broker sends no response.
//!
//! - 0 to 2: message sets of magic 0 and 1, in version 2 with timestamps (KIP-32); 1 adds the throttle time
//! - 3: record batches of magic 2, and with them transactions (KIP-98); Kafka 4.x serves only 3 and later
//! - 4: the broker may answer KAFKA_STORAGE_ERROR (KIP-112)
//! - 5: the response has the log start offset (KIP-107)
//! - 6: a throttled response comes at once, and the client waits (KIP-219)
//! - 7: zstd (KIP-110)
//! - 8: errors of single records (KIP-467)
//! - 9: flexible (KIP-482)
//! - 10: the response names a new leader and its address (KIP-951)
//! - 11: the client supports TRANSACTION_ABORTABLE (KIP-890)
//! - 12: the broker adds the partitions to the transaction by itself (KIP-890)
//! - 13: topic ids instead of names (KIP-516)

use crate::schema::schema;
use crate::{Records, Uuid};

schema! {
    api PRODUCE, versions 0-13, flexible 9+;

    /// The request.
    request ProduceRequest -> ProduceResponse {
        /// Null for a producer without transactions.
        transactional_id: Option<String> [3+, strict] = None,
        /// 0: no response; 1: the leader has appended; -1: all in-sync replicas have.
        acks: i16 [0+],
        /// Maximum time that the broker waits for the replicas, in milliseconds.
        timeout_ms: i32 [0+],
        topic_data: Vec<TopicProduceData> [0+],
    }

    /// The data for one topic.
    struct TopicProduceData {
        topic_id: Uuid [13+],
        name: String [0-12],
        partition_data: Vec<PartitionProduceData> [0+],
    }

    /// The data for one partition.
    struct PartitionProduceData {
        index: i32 [0+],
        /// A message set or record batches, as the version says.
        records: Option<Records> [0+] = None,
    }

    /// The response.
    response ProduceResponse {
        responses: Vec<TopicProduceResponse> [0+],
        throttle_time_ms: i32 [1+],
        node_endpoints: Vec<NodeEndpoint> [10+, tag 0],
    }

    /// The outcome for one topic.
    struct TopicProduceResponse {
        topic_id: Uuid [13+],
        name: String [0-12],
        partition_responses: Vec<PartitionProduceResponse> [0+],
    }

    /// The outcome for one partition.
    struct PartitionProduceResponse {
        index: i32 [0+],
        error_code: i16 [0+],
        /// Offset of the first record appended, -1 on errors.
        base_offset: i64 [0+],
        /// The broker's time of appending where the topic is set to use it, else -1.
        log_append_time_ms: i64 [2+] = -1,
        /// The log's first offset, -1 where unknown.
        log_start_offset: i64 [5+] = -1,
        /// The records that made the broker refuse the batch.
        record_errors: Vec<BatchIndexAndErrorMessage> [8+],
        error_message: Option<String> [8+] = None,
        /// Set with NOT_LEADER_OR_FOLLOWER.
        current_leader: LeaderIdAndEpoch [10+, tag 0],
    }

    /// A record that made the broker refuse its batch.
    struct BatchIndexAndErrorMessage {
        /// Which record of the batch, counted from zero.
        batch_index: i32 [8+],
        batch_index_error_message: Option<String> [8+] = None,
    }

    /// The leader known to the broker; -1 for none.
    struct LeaderIdAndEpoch {
        leader_id: i32 [10+] = -1,
        leader_epoch: i32 [10+] = -1,
    }

    /// Address of a broker that the response names as leader.
    struct NodeEndpoint {
        node_id: i32 [10+],
        host: String [10+],
        port: i32 [10+],
        rack: Option<String> [10+] = None,
    }
}

impl ProduceRequest {
    /// The first version with timestamps, in message sets of magic 1 (KIP-32).
    pub const TIMESTAMPS_SINCE: i16 = 2;

    /// The first version with record batches of magic 2 (KIP-98). Its brokers reject `acks` above 1.
    pub const RECORD_BATCHES_SINCE: i16 = 3;

    /// The first version with zstd (KIP-110).
    pub const ZSTD_SINCE: i16 = 7;

    /// The first version with transaction version 2, in which brokers add partitions to transactions (KIP-890).
    pub const TRANSACTION_V2_SINCE: i16 = 12;

    /// The first version that names topics by id (KIP-516).
    pub const TOPIC_IDS_SINCE: i16 = 13;
}
