//! TxnOffsetCommit (key 28).

use crate::schema::schema;

schema! {
    api TXN_OFFSET_COMMIT, versions 0-5, flexible 3+;

    /// The request.
    request TxnOffsetCommitRequest -> TxnOffsetCommitResponse {
        transactional_id: String [0+],
        group_id: String [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        generation_id: i32 [3+, strict] = -1,
        member_id: String [3+, strict],
        group_instance_id: Option<String> [3+, strict] = None,
        topics: Vec<TxnOffsetCommitRequestTopic> [0+],
    }

    /// Part of the request.
    struct TxnOffsetCommitRequestTopic {
        name: String [0+],
        partitions: Vec<TxnOffsetCommitRequestPartition> [0+],
    }

    /// Part of the request.
    struct TxnOffsetCommitRequestPartition {
        partition_index: i32 [0+],
        committed_offset: i64 [0+],
        committed_leader_epoch: i32 [2+] = -1,
        committed_metadata: Option<String> [0+],
    }

    /// The response.
    response TxnOffsetCommitResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<TxnOffsetCommitResponseTopic> [0+],
    }

    /// Part of the response.
    struct TxnOffsetCommitResponseTopic {
        name: String [0+],
        partitions: Vec<TxnOffsetCommitResponsePartition> [0+],
    }

    /// Part of the response.
    struct TxnOffsetCommitResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
