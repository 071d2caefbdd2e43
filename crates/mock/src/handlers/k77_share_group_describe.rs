//! ShareGroupDescribe (key 77), version 1.
//!
//! State and epochs of share groups. Errors per group: INVALID_GROUP_ID, NOT_COORDINATOR, GROUP_ID_NOT_FOUND also for
//! groups of other types.
//!
//! The operations that the client may perform are returned if requested: all.
//!
//! Omitted: members, which share groups do not have here.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::share_group_describe::{
    DescribedGroup, ShareGroupDescribeRequest, ShareGroupDescribeResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::acls::GROUP_OPERATIONS;
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct ShareGroupDescribe;

impl Handler for ShareGroupDescribe {
    type Request = ShareGroupDescribeRequest;

    /// Kafka 4.1 has removed the early access.
    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: ShareGroupDescribeRequest) -> AnswerOf<Self> {
        respond(context, request, |id| describe(cluster, context, id))
    }

    fn refuse(_: &Cluster, context: &Context, request: ShareGroupDescribeRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| Err(error.into()))
    }
}

fn respond(
    context: &Context,
    request: ShareGroupDescribeRequest,
    describe: impl Fn(&str) -> Result<DescribedGroup, ApiError>,
) -> Answer<ShareGroupDescribeResponse> {
    let include = request.include_authorized_operations;
    let groups = request.group_ids.into_iter().map(|group_id| {
        let described = describe(&group_id).unwrap_or_else(|refusal| DescribedGroup {
            error_code: refusal.error.0,
            error_message: Some(refusal.message),
            ..Default::default()
        });
        let is_included = include && described.error_code == 0;
        DescribedGroup {
            group_id,
            authorized_operations: if is_included { GROUP_OPERATIONS } else { i32::MIN },
            ..described
        }
    });
    Answer::Respond(ShareGroupDescribeResponse {
        throttle_time_ms: context.throttle_time_ms,
        groups: groups.collect(),
        ..Default::default()
    })
}

fn describe(cluster: &Cluster, context: &Context, id: &str) -> Result<DescribedGroup, ApiError> {
    cluster.state.check_described_group(context.broker, id)?;
    let group = cluster.share_groups.get(id).ok_or_else(|| not_found(cluster, id))?;
    Ok(DescribedGroup {
        group_state: group.state_name().to_owned(),
        group_epoch: group.epoch(),
        assignment_epoch: group.epoch(),
        assignor_name: "simple".to_owned(),
        ..Default::default()
    })
}

/// Returns the error of a group that is no share group.
pub(super) fn not_found(cluster: &Cluster, id: &str) -> ApiError {
    let what = match cluster.group_exists(id) {
        true => "is not a share group",
        false => "not found",
    };
    ApiError::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} {what}."))
}
