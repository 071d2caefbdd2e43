//! DescribeProducers (key 61).

use crate::schema::schema;

schema! {
    api DESCRIBE_PRODUCERS, versions 0-0, flexible 0+;

    /// The request.
    request DescribeProducersRequest -> DescribeProducersResponse {
        topics: Vec<TopicRequest> [0+],
    }

    /// Part of the request.
    struct TopicRequest {
        name: String [0+],
        partition_indexes: Vec<i32> [0+],
    }

    /// The response.
    response DescribeProducersResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<TopicResponse> [0+],
    }

    /// Part of the response.
    struct TopicResponse {
        name: String [0+],
        partitions: Vec<PartitionResponse> [0+],
    }

    /// Part of the response.
    struct PartitionResponse {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        active_producers: Vec<ProducerState> [0+],
    }

    /// Part of the response.
    struct ProducerState {
        producer_id: i64 [0+],
        producer_epoch: i32 [0+],
        last_sequence: i32 [0+] = -1,
        last_timestamp: i64 [0+] = -1,
        coordinator_epoch: i32 [0+],
        current_txn_start_offset: i64 [0+] = -1,
    }
}
