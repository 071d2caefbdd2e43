//! OffsetCommit (key 8).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api OFFSET_COMMIT, versions 0-10, flexible 8+;

    /// The request.
    request OffsetCommitRequest -> OffsetCommitResponse {
        group_id: String [0+],
        generation_id_or_member_epoch: i32 [1+] = -1,
        member_id: String [1+],
        group_instance_id: Option<String> [7+, strict] = None,
        retention_time_ms: i64 [2-4] = -1,
        topics: Vec<OffsetCommitRequestTopic> [0+],
    }

    /// Part of the request.
    struct OffsetCommitRequestTopic {
        topic_id: Uuid [10+],
        name: String [0-9],
        partitions: Vec<OffsetCommitRequestPartition> [0+],
    }

    /// Part of the request.
    struct OffsetCommitRequestPartition {
        partition_index: i32 [0+],
        committed_offset: i64 [0+],
        committed_leader_epoch: i32 [6+] = -1,
        commit_timestamp: i64 [1] = -1,
        committed_metadata: Option<String> [0+],
    }

    /// The response.
    response OffsetCommitResponse {
        throttle_time_ms: i32 [3+],
        topics: Vec<OffsetCommitResponseTopic> [0+],
    }

    /// Part of the response.
    struct OffsetCommitResponseTopic {
        topic_id: Uuid [10+],
        name: String [0-9],
        partitions: Vec<OffsetCommitResponsePartition> [0+],
    }

    /// Part of the response.
    struct OffsetCommitResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
