//! DeleteTopics (key 20), versions 1 to 6.
//!
//! By name; from version 6 on also by id. Data, and offsets committed for the topic, go with it.
//! Errors per topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST for neither name nor id, or both.
//!
//! Left out: `timeout_ms`, as topics are deleted at once.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct DeleteTopics;

impl Handler for DeleteTopics {
    type Request = DeleteTopicsRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: DeleteTopicsRequest) -> AnswerOf<Self> {
        respond(context, request, |topic| delete(cluster, topic))
    }

    fn refuse(_: &Cluster, context: &Context, request: DeleteTopicsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| Err(error))
    }
}

fn respond(
    context: &Context,
    request: DeleteTopicsRequest,
    mut delete: impl FnMut(&mut DeleteTopicState) -> Result<(), ErrorCode>,
) -> Answer<DeleteTopicsResponse> {
    let by_name = request.topic_names.into_iter().map(|name| DeleteTopicState {
        name: Some(name),
        ..Default::default()
    });
    let responses = request.topics.into_iter().chain(by_name).map(|mut topic| {
        let error = match delete(&mut topic) {
            Ok(()) => ErrorCode::NONE,
            Err(error) => error,
        };
        DeletableTopicResult {
            name: topic.name,
            topic_id: topic.topic_id,
            error_code: error.0,
            error_message: None,
            ..Default::default()
        }
    });
    Answer::Respond(DeleteTopicsResponse {
        throttle_time_ms: context.throttle_time_ms,
        responses: responses.collect(),
        ..Default::default()
    })
}

/// Deletes a topic and fills in what the client did not say of it.
fn delete(cluster: &mut Cluster, topic: &mut DeleteTopicState) -> Result<(), ErrorCode> {
    match &topic.name {
        Some(_) if !topic.topic_id.is_zero() => return Err(ErrorCode::INVALID_REQUEST),
        None if topic.topic_id.is_zero() => return Err(ErrorCode::INVALID_REQUEST),
        Some(name) => topic.topic_id = cluster.state.topics.id_of(name).unwrap_or_default(),
        None => {
            let found = cluster
                .state
                .topics
                .by_id(topic.topic_id)
                .ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?;
            topic.name = Some(found.name.clone());
        }
    }
    cluster.delete_topic(topic.name.as_deref().unwrap_or_default())
}
