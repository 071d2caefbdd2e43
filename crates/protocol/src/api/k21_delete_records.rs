//! DeleteRecords (key 21): deletes the records before an offset (KIP-107); goes to each partition's leader.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api DELETE_RECORDS, versions 0-2, flexible 2+;

    /// The request.
    request DeleteRecordsRequest -> DeleteRecordsResponse {
        topics: Vec<DeleteRecordsTopic> [0+],
        /// Maximum time that the broker waits until all replicas have deleted the records.
        timeout_ms: i32 [0+],
    }

    /// A topic to delete from.
    struct DeleteRecordsTopic {
        name: String [0+],
        partitions: Vec<DeleteRecordsPartition> [0+],
    }

    /// A partition to delete from.
    struct DeleteRecordsPartition {
        partition_index: i32 [0+],
        /// The first offset to keep; -1 for the high watermark.
        offset: i64 [0+],
    }

    /// The response.
    response DeleteRecordsResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<DeleteRecordsTopicResult> [0+],
    }

    /// The outcome for one topic.
    struct DeleteRecordsTopicResult {
        name: String [0+],
        partitions: Vec<DeleteRecordsPartitionResult> [0+],
    }

    /// The outcome for one partition.
    struct DeleteRecordsPartitionResult {
        partition_index: i32 [0+],
        /// The partition's first offset after the deletion.
        low_watermark: i64 [0+],
        error_code: i16 [0+],
    }
}
