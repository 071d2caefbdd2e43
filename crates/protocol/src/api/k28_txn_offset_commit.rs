//! TxnOffsetCommit (key 28): commits a group's offsets as part of a transaction (KIP-98); goes to the group's
//! coordinator.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: leader epoch (KIP-320)
//! - 3: flexible (KIP-482); the consumer's membership, for fencing (KIP-447)
//! - 4: TRANSACTION_ABORTABLE (KIP-890)
//! - 5: no AddOffsetsToTxn needed before (KIP-890)

use crate::schema::schema;

schema! {
    api TXN_OFFSET_COMMIT, versions 0-5, flexible 3+;

    /// The request.
    request TxnOffsetCommitRequest -> TxnOffsetCommitResponse {
        transactional_id: String [0+],
        group_id: String [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        /// -1 without membership.
        generation_id: i32 [3+, strict] = -1,
        member_id: String [3+, strict],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [3+, strict] = None,
        topics: Vec<TxnOffsetCommitRequestTopic> [0+],
    }

    /// Offsets of one topic.
    struct TxnOffsetCommitRequestTopic {
        name: String [0+],
        partitions: Vec<TxnOffsetCommitRequestPartition> [0+],
    }

    /// The offset of one partition.
    struct TxnOffsetCommitRequestPartition {
        partition_index: i32 [0+],
        committed_offset: i64 [0+],
        /// Leader epoch of the last consumed record, -1 for none.
        committed_leader_epoch: i32 [2+] = -1,
        committed_metadata: Option<String> [0+],
    }

    /// The response.
    response TxnOffsetCommitResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<TxnOffsetCommitResponseTopic> [0+],
    }

    /// The outcome for one topic.
    struct TxnOffsetCommitResponseTopic {
        name: String [0+],
        partitions: Vec<TxnOffsetCommitResponsePartition> [0+],
    }

    /// The outcome for one partition.
    struct TxnOffsetCommitResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}

impl TxnOffsetCommitRequest {
    /// The first version with the group member (KIP-447).
    pub const MEMBER_SINCE: i16 = 3;

    /// The first version with transaction version 2 (KIP-890).
    pub const TRANSACTION_V2_SINCE: i16 = 5;
}
