//! OffsetFetch (key 9): a group's committed offsets; goes to the group's coordinator.
//!
//! - 0: offsets in ZooKeeper
//! - 1: offsets in Kafka
//! - 2: null requests all topics; an error of the whole response
//! - 3: throttle time
//! - 4: a throttled response comes at once, and the client waits (KIP-219)
//! - 5: leader epoch (KIP-320)
//! - 6: flexible (KIP-482)
//! - 7: can require stable offsets, for open transactions (KIP-447)
//! - 8: several groups (KIP-709)
//! - 9: member epochs of the consumer group protocol (KIP-848)
//! - 10: topic ids instead of names (KIP-848)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api OFFSET_FETCH, versions 0-10, flexible 6+;

    /// The request.
    request OffsetFetchRequest -> OffsetFetchResponse {
        groups: Vec<OffsetFetchRequestGroup> [8+, strict],
        group_id: String [0-7, strict],
        /// Null requests all topics.
        topics: Option<Vec<OffsetFetchRequestTopic>> [0-7, null 2-7, strict],
        /// Requests UNSTABLE_OFFSET_COMMIT while a transaction can still change the offset.
        require_stable: bool [7+, strict],
    }

    /// A requested group.
    struct OffsetFetchRequestGroup {
        group_id: String [8+],
        member_id: Option<String> [9+] = None,
        member_epoch: i32 [9+] = -1,
        /// Null requests all topics.
        topics: Option<Vec<OffsetFetchRequestTopics>> [8+],
    }

    /// A requested topic, from version 8 on.
    struct OffsetFetchRequestTopics {
        topic_id: Uuid [10+],
        name: String [8-9],
        partition_indexes: Vec<i32> [8+],
    }

    /// A requested topic, before version 8.
    struct OffsetFetchRequestTopic {
        name: String [0-7],
        partition_indexes: Vec<i32> [0-7],
    }

    /// The response.
    response OffsetFetchResponse {
        throttle_time_ms: i32 [3+],
        groups: Vec<OffsetFetchResponseGroup> [8+, strict],
        topics: Vec<OffsetFetchResponseTopic> [0-7, strict],
        error_code: i16 [2-7],
    }

    /// The offsets of one group.
    struct OffsetFetchResponseGroup {
        group_id: String [8+],
        topics: Vec<OffsetFetchResponseTopics> [8+],
        error_code: i16 [8+],
    }

    /// The offsets of one topic, from version 8 on.
    struct OffsetFetchResponseTopics {
        topic_id: Uuid [10+],
        name: String [8-9],
        partitions: Vec<OffsetFetchResponsePartitions> [8+],
    }

    /// The offset of one partition, from version 8 on.
    struct OffsetFetchResponsePartitions {
        partition_index: i32 [8+],
        /// -1 when there is none.
        committed_offset: i64 [8+],
        /// Leader epoch of the last consumed record, -1 for none.
        committed_leader_epoch: i32 [8+] = -1,
        metadata: Option<String> [8+],
        error_code: i16 [8+],
    }

    /// The offsets of one topic, before version 8.
    struct OffsetFetchResponseTopic {
        name: String [0-7],
        partitions: Vec<OffsetFetchResponsePartition> [0-7],
    }

    /// The offset of one partition, before version 8.
    struct OffsetFetchResponsePartition {
        partition_index: i32 [0-7],
        /// -1 when there is none.
        committed_offset: i64 [0-7],
        /// Leader epoch of the last consumed record, -1 for none.
        committed_leader_epoch: i32 [5-7] = -1,
        metadata: Option<String> [0-7],
        error_code: i16 [0-7],
    }
}

impl OffsetFetchRequest {
    /// The first version that can wait for open transactions (KIP-447).
    pub const STABLE_OFFSETS_SINCE: i16 = 7;

    /// The first version that returns all partitions of a group (KIP-88).
    pub const ALL_PARTITIONS_SINCE: i16 = 2;

    /// The first version with a list of groups (KIP-709).
    pub const GROUP_LIST_SINCE: i16 = 8;

    /// The first version with the member and its epoch (KIP-848).
    pub const MEMBER_SINCE: i16 = 9;

    /// The last version that names topics by name: later ones use topic ids (KIP-848).
    pub const TOPIC_NAMES_UNTIL: i16 = 9;
}
