//! Snapshots of groups, for checkers.

use bytes::Bytes;

use super::classic::ClassicGroup;
use super::consumer::{ConsumerGroup, encode_assignment};
use super::group::{Group, Membership};
use super::share::ShareGroup;
use crate::topics::Topics;

/// A group in its coordinator's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupView {
    /// The state under Kafka's name, as in DescribeGroups.
    pub state: &'static str,
    /// The generation, 0 before the first. In the consumer protocol (KIP-848) the group's epoch.
    pub generation: i32,
    /// The group speaks the consumer protocol.
    pub is_consumer: bool,
    /// The group is a share group (KIP-932).
    pub is_share: bool,
    /// The assignor in force; empty while there is none.
    pub assignor: String,
    /// The members, by ascending id.
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
    /// The generation. In the consumer protocol the member's epoch.
    pub epoch: i32,
    /// The member's subscription metadata for the group's assignor; empty in the consumer protocol.
    pub metadata: Bytes,
    /// The member's assignment in this generation. In the consumer protocol the assigned partitions and those whose
    /// revocation the member has not acknowledged, encoded in the same way.
    pub assignment: Bytes,
}

impl GroupView {
    pub(crate) fn new(group: &Group, topics: &Topics) -> Self {
        let (is_consumer, assignor, members) = match group.membership() {
            Membership::Classic(classic) => (false, classic.protocol_name(), classic_members(classic)),
            Membership::Consumer(consumer) => (true, consumer.assignor_name(), consumer_members(consumer, topics)),
            Membership::Share(share) => (false, share.assignor_name(), share_members(share, topics)),
        };
        Self {
            state: group.state_name(),
            generation: group.generation(),
            is_consumer,
            is_share: matches!(group.membership(), Membership::Share(_)),
            assignor: assignor.to_owned(),
            members,
        }
    }
}

fn consumer_members(group: &ConsumerGroup, topics: &Topics) -> Vec<GroupMemberView> {
    let members = group.members().map(|m| GroupMemberView {
        id: m.id.clone(),
        instance_id: m.instance_id.clone(),
        client_id: m.client_id.clone(),
        epoch: m.epoch,
        metadata: Bytes::new(),
        assignment: encode_assignment(topics, &m.held().copied().collect(), 0),
    });
    members.collect()
}

fn share_members(group: &ShareGroup, topics: &Topics) -> Vec<GroupMemberView> {
    let members = group.members().map(|m| GroupMemberView {
        id: m.id.clone(),
        instance_id: None,
        client_id: m.client_id.clone(),
        epoch: m.epoch,
        metadata: Bytes::new(),
        assignment: encode_assignment(topics, &m.assigned, 0),
    });
    members.collect()
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
