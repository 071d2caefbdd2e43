//! DescribeQuorum (key 55).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DESCRIBE_QUORUM, versions 0-2, flexible 0+;

    /// The request.
    request DescribeQuorumRequest -> DescribeQuorumResponse {
        topics: Vec<TopicData> [0+],
    }

    /// Part of the request.
    struct TopicData {
        topic_name: String [0+],
        partitions: Vec<PartitionData> [0+],
    }

    /// Part of the request.
    struct PartitionData {
        partition_index: i32 [0+],
    }

    /// The response.
    response DescribeQuorumResponse {
        error_code: i16 [0+],
        error_message: Option<String> [2+],
        topics: Vec<ResponseTopicData> [0+],
        nodes: Vec<Node> [2+, strict],
    }

    /// Part of the response.
    struct ResponseTopicData {
        topic_name: String [0+],
        partitions: Vec<ResponsePartitionData> [0+],
    }

    /// Part of the response.
    struct ResponsePartitionData {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [2+],
        leader_id: i32 [0+],
        leader_epoch: i32 [0+],
        high_watermark: i64 [0+],
        current_voters: Vec<ReplicaState> [0+],
        observers: Vec<ReplicaState> [0+],
    }

    /// Part of the response.
    struct ReplicaState {
        replica_id: i32 [0+],
        replica_directory_id: Uuid [2+, strict],
        log_end_offset: i64 [0+],
        last_fetch_timestamp: i64 [1+] = -1,
        last_caught_up_timestamp: i64 [1+] = -1,
    }

    /// Part of the response.
    struct Node {
        node_id: i32 [2+],
        listeners: Vec<Listener> [2+],
    }

    /// Part of the response.
    struct Listener {
        name: String [2+],
        host: String [2+],
        port: u16 [2+],
    }
}
