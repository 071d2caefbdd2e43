//! Responses to JoinGroup and SyncGroup.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::join_group::JoinGroupResponse;
use ottla_protocol::api::sync_group::SyncGroupResponse;

use crate::ids::DelayedId;
use crate::request::Context;
use crate::state::ClusterState;

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
pub(crate) fn nullable_names(context: &Context, mut response: JoinGroupResponse) -> JoinGroupResponse {
    if context.version < 7 {
        response.protocol_name.get_or_insert_default();
    }
    response
}

/// Answers a parked request, if anybody still waits for it.
pub(crate) fn complete_join(
    state: &mut ClusterState,
    token: DelayedId,
    response: impl FnOnce(&Context) -> JoinGroupResponse,
) {
    if let Some(parked) = state.take_delayed(token) {
        let response = nullable_names(&parked.context, response(&parked.context));
        state.respond(&parked.context, &response);
    }
}

/// The answer to a member that gets no assignment.
pub(crate) fn failed_sync(context: &Context, error: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.0,
        protocol_type: None,
        protocol_name: None,
        ..Default::default()
    }
}

/// Answers a parked request, if anybody still waits for it.
pub(crate) fn complete_sync(
    state: &mut ClusterState,
    token: DelayedId,
    response: impl FnOnce(&Context) -> SyncGroupResponse,
) {
    if let Some(parked) = state.take_delayed(token) {
        let response = response(&parked.context);
        state.respond(&parked.context, &response);
    }
}
