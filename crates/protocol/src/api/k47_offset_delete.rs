//! OffsetDelete (key 47).

use crate::schema::schema;

schema! {
    api OFFSET_DELETE, versions 0-0, flexible none;

    /// The request.
    request OffsetDeleteRequest -> OffsetDeleteResponse {
        group_id: String [0+],
        topics: Vec<OffsetDeleteRequestTopic> [0+],
    }

    /// Part of the request.
    struct OffsetDeleteRequestTopic {
        name: String [0+],
        partitions: Vec<OffsetDeleteRequestPartition> [0+],
    }

    /// Part of the request.
    struct OffsetDeleteRequestPartition {
        partition_index: i32 [0+],
    }

    /// The response.
    response OffsetDeleteResponse {
        error_code: i16 [0+],
        throttle_time_ms: i32 [0+],
        topics: Vec<OffsetDeleteResponseTopic> [0+],
    }

    /// Part of the response.
    struct OffsetDeleteResponseTopic {
        name: String [0+],
        partitions: Vec<OffsetDeleteResponsePartition> [0+],
    }

    /// Part of the response.
    struct OffsetDeleteResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
