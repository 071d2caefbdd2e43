//! CreatePartitions (key 37): adds partitions to topics (KIP-195); goes to the controller, or in KRaft clusters to any
//! broker.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)
//! - 3: the broker may answer THROTTLING_QUOTA_EXCEEDED (KIP-599)

use crate::schema::schema;

schema! {
    api CREATE_PARTITIONS, versions 0-3, flexible 2+;

    /// The request.
    request CreatePartitionsRequest -> CreatePartitionsResponse {
        topics: Vec<CreatePartitionsTopic> [0+],
        timeout_ms: i32 [0+],
        /// Only validates the request.
        validate_only: bool [0+],
    }

    /// A topic to grow.
    struct CreatePartitionsTopic {
        name: String [0+],
        /// The number of partitions in all.
        count: i32 [0+],
        /// Of the new partitions; null leaves it to the broker.
        assignments: Option<Vec<CreatePartitionsAssignment>> [0+],
    }

    /// Where the replicas of one new partition go.
    struct CreatePartitionsAssignment {
        broker_ids: Vec<i32> [0+],
    }

    /// The response.
    response CreatePartitionsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<CreatePartitionsTopicResult> [0+],
    }

    /// The outcome for one topic.
    struct CreatePartitionsTopicResult {
        name: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
    }
}
