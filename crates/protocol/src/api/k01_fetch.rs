//! Fetch (key 1).

use crate::schema::schema;
use crate::{Records, Uuid};

schema! {
    api FETCH, versions 0-18, flexible 12+;

    /// The request.
    request FetchRequest -> FetchResponse {
        replica_id: i32 [0-14, strict] = -1,
        max_wait_ms: i32 [0+],
        min_bytes: i32 [0+],
        max_bytes: i32 [3+] = i32::MAX,
        isolation_level: i8 [4+],
        session_id: i32 [7+],
        session_epoch: i32 [7+] = -1,
        topics: Vec<FetchTopic> [0+],
        forgotten_topics_data: Vec<ForgottenTopic> [7+, strict],
        rack_id: String [11+],
        cluster_id: Option<String> [12+, tag 0] = None,
        replica_state: ReplicaState [15+, tag 1],
    }

    /// Part of the request.
    struct FetchTopic {
        topic_id: Uuid [13+],
        topic: String [0-12],
        partitions: Vec<FetchPartition> [0+],
    }

    /// Part of the request.
    struct FetchPartition {
        partition: i32 [0+],
        current_leader_epoch: i32 [9+] = -1,
        fetch_offset: i64 [0+],
        last_fetched_epoch: i32 [12+, strict] = -1,
        log_start_offset: i64 [5+] = -1,
        partition_max_bytes: i32 [0+],
        replica_directory_id: Uuid [17+, tag 0],
        high_watermark: i64 [18+, tag 1] = i64::MAX,
    }

    /// Part of the request.
    struct ForgottenTopic {
        topic_id: Uuid [13+],
        topic: String [7-12],
        partitions: Vec<i32> [7+],
    }

    /// Part of the request.
    struct ReplicaState {
        replica_id: i32 [15+] = -1,
        replica_epoch: i64 [15+] = -1,
    }

    /// The response.
    response FetchResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [7+],
        session_id: i32 [7+, strict],
        responses: Vec<FetchableTopicResponse> [0+],
        node_endpoints: Vec<NodeEndpoint> [16+, tag 0],
    }

    /// Part of the response.
    struct FetchableTopicResponse {
        topic_id: Uuid [13+],
        topic: String [0-12],
        partitions: Vec<PartitionData> [0+],
    }

    /// Part of the response.
    struct PartitionData {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        high_watermark: i64 [0+],
        last_stable_offset: i64 [4+] = -1,
        log_start_offset: i64 [5+] = -1,
        aborted_transactions: Option<Vec<AbortedTransaction>> [4+],
        preferred_read_replica: i32 [11+, strict] = -1,
        records: Option<Records> [0+] = None,
        diverging_epoch: EpochEndOffset [12+, tag 0],
        current_leader: LeaderIdAndEpoch [12+, tag 1],
        snapshot_id: SnapshotId [12+, tag 2],
    }

    /// Part of the response.
    struct AbortedTransaction {
        producer_id: i64 [4+],
        first_offset: i64 [4+],
    }

    /// Part of the response.
    struct EpochEndOffset {
        epoch: i32 [12+] = -1,
        end_offset: i64 [12+] = -1,
    }

    /// Part of the response.
    struct LeaderIdAndEpoch {
        leader_id: i32 [12+] = -1,
        leader_epoch: i32 [12+] = -1,
    }

    /// Part of the response.
    struct SnapshotId {
        end_offset: i64 [12+] = -1,
        epoch: i32 [12+] = -1,
    }

    /// Part of the response.
    struct NodeEndpoint {
        node_id: i32 [16+],
        host: String [16+],
        port: i32 [16+],
        rack: Option<String> [16+] = None,
    }
}
