//! Heartbeat (key 12), versions 0 to 4.
//!
//! Keeps a member's session alive and tells it when to join again. From version 3 on static members are known by their
//! instance id. In a group of the consumer protocol a member of the classic one is told to join again when there is
//! something for it to give up or to get (KIP-848).
//! Errors: INVALID_GROUP_ID, NOT_COORDINATOR, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS,
//! FENCED_INSTANCE_ID.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::heartbeat::{HeartbeatRequest, HeartbeatResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct Heartbeat;

impl Handler for Heartbeat {
    type Request = HeartbeatRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: HeartbeatRequest) -> AnswerOf<Self> {
        let error = match beat(cluster, context, &request) {
            Ok(()) => ErrorCode::NONE,
            Err(error) => error,
        };
        Self::refuse(cluster, context, request, error)
    }

    fn refuse(_: &Cluster, context: &Context, _: HeartbeatRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(HeartbeatResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}

fn beat(cluster: &mut Cluster, context: &Context, request: &HeartbeatRequest) -> Result<(), ErrorCode> {
    if request.group_id.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    cluster
        .state
        .check_group_coordinator(context.broker, &request.group_id)?;
    let instance = request.group_instance_id.as_deref();
    match cluster.groups.get_mut(&request.group_id) {
        Some(group) => group.heartbeat(&mut cluster.state, &request.member_id, instance, request.generation_id),
        None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
    }
}
