//! DescribeLogDirs (key 35).

use crate::schema::schema;

schema! {
    api DESCRIBE_LOG_DIRS, versions 0-5, flexible 2+;

    /// The request.
    request DescribeLogDirsRequest -> DescribeLogDirsResponse {
        topics: Option<Vec<DescribableLogDirTopic>> [0+],
    }

    /// Part of the request.
    struct DescribableLogDirTopic {
        topic: String [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response DescribeLogDirsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [3+],
        results: Vec<DescribeLogDirsResult> [0+],
    }

    /// Part of the response.
    struct DescribeLogDirsResult {
        error_code: i16 [0+],
        log_dir: String [0+],
        topics: Vec<DescribeLogDirsTopic> [0+],
        total_bytes: i64 [4+] = -1,
        usable_bytes: i64 [4+] = -1,
        is_cordoned: bool [5+],
    }

    /// Part of the response.
    struct DescribeLogDirsTopic {
        name: String [0+],
        partitions: Vec<DescribeLogDirsPartition> [0+],
    }

    /// Part of the response.
    struct DescribeLogDirsPartition {
        partition_index: i32 [0+],
        partition_size: i64 [0+],
        offset_lag: i64 [0+],
        is_future_key: bool [0+],
    }
}
