//! DescribeProducers (key 61): the producers that write to partitions (KIP-664); goes to each partition's leader.

use crate::schema::schema;

schema! {
    api DESCRIBE_PRODUCERS, versions 0-0, flexible 0+;

    /// The request.
    request DescribeProducersRequest -> DescribeProducersResponse {
        topics: Vec<TopicRequest> [0+],
    }

    /// A requested topic.
    struct TopicRequest {
        name: String [0+],
        partition_indexes: Vec<i32> [0+],
    }

    /// The response.
    response DescribeProducersResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<TopicResponse> [0+],
    }

    /// The answers for one topic.
    struct TopicResponse {
        name: String [0+],
        partitions: Vec<PartitionResponse> [0+],
    }

    /// The answer for one partition.
    struct PartitionResponse {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        active_producers: Vec<ProducerState> [0+],
    }

    /// A producer that writes to the partition.
    struct ProducerState {
        producer_id: i64 [0+],
        producer_epoch: i32 [0+],
        /// -1 when none.
        last_sequence: i32 [0+] = -1,
        /// Milliseconds since 1970, -1 when none.
        last_timestamp: i64 [0+] = -1,
        coordinator_epoch: i32 [0+],
        /// -1 without an open transaction.
        current_txn_start_offset: i64 [0+] = -1,
    }
}
