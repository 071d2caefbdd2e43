//! ElectLeaders (key 43).

use crate::schema::schema;

schema! {
    api ELECT_LEADERS, versions 0-2, flexible 2+;

    /// The request.
    request ElectLeadersRequest -> ElectLeadersResponse {
        election_type: i8 [1+, strict],
        topic_partitions: Option<Vec<TopicPartitions>> [0+],
        timeout_ms: i32 [0+] = 60000,
    }

    /// Part of the request.
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

    /// Part of the response.
    struct ReplicaElectionResult {
        topic: String [0+],
        partition_result: Vec<PartitionResult> [0+],
    }

    /// Part of the response.
    struct PartitionResult {
        partition_id: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}
