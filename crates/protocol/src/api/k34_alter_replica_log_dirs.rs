//! AlterReplicaLogDirs (key 34): moves replicas between a broker's directories (KIP-113); goes to that broker.
//!
//! - 0: gone in Kafka 4.x
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api ALTER_REPLICA_LOG_DIRS, versions 0-2, flexible 2+;

    /// The request.
    request AlterReplicaLogDirsRequest -> AlterReplicaLogDirsResponse {
        dirs: Vec<AlterReplicaLogDir> [0+],
    }

    /// A directory to move replicas to.
    struct AlterReplicaLogDir {
        path: String [0+],
        topics: Vec<AlterReplicaLogDirTopic> [0+],
    }

    /// Partitions of one topic to move.
    struct AlterReplicaLogDirTopic {
        name: String [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response AlterReplicaLogDirsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<AlterReplicaLogDirTopicResult> [0+],
    }

    /// The outcome for one topic.
    struct AlterReplicaLogDirTopicResult {
        topic_name: String [0+],
        partitions: Vec<AlterReplicaLogDirPartitionResult> [0+],
    }

    /// The outcome for one partition.
    struct AlterReplicaLogDirPartitionResult {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
