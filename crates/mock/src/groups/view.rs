//! What checkers see of groups.

use bytes::Bytes;

use crate::cluster::{BrokerId, Cluster, ConnectionId};

/// A group as its coordinator has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupView {
    /// The state under Kafka's name, as DescribeGroups gives it.
    pub state: &'static str,
    /// The generation; 0 before the first.
    pub generation: i32,
    /// The members, sorted by id.
    pub members: Vec<GroupMemberView>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMemberView {
    /// The member id.
    pub id: String,
    /// `group.instance.id` of a static member.
    pub instance_id: Option<String>,
    /// `client.id`.
    pub client_id: String,
    /// What it told its leader, in the group's assignor.
    pub metadata: Bytes,
    /// What the leader gave it in this generation.
    pub assignment: Bytes,
}

/// An offset that was committed, as it would lie in `__consumer_offsets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRecord {
    /// The group.
    pub group: String,
    /// The member that committed; empty for a consumer outside of the group.
    pub member: String,
    /// Its generation, -1 outside of one.
    pub generation: i32,
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// What was committed before.
    pub before: Option<i64>,
    /// The broker that took it.
    pub broker: BrokerId,
    /// The connection on which it came.
    pub connection: ConnectionId,
}

impl Cluster {
    /// A group as it is now; `None` when nobody ever joined or committed.
    pub fn group_view(&self, group: &str) -> Option<GroupView> {
        let classic = &self.groups.get(group)?.classic;
        let protocol = classic.protocol_name();
        let members = classic.members().map(|m| GroupMemberView {
            id: m.id.clone(),
            instance_id: m.instance_id.clone(),
            client_id: m.client_id.clone(),
            metadata: m.metadata(protocol),
            assignment: m.assignment.clone(),
        });
        Some(GroupView {
            state: classic.state().name(),
            generation: classic.generation(),
            members: members.collect(),
        })
    }

    /// Writes every commit down from now on, to be taken with [`Cluster::take_commits`].
    pub fn log_commits(&mut self) {
        self.groups.commit_log.get_or_insert_default();
    }

    /// The commits since the last call, in order.
    pub fn take_commits(&mut self) -> Vec<CommitRecord> {
        self.groups.commit_log.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
