//! ListPartitionReassignments (key 46): the moves of partitions under way (KIP-455).

use crate::schema::schema;

schema! {
    api LIST_PARTITION_REASSIGNMENTS, versions 0-0, flexible 0+;

    /// The request.
    request ListPartitionReassignmentsRequest -> ListPartitionReassignmentsResponse {
        timeout_ms: i32 [0+] = 60000,
        /// Null requests all.
        topics: Option<Vec<ListPartitionReassignmentsTopics>> [0+] = None,
    }

    /// A requested topic.
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

    /// A topic with partitions under way.
    struct OngoingTopicReassignment {
        name: String [0+],
        partitions: Vec<OngoingPartitionReassignment> [0+],
    }

    /// A partition under way.
    struct OngoingPartitionReassignment {
        partition_index: i32 [0+],
        replicas: Vec<i32> [0+],
        adding_replicas: Vec<i32> [0+],
        removing_replicas: Vec<i32> [0+],
    }
}
