//! DescribeConsumerGroups: state and members of consumer groups, from their coordinators.
//!
//! A group of the consumer protocol (KIP-848) is described by ConsumerGroupDescribe, one of the classic protocol by
//! DescribeGroups. The first is asked where the broker has it; the groups that it does not know are described by the second.

use std::sync::Arc;

use ottla_protocol::api::consumer_group_describe::{self, ConsumerGroupDescribeRequest};
use ottla_protocol::api::describe_groups::{DescribeGroupsRequest, DescribedGroup, DescribedGroupMember};
use ottla_protocol::consumer_protocol::ConsumerProtocolAssignment;
use ottla_protocol::{ApiKey, DecodeError};

use super::acl_operation::{AclOperation, authorized_operations};
use super::group_result::{check_group_names, coordinator};
use crate::admin::node::Node;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::{Target, unsupported};
use crate::types::TopicPartition;

/// The highest version of DescribeGroups in which an unknown group has the state Dead instead of an error (KIP-1043).
const DESCRIBE_VERSION_MAX: i16 = 5;

/// The protocol type of consumer groups.
pub(super) const CONSUMER_PROTOCOL: &str = "consumer";

/// A group as its coordinator described it.
#[derive(Debug, Clone)]
pub struct GroupDescription {
    /// The group's id.
    pub group_id: String,
    /// The group's error; `None` on success. Then the other fields are empty.
    pub error: Option<Error>,
    /// It has no protocol: its offsets were committed without group membership, or it does not exist.
    pub is_simple: bool,
    /// The assignor that the group uses.
    pub partition_assignor: String,
    /// The state in the broker's words; `Dead` for a group that does not exist.
    pub state: String,
    /// The type: `Classic` or `Consumer`.
    pub group_type: &'static str,
    /// The coordinator.
    pub coordinator: Option<Node>,
    /// The operations on the group that the client may perform; `None` if they were not requested.
    pub authorized_operations: Option<Vec<AclOperation>>,
    /// The members.
    pub members: Vec<MemberDescription>,
}

/// A member of a group.
#[derive(Debug, Clone)]
pub struct MemberDescription {
    /// The `client.id` of the member.
    pub client_id: String,
    /// The `group.instance.id`, if the member is static (KIP-345).
    pub group_instance_id: Option<String>,
    /// The member's id.
    pub member_id: String,
    /// The member's host.
    pub host: String,
    /// The partitions that the member has.
    pub assignment: Vec<TopicPartition>,
    /// The partitions that the member is to have; `None` in groups of the classic protocol.
    pub target_assignment: Option<Vec<TopicPartition>>,
}

/// Describes groups, each with its error. The results are in the order of the call.
#[derive(Debug, Clone, Default)]
pub struct DescribeConsumerGroups {
    /// The groups, each once.
    pub groups: Vec<String>,
    /// Requests the operations on the groups that the client may perform (KIP-430, Kafka 2.3).
    pub include_authorized_operations: bool,
}

/// A group to describe, and by which of the two requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupQuery {
    /// By ConsumerGroupDescribe if the broker has it.
    Consumer(String),
    /// By DescribeGroups.
    Classic(String),
}

impl GroupQuery {
    fn group_id(&self) -> &String {
        let (GroupQuery::Consumer(id) | GroupQuery::Classic(id)) = self;
        id
    }
}

