//! ListPartitionReassignments (key 46).

use crate::schema::schema;

schema! {
    api LIST_PARTITION_REASSIGNMENTS, versions 0-0, flexible 0+;

    /// The request.
    request ListPartitionReassignmentsRequest -> ListPartitionReassignmentsResponse {
        timeout_ms: i32 [0+] = 60000,
        topics: Option<Vec<ListPartitionReassignmentsTopics>> [0+] = None,
    }

    /// Part of the request.
    struct ListPartitionReassignmentsTopics {
        name: String [0+],
        partition_indexes: Vec<i32> [0+],
    }

    /// The response.
    response ListPartitionReassignmentsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        topics: Vec<OngoingTopicReassignment> [0+],
    }

    /// Part of the response.
    struct OngoingTopicReassignment {
        name: String [0+],
        partitions: Vec<OngoingPartitionReassignment> [0+],
    }

    /// Part of the response.
    struct OngoingPartitionReassignment {
        partition_index: i32 [0+],
        replicas: Vec<i32> [0+],
        adding_replicas: Vec<i32> [0+],
        removing_replicas: Vec<i32> [0+],
    }
}
