//! CreateTopics (key 19): goes to the controller, or in KRaft clusters to any broker.
//!
//! - 1: error messages, validation only (KIP-4)
//! - 2: throttle time
//! - 3: a throttled response comes at once, and the client waits (KIP-219)
//! - 4: -1 leaves the number of partitions or replicas to the broker (KIP-464)
//! - 5: flexible (KIP-482); the response has the new topic's configuration (KIP-525)
//! - 6: the broker may answer THROTTLING_QUOTA_EXCEEDED (KIP-599)
//! - 7: topic id in the response (KIP-516)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api CREATE_TOPICS, versions 0-7, flexible 5+;

    /// The request.
    request CreateTopicsRequest -> CreateTopicsResponse {
        topics: Vec<CreatableTopic> [0+],
        timeout_ms: i32 [0+] = 60000,
        /// Only validates the request.
        validate_only: bool [1+],
    }

    /// A topic to create.
    struct CreatableTopic {
        name: String [0+],
        /// -1 for the broker's default or when assignments are given.
        num_partitions: i32 [0+],
        /// -1 for the broker's default or when assignments are given.
        replication_factor: i16 [0+],
        assignments: Vec<CreatableReplicaAssignment> [0+],
        configs: Vec<CreatableTopicConfig> [0+],
    }

    /// Where the replicas of one partition go.
    struct CreatableReplicaAssignment {
        partition_index: i32 [0+],
        /// The first is the preferred leader.
        broker_ids: Vec<i32> [0+],
    }

    /// A configuration entry of the new topic.
    struct CreatableTopicConfig {
        name: String [0+],
        value: Option<String> [0+],
    }

    /// The response.
    response CreateTopicsResponse {
        throttle_time_ms: i32 [2+],
        topics: Vec<CreatableTopicResult> [0+],
    }

    /// The outcome for one topic.
    struct CreatableTopicResult {
        name: String [0+],
        topic_id: Uuid [7+],
        error_code: i16 [0+],
        error_message: Option<String> [1+],
        /// -1 for the broker's default or when assignments are given.
        num_partitions: i32 [5+] = -1,
        /// -1 for the broker's default or when assignments are given.
        replication_factor: i16 [5+] = -1,
        configs: Option<Vec<CreatableTopicConfigs>> [5+],
        /// Why `configs` is null.
        topic_config_error_code: i16 [5+, tag 0],
    }

    /// A configuration entry that the new topic has.
    struct CreatableTopicConfigs {
        name: String [5+],
        value: Option<String> [5+],
        read_only: bool [5+],
        /// 1 topic, 2 dynamic broker, 3 dynamic default of brokers, 4 static broker, 5 default, 6 broker logger, 7
        /// client metrics, 8 group.
        config_source: i8 [5+] = -1,
        is_sensitive: bool [5+],
    }
}

impl CreateTopicsRequest {
    /// The first version that can validate without creating (Kafka 0.10.2).
    pub const VALIDATE_ONLY_SINCE: i16 = 1;

    /// The first version in which partitions and replicas can be left to the broker's defaults (KIP-464, Kafka 2.4).
    pub const BROKER_DEFAULTS_SINCE: i16 = 4;
}