impl Operation for DescribeConsumerGroups {
    const NAME: &'static str = "DescribeConsumerGroups";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = GroupQuery;
    type Row = GroupDescription;
    type Output = Vec<GroupDescription>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_group_names(&self.groups, "describe")
    }

    fn keys(&self) -> Keys<GroupQuery> {
        Keys::Known(self.groups.iter().cloned().map(GroupQuery::Consumer).collect())
    }

    fn target(&self, key: &GroupQuery) -> Target {
        coordinator(key.group_id())
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn kind(&self, key: &GroupQuery) -> u8 {
        matches!(key, GroupQuery::Classic(_)).into()
    }

    fn send(&self, keys: &[GroupQuery], to: &mut To<'_, '_>) -> Result<(), Error> {
        let ids: Vec<String> = keys.iter().map(|key| key.group_id().clone()).collect();
        let is_first = matches!(keys.first(), Some(GroupQuery::Consumer(_)));
        if is_first && to.version::<ConsumerGroupDescribeRequest>().is_ok() {
            return to.send(&ConsumerGroupDescribeRequest {
                group_ids: ids,
                include_authorized_operations: self.include_authorized_operations,
                ..Default::default()
            });
        }
        let request = describe_groups_request(ids, self.include_authorized_operations, to)?;
        to.send_up_to(&request, DESCRIBE_VERSION_MAX)
    }

    fn read(&self, keys: &[GroupQuery], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        if answer.api() == ApiKey::CONSUMER_GROUP_DESCRIBE {
            let groups = answer.decode::<ConsumerGroupDescribeRequest>()?.groups.into_iter();
            let verdict = |group: consumer_group_describe::DescribedGroup| {
                let id = group.group_id.clone();
                (GroupQuery::Consumer(id), of_consumer_protocol(group, answer.broker()))
            };
            return Ok(groups.map(verdict).collect());
        }
        let is_first = matches!(keys.first(), Some(GroupQuery::Consumer(_)));
        let groups = answer.decode::<DescribeGroupsRequest>()?.groups.into_iter();
        let verdict = |group: DescribedGroup| {
            let id = group.group_id.clone();
            let key = if is_first {
                GroupQuery::Consumer(id)
            } else {
                GroupQuery::Classic(id)
            };
            (key, of_classic_protocol(group, answer.broker()))
        };
        Ok(groups.map(verdict).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<GroupDescription>, Error> {
        let description = |id: &String| {
            let classic = rows.get(&GroupQuery::Classic(id.clone())).cloned();
            let row = classic.unwrap_or_else(|| row_of(&rows, &GroupQuery::Consumer(id.clone())));
            row.unwrap_or_else(|error| GroupDescription {
                group_id: id.clone(),
                error: Some(error),
                is_simple: false,
                partition_assignor: String::new(),
                state: String::new(),
                group_type: "Unknown",
                coordinator: None,
                authorized_operations: None,
                members: Vec::new(),
            })
        };
        Ok(self.groups.iter().map(description).collect())
    }
}

/// Returns the request that describes groups of the classic protocol.
///
/// # Errors
/// `_UNSUPPORTED_FEATURE` if the broker cannot include the authorized operations.
pub(super) fn describe_groups_request(
    groups: Vec<String>,
    include_authorized_operations: bool,
    to: &To<'_, '_>,
) -> Result<DescribeGroupsRequest, Error> {
    let version = to.version::<DescribeGroupsRequest>()?;
    if include_authorized_operations && version < DescribeGroupsRequest::AUTHORIZED_OPERATIONS_SINCE {
        return Err(unsupported(
            "the broker has no authorized operations of groups (KIP-430): that requires Kafka 2.3",
        ));
    }
    Ok(DescribeGroupsRequest {
        groups,
        include_authorized_operations,
        ..Default::default()
    })
}

fn of_consumer_protocol(
    group: consumer_group_describe::DescribedGroup,
    coordinator: &Node,
) -> Verdict<GroupQuery, GroupDescription> {
    match error_of(group.error_code, group.error_message) {
        Some(error)
            if matches!(
                error.code,
                ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::UNSUPPORTED_VERSION
            ) =>
        {
            Verdict::Become(vec![GroupQuery::Classic(group.group_id)])
        }
        Some(error) => Verdict::Failed(error),
        None => Verdict::Done(GroupDescription {
            group_id: group.group_id,
            error: None,
            is_simple: false,
            partition_assignor: group.assignor_name,
            state: group.group_state,
            group_type: "Consumer",
            coordinator: Some(coordinator.clone()),
            authorized_operations: authorized_operations(group.authorized_operations),
            members: group.members.into_iter().map(consumer_member).collect(),
        }),
    }
}

fn consumer_member(member: consumer_group_describe::Member) -> MemberDescription {
    MemberDescription {
        client_id: member.client_id,
        group_instance_id: member.instance_id,
        member_id: member.member_id,
        host: member.client_host,
        assignment: assigned(member.assignment),
        target_assignment: Some(assigned(member.target_assignment)),
    }
}

fn assigned(assignment: consumer_group_describe::Assignment) -> Vec<TopicPartition> {
    let topics = assignment.topic_partitions.into_iter();
    partitions(topics.map(|topic| (topic.topic_name, topic.partitions)))
}

/// Returns the partitions of topics.
pub(super) fn partitions(topics: impl Iterator<Item = (String, Vec<i32>)>) -> Vec<TopicPartition> {
    let of_topic = |(name, partitions): (String, Vec<i32>)| {
        let name: Arc<str> = name.into();
        partitions
            .into_iter()
            .map(move |partition| TopicPartition::new(name.clone(), partition))
    };
    topics.flat_map(of_topic).collect()
}

fn of_classic_protocol(group: DescribedGroup, coordinator: &Node) -> Verdict<GroupQuery, GroupDescription> {
    if let Some(error) = error_of(group.error_code, group.error_message) {
        return Verdict::Failed(error);
    }
    if !group.protocol_type.is_empty() && group.protocol_type != CONSUMER_PROTOCOL {
        let text = format!(
            "GroupId {} is not a consumer group ({}).",
            group.group_id, group.protocol_type
        );
        return Verdict::Refused(Error::invalid_arg(text));
    }
    Verdict::Done(GroupDescription {
        group_id: group.group_id,
        error: None,
        is_simple: group.protocol_type.is_empty(),
        partition_assignor: group.protocol_data,
        state: group.group_state,
        group_type: "Classic",
        coordinator: Some(coordinator.clone()),
        authorized_operations: authorized_operations(group.authorized_operations),
        members: group.members.into_iter().map(classic_member).collect(),
    })
}

/// Returns a member. Its assignment was encoded by another client: a malformed one is empty.
pub(super) fn classic_member(member: DescribedGroupMember) -> MemberDescription {
    let assignment = ConsumerProtocolAssignment::from_bytes(member.member_assignment).unwrap_or_default();
    let topics = assignment.assigned_partitions.into_iter();
    MemberDescription {
        client_id: member.client_id,
        group_instance_id: member.group_instance_id,
        member_id: member.member_id,
        host: member.client_host,
        assignment: partitions(topics.map(|topic| (topic.topic, topic.partitions))),
        target_assignment: None,
    }
}
