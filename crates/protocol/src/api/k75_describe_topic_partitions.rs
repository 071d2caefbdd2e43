//! DescribeTopicPartitions (key 75).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DESCRIBE_TOPIC_PARTITIONS, versions 0-0, flexible 0+;

    /// The request.
    request DescribeTopicPartitionsRequest -> DescribeTopicPartitionsResponse {
        topics: Vec<TopicRequest> [0+],
        response_partition_limit: i32 [0+] = 2000,
        cursor: Option<Cursor> [0+] = None,
    }

    /// Part of the request.
    struct TopicRequest {
        name: String [0+],
    }

    /// Part of the request.
    struct Cursor {
        topic_name: String [0+],
        partition_index: i32 [0+],
    }

    /// The response.
    response DescribeTopicPartitionsResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<DescribeTopicPartitionsResponseTopic> [0+],
        next_cursor: Option<Cursor> [0+] = None,
    }

    /// Part of the response.
    struct DescribeTopicPartitionsResponseTopic {
        error_code: i16 [0+],
        name: Option<String> [0+],
        topic_id: Uuid [0+],
        is_internal: bool [0+],
        partitions: Vec<DescribeTopicPartitionsResponsePartition> [0+],
        topic_authorized_operations: i32 [0+] = i32::MIN,
    }

    /// Part of the response.
    struct DescribeTopicPartitionsResponsePartition {
        error_code: i16 [0+],
        partition_index: i32 [0+],
        leader_id: i32 [0+],
        leader_epoch: i32 [0+] = -1,
        replica_nodes: Vec<i32> [0+],
        isr_nodes: Vec<i32> [0+],
        eligible_leader_replicas: Option<Vec<i32>> [0+] = None,
        last_known_elr: Option<Vec<i32>> [0+] = None,
        offline_replicas: Vec<i32> [0+],
    }
}
