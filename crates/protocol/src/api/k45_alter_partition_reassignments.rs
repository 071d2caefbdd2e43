//! AlterPartitionReassignments (key 45): moves partitions to other brokers, or cancels that (KIP-455).
//!
//! - 1: may refuse a change of the number of replicas (KIP-860)

use crate::schema::schema;

schema! {
    api ALTER_PARTITION_REASSIGNMENTS, versions 0-1, flexible 0+;

    /// The request.
    request AlterPartitionReassignmentsRequest -> AlterPartitionReassignmentsResponse {
        timeout_ms: i32 [0+] = 60000,
        allow_replication_factor_change: bool [1+, strict] = true,
        topics: Vec<ReassignableTopic> [0+],
    }

    /// A topic with partitions to move.
    struct ReassignableTopic {
        name: String [0+],
        partitions: Vec<ReassignablePartition> [0+],
    }

    /// A partition to move.
    struct ReassignablePartition {
        partition_index: i32 [0+],
        /// Null cancels a move.
        replicas: Option<Vec<i32>> [0+] = None,
    }

    /// The response.
    response AlterPartitionReassignmentsResponse {
        throttle_time_ms: i32 [0+],
        allow_replication_factor_change: bool [1+] = true,
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        responses: Vec<ReassignableTopicResponse> [0+],
    }

    /// The outcome for one topic.
    struct ReassignableTopicResponse {
        name: String [0+],
        partitions: Vec<ReassignablePartitionResponse> [0+],
    }

    /// The outcome for one partition.
    struct ReassignablePartitionResponse {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}

impl AlterPartitionReassignmentsRequest {
    /// The first version that can refuse changes of the replication factor (KIP-860).
    pub const FACTOR_CHECK_SINCE: i16 = 1;
}
