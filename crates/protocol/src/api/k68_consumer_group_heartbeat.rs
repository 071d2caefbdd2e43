//! ConsumerGroupHeartbeat (key 68).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api CONSUMER_GROUP_HEARTBEAT, versions 0-1, flexible 0+;

    /// The request.
    request ConsumerGroupHeartbeatRequest -> ConsumerGroupHeartbeatResponse {
        group_id: String [0+],
        member_id: String [0+],
        member_epoch: i32 [0+],
        instance_id: Option<String> [0+] = None,
        rack_id: Option<String> [0+] = None,
        rebalance_timeout_ms: i32 [0+] = -1,
        subscribed_topic_names: Option<Vec<String>> [0+] = None,
        subscribed_topic_regex: Option<String> [1+, strict] = None,
        server_assignor: Option<String> [0+] = None,
        topic_partitions: Option<Vec<TopicPartitions>> [0+] = None,
    }

    /// Part of the request.
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
        assignment: Option<Assignment> [0+] = None,
    }

    /// Part of the response.
    struct Assignment {
        topic_partitions: Vec<TopicPartitions> [0+],
    }
}
