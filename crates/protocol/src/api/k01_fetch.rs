//! Fetch (key 1): reads record data from partitions; goes to each partition's leader, or a follower near the consumer.
//!
//! - 1: throttle time
//! - 2: messages may be of magic 1 (KIP-32)
//! - 3: a size limit for the whole response (KIP-74)
//! - 4: record batches of magic 2, isolation level, aborted transactions (KIP-98); Kafka 4.x serves only 4 and later
//! - 5: log start offset (KIP-107)
//! - 6: the broker may answer KAFKA_STORAGE_ERROR (KIP-112)
//! - 7: fetch sessions: only what changed is sent (KIP-227)
//! - 8: a throttled response comes at once, and the client waits (KIP-219)
//! - 9: the client's leader epoch, by which stale leaders and clients are found out (KIP-320)
//! - 10: zstd (KIP-110)
//! - 11: fetching from a follower in the client's rack (KIP-392)
//! - 12: flexible (KIP-482); truncation found by epoch (KIP-595)
//! - 13: topic ids instead of names (KIP-516)
//! - 14: the broker may answer OFFSET_MOVED_TO_TIERED_STORAGE (KIP-405)
//! - 15: `replica_state` instead of `replica_id` (KIP-903)
//! - 16: the response has the addresses of new leaders (KIP-951)
//! - 17, 18: for replicas only: directory id (KIP-853), high watermark (KIP-1166)

use crate::schema::schema;
use crate::{Records, Uuid};

schema! {
    api FETCH, versions 0-18, flexible 12+;

    /// The request.
    request FetchRequest -> FetchResponse {
        /// A consumer sends -1, a follower its broker id.
        replica_id: i32 [0-14, strict] = -1,
        /// Maximum time that the broker waits for `min_bytes`, in milliseconds.
        max_wait_ms: i32 [0+],
        /// With fewer bytes the broker waits, `max_wait_ms` at most.
        min_bytes: i32 [0+],
        /// Limit of the whole response; the first batch is sent even if it is larger.
        max_bytes: i32 [3+] = i32::MAX,
        /// 0: read uncommitted; 1: read committed.
        isolation_level: i8 [4+],
        /// 0 to begin a session.
        session_id: i32 [7+],
        /// 0 begins a session, -1 ends it or does without, else one more than last time.
        session_epoch: i32 [7+] = -1,
        /// In a session only what changed since the last request.
        topics: Vec<FetchTopic> [0+],
        /// Partitions to drop from the session.
        forgotten_topics_data: Vec<ForgottenTopic> [7+, strict],
        /// `client.rack` of the consumer, empty for none.
        rack_id: String [11+],
        cluster_id: Option<String> [12+, tag 0] = None,
        replica_state: ReplicaState [15+, tag 1],
    }

    /// A topic to fetch from.
    struct FetchTopic {
        topic_id: Uuid [13+],
        topic: String [0-12],
        partitions: Vec<FetchPartition> [0+],
    }

    /// A partition to fetch from.
    struct FetchPartition {
        partition: i32 [0+],
        /// The leader epoch known to the client, -1 for none; the broker checks it.
        current_leader_epoch: i32 [9+] = -1,
        fetch_offset: i64 [0+],
        /// Leader epoch of the last record fetched, -1 for none.
        last_fetched_epoch: i32 [12+, strict] = -1,
        /// A follower's first offset; consumers send -1.
        log_start_offset: i64 [5+] = -1,
        /// Limit of this partition; the first batch is sent even if it is larger.
        partition_max_bytes: i32 [0+],
        replica_directory_id: Uuid [17+, tag 0],
        /// A follower's high watermark; consumers leave it.
        high_watermark: i64 [18+, tag 1] = i64::MAX,
    }

    /// Partitions to drop from the session.
    struct ForgottenTopic {
        topic_id: Uuid [13+],
        topic: String [7-12],
        partitions: Vec<i32> [7+],
    }

    /// The fetching replica; consumers leave it as it is.
    struct ReplicaState {
        replica_id: i32 [15+] = -1,
        replica_epoch: i64 [15+] = -1,
    }

    /// The response.
    response FetchResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [7+],
        /// 0 when there is no session.
        session_id: i32 [7+, strict],
        responses: Vec<FetchableTopicResponse> [0+],
        node_endpoints: Vec<NodeEndpoint> [16+, tag 0],
    }

    /// The fetched data of one topic.
    struct FetchableTopicResponse {
        topic_id: Uuid [13+],
        topic: String [0-12],
        partitions: Vec<PartitionData> [0+],
    }

    /// The fetched data of one partition.
    struct PartitionData {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        /// The offset after the last record that all in-sync replicas have.
        high_watermark: i64 [0+],
        /// Before it all transactions are decided.
        last_stable_offset: i64 [4+] = -1,
        /// The log's first offset, -1 where unknown.
        log_start_offset: i64 [5+] = -1,
        /// For read committed only; null otherwise.
        aborted_transactions: Option<Vec<AbortedTransaction>> [4+],
        /// The broker to fetch from instead, -1 for none; `records` is then empty.
        preferred_read_replica: i32 [11+, strict] = -1,
        records: Option<Records> [0+] = None,
        /// Set when `last_fetched_epoch` and `fetch_offset` do not agree with the log.
        diverging_epoch: EpochEndOffset [12+, tag 0],
        /// Set with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH.
        current_leader: LeaderIdAndEpoch [12+, tag 1],
        snapshot_id: SnapshotId [12+, tag 2],
    }

    /// An aborted transaction whose records are among those fetched.
    struct AbortedTransaction {
        producer_id: i64 [4+],
        /// Offset of its first record in this partition.
        first_offset: i64 [4+],
    }

    /// Where the log parts from what the client has; -1 where it does not.
    struct EpochEndOffset {
        epoch: i32 [12+] = -1,
        end_offset: i64 [12+] = -1,
    }

    /// The leader known to the broker; -1 for none.
    struct LeaderIdAndEpoch {
        leader_id: i32 [12+] = -1,
        leader_epoch: i32 [12+] = -1,
    }

    /// The snapshot to fetch instead; for the metadata log only.
    struct SnapshotId {
        end_offset: i64 [12+] = -1,
        epoch: i32 [12+] = -1,
    }

    /// Address of a broker that the response names as leader.
    struct NodeEndpoint {
        node_id: i32 [16+],
        host: String [16+],
        port: i32 [16+],
        rack: Option<String> [16+] = None,
    }
}

impl FetchRequest {
    /// The first version that limits the response as a whole, except for a first batch that is larger (KIP-74).
    pub const MAX_BYTES_SINCE: i16 = 3;

    /// The first version with fetch sessions (KIP-227).
    pub const SESSIONS_SINCE: i16 = 7;

    /// The first version in which brokers detect truncated logs (KIP-595).
    pub const DIVERGENCE_SINCE: i16 = 12;

    /// The first version that names topics by id (KIP-516).
    pub const TOPIC_IDS_SINCE: i16 = 13;

    /// The last version that consumers use: later ones concern replication (KIP-1166).
    pub const CONSUMERS_UNTIL: i16 = 17;
}
