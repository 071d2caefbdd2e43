//! ConsumerGroupHeartbeat (key 68): joins, stays in and leaves a group of the consumer protocol, and reconciles its
//! assignment (KIP-848); goes to the group's coordinator.
//!
//! Fields that did not change since the last heartbeat may be null.
//!
//! - 1: subscription by a regular expression that the broker evaluates; the member makes its own id (KIP-1082)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api CONSUMER_GROUP_HEARTBEAT, versions 0-1, flexible 0+;

    /// The request.
    request ConsumerGroupHeartbeatRequest -> ConsumerGroupHeartbeatResponse {
        group_id: String [0+],
        member_id: String [0+],
        /// 0 joins, -1 leaves, -2 leaves for a while as static member.
        member_epoch: i32 [0+],
        instance_id: Option<String> [0+] = None,
        rack_id: Option<String> [0+] = None,
        /// -1 when unchanged.
        rebalance_timeout_ms: i32 [0+] = -1,
        subscribed_topic_names: Option<Vec<String>> [0+] = None,
        subscribed_topic_regex: Option<String> [1+, strict] = None,
        /// Null for the broker's choice.
        server_assignor: Option<String> [0+] = None,
        /// Partitions that the member owns now.
        topic_partitions: Option<Vec<TopicPartitions>> [0+] = None,
    }

    /// Partitions of one topic.
    struct TopicPartitions {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response ConsumerGroupHeartbeatResponse {
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
}

impl ConsumerGroupHeartbeatRequest {
    /// The first version with regular expressions and with member ids that the member generates (KIP-1082).
    pub const REGEX_SINCE: i16 = 1;
}
