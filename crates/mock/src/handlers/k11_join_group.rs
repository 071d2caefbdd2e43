//! JoinGroup (key 11), versions 0 to 9.
//!
//! Waits until all members have joined or the rebalance timeout is over; version 0 takes the session timeout for that.
//! From version 4 on a dynamic member without id is told one first (MEMBER_ID_REQUIRED, KIP-394), from 5 on there are
//! static members (KIP-345), from 9 on a static leader that returns is told to skip the assignment. A group of the
//! consumer protocol answers at once, as a coordinator that assigns itself (KIP-848).
//! Errors: INVALID_GROUP_ID, NOT_COORDINATOR, INVALID_SESSION_TIMEOUT, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID,
//! MEMBER_ID_REQUIRED, FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED.
//!
//! Left out: the reason that a member gives (version 8).

use ottla_protocol::ErrorCode;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse};

use super::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::dispatch::Context;
use crate::groups::JoinOutcome;
use crate::purgatory::DelayedId;

pub(crate) struct JoinGroup;

impl Handler for JoinGroup {
    type Request = JoinGroupRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: JoinGroupRequest) -> AnswerOf<Self> {
        if let Err(error) = check(cluster, context, &request) {
            return Self::refuse(cluster, context, request, error);
        }
        let id = request.group_id.clone();
        match cluster.with_new_group(&id, |cluster, group| group.join(cluster, context, request)) {
            JoinOutcome::Respond(response) => Answer::Respond(nullable_names(context, response)),
            JoinOutcome::Delayed => Answer::Delayed,
        }
    }

    fn refuse(_: &Cluster, context: &Context, request: JoinGroupRequest, error: ErrorCode) -> AnswerOf<Self> {
        let response = failed_join(context, &request.member_id, error);
        Answer::Respond(nullable_names(context, response))
    }
}

fn check(cluster: &Cluster, context: &Context, request: &JoinGroupRequest) -> Result<(), ErrorCode> {
    if request.group_id.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    cluster.check_group_coordinator(context.broker, &request.group_id)?;
    let config = &cluster.config;
    let allowed = config.group_min_session_timeout_ms..=config.group_max_session_timeout_ms;
    if !allowed.contains(&request.session_timeout_ms) {
        return Err(ErrorCode::INVALID_SESSION_TIMEOUT);
    }
    let exists = cluster.groups.get(&request.group_id).is_some();
    match exists || request.member_id.is_empty() {
        true => Ok(()),
        false => Err(ErrorCode::UNKNOWN_MEMBER_ID),
    }
}

/// The answer to a member that did not get in.
pub(crate) fn failed_join(context: &Context, member_id: &str, error: ErrorCode) -> JoinGroupResponse {
    JoinGroupResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.0,
        member_id: member_id.to_owned(),
        protocol_type: None,
        protocol_name: None,
        ..Default::default()
    }
}

/// Before version 7 the protocol's name cannot be null.
fn nullable_names(context: &Context, mut response: JoinGroupResponse) -> JoinGroupResponse {
    if context.version < 7 {
        response.protocol_name.get_or_insert_default();
    }
    response
}

/// Answers a parked request, if anybody still waits for it.
pub(crate) fn complete_join(
    cluster: &mut Cluster,
    token: DelayedId,
    response: impl FnOnce(&Context) -> JoinGroupResponse,
) {
    if let Some(parked) = cluster.unpark(token) {
        let response = nullable_names(&parked.context, response(&parked.context));
        cluster.respond(&parked.context, &response);
    }
}
