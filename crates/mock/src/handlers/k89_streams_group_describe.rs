//! StreamsGroupDescribe (key 89), version 0.
//!
//! Streams groups as the test has set them. Errors per group: INVALID_GROUP_ID, NOT_COORDINATOR, GROUP_ID_NOT_FOUND also
//! for groups of other types.
//!
//! The operations that the client may perform are returned if requested: all.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::streams_group_describe::{
    DescribedGroup, StreamsGroupDescribeRequest, StreamsGroupDescribeResponse,
};

use super::described_groups::{authorized_operations, not_found};
use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct StreamsGroupDescribe;

impl Handler for StreamsGroupDescribe {
    type Request = StreamsGroupDescribeRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: StreamsGroupDescribeRequest) -> AnswerOf<Self> {
        respond(context, request, |id| describe(cluster, context, id))
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        request: StreamsGroupDescribeRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        respond(context, request, |_| Err(error.into()))
    }
}

fn respond(
    context: &Context,
    request: StreamsGroupDescribeRequest,
    describe: impl Fn(&str) -> Result<DescribedGroup, ApiError>,
) -> Answer<StreamsGroupDescribeResponse> {
    let include = request.include_authorized_operations;
    let groups = request.group_ids.into_iter().map(|group_id| {
        let described = describe(&group_id).unwrap_or_else(|refusal| DescribedGroup {
            error_code: refusal.error.0,
            error_message: Some(refusal.message),
            ..Default::default()
        });
        DescribedGroup {
            group_id,
            authorized_operations: authorized_operations(include, described.error_code),
            ..described
        }
    });
    Answer::Respond(StreamsGroupDescribeResponse {
        throttle_time_ms: context.throttle_time_ms,
        groups: groups.collect(),
        ..Default::default()
    })
}

fn describe(cluster: &Cluster, context: &Context, id: &str) -> Result<DescribedGroup, ApiError> {
    cluster.state.check_described_group(context.broker, id)?;
    let found = cluster.streams_groups.get(id).cloned();
    found.ok_or_else(|| not_found(cluster, id, "streams"))
}
