//! DeleteShareGroupOffsets (key 92), version 0.
//!
//! Removes the state of a share group for topics. Errors of the response: INVALID_GROUP_ID, NOT_COORDINATOR,
//! NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND; per topic UNKNOWN_TOPIC_OR_PARTITION, also for a topic without a state.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic, DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
};

use super::described_groups::not_found;
use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;
use crate::share_leader;

pub(crate) struct DeleteShareGroupOffsets;

impl Handler for DeleteShareGroupOffsets {
    type Request = DeleteShareGroupOffsetsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DeleteShareGroupOffsetsRequest) -> AnswerOf<Self> {
        if let Err(error) = check(cluster, context, &request.group_id) {
            return failed(context, error);
        }
        let group = request.group_id;
        let responses = request.topics.into_iter().map(|topic| delete(cluster, &group, topic));
        Answer::Respond(DeleteShareGroupOffsetsResponse {
            responses: responses.collect(),
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: DeleteShareGroupOffsetsRequest, error: ErrorCode) -> AnswerOf<Self> {
        failed(context, error.into())
    }
}

fn failed(context: &Context, error: ApiError) -> Answer<DeleteShareGroupOffsetsResponse> {
    Answer::Respond(DeleteShareGroupOffsetsResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.error.0,
        error_message: Some(error.message),
        ..Default::default()
    })
}

fn check(cluster: &Cluster, context: &Context, id: &str) -> Result<(), ApiError> {
    cluster.state.check_described_group(context.broker, id)?;
    match cluster.groups.share(id).map(|group| group.is_empty()) {
        None => Err(not_found(cluster, id, "share")),
        Some(false) => Err(ErrorCode::NON_EMPTY_GROUP.into()),
        Some(true) => Ok(()),
    }
}

fn delete(
    cluster: &mut Cluster,
    group: &str,
    topic: DeleteShareGroupOffsetsRequestTopic,
) -> DeleteShareGroupOffsetsResponseTopic {
    let id = cluster.state.topics.id_of(&topic.topic_name);
    let found = cluster.groups.share_or_create(&cluster.state, group);
    let is_initialized = id.zip(found).is_some_and(|(id, found)| found.forget_topic(id));
    let is_deleted = id.is_some_and(|id| share_leader::forget_offsets(&mut cluster.state, group, id)) || is_initialized;
    let error = match is_deleted {
        true => ErrorCode::NONE,
        false => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    };
    DeleteShareGroupOffsetsResponseTopic {
        topic_name: topic.topic_name,
        topic_id: id.unwrap_or_default(),
        error_code: error.0,
        error_message: (!is_deleted).then(|| "The group has no offsets of this topic.".to_owned()),
        ..Default::default()
    }
}
