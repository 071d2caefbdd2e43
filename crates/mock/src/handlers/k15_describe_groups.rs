//! DescribeGroups (key 15), versions 0 to 6.
//!
//! State, protocol and members of groups; metadata and assignments of stable groups only. An unknown group, or one of
//! another type, is Dead; from version 6 on with GROUP_ID_NOT_FOUND. Errors: NOT_COORDINATOR per group.
//!
//! The operations that the client may perform are returned if requested (version 3 and later): all.
//!
//! Omitted: the clients' hosts (127.0.0.1 is returned).

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
};

use super::described_groups::authorized_operations;
use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::groups::{ClassicGroup, GroupState, Membership};
use crate::request::Context;

pub(crate) struct DescribeGroups;

impl Handler for DescribeGroups {
    type Request = DescribeGroupsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeGroupsRequest) -> AnswerOf<Self> {
        respond(context, request, |id| describe(cluster, context, id))
    }

    fn refuse(_: &Cluster, context: &Context, request: DescribeGroupsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| failed(error))
    }
}

fn respond(
    context: &Context,
    request: DescribeGroupsRequest,
    describe: impl Fn(&str) -> DescribedGroup,
) -> Answer<DescribeGroupsResponse> {
    let include = request.include_authorized_operations;
    let groups = request.groups.into_iter();
    let groups = groups.map(|id| {
        let described = describe(&id);
        DescribedGroup {
            group_id: id.clone(),
            authorized_operations: authorized_operations(include, described.error_code),
            ..described
        }
    });
    Answer::Respond(DescribeGroupsResponse {
        throttle_time_ms: context.throttle_time_ms,
        groups: groups.collect(),
        ..Default::default()
    })
}

fn failed(error: ErrorCode) -> DescribedGroup {
    DescribedGroup {
        error_code: error.0,
        error_message: None,
        ..Default::default()
    }
}

fn describe(cluster: &Cluster, context: &Context, id: &str) -> DescribedGroup {
    if let Err(error) = cluster.state.check_group_coordinator(context.broker, id) {
        return failed(error);
    }
    let is_streams = cluster.streams_groups.get(id).is_some();
    let found = cluster.groups.get(id).filter(|_| !is_streams);
    let Some(Membership::Classic(group)) = found.map(|g| g.membership()) else {
        let has_error_code = context.version >= 6;
        let error = if has_error_code {
            ErrorCode::GROUP_ID_NOT_FOUND
        } else {
            ErrorCode::NONE
        };
        let what = match cluster.group_exists(id) {
            true => "is not a classic group",
            false => "not found",
        };
        let message = has_error_code.then(|| format!("Group {id} {what}."));
        return DescribedGroup {
            group_state: "Dead".into(),
            error_message: message,
            ..failed(error)
        };
    };
    let stable = group.state() == GroupState::Stable;
    DescribedGroup {
        group_state: group.state().name().into(),
        protocol_type: group.protocol_type().into(),
        protocol_data: if stable {
            group.protocol_name().into()
        } else {
            String::new()
        },
        members: members(context, group, stable),
        ..failed(ErrorCode::NONE)
    }
}

fn members(context: &Context, group: &ClassicGroup, stable: bool) -> Vec<DescribedGroupMember> {
    let if_stable = |bytes: Bytes| if stable { bytes } else { Bytes::new() };
    let members = group.members().map(|member| DescribedGroupMember {
        member_id: member.id.clone(),
        group_instance_id: member.instance_id.clone().filter(|_| context.version >= 4),
        client_id: member.client_id.clone(),
        client_host: "/127.0.0.1".into(),
        member_metadata: if_stable(member.metadata(group.protocol_name())),
        member_assignment: if_stable(member.assignment.clone()),
        ..Default::default()
    });
    members.collect()
}
