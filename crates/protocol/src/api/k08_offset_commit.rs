//! OffsetCommit (key 8): stores a group's offsets; goes to the group's coordinator.
//!
//! - 0: offsets in ZooKeeper
//! - 1: offsets in Kafka, by member and generation; a timestamp for each
//! - 2: one retention time instead of the timestamps
//! - 3: throttle time
//! - 4: a throttled response comes at once, and the client waits (KIP-219)
//! - 5: no retention time any more (KIP-211)
//! - 6: leader epoch of the last consumed record (KIP-320)
//! - 7: static members (KIP-345)
//! - 8: flexible (KIP-482)
//! - 9: member epochs of the consumer group protocol (KIP-848)
//! - 10: topic ids instead of names (KIP-848)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api OFFSET_COMMIT, versions 0-10, flexible 8+;

    /// The request.
    request OffsetCommitRequest -> OffsetCommitResponse {
        group_id: String [0+],
        /// Of the classic or of the consumer protocol; -1 without membership.
        generation_id_or_member_epoch: i32 [1+] = -1,
        /// Empty without membership.
        member_id: String [1+],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [7+, strict] = None,
        /// -1 for the broker's own.
        retention_time_ms: i64 [2-4] = -1,
        topics: Vec<OffsetCommitRequestTopic> [0+],
    }

    /// Offsets of one topic.
    struct OffsetCommitRequestTopic {
        topic_id: Uuid [10+],
        name: String [0-9],
        partitions: Vec<OffsetCommitRequestPartition> [0+],
    }

    /// The offset of one partition.
    struct OffsetCommitRequestPartition {
        partition_index: i32 [0+],
        committed_offset: i64 [0+],
        /// Leader epoch of the last consumed record, -1 for none.
        committed_leader_epoch: i32 [6+] = -1,
        /// Milliseconds since 1970, -1 for now.
        commit_timestamp: i64 [1] = -1,
        committed_metadata: Option<String> [0+],
    }

    /// The response.
    response OffsetCommitResponse {
        throttle_time_ms: i32 [3+],
        topics: Vec<OffsetCommitResponseTopic> [0+],
    }

    /// The outcome for one topic.
    struct OffsetCommitResponseTopic {
        topic_id: Uuid [10+],
        name: String [0-9],
        partitions: Vec<OffsetCommitResponsePartition> [0+],
    }

    /// The outcome for one partition.
    struct OffsetCommitResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}

impl OffsetCommitRequest {
    /// The first version with `group.instance.id` (KIP-345).
    pub const STATIC_MEMBERS_SINCE: i16 = 7;

    /// The last version that names topics by name: later ones use topic ids (KIP-848).
    pub const TOPIC_NAMES_UNTIL: i16 = 9;
}
