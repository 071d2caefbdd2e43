//! ElectLeaders (key 43): elects new partition leaders (KIP-183); goes to the controller, or in KRaft clusters to any
//! broker.
//!
//! - 1: unclean elections, an error of the whole response (KIP-460)
//! - 2: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api ELECT_LEADERS, versions 0-2, flexible 2+;

    /// The request.
    request ElectLeadersRequest -> ElectLeadersResponse {
        /// 0 preferred leader, 1 unclean.
        election_type: i8 [1+, strict],
        /// Null for all partitions.
        topic_partitions: Option<Vec<TopicPartitions>> [0+],
        timeout_ms: i32 [0+] = 60000,
    }

    /// Partitions of one topic.
    struct TopicPartitions {
        topic: String [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response ElectLeadersResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [1+, strict],
        replica_election_results: Vec<ReplicaElectionResult> [0+],
    }

    /// The outcome for one topic.
    struct ReplicaElectionResult {
        topic: String [0+],
        partition_result: Vec<PartitionResult> [0+],
    }

    /// The outcome for one partition.
    struct PartitionResult {
        partition_id: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}

impl ElectLeadersRequest {
    /// The first version with the type of the election (KIP-460).
    pub const ELECTION_TYPE_SINCE: i16 = 1;
}
