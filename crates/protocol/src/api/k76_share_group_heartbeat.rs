//! ShareGroupHeartbeat (key 76): joins, stays in and leaves a share group (KIP-932); goes to the group's coordinator.
//!
//! Fields that did not change since the last heartbeat may be null.
//!
//! - 0: early access in Kafka 3.9 and 4.0; gone since

use crate::Uuid;
use crate::schema::schema;

schema! {
    api SHARE_GROUP_HEARTBEAT, versions 0-1, flexible 0+;

    /// The request.
    request ShareGroupHeartbeatRequest -> ShareGroupHeartbeatResponse {
        group_id: String [0+],
        member_id: String [0+],
        /// 0 joins, -1 leaves.
        member_epoch: i32 [0+],
        rack_id: Option<String> [0+] = None,
        subscribed_topic_names: Option<Vec<String>> [0+] = None,
    }

    /// The response.
    response ShareGroupHeartbeatResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        member_id: Option<String> [0+] = None,
        member_epoch: i32 [0+],
        heartbeat_interval_ms: i32 [0+],
        /// Null when unchanged.
        assignment: Option<Assignment> [0+] = None,
    }

    /// A member's partitions.
    struct Assignment {
        topic_partitions: Vec<TopicPartitions> [0+],
    }

    /// Partitions of one topic.
    struct TopicPartitions {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }
}
