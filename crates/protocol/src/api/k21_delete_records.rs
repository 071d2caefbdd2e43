//! DeleteRecords (key 21).

use crate::schema::schema;

schema! {
    api DELETE_RECORDS, versions 0-2, flexible 2+;

    /// The request.
    request DeleteRecordsRequest -> DeleteRecordsResponse {
        topics: Vec<DeleteRecordsTopic> [0+],
        timeout_ms: i32 [0+],
    }

    /// Part of the request.
    struct DeleteRecordsTopic {
        name: String [0+],
        partitions: Vec<DeleteRecordsPartition> [0+],
    }

    /// Part of the request.
    struct DeleteRecordsPartition {
        partition_index: i32 [0+],
        offset: i64 [0+],
    }

    /// The response.
    response DeleteRecordsResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<DeleteRecordsTopicResult> [0+],
    }

    /// Part of the response.
    struct DeleteRecordsTopicResult {
        name: String [0+],
        partitions: Vec<DeleteRecordsPartitionResult> [0+],
    }

    /// Part of the response.
    struct DeleteRecordsPartitionResult {
        partition_index: i32 [0+],
        low_watermark: i64 [0+],
        error_code: i16 [0+],
    }
}
