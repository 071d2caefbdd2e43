//! DescribeShareGroupOffsets (key 90).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DESCRIBE_SHARE_GROUP_OFFSETS, versions 0-1, flexible 0+;

    /// The request.
    request DescribeShareGroupOffsetsRequest -> DescribeShareGroupOffsetsResponse {
        groups: Vec<DescribeShareGroupOffsetsRequestGroup> [0+],
    }

    /// Part of the request.
    struct DescribeShareGroupOffsetsRequestGroup {
        group_id: String [0+],
        topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>> [0+],
    }

    /// Part of the request.
    struct DescribeShareGroupOffsetsRequestTopic {
        topic_name: String [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response DescribeShareGroupOffsetsResponse {
        throttle_time_ms: i32 [0+],
        groups: Vec<DescribeShareGroupOffsetsResponseGroup> [0+],
    }

    /// Part of the response.
    struct DescribeShareGroupOffsetsResponseGroup {
        group_id: String [0+],
        topics: Vec<DescribeShareGroupOffsetsResponseTopic> [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
    }

    /// Part of the response.
    struct DescribeShareGroupOffsetsResponseTopic {
        topic_name: String [0+],
        topic_id: Uuid [0+],
        partitions: Vec<DescribeShareGroupOffsetsResponsePartition> [0+],
    }

    /// Part of the response.
    struct DescribeShareGroupOffsetsResponsePartition {
        partition_index: i32 [0+],
        start_offset: i64 [0+],
        leader_epoch: i32 [0+],
        lag: i64 [1+] = -1,
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
    }
}
