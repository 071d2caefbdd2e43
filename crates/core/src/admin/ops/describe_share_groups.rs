//! DescribeShareGroups: share groups with their members (KIP-932).

use ottla_protocol::DecodeError;
use ottla_protocol::api::share_group_describe::{DescribedGroup, Member, ShareGroupDescribeRequest};

use super::acl_operation::{AclOperation, authorized_operations};
use super::describe_consumer_groups::partitions;
use super::group_descriptions::{DescribeGroups, DescribedBy};
use crate::admin::node::Node;
use crate::admin::operation::{Answer, To, Verdict, error_of};
use crate::error::Error;
use crate::types::TopicPartition;

/// A share group as its coordinator described it.
#[derive(Debug, Clone)]
pub struct ShareGroupDescription {
    /// The state in the broker's words.
    pub state: String,
    /// The group's epoch.
    pub group_epoch: i32,
    /// The epoch of the target assignment.
    pub assignment_epoch: i32,
    /// The assignor.
    pub assignor: String,
    /// The coordinator.
    pub coordinator: Node,
    /// The operations on the group that the client may perform; `None` if they were not requested.
    pub authorized_operations: Option<Vec<AclOperation>>,
    /// The members.
    pub members: Vec<ShareMember>,
}

/// A member of a share group.
#[derive(Debug, Clone)]
pub struct ShareMember {
    /// The member's id.
    pub member_id: String,
    /// The rack of the member, if it has one.
    pub rack_id: Option<String>,
    /// The member's epoch.
    pub member_epoch: i32,
    /// The `client.id` of the member.
    pub client_id: String,
    /// The member's host.
    pub host: String,
    /// The names of the topics that the member subscribes to.
    pub subscribed_topics: Vec<String>,
    /// The partitions that the member has. Several members may have the same one.
    pub assignment: Vec<TopicPartition>,
}

/// Describes share groups. Requires Kafka 4.0. A group that does not exist, or has another type, has the error
/// GROUP_ID_NOT_FOUND.
pub type DescribeShareGroups = DescribeGroups<ShareGroupDescription>;

impl DescribedBy for ShareGroupDescription {
    const OPERATION: &'static str = "DescribeShareGroups";

    fn send(groups: &[String], operations: bool, to: &mut To<'_, '_>) -> Result<(), Error> {
        to.send(&ShareGroupDescribeRequest {
            group_ids: groups.to_vec(),
            include_authorized_operations: operations,
            ..Default::default()
        })
    }

    fn read(answer: &Answer<'_>) -> Result<Vec<(String, Verdict<String, Self>)>, DecodeError> {
        let groups = answer.decode::<ShareGroupDescribeRequest>()?.groups.into_iter();
        Ok(groups.map(|group| described(group, answer.broker())).collect())
    }
}

fn described(group: DescribedGroup, coordinator: &Node) -> (String, Verdict<String, ShareGroupDescription>) {
    if let Some(error) = error_of(group.error_code, group.error_message) {
        return (group.group_id, Verdict::Failed(error));
    }
    let description = ShareGroupDescription {
        state: group.group_state,
        group_epoch: group.group_epoch,
        assignment_epoch: group.assignment_epoch,
        assignor: group.assignor_name,
        coordinator: coordinator.clone(),
        authorized_operations: authorized_operations(group.authorized_operations),
        members: group.members.into_iter().map(member).collect(),
    };
    (group.group_id, Verdict::Done(description))
}

