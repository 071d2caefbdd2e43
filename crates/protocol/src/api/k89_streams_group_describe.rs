//! StreamsGroupDescribe (key 89): state, topology and members of streams groups (KIP-1071); goes to the groups'
//! coordinator.

use crate::schema::schema;

schema! {
    api STREAMS_GROUP_DESCRIBE, versions 0-0, flexible 0+;

    /// The request.
    request StreamsGroupDescribeRequest -> StreamsGroupDescribeResponse {
        group_ids: Vec<String> [0+],
        include_authorized_operations: bool [0+],
    }

    /// The response.
    response StreamsGroupDescribeResponse {
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
        /// Null until the first member has sent one.
        topology: Option<Topology> [0+] = None,
        members: Vec<Member> [0+],
        /// Bit set of operations; `i32::MIN` when not requested.
        authorized_operations: i32 [0+] = i32::MIN,
    }

    /// The topology of the application.
    struct Topology {
        epoch: i32 [0+],
        /// Null when the topology is not initialized.
        subtopologies: Option<Vec<Subtopology>> [0+] = None,
    }

    /// A part of a topology whose tasks are assigned independently of other parts.
    struct Subtopology {
        subtopology_id: String [0+],
        source_topics: Vec<String> [0+],
        repartition_sink_topics: Vec<String> [0+],
        state_changelog_topics: Vec<TopicInfo> [0+],
        repartition_source_topics: Vec<TopicInfo> [0+],
    }

    /// A topic that the application creates.
    struct TopicInfo {
        name: String [0+],
        /// 0 when the number is not given; always 0 for changelogs.
        partitions: i32 [0+],
        /// 0 for the broker's default.
        replication_factor: i16 [0+],
        topic_configs: Vec<KeyValue> [0+],
    }

    /// A name with its value.
    struct KeyValue {
        key: String [0+],
        value: String [0+],
    }

    /// A member of the group.
    struct Member {
        member_id: String [0+],
        member_epoch: i32 [0+],
        instance_id: Option<String> [0+] = None,
        rack_id: Option<String> [0+] = None,
        client_id: String [0+],
        client_host: String [0+],
        topology_epoch: i32 [0+],
        /// Identifies the process, which may have several members.
        process_id: String [0+],
        /// Where the application answers queries (`application.server`).
        user_endpoint: Option<Endpoint> [0+] = None,
        client_tags: Vec<KeyValue> [0+],
        task_offsets: Vec<TaskOffset> [0+],
        task_end_offsets: Vec<TaskOffset> [0+],
        assignment: Assignment [0+],
        /// Where the group is heading.
        target_assignment: Assignment [0+],
        /// The member speaks the classic protocol.
        is_classic: bool [0+],
    }

    /// An address.
    struct Endpoint {
        host: String [0+],
        port: u16 [0+],
    }

    /// The sum of a task's offsets.
    struct TaskOffset {
        subtopology_id: String [0+],
        partition: i32 [0+],
        offset: i64 [0+],
    }

    /// A member's tasks.
    struct Assignment {
        active_tasks: Vec<TaskIds> [0+],
        standby_tasks: Vec<TaskIds> [0+],
        warmup_tasks: Vec<TaskIds> [0+],
    }

    /// Tasks of one subtopology.
    struct TaskIds {
        subtopology_id: String [0+],
        partitions: Vec<i32> [0+],
    }
}
