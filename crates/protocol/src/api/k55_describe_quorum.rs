//! DescribeQuorum (key 55): voters and observers of the metadata quorum (KIP-595).
//!
//! - 1: times of the replicas' last fetch (KIP-836)
//! - 2: directory ids, error messages and the voters' addresses (KIP-853)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DESCRIBE_QUORUM, versions 0-2, flexible 0+;

    /// The request.
    request DescribeQuorumRequest -> DescribeQuorumResponse {
        topics: Vec<TopicData> [0+],
    }

    /// A requested topic.
    struct TopicData {
        topic_name: String [0+],
        partitions: Vec<PartitionData> [0+],
    }

    /// A requested partition.
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

    /// A topic of the quorum.
    struct ResponseTopicData {
        topic_name: String [0+],
        partitions: Vec<ResponsePartitionData> [0+],
    }

    /// State of a partition.
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

    /// A voter or observer.
    struct ReplicaState {
        replica_id: i32 [0+],
        replica_directory_id: Uuid [2+, strict],
        log_end_offset: i64 [0+],
        last_fetch_timestamp: i64 [1+] = -1,
        last_caught_up_timestamp: i64 [1+] = -1,
    }

    /// A voter's addresses.
    struct Node {
        node_id: i32 [2+],
        listeners: Vec<Listener> [2+],
    }

    /// One address.
    struct Listener {
        name: String [2+],
        host: String [2+],
        port: u16 [2+],
    }
}
