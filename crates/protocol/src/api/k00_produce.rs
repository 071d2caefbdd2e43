//! Produce (key 0).

use crate::schema::schema;
use crate::{Records, Uuid};

schema! {
    api PRODUCE, versions 0-13, flexible 9+;

    /// The request.
    request ProduceRequest -> ProduceResponse {
        transactional_id: Option<String> [3+, strict] = None,
        acks: i16 [0+],
        timeout_ms: i32 [0+],
        topic_data: Vec<TopicProduceData> [0+],
    }

    /// Part of the request.
    struct TopicProduceData {
        topic_id: Uuid [13+],
        name: String [0-12],
        partition_data: Vec<PartitionProduceData> [0+],
    }

    /// Part of the request.
    struct PartitionProduceData {
        index: i32 [0+],
        records: Option<Records> [0+] = None,
    }

    /// The response.
    response ProduceResponse {
        responses: Vec<TopicProduceResponse> [0+],
        throttle_time_ms: i32 [1+],
        node_endpoints: Vec<NodeEndpoint> [10+, tag 0],
    }

    /// Part of the response.
    struct TopicProduceResponse {
        topic_id: Uuid [13+],
        name: String [0-12],
        partition_responses: Vec<PartitionProduceResponse> [0+],
    }

    /// Part of the response.
    struct PartitionProduceResponse {
        index: i32 [0+],
        error_code: i16 [0+],
        base_offset: i64 [0+],
        log_append_time_ms: i64 [2+] = -1,
        log_start_offset: i64 [5+] = -1,
        record_errors: Vec<BatchIndexAndErrorMessage> [8+],
        error_message: Option<String> [8+] = None,
        current_leader: LeaderIdAndEpoch [10+, tag 0],
    }

    /// Part of the response.
    struct BatchIndexAndErrorMessage {
        batch_index: i32 [8+],
        batch_index_error_message: Option<String> [8+] = None,
    }

    /// Part of the response.
    struct LeaderIdAndEpoch {
        leader_id: i32 [10+] = -1,
        leader_epoch: i32 [10+] = -1,
    }

    /// Part of the response.
    struct NodeEndpoint {
        node_id: i32 [10+],
        host: String [10+],
        port: i32 [10+],
        rack: Option<String> [10+] = None,
    }
}
