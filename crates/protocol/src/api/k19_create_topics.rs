//! CreateTopics (key 19).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api CREATE_TOPICS, versions 0-7, flexible 5+;

    /// The request.
    request CreateTopicsRequest -> CreateTopicsResponse {
        topics: Vec<CreatableTopic> [0+],
        timeout_ms: i32 [0+] = 60000,
        validate_only: bool [1+],
    }

    /// Part of the request.
    struct CreatableTopic {
        name: String [0+],
        num_partitions: i32 [0+],
        replication_factor: i16 [0+],
        assignments: Vec<CreatableReplicaAssignment> [0+],
        configs: Vec<CreatableTopicConfig> [0+],
    }

    /// Part of the request.
    struct CreatableReplicaAssignment {
        partition_index: i32 [0+],
        broker_ids: Vec<i32> [0+],
    }

    /// Part of the request.
    struct CreatableTopicConfig {
        name: String [0+],
        value: Option<String> [0+],
    }

    /// The response.
    response CreateTopicsResponse {
        throttle_time_ms: i32 [2+],
        topics: Vec<CreatableTopicResult> [0+],
    }

    /// Part of the response.
    struct CreatableTopicResult {
        name: String [0+],
        topic_id: Uuid [7+],
        error_code: i16 [0+],
        error_message: Option<String> [1+],
        num_partitions: i32 [5+] = -1,
        replication_factor: i16 [5+] = -1,
        configs: Option<Vec<CreatableTopicConfigs>> [5+],
        topic_config_error_code: i16 [5+, tag 0],
    }

    /// Part of the response.
    struct CreatableTopicConfigs {
        name: String [5+],
        value: Option<String> [5+],
        read_only: bool [5+],
        config_source: i8 [5+] = -1,
        is_sensitive: bool [5+],
    }
}
