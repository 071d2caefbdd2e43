//! DescribeShareGroupOffsets (key 90): the start offsets of share groups in their partitions (KIP-932); goes to the
//! groups' coordinator.
//!
//! - 1: lag (KIP-1226)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DESCRIBE_SHARE_GROUP_OFFSETS, versions 0-1, flexible 0+;

    /// The request.
    request DescribeShareGroupOffsetsRequest -> DescribeShareGroupOffsetsResponse {
        groups: Vec<DescribeShareGroupOffsetsRequestGroup> [0+],
    }

    /// A requested group.
    struct DescribeShareGroupOffsetsRequestGroup {
        group_id: String [0+],
        /// Null requests all topics of the group.
        topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>> [0+],
    }

    /// A requested topic.
    struct DescribeShareGroupOffsetsRequestTopic {
        topic_name: String [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response DescribeShareGroupOffsetsResponse {
        throttle_time_ms: i32 [0+],
        groups: Vec<DescribeShareGroupOffsetsResponseGroup> [0+],
    }

    /// The results for one group.
    struct DescribeShareGroupOffsetsResponseGroup {
        group_id: String [0+],
        topics: Vec<DescribeShareGroupOffsetsResponseTopic> [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
    }

    /// The results for one topic.
    struct DescribeShareGroupOffsetsResponseTopic {
        topic_name: String [0+],
        topic_id: Uuid [0+],
        partitions: Vec<DescribeShareGroupOffsetsResponsePartition> [0+],
    }

    /// The result for one partition.
    struct DescribeShareGroupOffsetsResponsePartition {
        partition_index: i32 [0+],
        /// The share-partition start offset: the group receives no records before it.
        start_offset: i64 [0+],
        leader_epoch: i32 [0+],
        /// Records that the group has not processed; -1 when unknown.
        lag: i64 [1+] = -1,
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
    }
}
