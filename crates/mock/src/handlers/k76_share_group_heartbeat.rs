//! ShareGroupHeartbeat (key 76), version 1.
//!
//! Joins (member epoch 0), stays in, and leaves (-1) a share group (KIP-932). The member chooses its id. The response has
//! the assignment when it has changed, when the member joins, and when the request is complete. Partitions of topics that
//! are new to the group are assigned with the next heartbeat, as in Kafka. Errors: INVALID_REQUEST, NOT_COORDINATOR,
//! GROUP_ID_NOT_FOUND also for groups of other types, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
//!
//! Omitted: version 0, which only brokers of Kafka 4.0 served; racks, which the assignor does not consider, as in Kafka.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct ShareGroupHeartbeat;

impl Handler for ShareGroupHeartbeat {
    type Request = ShareGroupHeartbeatRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: ShareGroupHeartbeatRequest) -> AnswerOf<Self> {
        let served = check(cluster, context, &request).and_then(|()| serve(cluster, context, &request));
        Answer::Respond(served.unwrap_or_else(|refusal| failed(context, refusal)))
    }

    fn refuse(_: &Cluster, context: &Context, _: ShareGroupHeartbeatRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(failed(context, error.into()))
    }
}

fn failed(context: &Context, refusal: ApiError) -> ShareGroupHeartbeatResponse {
    ShareGroupHeartbeatResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: refusal.error.0,
        error_message: Some(refusal.message),
        ..Default::default()
    }
}

fn check(cluster: &Cluster, context: &Context, request: &ShareGroupHeartbeatRequest) -> Result<(), ApiError> {
    let invalid = |message: &str| Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
    if request.member_id.is_empty() {
        return invalid("MemberId can't be empty.");
    }
    if request.group_id.is_empty() {
        return invalid("GroupId can't be empty.");
    }
    if request.rack_id.as_ref().is_some_and(String::is_empty) {
        return invalid("RackId can't be empty.");
    }
    match request.member_epoch {
        0 if request.subscribed_topic_names.as_ref().is_none_or(Vec::is_empty) => {
            return invalid("SubscribedTopicNames must be set in first request.");
        }
        ..=-2 => return invalid("MemberEpoch is invalid."),
        _ => {}
    }
    cluster
        .state
        .check_group_coordinator(context.broker, &request.group_id)
        .map_err(ApiError::from)
}

fn serve(
    cluster: &mut Cluster,
    context: &Context,
    request: &ShareGroupHeartbeatRequest,
) -> Result<ShareGroupHeartbeatResponse, ApiError> {
    if request.member_epoch != -1 {
        let served = cluster.groups.share_heartbeat(&mut cluster.state, context, request);
        return served.map_err(ApiError::from);
    }
    let group = cluster.groups.get_mut(&request.group_id);
    let group = group.ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
    group.share_leave(&mut cluster.state, &request.member_id)?;
    Ok(ShareGroupHeartbeatResponse {
        throttle_time_ms: context.throttle_time_ms,
        member_id: Some(request.member_id.clone()),
        member_epoch: -1,
        ..Default::default()
    })
}
