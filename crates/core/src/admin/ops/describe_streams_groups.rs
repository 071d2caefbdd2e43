//! DescribeStreamsGroups: groups of Kafka Streams applications with topology and members (KIP-1071).

use ottla_protocol::DecodeError;
use ottla_protocol::api::streams_group_describe::{
    self, Assignment, DescribedGroup, KeyValue, Member, StreamsGroupDescribeRequest, TaskIds, TopicInfo,
};

use super::acl_operation::{AclOperation, authorized_operations};
use super::group_descriptions::{DescribeGroups, DescribedBy};
use crate::admin::node::Node;
use crate::admin::operation::{Answer, To, Verdict, error_of};
use crate::error::Error;

/// A streams group as its coordinator described it.
#[derive(Debug, Clone)]
pub struct StreamsGroupDescription {
    /// The state in the broker's words.
    pub state: String,
    /// The group's epoch.
    pub group_epoch: i32,
    /// The epoch of the target assignment.
    pub assignment_epoch: i32,
    /// The epoch of the topology; `None` until a member has sent one.
    pub topology_epoch: Option<i32>,
    /// The parts of the topology; `None` until it is initialized.
    pub subtopologies: Option<Vec<Subtopology>>,
    /// The coordinator.
    pub coordinator: Node,
    /// The operations on the group that the client may perform; `None` if they were not requested.
    pub authorized_operations: Option<Vec<AclOperation>>,
    /// The members.
    pub members: Vec<StreamsMember>,
}

/// A part of a topology whose tasks are assigned independently of the other parts.
#[derive(Debug, Clone)]
pub struct Subtopology {
    /// The id of the subtopology.
    pub id: String,
    /// The topics that it reads.
    pub source_topics: Vec<String>,
    /// The repartition topics that it writes to.
    pub repartition_sink_topics: Vec<String>,
    /// The changelogs of its state stores.
    pub state_changelog_topics: Vec<SubtopologyTopic>,
    /// The repartition topics that it reads.
    pub repartition_source_topics: Vec<SubtopologyTopic>,
}

/// A topic that the application creates.
#[derive(Debug, Clone)]
pub struct SubtopologyTopic {
    /// The topic's name.
    pub name: String,
    /// The number of partitions; 0 if it is not given, and for changelogs.
    pub partitions: i32,
    /// The replication factor; 0 for the broker's default.
    pub replication_factor: i16,
    /// The topic's settings: names and values.
    pub configs: Vec<(String, String)>,
}

/// A member of a streams group.
#[derive(Debug, Clone)]
pub struct StreamsMember {
    /// The member's id.
    pub member_id: String,
    /// The member's epoch.
    pub member_epoch: i32,
    /// The `group.instance.id`, if the member is static.
    pub group_instance_id: Option<String>,
    /// The rack of the member, if it has one.
    pub rack_id: Option<String>,
    /// The `client.id` of the member.
    pub client_id: String,
    /// The member's host.
    pub host: String,
    /// The epoch of the topology that the member runs.
    pub topology_epoch: i32,
    /// The id of the process, which may have several members.
    pub process_id: String,
    /// Host and port at which the application answers queries (`application.server`), if it does.
    pub endpoint: Option<(String, u16)>,
    /// The tags of the client for rack-aware assignments: names and values.
    pub client_tags: Vec<(String, String)>,
    /// The sums of the offsets of tasks.
    pub task_offsets: Vec<TaskOffset>,
    /// The sums of the end offsets of tasks.
    pub task_end_offsets: Vec<TaskOffset>,
    /// The tasks that the member has.
    pub assignment: StreamsTasks,
    /// The tasks that the member is to have.
    pub target_assignment: StreamsTasks,
    /// The member speaks the classic protocol.
    pub is_classic: bool,
}

/// The sum of the offsets of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOffset {
    /// The subtopology.
    pub subtopology: String,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
}

/// The tasks of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamsTasks {
    /// Those that process records.
    pub active: Vec<Tasks>,
    /// Those that keep copies of state stores.
    pub standby: Vec<Tasks>,
    /// Those that prepare state stores to become active.
    pub warmup: Vec<Tasks>,
}

/// Tasks of one subtopology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tasks {
    /// The subtopology.
    pub subtopology: String,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

