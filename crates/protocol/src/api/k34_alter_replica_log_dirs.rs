//! AlterReplicaLogDirs (key 34).

use crate::schema::schema;

schema! {
    api ALTER_REPLICA_LOG_DIRS, versions 0-2, flexible 2+;

    /// The request.
    request AlterReplicaLogDirsRequest -> AlterReplicaLogDirsResponse {
        dirs: Vec<AlterReplicaLogDir> [0+],
    }

    /// Part of the request.
    struct AlterReplicaLogDir {
        path: String [0+],
        topics: Vec<AlterReplicaLogDirTopic> [0+],
    }

    /// Part of the request.
    struct AlterReplicaLogDirTopic {
        name: String [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response AlterReplicaLogDirsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<AlterReplicaLogDirTopicResult> [0+],
    }

    /// Part of the response.
    struct AlterReplicaLogDirTopicResult {
        topic_name: String [0+],
        partitions: Vec<AlterReplicaLogDirPartitionResult> [0+],
    }

    /// Part of the response.
    struct AlterReplicaLogDirPartitionResult {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
