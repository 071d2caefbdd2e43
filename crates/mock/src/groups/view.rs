//! What checkers see of groups.

use bytes::Bytes;

use super::consumer::encode_assignment;
use super::{ClassicGroup, ConsumerGroup, Membership};
use crate::cluster::{BrokerId, Cluster, ConnectionId};
use crate::dispatch::Context;

/// A group as its coordinator has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupView {
    /// The state under Kafka's name, as DescribeGroups gives it.
    pub state: &'static str,
    /// The generation, 0 before the first; in the consumer protocol (KIP-848) the group's epoch.
    pub generation: i32,
    /// Whether it speaks the consumer protocol.
    pub is_consumer: bool,
    /// The assignor in force; empty while there is none.
    pub assignor: String,
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
    /// The generation or, in the consumer protocol, the member's own epoch.
    pub epoch: i32,
    /// What it told its leader, in the group's assignor; empty in the consumer protocol.
    pub metadata: Bytes,
    /// What the leader gave it in this generation. In the consumer protocol what the coordinator gave it and has not
    /// heard that it gave up, written in the same way.
    pub assignment: Bytes,
}

/// An offset that was committed, as it would lie in `__consumer_offsets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRecord {
    /// The group.
    pub group: String,
    /// The member that committed; empty for a consumer outside of the group.
    pub member: String,
    /// Its generation or epoch, -1 outside of one.
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
    /// The producer in whose transaction it was committed. Such a commit is told when it takes effect.
    pub producer_id: Option<i64>,
}

/// A join of a group that the coordinator accepted: the member is in the group from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinRecord {
    /// The group.
    pub group: String,
    /// The member's id.
    pub member: String,
    /// The connection of the request. Its client may have closed it before the coordinator served the request.
    pub connection: ConnectionId,
}

impl Cluster {
    /// A group as it is now; `None` when nobody ever joined or committed.
    pub fn group_view(&self, group: &str) -> Option<GroupView> {
        let group = self.groups.get(group)?;
        let (is_consumer, assignor, members) = match &group.membership {
            Membership::Classic(classic) => (false, classic.protocol_name(), classic_members(classic)),
            Membership::Consumer(consumer) => (true, consumer.assignor_name(), self.consumer_members(consumer)),
        };
        Some(GroupView {
            state: group.state_name(),
            generation: group.generation(),
            is_consumer,
            assignor: assignor.to_owned(),
            members,
        })
    }

    fn consumer_members(&self, group: &ConsumerGroup) -> Vec<GroupMemberView> {
        let members = group.members().map(|m| GroupMemberView {
            id: m.id.clone(),
            instance_id: m.instance_id.clone(),
            client_id: m.client_id.clone(),
            epoch: m.epoch,
            metadata: Bytes::new(),
            assignment: encode_assignment(&self.topics, &m.held().copied().collect(), 0),
        });
        members.collect()
    }

    /// Records every accepted join from now on, for [`Cluster::take_joins`].
    pub fn log_joins(&mut self) {
        self.groups.join_log.get_or_insert_default();
    }

    /// Returns the joins since the last call, in order.
    pub fn take_joins(&mut self) -> Vec<JoinRecord> {
        self.groups.join_log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(in crate::groups) fn note_join(&mut self, context: &Context, group: &str, member: &str) {
        if let Some(log) = &mut self.groups.join_log {
            log.push(JoinRecord {
                group: group.to_owned(),
                member: member.to_owned(),
                connection: context.connection,
            });
        }
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

fn classic_members(group: &ClassicGroup) -> Vec<GroupMemberView> {
    let protocol = group.protocol_name();
    let members = group.members().map(|m| GroupMemberView {
        id: m.id.clone(),
        instance_id: m.instance_id.clone(),
        client_id: m.client_id.clone(),
        epoch: group.generation(),
        metadata: m.metadata(protocol),
        assignment: m.assignment.clone(),
    });
    members.collect()
}
