//! ShareGroupDescribe (key 77), version 1.
//!
//! State, epochs, assignor and members of share groups (KIP-932), with each member's assignment. Errors per group:
//! INVALID_GROUP_ID, NOT_COORDINATOR, GROUP_ID_NOT_FOUND also for groups of other types.
//!
//! The operations that the client may perform are returned if requested: all.
//!
//! Omitted: version 0, which only brokers of Kafka 4.0 served; the clients' hosts (127.0.0.1 is returned).

use ottla_protocol::ErrorCode;
use ottla_protocol::api::share_group_describe::{
    Assignment, DescribedGroup, Member, ShareGroupDescribeRequest, ShareGroupDescribeResponse, TopicPartitions,
};

use super::described_groups::{authorized_operations, not_found};
use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::groups::{ShareMember, by_topic};
use crate::request::Context;

pub(crate) struct ShareGroupDescribe;

impl Handler for ShareGroupDescribe {
    type Request = ShareGroupDescribeRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: ShareGroupDescribeRequest) -> AnswerOf<Self> {
        respond(context, request, |id| describe(cluster, context, id))
    }

    fn refuse(_: &Cluster, context: &Context, request: ShareGroupDescribeRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| Err(error.into()))
    }
}

fn respond(
    context: &Context,
    request: ShareGroupDescribeRequest,
    describe: impl Fn(&str) -> Result<DescribedGroup, ApiError>,
) -> Answer<ShareGroupDescribeResponse> {
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
    Answer::Respond(ShareGroupDescribeResponse {
        throttle_time_ms: context.throttle_time_ms,
        groups: groups.collect(),
        ..Default::default()
    })
}

fn describe(cluster: &Cluster, context: &Context, id: &str) -> Result<DescribedGroup, ApiError> {
    cluster.state.check_described_group(context.broker, id)?;
    let group = cluster
        .groups
        .share(id)
        .ok_or_else(|| not_found(cluster, id, "share"))?;
    Ok(DescribedGroup {
        group_state: group.state_name().to_owned(),
        group_epoch: group.epoch(),
        assignment_epoch: group.assignment_epoch(),
        assignor_name: group.assignor_name().to_owned(),
        members: group.members().map(|m| member(cluster, m)).collect(),
        ..Default::default()
    })
}

fn member(cluster: &Cluster, member: &ShareMember) -> Member {
    // Topics that do not exist any more are left out.
    let topics = by_topic(&member.assigned)
        .into_iter()
        .filter_map(|(topic_id, partitions)| {
            Some(TopicPartitions {
                topic_id,
                topic_name: cluster.state.topics.by_id(topic_id)?.name.clone(),
                partitions,
                ..Default::default()
            })
        });
    Member {
        member_id: member.id.clone(),
        rack_id: member.rack_id.clone(),
        member_epoch: member.epoch,
        client_id: member.client_id.clone(),
        client_host: "/127.0.0.1".to_owned(),
        subscribed_topic_names: member.topics.iter().cloned().collect(),
        assignment: Assignment {
            topic_partitions: topics.collect(),
            ..Default::default()
        },
        ..Default::default()
    }
}
