//! ConsumerGroupHeartbeat (key 68), versions 0 and 1.
//!
//! Joins (member epoch 0), stays in, and leaves (-1; -2 for a static member that returns) a group of the consumer
//! protocol (KIP-848). A joining member converts a classic group of consumers. The response has the assignment when it
//! has changed, when the member joins, and when the request is complete. In version 0 the coordinator assigns the
//! member id; from version 1 on the member does, and may subscribe by a regular expression, which takes effect with the
//! next heartbeat. Errors: INVALID_REQUEST, NOT_COORDINATOR, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
//! FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR, GROUP_MAX_SIZE_REACHED,
//! INVALID_REGULAR_EXPRESSION.
//!
//! Omitted: racks, which the assignors do not consider, as in Kafka.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::groups::assignor_names;
use crate::request::Context;

pub(crate) struct ConsumerGroupHeartbeat;

impl Handler for ConsumerGroupHeartbeat {
    type Request = ConsumerGroupHeartbeatRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ConsumerGroupHeartbeatRequest) -> AnswerOf<Self> {
        let served = check(cluster, context, &request).and_then(|()| serve(cluster, context, &request));
        Answer::Respond(served.unwrap_or_else(|refusal| failed(context, refusal)))
    }

    fn refuse(_: &Cluster, context: &Context, _: ConsumerGroupHeartbeatRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(failed(context, error.into()))
    }
}

fn failed(context: &Context, refusal: ApiError) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: refusal.error.0,
        error_message: Some(refusal.message),
        ..Default::default()
    }
}

fn check(cluster: &Cluster, context: &Context, request: &ConsumerGroupHeartbeatRequest) -> Result<(), ApiError> {
    let invalid = |message: &str| Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
    let is_empty = |value: &Option<String>| value.as_ref().is_some_and(String::is_empty);
    let epoch = request.member_epoch;
    if request.member_id.is_empty() && (context.version >= 1 || epoch > 0 || epoch == -1) {
        return invalid("MemberId can't be empty.");
    }
    if request.group_id.is_empty() {
        return invalid("GroupId can't be empty.");
    }
    if is_empty(&request.instance_id) {
        return invalid("InstanceId can't be empty.");
    }
    if is_empty(&request.rack_id) {
        return invalid("RackId can't be empty.");
    }
    match epoch {
        0 if request.rebalance_timeout_ms == -1 => {
            return invalid("RebalanceTimeoutMs must be provided in first request.");
        }
        0 if request.topic_partitions.as_ref().is_none_or(|owned| !owned.is_empty()) => {
            return invalid("TopicPartitions must be empty when (re-)joining.");
        }
        0 if request.subscribed_topic_names.is_none() && request.subscribed_topic_regex.is_none() => {
            return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.");
        }
        -2 if request.instance_id.is_none() => return invalid("InstanceId can't be null."),
        ..-2 => return invalid("MemberEpoch is invalid."),
        _ => {}
    }
    if let Some(asked) = &request.server_assignor
        && !assignor_names().any(|name| name == asked)
    {
        let names: Vec<&str> = assignor_names().collect();
        let message = format!(
            "ServerAssignor {asked} is not supported. Supported assignors: {}.",
            names.join(", ")
        );
        return Err(ApiError::new(ErrorCode::UNSUPPORTED_ASSIGNOR, message));
    }
    cluster
        .state
        .check_group_coordinator(context.broker, &request.group_id)
        .map_err(ApiError::from)
}

fn serve(
    cluster: &mut Cluster,
    context: &Context,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<ConsumerGroupHeartbeatResponse, ApiError> {
    let id = &request.group_id;
    let none = || ApiError::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Consumer group {id} not found."));
    let other_type = |error| ApiError::new(error, format!("Group {id} is not a consumer group."));
    cluster.check_no_share_group(id).map_err(other_type)?;
    let served = match request.member_epoch {
        ..0 => {
            let group = cluster.groups.get_mut(id);
            let left = group.map(|group| group.consumer_leave(&mut cluster.state, request));
            left.ok_or_else(none)?.map(|()| ConsumerGroupHeartbeatResponse {
                throttle_time_ms: context.throttle_time_ms,
                member_id: Some(request.member_id.clone()),
                member_epoch: request.member_epoch,
                ..Default::default()
            })
        }
        0 => {
            let group = cluster.groups.get_or_create(&cluster.state, id);
            group.consumer_heartbeat(&mut cluster.state, context, request)
        }
        _ => {
            let group = cluster.groups.get_mut(id);
            let stayed = group.map(|group| group.consumer_heartbeat(&mut cluster.state, context, request));
            stayed.ok_or_else(none)?
        }
    };
    served.map_err(ApiError::from)
}
