//! JoinGroup (key 11), versions 0 to 9.
//!
//! Waits until all members have joined, up to the rebalance timeout; version 0 uses the session timeout. From version 4
//! on a dynamic member without id receives one first (MEMBER_ID_REQUIRED, KIP-394), from 5 on there are static members
//! (KIP-345), from 9 on a static leader that returns may skip the assignment. A group of the consumer protocol answers
//! at once, because its coordinator assigns (KIP-848). Errors: INVALID_GROUP_ID, NOT_COORDINATOR,
//! INVALID_SESSION_TIMEOUT, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, MEMBER_ID_REQUIRED, FENCED_INSTANCE_ID,
//! GROUP_MAX_SIZE_REACHED.
//!
//! Omitted: the reason for joining (version 8).

use ottla_protocol::ErrorCode;
use ottla_protocol::api::join_group::JoinGroupRequest;

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::groups::{JoinOutcome, failed_join, nullable_names};
use crate::request::Context;

pub(crate) struct JoinGroup;

impl Handler for JoinGroup {
    type Request = JoinGroupRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: JoinGroupRequest) -> AnswerOf<Self> {
        if let Err(error) = check(cluster, context, &request) {
            return Self::refuse(cluster, context, request, error);
        }
        let id = request.group_id.clone();
        let group = cluster.groups.get_or_create(&cluster.state, &id);
        match group.join(&mut cluster.state, context, request) {
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
    cluster
        .state
        .check_group_coordinator(context.broker, &request.group_id)?;
    if cluster.check_no_share_group(&request.group_id).is_err() {
        return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    }
    let config = &cluster.state.config;
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
