//! LeaveGroup (key 13), versions 0 to 5.
//!
//! Before version 3 one member leaves and the error is that of the response; from 3 on several may, each with its
//! error, static ones by their instance id alone.
//! Errors: INVALID_GROUP_ID, NOT_COORDINATOR, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
//!
//! Left out: the reason that a member gives (version 5).

use ottla_protocol::ErrorCode;
use ottla_protocol::api::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct LeaveGroup;

impl Handler for LeaveGroup {
    type Request = LeaveGroupRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: LeaveGroupRequest) -> AnswerOf<Self> {
        let checked = match request.group_id.is_empty() {
            true => Err(ErrorCode::INVALID_GROUP_ID),
            false => cluster.state.check_group_coordinator(context.broker, &request.group_id),
        };
        if let Err(error) = checked {
            return Self::refuse(cluster, context, request, error);
        }
        let mut leave = |member: &str, instance: Option<&str>| {
            let group = cluster.groups.get_mut(&request.group_id);
            let left = group.map(|group| group.leave(&mut cluster.state, member, instance));
            match left.unwrap_or(Err(ErrorCode::UNKNOWN_MEMBER_ID)) {
                Ok(()) => 0,
                Err(error) => error.0,
            }
        };
        let mut response = LeaveGroupResponse {
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        };
        match context.version {
            ..3 => response.error_code = leave(&request.member_id, None),
            _ => {
                let one = |member: &MemberIdentity| MemberResponse {
                    error_code: leave(&member.member_id, member.group_instance_id.as_deref()),
                    member_id: member.member_id.clone(),
                    group_instance_id: member.group_instance_id.clone(),
                    ..Default::default()
                };
                response.members = request.members.iter().map(one).collect();
            }
        }
        Answer::Respond(response)
    }

    fn refuse(_: &Cluster, context: &Context, _: LeaveGroupRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(LeaveGroupResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}
