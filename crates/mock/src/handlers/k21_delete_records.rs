//! DeleteRecords (key 21), versions 0 to 2.
//!
//! Moves a partition's log start offset up; -1 means to the high watermark.
//! Errors per partition: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE.
//!
//! Left out: `timeout_ms`, as the followers move along at once.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct DeleteRecords;

impl Handler for DeleteRecords {
    type Request = DeleteRecordsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DeleteRecordsRequest) -> AnswerOf<Self> {
        respond(context, request, |topic, asked| delete(cluster, context, topic, asked))
    }

    fn refuse(_: &Cluster, context: &Context, request: DeleteRecordsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_, _| Err(error))
    }
}

fn respond(
    context: &Context,
    request: DeleteRecordsRequest,
    mut delete: impl FnMut(&str, &DeleteRecordsPartition) -> Result<i64, ErrorCode>,
) -> Answer<DeleteRecordsResponse> {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let (error, low_watermark) = match delete(&topic.name, asked) {
                Ok(low_watermark) => (ErrorCode::NONE, low_watermark),
                Err(error) => (error, -1),
            };
            DeleteRecordsPartitionResult {
                partition_index: asked.partition_index,
                low_watermark,
                error_code: error.0,
                ..Default::default()
            }
        });
        let partitions = partitions.collect();
        DeleteRecordsTopicResult {
            name: topic.name,
            partitions,
            ..Default::default()
        }
    });
    Answer::Respond(DeleteRecordsResponse {
        throttle_time_ms: context.throttle_time_ms,
        topics: topics.collect(),
        ..Default::default()
    })
}

fn delete(
    cluster: &mut Cluster,
    context: &Context,
    topic: &str,
    asked: &DeleteRecordsPartition,
) -> Result<i64, ErrorCode> {
    let topic = cluster
        .state
        .topics
        .by_name_mut(topic)
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let partition = topic
        .partition_mut(asked.partition_index)
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    partition.check_access(context.broker, -1, true)?;
    let high_watermark = partition.log.high_watermark();
    let offset = match asked.offset {
        -1 => high_watermark,
        offset => offset,
    };
    if !(0..=high_watermark).contains(&offset) {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    partition.log.delete_before(offset);
    Ok(partition.log.start_offset())
}
