//! ListOffsets (key 2).

use crate::schema::schema;

schema! {
    api LIST_OFFSETS, versions 0-11, flexible 6+;

    /// The request.
    request ListOffsetsRequest -> ListOffsetsResponse {
        replica_id: i32 [0+],
        isolation_level: i8 [2+, strict],
        topics: Vec<ListOffsetsTopic> [0+],
        timeout_ms: i32 [10+],
    }

    /// Part of the request.
    struct ListOffsetsTopic {
        name: String [0+],
        partitions: Vec<ListOffsetsPartition> [0+],
    }

    /// Part of the request.
    struct ListOffsetsPartition {
        partition_index: i32 [0+],
        current_leader_epoch: i32 [4+] = -1,
        timestamp: i64 [0+],
        max_num_offsets: i32 [0] = 1,
    }

    /// The response.
    response ListOffsetsResponse {
        throttle_time_ms: i32 [2+],
        topics: Vec<ListOffsetsTopicResponse> [0+],
    }

    /// Part of the response.
    struct ListOffsetsTopicResponse {
        name: String [0+],
        partitions: Vec<ListOffsetsPartitionResponse> [0+],
    }

    /// Part of the response.
    struct ListOffsetsPartitionResponse {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        timestamp: i64 [1+] = -1,
        offset: i64 [1+] = -1,
        leader_epoch: i32 [4+, strict] = -1,
        old_style_offsets: Vec<i64> [0],
    }
}
