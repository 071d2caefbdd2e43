//! OffsetForLeaderEpoch (key 23).

use crate::schema::schema;

schema! {
    api OFFSET_FOR_LEADER_EPOCH, versions 0-4, flexible 4+;

    /// The request.
    request OffsetForLeaderEpochRequest -> OffsetForLeaderEpochResponse {
        replica_id: i32 [3+] = -2,
        topics: Vec<OffsetForLeaderTopic> [0+],
    }

    /// Part of the request.
    struct OffsetForLeaderTopic {
        topic: String [0+],
        partitions: Vec<OffsetForLeaderPartition> [0+],
    }

    /// Part of the request.
    struct OffsetForLeaderPartition {
        partition: i32 [0+],
        current_leader_epoch: i32 [2+] = -1,
        leader_epoch: i32 [0+],
    }

    /// The response.
    response OffsetForLeaderEpochResponse {
        throttle_time_ms: i32 [2+],
        topics: Vec<OffsetForLeaderTopicResult> [0+],
    }

    /// Part of the response.
    struct OffsetForLeaderTopicResult {
        topic: String [0+],
        partitions: Vec<EpochEndOffset> [0+],
    }

    /// Part of the response.
    struct EpochEndOffset {
        error_code: i16 [0+],
        partition: i32 [0+],
        leader_epoch: i32 [1+] = -1,
        end_offset: i64 [0+] = -1,
    }
}
