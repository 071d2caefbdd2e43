//! ListOffsets (key 2): the offset that belongs to a timestamp, or the first or last one; goes to each
//! partition's leader.
//!
//! - 0: a list of segment start offsets; gone in Kafka 4.x
//! - 1: one offset with its timestamp (KIP-79)
//! - 2: isolation level (KIP-98), throttle time
//! - 3: a throttled response comes at once, and the client waits (KIP-219)
//! - 4: leader epochs (KIP-320)
//! - 5: the broker may answer OFFSET_NOT_AVAILABLE (KIP-207)
//! - 6: flexible (KIP-482)
//! - 7: timestamp -3: the record with the greatest timestamp (KIP-734)
//! - 8: timestamp -4: the first offset on the leader's own disk (KIP-405)
//! - 9: timestamp -5: the last offset in tiered storage (KIP-1005)
//! - 10: a timeout for looking into tiered storage (KIP-1075)
//! - 11: timestamp -6: the first offset not yet in tiered storage (KIP-1023)

use crate::schema::schema;

schema! {
    api LIST_OFFSETS, versions 0-11, flexible 6+;

    /// The request.
    request ListOffsetsRequest -> ListOffsetsResponse {
        /// A consumer sends -1, a follower its broker id. The default is 0.
        replica_id: i32 [0+],
        /// 0: read uncommitted; 1: read committed.
        isolation_level: i8 [2+, strict],
        topics: Vec<ListOffsetsTopic> [0+],
        timeout_ms: i32 [10+],
    }

    /// A requested topic.
    struct ListOffsetsTopic {
        name: String [0+],
        partitions: Vec<ListOffsetsPartition> [0+],
    }

    /// A requested partition.
    struct ListOffsetsPartition {
        partition_index: i32 [0+],
        /// The leader epoch known to the client, -1 for none; the broker checks it.
        current_leader_epoch: i32 [4+] = -1,
        /// Milliseconds since 1970: the first offset not before it. Negative: -1 the end, -2 the start; see above for
        /// more.
        timestamp: i64 [0+],
        /// Maximum number of offsets to list.
        max_num_offsets: i32 [0] = 1,
    }

    /// The response.
    response ListOffsetsResponse {
        throttle_time_ms: i32 [2+],
        topics: Vec<ListOffsetsTopicResponse> [0+],
    }

    /// The answers for one topic.
    struct ListOffsetsTopicResponse {
        name: String [0+],
        partitions: Vec<ListOffsetsPartitionResponse> [0+],
    }

    /// The answer for one partition.
    struct ListOffsetsPartitionResponse {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        /// The record's timestamp, -1 for the start, the end, or none.
        timestamp: i64 [1+] = -1,
        /// -1 when no record is that late.
        offset: i64 [1+] = -1,
        leader_epoch: i32 [4+, strict] = -1,
        /// Descending.
        old_style_offsets: Vec<i64> [0],
    }
}

impl ListOffsetsRequest {
    /// The first version that finds records by timestamp (KIP-79). Before it, timestamps are those of log segments.
    pub const TIMESTAMPS_SINCE: i16 = 1;

    /// The first version with an isolation level (KIP-98).
    pub const ISOLATION_LEVEL_SINCE: i16 = 2;
}
