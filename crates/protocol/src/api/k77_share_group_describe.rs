//! ShareGroupDescribe (key 77): state and members of share groups (KIP-932); goes to the groups' coordinator.
//!
//! - 0: early access in Kafka 3.9 and 4.0; gone since

use crate::Uuid;
use crate::schema::schema;

schema! {
    api SHARE_GROUP_DESCRIBE, versions 0-1, flexible 0+;

    /// The request.
    request ShareGroupDescribeRequest -> ShareGroupDescribeResponse {
        group_ids: Vec<String> [0+],
        include_authorized_operations: bool [0+],
    }

    /// The response.
    response ShareGroupDescribeResponse {
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
        rack_id: Option<String> [0+] = None,
        member_epoch: i32 [0+],
        client_id: String [0+],
        client_host: String [0+],
        subscribed_topic_names: Vec<String> [0+],
        assignment: Assignment [0+],
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
