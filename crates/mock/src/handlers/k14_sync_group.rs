//! SyncGroup (key 14), versions 0 to 5.
//!
//! The leader brings the assignments, the others wait for theirs. From version 3 on static members are known by their
//! instance id, from 5 on the protocol is checked when it is given. In a group of the consumer protocol nobody waits:
//! the coordinator has assigned (KIP-848).
//! Errors: INVALID_GROUP_ID, NOT_COORDINATOR, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS,
//! INCONSISTENT_GROUP_PROTOCOL, FENCED_INSTANCE_ID.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};

use super::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::dispatch::Context;
use crate::groups::SyncOutcome;
use crate::purgatory::DelayedId;

pub(crate) struct SyncGroup;

impl Handler for SyncGroup {
    type Request = SyncGroupRequest;

    fn handle(cluster: &mut Cluster, context: &Context, mut request: SyncGroupRequest) -> AnswerOf<Self> {
        let id = request.group_id.clone();
        let checked = match id.is_empty() {
            true => Err(ErrorCode::INVALID_GROUP_ID),
            false => cluster.check_group_coordinator(context.broker, &id),
        };
        if let Err(error) = checked {
            return Self::refuse(cluster, context, request, error);
        }
        for assignment in &mut request.assignments {
            // It stays as long as the generation and must not keep the whole input buffer.
            assignment.assignment = Bytes::copy_from_slice(&assignment.assignment);
        }
        match cluster.with_group(&id, |cluster, group| group.sync(cluster, context, request)) {
            Some(SyncOutcome::Respond(response)) => Answer::Respond(response),
            Some(SyncOutcome::Delayed) => Answer::Delayed,
            None => Answer::Respond(failed_sync(context, ErrorCode::UNKNOWN_MEMBER_ID)),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: SyncGroupRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(failed_sync(context, error))
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
    cluster: &mut Cluster,
    token: DelayedId,
    response: impl FnOnce(&Context) -> SyncGroupResponse,
) {
    if let Some(parked) = cluster.unpark(token) {
        let response = response(&parked.context);
        cluster.respond(&parked.context, &response);
    }
}
