//! AlterShareGroupOffsets (key 91): moves the start of a share group in its partitions (KIP-932); goes to the group's
//! coordinator.

use crate::Uuid;
use crate::schema::schema;

schema! {
    api ALTER_SHARE_GROUP_OFFSETS, versions 0-0, flexible 0+;

    /// The request.
    request AlterShareGroupOffsetsRequest -> AlterShareGroupOffsetsResponse {
        group_id: String [0+],
        topics: Vec<AlterShareGroupOffsetsRequestTopic> [0+],
    }

    /// A topic to change.
    struct AlterShareGroupOffsetsRequestTopic {
        topic_name: String [0+],
        partitions: Vec<AlterShareGroupOffsetsRequestPartition> [0+],
    }

    /// A partition to change.
    struct AlterShareGroupOffsetsRequestPartition {
        partition_index: i32 [0+],
        start_offset: i64 [0+],
    }

    /// The response.
    response AlterShareGroupOffsetsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        responses: Vec<AlterShareGroupOffsetsResponseTopic> [0+],
    }

    /// The outcome for one topic.
    struct AlterShareGroupOffsetsResponseTopic {
        topic_name: String [0+],
        topic_id: Uuid [0+],
        partitions: Vec<AlterShareGroupOffsetsResponsePartition> [0+],
    }

    /// The outcome for one partition.
    struct AlterShareGroupOffsetsResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
    }
}
