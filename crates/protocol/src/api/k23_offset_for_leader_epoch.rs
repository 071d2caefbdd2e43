//! OffsetForLeaderEpoch (key 23): where a leader epoch ended, by which consumers find out that a log was truncated
//! (KIP-320, first KIP-101); goes to each partition's leader.
//!
//! - 1: leader epoch in the response
//! - 2: the client's leader epoch; throttle time
//! - 3: replica id, because followers answer consumers too (KIP-392)
//! - 4: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api OFFSET_FOR_LEADER_EPOCH, versions 0-4, flexible 4+;

    /// The request.
    request OffsetForLeaderEpochRequest -> OffsetForLeaderEpochResponse {
        /// A consumer sends -1, a debugging consumer -2.
        replica_id: i32 [3+] = -2,
        topics: Vec<OffsetForLeaderTopic> [0+],
    }

    /// A requested topic.
    struct OffsetForLeaderTopic {
        topic: String [0+],
        partitions: Vec<OffsetForLeaderPartition> [0+],
    }

    /// A requested partition.
    struct OffsetForLeaderPartition {
        partition: i32 [0+],
        /// The leader epoch known to the client, -1 for none; the broker checks it.
        current_leader_epoch: i32 [2+] = -1,
        /// The epoch whose end is requested.
        leader_epoch: i32 [0+],
    }

    /// The response.
    response OffsetForLeaderEpochResponse {
        throttle_time_ms: i32 [2+],
        topics: Vec<OffsetForLeaderTopicResult> [0+],
    }

    /// The answers for one topic.
    struct OffsetForLeaderTopicResult {
        topic: String [0+],
        partitions: Vec<EpochEndOffset> [0+],
    }

    /// The answer for one partition.
    struct EpochEndOffset {
        error_code: i16 [0+],
        partition: i32 [0+],
        /// The greatest epoch not above the requested one.
        leader_epoch: i32 [1+] = -1,
        /// The first offset after that epoch, -1 when unknown.
        end_offset: i64 [0+] = -1,
    }
}

impl OffsetForLeaderEpochRequest {
    /// The first version that checks the client's leader epoch and returns the epoch that was found (KIP-320).
    pub const LEADER_EPOCHS_SINCE: i16 = 2;
}