fn member(member: Member) -> ShareMember {
    let topics = member.assignment.topic_partitions.into_iter();
    ShareMember {
        member_id: member.member_id,
        rack_id: member.rack_id,
        member_epoch: member.member_epoch,
        client_id: member.client_id,
        host: member.client_host,
        subscribed_topics: member.subscribed_topic_names,
        assignment: partitions(topics.map(|topic| (topic.topic_name, topic.partitions))),
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::ApiKey;
    use ottla_protocol::api::share_group_describe::{Assignment, ShareGroupDescribeResponse, TopicPartitions};

    use super::*;
    use crate::admin::AlterShareGroupOffsets;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};
    use crate::types::PartitionOffset;

    #[test]
    fn a_group_with_offsets_is_described_and_others_are_not_found() {
        let mut w = World::producer(&[], &[]);
        w.add_topic("t", &[1]);
        w.commit_offset_of("consumers", "t", 0, 1);
        let offsets = vec![PartitionOffset::new(TopicPartition::new("t", 0), 3)];
        w.ask(AlterShareGroupOffsets(vec![("g".into(), offsets)])).unwrap();
        let names = ["consumers", "g", "none"].map(str::to_owned).to_vec();
        let groups = w.ask(DescribeShareGroups::new(names, true)).unwrap();
        let group = groups[1].1.as_ref().unwrap();
        assert_eq!((&*groups[1].0, &*group.state), ("g", "Empty"));
        assert_eq!((group.group_epoch, group.members.len()), (1, 0));
        assert!(group.authorized_operations.is_some());
        for (index, text) in [
            (0, "Group consumers is not a share group."),
            (2, "Group none not found."),
        ] {
            let error = groups[index].1.as_ref().unwrap_err();
            assert_eq!((error.code, &*error.message), (ErrorCode::GROUP_ID_NOT_FOUND, text));
        }
    }

    #[test]
    fn members_have_their_partitions_and_subscriptions() {
        let mut w = World::producer(&[], &[]);
        w.hold(ApiKey::SHARE_GROUP_DESCRIBE);
        let operation = DescribeShareGroups::new(vec!["g".into()], false);
        let reply = w.begin_admin(operation, within_ms(1000));
        w.run_ms(100);
        let (arrival, request) = w.expect::<ShareGroupDescribeRequest>();
        assert!(!request.include_authorized_operations);
        let group = DescribedGroup {
            group_id: "g".into(),
            group_state: "Stable".into(),
            group_epoch: 4,
            assignment_epoch: 3,
            members: vec![Member {
                member_id: "m".into(),
                rack_id: Some("r".into()),
                member_epoch: 2,
                client_id: "c".into(),
                client_host: "/127.0.0.1".into(),
                subscribed_topic_names: vec!["t".into(), "u".into()],
                assignment: Assignment {
                    topic_partitions: vec![TopicPartitions {
                        topic_name: "t".into(),
                        partitions: vec![1, 0],
                        ..Default::default()
                    }],
                    ..Default::default()
                },
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = ShareGroupDescribeResponse {
            groups: vec![group],
            ..Default::default()
        };
        w.answer(&arrival, &response);
        w.run_ms(10);
        let groups = reply.try_take().unwrap().unwrap();
        let group = groups[0].1.as_ref().unwrap();
        assert_eq!((group.group_epoch, group.assignment_epoch), (4, 3));
        assert_eq!(group.authorized_operations, None);
        let member = &group.members[0];
        assert_eq!(
            (&*member.member_id, member.rack_id.as_deref(), member.member_epoch),
            ("m", Some("r"), 2)
        );
        assert_eq!(member.subscribed_topics, ["t", "u"]);
        let partitions: Vec<i32> = member.assignment.iter().map(|tp| tp.partition).collect();
        assert_eq!(partitions, [1, 0]);
    }

    #[test]
    fn without_share_groups_the_broker_is_named_as_the_cause() {
        let mut w = World::producer(&[], &[]);
        w.brokers().set_api_versions(ApiKey::SHARE_GROUP_DESCRIBE, None);
        let groups = w.ask(DescribeShareGroups::new(vec!["g".into()], false)).unwrap();
        let error = groups[0].1.as_ref().unwrap_err();
        assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
        assert_eq!(error.message, "the broker does not support ShareGroupDescribe");
    }
}
