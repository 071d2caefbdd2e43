//! AlterShareGroupOffsets (key 91), version 0.
//!
//! Sets the start offsets of a share group, which is created if it does not exist, under a new state epoch. Errors of the
//! response: INVALID_GROUP_ID, NOT_COORDINATOR, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND for a group of another type; per
//! partition UNKNOWN_TOPIC_OR_PARTITION.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse, AlterShareGroupOffsetsResponsePartition, AlterShareGroupOffsetsResponseTopic,
};

use super::described_groups::not_found;
use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;
use crate::share_key::ShareKey;
use crate::share_leader;

pub(crate) struct AlterShareGroupOffsets;

impl Handler for AlterShareGroupOffsets {
    type Request = AlterShareGroupOffsetsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: AlterShareGroupOffsetsRequest) -> AnswerOf<Self> {
        if let Err(error) = check(cluster, context, &request.group_id) {
            return failed(context, error);
        }
        let group = request.group_id;
        if let Some(group) = cluster.groups.share_or_create(&cluster.state, &group) {
            group.bump_epoch();
        }
        let responses = request.topics.into_iter().map(|topic| alter(cluster, &group, topic));
        Answer::Respond(AlterShareGroupOffsetsResponse {
            responses: responses.collect(),
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: AlterShareGroupOffsetsRequest, error: ErrorCode) -> AnswerOf<Self> {
        failed(context, error.into())
    }
}

fn failed(context: &Context, error: ApiError) -> Answer<AlterShareGroupOffsetsResponse> {
    Answer::Respond(AlterShareGroupOffsetsResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.error.0,
        error_message: Some(error.message),
        ..Default::default()
    })
}

fn check(cluster: &Cluster, context: &Context, id: &str) -> Result<(), ApiError> {
    cluster.state.check_described_group(context.broker, id)?;
    match cluster.groups.share(id) {
        Some(group) if !group.is_empty() => Err(ErrorCode::NON_EMPTY_GROUP.into()),
        None if cluster.group_exists(id) => Err(not_found(cluster, id, "share")),
        _ => Ok(()),
    }
}

fn alter(
    cluster: &mut Cluster,
    group: &str,
    topic: AlterShareGroupOffsetsRequestTopic,
) -> AlterShareGroupOffsetsResponseTopic {
    let topic_id = cluster.state.topics.id_of(&topic.topic_name).unwrap_or_default();
    let mut partition = |asked: &AlterShareGroupOffsetsRequestPartition| {
        let index = asked.partition_index;
        let known = cluster
            .state
            .topics
            .by_id(topic_id)
            .and_then(|topic| topic.partition(index))
            .map(|_| ());
        let error = match known {
            None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Some(_) => {
                let key = ShareKey::new(group, (topic_id, index));
                share_leader::set_start_offset(&mut cluster.state, &key, asked.start_offset);
                if let Some(group) = cluster.groups.share_or_create(&cluster.state, group) {
                    group.initialized(&[key.id()]);
                }
                ErrorCode::NONE
            }
        };
        AlterShareGroupOffsetsResponsePartition {
            partition_index: index,
            error_code: error.0,
            error_message: known.is_none().then(|| "The partition does not exist.".to_owned()),
            ..Default::default()
        }
    };
    AlterShareGroupOffsetsResponseTopic {
        partitions: topic.partitions.iter().map(&mut partition).collect(),
        topic_name: topic.topic_name,
        topic_id,
        ..Default::default()
    }
}
