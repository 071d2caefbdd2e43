//! ListGroups (key 16), versions 0 to 5.
//!
//! The groups that this broker coordinates, from version 4 on filtered by state, from 5 on by type: "classic",
//! "consumer", "share" or "streams".

use ottla_protocol::ErrorCode;
use ottla_protocol::api::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::share_groups::SHARE;
use crate::streams_groups::STREAMS;

pub(crate) struct ListGroups;

impl Handler for ListGroups {
    type Request = ListGroupsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ListGroupsRequest) -> AnswerOf<Self> {
        // An empty filter matches all groups. Kafka compares the names without regard to case.
        let passes =
            |filter: &[String], name: &str| filter.is_empty() || filter.iter().any(|f| f.eq_ignore_ascii_case(name));
        let is_listed = |group: &ListedGroup| {
            let checked = cluster.state.check_group_coordinator(context.broker, &group.group_id);
            checked.is_ok()
                && passes(&request.states_filter, &group.group_state)
                && passes(&request.types_filter, &group.group_type)
        };
        let groups = all_groups(cluster).filter(is_listed);
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

/// Returns the groups of all types. The committed offsets of a streams group are no group of their own.
fn all_groups(cluster: &Cluster) -> impl Iterator<Item = ListedGroup> {
    let listed = |id: &String, protocol_type: &str, state: &str, group_type: &str| ListedGroup {
        group_id: id.clone(),
        protocol_type: protocol_type.to_owned(),
        group_state: state.to_owned(),
        group_type: group_type.to_owned(),
        ..Default::default()
    };
    let consumers = cluster.groups.iter();
    let consumers = consumers.filter(|(id, _)| cluster.streams_groups.get(id).is_none());
    let share = cluster.share_groups.iter();
    let streams = cluster.streams_groups.iter();
    consumers
        .map(move |(id, group)| listed(id, group.protocol_type(), group.state_name(), group.type_name()))
        .chain(share.map(move |(id, group)| listed(id, SHARE, group.state_name(), SHARE)))
        .chain(streams.map(move |(id, group)| listed(id, STREAMS, &group.group_state, STREAMS)))
}
