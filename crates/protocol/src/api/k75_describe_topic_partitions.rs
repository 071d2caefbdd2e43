//! DescribeTopicPartitions (key 75): topics and partitions in pages, with their eligible leader replicas (KIP-966).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DESCRIBE_TOPIC_PARTITIONS, versions 0-0, flexible 0+;

    /// The request.
    request DescribeTopicPartitionsRequest -> DescribeTopicPartitionsResponse {
        topics: Vec<TopicRequest> [0+],
        /// Most partitions in one response.
        response_partition_limit: i32 [0+] = 2000,
        cursor: Option<Cursor> [0+] = None,
    }

    /// A requested topic.
    struct TopicRequest {
        name: String [0+],
    }

    /// The partition to go on from.
    struct Cursor {
        topic_name: String [0+],
        partition_index: i32 [0+],
    }

    /// The response.
    response DescribeTopicPartitionsResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<DescribeTopicPartitionsResponseTopic> [0+],
        /// Null at the end.
        next_cursor: Option<Cursor> [0+] = None,
    }

    /// A topic.
    struct DescribeTopicPartitionsResponseTopic {
        error_code: i16 [0+],
        name: Option<String> [0+],
        topic_id: Uuid [0+],
        is_internal: bool [0+],
        partitions: Vec<DescribeTopicPartitionsResponsePartition> [0+],
        /// Bit set of operations; `i32::MIN` when not requested.
        topic_authorized_operations: i32 [0+] = i32::MIN,
    }

    /// A partition.
    struct DescribeTopicPartitionsResponsePartition {
        error_code: i16 [0+],
        partition_index: i32 [0+],
        /// -1 when there is none.
        leader_id: i32 [0+],
        leader_epoch: i32 [0+] = -1,
        replica_nodes: Vec<i32> [0+],
        /// The in-sync replicas.
        isr_nodes: Vec<i32> [0+],
        /// Not in sync, but with all committed records.
        eligible_leader_replicas: Option<Vec<i32>> [0+] = None,
        /// The last eligible replicas after an unclean shutdown.
        last_known_elr: Option<Vec<i32>> [0+] = None,
        /// Replicas on brokers or disks that failed.
        offline_replicas: Vec<i32> [0+],
    }
}
