//! DescribeShareGroupOffsets (key 90), versions 0 and 1.
//!
//! The start offsets of share groups: of all partitions with a state, or of the requested ones, where a partition without a
//! state has the offset -1. From version 1 on with the lag (KIP-1226): the records between the start offset and the high
//! watermark that can still be delivered. Errors per group: INVALID_GROUP_ID, NOT_COORDINATOR, GROUP_ID_NOT_FOUND; per partition
//! UNKNOWN_TOPIC_OR_PARTITION.

use ottla_protocol::api::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup, DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
};
use ottla_protocol::{ErrorCode, Uuid};

use super::described_groups::not_found;
use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::groups::by_topic;
use crate::request::Context;
use crate::share_key::ShareKey;

pub(crate) struct DescribeShareGroupOffsets;

type Topics = Vec<DescribeShareGroupOffsetsResponseTopic>;

impl Handler for DescribeShareGroupOffsets {
    type Request = DescribeShareGroupOffsetsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeShareGroupOffsetsRequest) -> AnswerOf<Self> {
        respond(context, request, |group| describe(cluster, context, group))
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        request: DescribeShareGroupOffsetsRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        respond(context, request, |_| Err(error.into()))
    }
}

fn respond(
    context: &Context,
    request: DescribeShareGroupOffsetsRequest,
    describe: impl Fn(&DescribeShareGroupOffsetsRequestGroup) -> Result<Topics, ApiError>,
) -> Answer<DescribeShareGroupOffsetsResponse> {
    let groups = request.groups.into_iter().map(|group| {
        let (topics, error) = match describe(&group) {
            Ok(topics) => (topics, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        DescribeShareGroupOffsetsResponseGroup {
            group_id: group.group_id,
            topics,
            error_code: error.as_ref().map_or(0, |error| error.error.0),
            error_message: error.map(|error| error.message),
            ..Default::default()
        }
    });
    Answer::Respond(DescribeShareGroupOffsetsResponse {
        throttle_time_ms: context.throttle_time_ms,
        groups: groups.collect(),
        ..Default::default()
    })
}

fn describe(
    cluster: &Cluster,
    context: &Context,
    asked: &DescribeShareGroupOffsetsRequestGroup,
) -> Result<Topics, ApiError> {
    let id = &asked.group_id;
    cluster.state.check_described_group(context.broker, id)?;
    let group = cluster
        .groups
        .share(id)
        .ok_or_else(|| not_found(cluster, id, "share"))?;
    let topics: Vec<(String, Uuid, Vec<i32>)> = match &asked.topics {
        Some(topics) => {
            let topic = |name: &String| cluster.state.topics.id_of(name).unwrap_or_default();
            let topics = topics.iter();
            topics
                .map(|t| (t.topic_name.clone(), topic(&t.topic_name), t.partitions.clone()))
                .collect()
        }
        None => {
            let named = |(id, partitions)| Some((cluster.state.topics.by_id(id)?.name.clone(), id, partitions));
            by_topic(group.initialized_partitions())
                .into_iter()
                .filter_map(named)
                .collect()
        }
    };
    let topic = |(topic_name, topic_id, partitions): (String, Uuid, Vec<i32>)| DescribeShareGroupOffsetsResponseTopic {
        partitions: partitions
            .iter()
            .map(|index| partition(cluster, id, topic_id, *index))
            .collect(),
        topic_name,
        topic_id,
        ..Default::default()
    };
    Ok(topics.into_iter().map(topic).collect())
}

fn partition(cluster: &Cluster, group: &str, topic: Uuid, index: i32) -> DescribeShareGroupOffsetsResponsePartition {
    let empty = DescribeShareGroupOffsetsResponsePartition {
        partition_index: index,
        start_offset: -1,
        lag: -1,
        ..Default::default()
    };
    let found = cluster
        .state
        .topics
        .by_id(topic)
        .and_then(|topic| topic.partition(index));
    let Some(found) = found else {
        return DescribeShareGroupOffsetsResponsePartition {
            error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0,
            error_message: Some("The partition does not exist.".to_owned()),
            ..empty
        };
    };
    let entry = cluster.state.share.entry(&ShareKey::new(group, (topic, index)));
    let persisted = entry.map(|entry| &entry.persisted);
    match persisted.and_then(|p| Some((p, p.start_offset()?))) {
        None => empty,
        Some((persisted, start_offset)) => DescribeShareGroupOffsetsResponsePartition {
            start_offset,
            leader_epoch: persisted.leader_epoch(),
            lag: found
                .log
                .high_watermark()
                .saturating_sub(start_offset)
                .saturating_sub(persisted.completed())
                .max(0),
            ..empty
        },
    }
}
