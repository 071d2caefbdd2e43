//! OffsetForLeaderEpoch (key 23), versions 2 to 4.
//!
//! The end offset of a leader epoch (KIP-101, KIP-320): the largest epoch not above the requested one, and the offset
//! after its last record; both -1 for an epoch after the partition's current one. Errors per partition:
//! UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct OffsetForLeaderEpoch;

impl Handler for OffsetForLeaderEpoch {
    type Request = OffsetForLeaderEpochRequest;

    const MIN_VERSION: i16 = 2;

    fn handle(cluster: &mut Cluster, context: &Context, request: OffsetForLeaderEpochRequest) -> AnswerOf<Self> {
        respond(context, request, |topic, requested| {
            find(cluster, context, topic, requested)
        })
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        request: OffsetForLeaderEpochRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        respond(context, request, |_, _| Err(error))
    }
}

fn respond(
    context: &Context,
    request: OffsetForLeaderEpochRequest,
    find: impl Fn(&str, &OffsetForLeaderPartition) -> Result<Option<(i32, i64)>, ErrorCode>,
) -> Answer<OffsetForLeaderEpochResponse> {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|requested| {
            let (error, found) = match find(&topic.topic, requested) {
                Ok(found) => (ErrorCode::NONE, found),
                Err(error) => (error, None),
            };
            let (leader_epoch, end_offset) = found.unwrap_or((-1, -1));
            EpochEndOffset {
                error_code: error.0,
                partition: requested.partition,
                leader_epoch,
                end_offset,
                ..Default::default()
            }
        });
        let partitions = partitions.collect();
        OffsetForLeaderTopicResult {
            topic: topic.topic,
            partitions,
            ..Default::default()
        }
    });
    Answer::Respond(OffsetForLeaderEpochResponse {
        throttle_time_ms: context.throttle_time_ms,
        topics: topics.collect(),
        ..Default::default()
    })
}

fn find(
    cluster: &Cluster,
    context: &Context,
    topic: &str,
    requested: &OffsetForLeaderPartition,
) -> Result<Option<(i32, i64)>, ErrorCode> {
    let topic = cluster
        .state
        .topics
        .by_name(topic)
        .filter(|t| cluster.state.is_visible(t));
    let partition = topic
        .and_then(|t| t.partition(requested.partition))
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    partition.check_access(context.broker, requested.current_leader_epoch, true)?;
    Ok(partition
        .log
        .end_offset_for_epoch(requested.leader_epoch, partition.leader_epoch))
}
