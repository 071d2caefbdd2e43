//! DescribeLogDirs (key 35): a broker's directories and the replicas in them (KIP-113); goes to that broker.
//!
//! - 0: gone in Kafka 4.x
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)
//! - 3: an error of the whole response
//! - 4: size of the volumes (KIP-827)
//! - 5: cordoned directories (KIP-1066)

use crate::schema::schema;

schema! {
    api DESCRIBE_LOG_DIRS, versions 0-5, flexible 2+;

    /// The request.
    request DescribeLogDirsRequest -> DescribeLogDirsResponse {
        /// Null requests all topics.
        topics: Option<Vec<DescribableLogDirTopic>> [0+],
    }

    /// Requested partitions of one topic.
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

    /// A directory.
    struct DescribeLogDirsResult {
        error_code: i16 [0+],
        log_dir: String [0+],
        topics: Vec<DescribeLogDirsTopic> [0+],
        /// Of the volume, -1 when unknown.
        total_bytes: i64 [4+] = -1,
        /// Of the volume, -1 when unknown.
        usable_bytes: i64 [4+] = -1,
        /// The directory receives no new replicas.
        is_cordoned: bool [5+],
    }

    /// Replicas of one topic.
    struct DescribeLogDirsTopic {
        name: String [0+],
        partitions: Vec<DescribeLogDirsPartition> [0+],
    }

    /// A replica.
    struct DescribeLogDirsPartition {
        partition_index: i32 [0+],
        partition_size: i64 [0+],
        /// Behind the high watermark, or for a future replica behind the current one.
        offset_lag: i64 [0+],
        /// The replica is being moved to this directory.
        is_future_key: bool [0+],
    }
}

impl DescribeLogDirsRequest {
    /// The first version with an error of the whole response.
    pub const ERROR_SINCE: i16 = 3;
}
