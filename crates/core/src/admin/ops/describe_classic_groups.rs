//! DescribeClassicGroups: groups of the classic protocol, of consumers and of other clients (KIP-1043).

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_groups::{self, DescribeGroupsRequest};

use super::acl_operation::{AclOperation, authorized_operations};
use super::describe_consumer_groups::{CONSUMER_PROTOCOL, MemberDescription, classic_member, describe_groups_request};
use super::group_descriptions::{DescribeGroups, DescribedBy};
use crate::admin::node::Node;
use crate::admin::operation::{Answer, To, Verdict, error_of};
use crate::error::{Error, ErrorCode};

/// A group of the classic protocol as its coordinator described it.
#[derive(Debug, Clone)]
pub struct ClassicGroupDescription {
    /// The type of the group's protocol: `consumer` for consumers, such as `connect` for others; empty for a group that
    /// has only committed offsets.
    pub protocol_type: String,
    /// The protocol that the members have chosen: for consumers the assignor.
    pub protocol_data: String,
    /// The state in the broker's words.
    pub state: String,
    /// The coordinator.
    pub coordinator: Node,
    /// The operations on the group that the client may perform; `None` if they were not requested.
    pub authorized_operations: Option<Vec<AclOperation>>,
    /// The members. Only those of consumers have an assignment here.
    pub members: Vec<MemberDescription>,
}

/// Describes groups of the classic protocol. A group that does not exist, or has another type, has the error
/// GROUP_ID_NOT_FOUND.
pub type DescribeClassicGroups = DescribeGroups<ClassicGroupDescription>;

/// The state of a group that does not exist, before DescribeGroups had an error for it (KIP-1043).
const DEAD: &str = "Dead";

impl DescribedBy for ClassicGroupDescription {
    const OPERATION: &'static str = "DescribeClassicGroups";

    fn send(groups: &[String], operations: bool, to: &mut To<'_, '_>) -> Result<(), Error> {
        let request = describe_groups_request(groups.to_vec(), operations, to)?;
        to.send(&request)
    }

    fn read(answer: &Answer<'_>) -> Result<Vec<(String, Verdict<String, Self>)>, DecodeError> {
        let groups = answer.decode::<DescribeGroupsRequest>()?.groups.into_iter();
        Ok(groups.map(|group| described(group, answer.broker())).collect())
    }
}

fn described(
    group: describe_groups::DescribedGroup,
    coordinator: &Node,
) -> (String, Verdict<String, ClassicGroupDescription>) {
    let id = group.group_id;
    if let Some(error) = error_of(group.error_code, group.error_message) {
        return (id, Verdict::Failed(error));
    }
    if group.group_state == DEAD && group.protocol_type.is_empty() {
        let error = Error::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} not found."));
        return (id, Verdict::Refused(error));
    }
    let is_consumers = group.protocol_type == CONSUMER_PROTOCOL;
    let member = |mut member: describe_groups::DescribedGroupMember| {
        if !is_consumers {
            member.member_assignment.clear();
        }
        classic_member(member)
    };
    let description = ClassicGroupDescription {
        protocol_type: group.protocol_type,
        protocol_data: group.protocol_data,
        state: group.group_state,
        coordinator: coordinator.clone(),
        authorized_operations: authorized_operations(group.authorized_operations),
        members: group.members.into_iter().map(member).collect(),
    };
    (id, Verdict::Done(description))
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError};

    use super::*;
    use crate::test_kit::World;

    /// Two groups: `g` has a member with partition 0 of `t`, `offsets` only committed offsets.
    fn world(settings: &[(&str, &str)]) -> World {
        let mut w = World::producer(settings, &[]);
        w.add_topic("t", &[1]);
        w.peer_member("g", "t");
        w.commit_offset_of("offsets", "t", 0, 1);
        w
    }

    fn describe(w: &mut World, operations: bool) -> Vec<(String, Result<ClassicGroupDescription, Error>)> {
        let groups = ["none", "offsets", "g"].map(str::to_owned).to_vec();
        w.ask(DescribeClassicGroups::new(groups, operations)).unwrap()
    }

    #[test]
    fn groups_have_their_members_and_their_assignments() {
        let mut w = world(&[("retry.backoff.ms", "10")]);
        w.fail_next(ApiKey::DESCRIBE_GROUPS, &[BrokerError::COORDINATOR_LOAD_IN_PROGRESS]);
        let groups = describe(&mut w, true);
        let ids: Vec<&str> = groups.iter().map(|(id, _)| &**id).collect();
        assert_eq!(ids, ["none", "offsets", "g"]);
        let error = groups[0].1.as_ref().unwrap_err();
        assert_eq!(error.code, ErrorCode::GROUP_ID_NOT_FOUND);
        assert_eq!(error.message, "Group none not found.");
        let offsets = groups[1].1.as_ref().unwrap();
        assert_eq!((&*offsets.protocol_type, &*offsets.state), ("", "Empty"));
        let group = groups[2].1.as_ref().unwrap();
        assert_eq!((&*group.protocol_type, &*group.protocol_data), ("consumer", "range"));
        assert_eq!(group.state, "Stable");
        assert!(group.authorized_operations.as_ref().is_some_and(|o| !o.is_empty()));
        let assignment: Vec<(&str, i32)> = group.members[0]
            .assignment
            .iter()
            .map(|tp| (&*tp.topic, tp.partition))
            .collect();
        assert_eq!(assignment, [("t", 0)]);
    }

    #[test]
    fn brokers_without_an_error_for_unknown_groups_have_the_same_result() {
        let mut w = world(&[]);
        w.brokers().set_api_versions(ApiKey::DESCRIBE_GROUPS, Some((0, 5)));
        let groups = describe(&mut w, false);
        let error = groups[0].1.as_ref().unwrap_err();
        assert_eq!(error.code, ErrorCode::GROUP_ID_NOT_FOUND);
        assert_eq!(error.message, "Group none not found.");
        assert_eq!(groups[1].1.as_ref().unwrap().authorized_operations, None);
    }
}