/// Describes streams groups. Requires Kafka 4.1. A group that does not exist, or has another type, has the error
/// GROUP_ID_NOT_FOUND.
pub type DescribeStreamsGroups = DescribeGroups<StreamsGroupDescription>;

impl DescribedBy for StreamsGroupDescription {
    const OPERATION: &'static str = "DescribeStreamsGroups";

    fn send(groups: &[String], operations: bool, to: &mut To<'_, '_>) -> Result<(), Error> {
        to.send(&StreamsGroupDescribeRequest {
            group_ids: groups.to_vec(),
            include_authorized_operations: operations,
            ..Default::default()
        })
    }

    fn read(answer: &Answer<'_>) -> Result<Vec<(String, Verdict<String, Self>)>, DecodeError> {
        let groups = answer.decode::<StreamsGroupDescribeRequest>()?.groups.into_iter();
        Ok(groups.map(|group| described(group, answer.broker())).collect())
    }
}

fn described(group: DescribedGroup, coordinator: &Node) -> (String, Verdict<String, StreamsGroupDescription>) {
    if let Some(error) = error_of(group.error_code, group.error_message) {
        return (group.group_id, Verdict::Failed(error));
    }
    let (topology_epoch, subtopologies) = match group.topology {
        Some(topology) => (Some(topology.epoch), topology.subtopologies),
        None => (None, None),
    };
    let description = StreamsGroupDescription {
        state: group.group_state,
        group_epoch: group.group_epoch,
        assignment_epoch: group.assignment_epoch,
        topology_epoch,
        subtopologies: subtopologies.map(|all| all.into_iter().map(subtopology).collect()),
        coordinator: coordinator.clone(),
        authorized_operations: authorized_operations(group.authorized_operations),
        members: group.members.into_iter().map(member).collect(),
    };
    (group.group_id, Verdict::Done(description))
}

fn subtopology(part: streams_group_describe::Subtopology) -> Subtopology {
    Subtopology {
        id: part.subtopology_id,
        source_topics: part.source_topics,
        repartition_sink_topics: part.repartition_sink_topics,
        state_changelog_topics: part.state_changelog_topics.into_iter().map(topic).collect(),
        repartition_source_topics: part.repartition_source_topics.into_iter().map(topic).collect(),
    }
}

fn topic(topic: TopicInfo) -> SubtopologyTopic {
    SubtopologyTopic {
        name: topic.name,
        partitions: topic.partitions,
        replication_factor: topic.replication_factor,
        configs: pairs(topic.topic_configs),
    }
}

fn pairs(values: Vec<KeyValue>) -> Vec<(String, String)> {
    values.into_iter().map(|pair| (pair.key, pair.value)).collect()
}

fn member(member: Member) -> StreamsMember {
    StreamsMember {
        member_id: member.member_id,
        member_epoch: member.member_epoch,
        group_instance_id: member.instance_id,
        rack_id: member.rack_id,
        client_id: member.client_id,
        host: member.client_host,
        topology_epoch: member.topology_epoch,
        process_id: member.process_id,
        endpoint: member.user_endpoint.map(|endpoint| (endpoint.host, endpoint.port)),
        client_tags: pairs(member.client_tags),
        task_offsets: task_offsets(member.task_offsets),
        task_end_offsets: task_offsets(member.task_end_offsets),
        assignment: tasks(member.assignment),
        target_assignment: tasks(member.target_assignment),
        is_classic: member.is_classic,
    }
}

fn task_offsets(offsets: Vec<streams_group_describe::TaskOffset>) -> Vec<TaskOffset> {
    let offset = |row: streams_group_describe::TaskOffset| TaskOffset {
        subtopology: row.subtopology_id,
        partition: row.partition,
        offset: row.offset,
    };
    offsets.into_iter().map(offset).collect()
}

fn tasks(assignment: Assignment) -> StreamsTasks {
    let rows = |rows: Vec<TaskIds>| {
        let row = |row: TaskIds| Tasks {
            subtopology: row.subtopology_id,
            partitions: row.partitions,
        };
        rows.into_iter().map(row).collect()
    };
    StreamsTasks {
        active: rows(assignment.active_tasks),
        standby: rows(assignment.standby_tasks),
        warmup: rows(assignment.warmup_tasks),
    }
}

#[cfg(test)]
mod tests;
