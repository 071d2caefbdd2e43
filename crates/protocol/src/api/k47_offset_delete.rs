//! OffsetDelete (key 47): removes committed offsets of a group (KIP-496); goes to the group's coordinator.

use crate::schema::schema;

schema! {
    api OFFSET_DELETE, versions 0-0, flexible none;

    /// The request.
    request OffsetDeleteRequest -> OffsetDeleteResponse {
        group_id: String [0+],
        topics: Vec<OffsetDeleteRequestTopic> [0+],
    }

    /// A topic to remove offsets of.
    struct OffsetDeleteRequestTopic {
        name: String [0+],
        partitions: Vec<OffsetDeleteRequestPartition> [0+],
    }

    /// A partition to remove the offset of.
    struct OffsetDeleteRequestPartition {
        partition_index: i32 [0+],
    }

    /// The response.
    response OffsetDeleteResponse {
        error_code: i16 [0+],
        throttle_time_ms: i32 [0+],
        topics: Vec<OffsetDeleteResponseTopic> [0+],
    }

    /// The outcome for one topic.
    struct OffsetDeleteResponseTopic {
        name: String [0+],
        partitions: Vec<OffsetDeleteResponsePartition> [0+],
    }

    /// The outcome for one partition.
    struct OffsetDeleteResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
