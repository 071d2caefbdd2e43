//! ConsumerGroupDescribe (key 69), versions 0 and 1.
//!
//! State, epochs, assignor and members of groups of the consumer protocol, with each member's assignment and target;
//! from version 1 on with the member's protocol. Errors per group: INVALID_GROUP_ID, NOT_COORDINATOR,
//! GROUP_ID_NOT_FOUND also for groups of the classic protocol.
//!
//! The operations that the client may perform are returned if requested: all.
//!
//! Omitted: the clients' hosts (127.0.0.1 is returned).

use ottla_protocol::ErrorCode;
use ottla_protocol::api::consumer_group_describe::{
    Assignment, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedGroup, Member, TopicPartitions,
};

use super::described_groups::authorized_operations;
use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::groups::{ConsumerMember, Membership, Partitions, by_topic};
use crate::request::Context;

pub(crate) struct ConsumerGroupDescribe;

impl Handler for ConsumerGroupDescribe {
    type Request = ConsumerGroupDescribeRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ConsumerGroupDescribeRequest) -> AnswerOf<Self> {
        respond(context, request, |id| describe(cluster, context, id))
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        request: ConsumerGroupDescribeRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        respond(context, request, |_| Err(error.into()))
    }
}

fn respond(
    context: &Context,
    request: ConsumerGroupDescribeRequest,
    describe: impl Fn(&str) -> Result<DescribedGroup, ApiError>,
) -> Answer<ConsumerGroupDescribeResponse> {
    let include = request.include_authorized_operations;
    let groups = request.group_ids.into_iter().map(|group_id| {
        let described = describe(&group_id).unwrap_or_else(|refusal| DescribedGroup {
            error_code: refusal.error.0,
            error_message: Some(refusal.message),
            ..Default::default()
        });
        DescribedGroup {
            group_id,
            authorized_operations: authorized_operations(include, described.error_code),
            ..described
        }
    });
    Answer::Respond(ConsumerGroupDescribeResponse {
        throttle_time_ms: context.throttle_time_ms,
        groups: groups.collect(),
        ..Default::default()
    })
}

fn describe(cluster: &Cluster, context: &Context, id: &str) -> Result<DescribedGroup, ApiError> {
    cluster.state.check_described_group(context.broker, id)?;
    let not_found = |what: &str| ApiError::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} {what}."));
    let found = cluster.groups.get(id).ok_or_else(|| not_found("not found"))?;
    let Membership::Consumer(group) = found.membership() else {
        return Err(not_found("is not a consumer group"));
    };
    Ok(DescribedGroup {
        group_state: group.state_name().to_owned(),
        group_epoch: group.epoch(),
        assignment_epoch: group.assignment_epoch(),
        assignor_name: group.assignor_name().to_owned(),
        members: group.members().map(|m| member(cluster, m)).collect(),
        ..Default::default()
    })
}

fn member(cluster: &Cluster, member: &ConsumerMember) -> Member {
    Member {
        member_id: member.id.clone(),
        instance_id: member.instance_id.clone(),
        rack_id: member.rack_id.clone(),
        member_epoch: member.epoch,
        client_id: member.client_id.clone(),
        client_host: "/127.0.0.1".to_owned(),
        subscribed_topic_names: member.topics.iter().cloned().collect(),
        subscribed_topic_regex: Some(member.regex.clone()).filter(|regex| !regex.is_empty()),
        assignment: assignment(cluster, &member.assigned),
        target_assignment: assignment(cluster, &member.target),
        member_type: i8::from(member.classic.is_none()),
        ..Default::default()
    }
}

/// Topics that do not exist any more are left out.
fn assignment(cluster: &Cluster, partitions: &Partitions) -> Assignment {
    let topics = by_topic(partitions).into_iter().filter_map(|(topic_id, partitions)| {
        Some(TopicPartitions {
            topic_id,
            topic_name: cluster.state.topics.by_id(topic_id)?.name.clone(),
            partitions,
            ..Default::default()
        })
    });
    Assignment {
        topic_partitions: topics.collect(),
        ..Default::default()
    }
}
