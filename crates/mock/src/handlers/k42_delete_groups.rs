//! DeleteGroups (key 42), versions 0 to 2.
//!
//! Removes empty groups of all types with their offsets. Errors per group: NOT_COORDINATOR, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::delete_groups::{DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct DeleteGroups;

impl Handler for DeleteGroups {
    type Request = DeleteGroupsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DeleteGroupsRequest) -> AnswerOf<Self> {
        respond(context, request, |id| {
            let checked = cluster.state.check_group_coordinator(context.broker, id);
            match checked.and_then(|()| cluster.delete_group(id)) {
                Ok(()) => ErrorCode::NONE,
                Err(error) => error,
            }
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: DeleteGroupsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| error)
    }
}

fn respond(
    context: &Context,
    request: DeleteGroupsRequest,
    mut delete: impl FnMut(&str) -> ErrorCode,
) -> Answer<DeleteGroupsResponse> {
    let results = request.groups_names.into_iter().map(|group_id| DeletableGroupResult {
        error_code: delete(&group_id).0,
        group_id,
        ..Default::default()
    });
    Answer::Respond(DeleteGroupsResponse {
        throttle_time_ms: context.throttle_time_ms,
        results: results.collect(),
        ..Default::default()
    })
}
