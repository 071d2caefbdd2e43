//! OffsetFetch (key 9).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api OFFSET_FETCH, versions 0-10, flexible 6+;

    /// The request.
    request OffsetFetchRequest -> OffsetFetchResponse {
        groups: Vec<OffsetFetchRequestGroup> [8+, strict],
        group_id: String [0-7, strict],
        topics: Option<Vec<OffsetFetchRequestTopic>> [0-7, null 2-7, strict],
        require_stable: bool [7+, strict],
    }

    /// Part of the request.
    struct OffsetFetchRequestGroup {
        group_id: String [8+],
        member_id: Option<String> [9+] = None,
        member_epoch: i32 [9+] = -1,
        topics: Option<Vec<OffsetFetchRequestTopics>> [8+],
    }

    /// Part of the request.
    struct OffsetFetchRequestTopics {
        topic_id: Uuid [10+],
        name: String [8-9],
        partition_indexes: Vec<i32> [8+],
    }

    /// Part of the request.
    struct OffsetFetchRequestTopic {
        name: String [0-7],
        partition_indexes: Vec<i32> [0-7],
    }

    /// The response.
    response OffsetFetchResponse {
        throttle_time_ms: i32 [3+],
        groups: Vec<OffsetFetchResponseGroup> [8+, strict],
        topics: Vec<OffsetFetchResponseTopic> [0-7, strict],
        error_code: i16 [2-7],
    }

    /// Part of the response.
    struct OffsetFetchResponseGroup {
        group_id: String [8+],
        topics: Vec<OffsetFetchResponseTopics> [8+],
        error_code: i16 [8+],
    }

    /// Part of the response.
    struct OffsetFetchResponseTopics {
        topic_id: Uuid [10+],
        name: String [8-9],
        partitions: Vec<OffsetFetchResponsePartitions> [8+],
    }

    /// Part of the response.
    struct OffsetFetchResponsePartitions {
        partition_index: i32 [8+],
        committed_offset: i64 [8+],
        committed_leader_epoch: i32 [8+] = -1,
        metadata: Option<String> [8+],
        error_code: i16 [8+],
    }

    /// Part of the response.
    struct OffsetFetchResponseTopic {
        name: String [0-7],
        partitions: Vec<OffsetFetchResponsePartition> [0-7],
    }

    /// Part of the response.
    struct OffsetFetchResponsePartition {
        partition_index: i32 [0-7],
        committed_offset: i64 [0-7],
        committed_leader_epoch: i32 [5-7] = -1,
        metadata: Option<String> [0-7],
        error_code: i16 [0-7],
    }
}
