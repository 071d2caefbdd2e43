//! ConsumerGroupDescribe (key 69): state and members of groups of the consumer protocol (KIP-848); goes to the groups'
//! coordinator.
//!
//! - 1: which protocol a member speaks

use crate::Uuid;
use crate::schema::schema;

schema! {
    api CONSUMER_GROUP_DESCRIBE, versions 0-1, flexible 0+;

    /// The request.
    request ConsumerGroupDescribeRequest -> ConsumerGroupDescribeResponse {
        group_ids: Vec<String> [0+],
        include_authorized_operations: bool [0+],
    }

    /// The response.
    response ConsumerGroupDescribeResponse {
        throttle_time_ms: i32 [0+],
        groups: Vec<DescribedGroup> [0+],
    }

    /// A group.
    struct DescribedGroup {
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        group_id: String [0+],
        group_state: String [0+],
        group_epoch: i32 [0+],
        assignment_epoch: i32 [0+],
        assignor_name: String [0+],
        members: Vec<Member> [0+],
        /// Bit set of operations; `i32::MIN` when not requested.
        authorized_operations: i32 [0+] = i32::MIN,
    }

    /// A member of the group.
    struct Member {
        member_id: String [0+],
        instance_id: Option<String> [0+] = None,
        rack_id: Option<String> [0+] = None,
        member_epoch: i32 [0+],
        client_id: String [0+],
        client_host: String [0+],
        subscribed_topic_names: Vec<String> [0+],
        subscribed_topic_regex: Option<String> [0+] = None,
        assignment: Assignment [0+],
        /// Where the group is heading.
        target_assignment: Assignment [0+],
        /// 0 classic protocol, 1 consumer protocol, -1 unknown.
        member_type: i8 [1+] = -1,
    }

    /// A member's partitions.
    struct Assignment {
        topic_partitions: Vec<TopicPartitions> [0+],
    }

    /// Partitions of one topic.
    struct TopicPartitions {
        topic_id: Uuid [0+],
        topic_name: String [0+],
        partitions: Vec<i32> [0+],
    }
}
