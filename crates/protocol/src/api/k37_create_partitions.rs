//! CreatePartitions (key 37).

use crate::schema::schema;

schema! {
    api CREATE_PARTITIONS, versions 0-3, flexible 2+;

    /// The request.
    request CreatePartitionsRequest -> CreatePartitionsResponse {
        topics: Vec<CreatePartitionsTopic> [0+],
        timeout_ms: i32 [0+],
        validate_only: bool [0+],
    }

    /// Part of the request.
    struct CreatePartitionsTopic {
        name: String [0+],
        count: i32 [0+],
        assignments: Option<Vec<CreatePartitionsAssignment>> [0+],
    }

    /// Part of the request.
    struct CreatePartitionsAssignment {
        broker_ids: Vec<i32> [0+],
    }

    /// The response.
    response CreatePartitionsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<CreatePartitionsTopicResult> [0+],
    }

    /// Part of the response.
    struct CreatePartitionsTopicResult {
        name: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
    }
}
