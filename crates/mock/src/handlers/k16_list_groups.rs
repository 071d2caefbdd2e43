//! ListGroups (key 16), versions 0 to 5.
//!
//! The groups that this broker coordinates, from version 4 on those in given states, from 5 on those of given types:
//! "classic" or "consumer".

use ottla_protocol::ErrorCode;
use ottla_protocol::api::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct ListGroups;

impl Handler for ListGroups {
    type Request = ListGroupsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ListGroupsRequest) -> AnswerOf<Self> {
        // An empty filter lets everything through; Kafka compares names without regard to case.
        let passes =
            |filter: &[String], name: &str| filter.is_empty() || filter.iter().any(|f| f.eq_ignore_ascii_case(name));
        let groups = cluster.groups.iter().filter(|(id, group)| {
            cluster.state.check_group_coordinator(context.broker, id).is_ok()
                && passes(&request.states_filter, group.state_name())
                && passes(&request.types_filter, group.type_name())
        });
        let groups = groups.map(|(id, group)| ListedGroup {
            group_id: id.clone(),
            protocol_type: group.protocol_type().into(),
            group_state: group.state_name().into(),
            group_type: group.type_name().into(),
            ..Default::default()
        });
        Answer::Respond(ListGroupsResponse {
            throttle_time_ms: context.throttle_time_ms,
            groups: groups.collect(),
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: ListGroupsRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(ListGroupsResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}
