//! ListOffsets (key 2), versions 1 to 11.
//!
//! A timestamp requests the first record at or after it. Special timestamps: -1 latest (the last stable offset for read
//! committed, from version 2 on), -2 earliest, -3 the record with the greatest timestamp (from version 7 on), -4
//! earliest local (8; the same as earliest), -5 latest tiered (9) and -6 earliest pending upload (11), which without
//! tiered storage are unknown: offset -1. From version 4 on leader epochs are checked and returned. Errors:
//! UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, and
//! UNSUPPORTED_VERSION for a special timestamp that is newer than the request's version.
//!
//! Omitted: `timeout_ms` (version 10), as no request waits.

use ottla_protocol::api::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::log::FoundOffset;
use crate::request::Context;

pub(crate) struct ListOffsets;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;

impl Handler for ListOffsets {
    type Request = ListOffsetsRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: ListOffsetsRequest) -> AnswerOf<Self> {
        let isolation_level = request.isolation_level;
        respond(context, request, |topic, partition| {
            find(cluster, context, topic, partition, isolation_level)
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: ListOffsetsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_, _| Err(error))
    }
}

fn respond(
    context: &Context,
    request: ListOffsetsRequest,
    mut find: impl FnMut(&str, &ListOffsetsPartition) -> Result<FoundOffset, ErrorCode>,
) -> Answer<ListOffsetsResponse> {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let (error, found) = match find(&topic.name, asked) {
                Ok(found) => (ErrorCode::NONE, found),
                Err(error) => (error, FoundOffset::NONE),
            };
            ListOffsetsPartitionResponse {
                partition_index: asked.partition_index,
                error_code: error.0,
                timestamp: found.timestamp,
                offset: found.offset,
                leader_epoch: if context.version >= 4 { found.leader_epoch } else { -1 },
                ..Default::default()
            }
        });
        ListOffsetsTopicResponse {
            partitions: partitions.collect(),
            name: topic.name,
            ..Default::default()
        }
    });
    Answer::Respond(ListOffsetsResponse {
        throttle_time_ms: context.throttle_time_ms,
        topics: topics.collect(),
        ..Default::default()
    })
}

fn find(
    cluster: &mut Cluster,
    context: &Context,
    topic: &str,
    asked: &ListOffsetsPartition,
    isolation_level: i8,
) -> Result<FoundOffset, ErrorCode> {
    cluster
        .state
        .faults
        .take_partition_error(ApiKey::LIST_OFFSETS, topic, asked.partition_index)?;
    let topic = cluster
        .state
        .topics
        .by_name(topic)
        .filter(|t| cluster.state.is_visible(t));
    let partition = topic
        .and_then(|t| t.partition(asked.partition_index))
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    partition.check_access(context.broker, asked.current_leader_epoch, true)?;
    let log = &partition.log;
    let end = log.readable_end(isolation_level);
    let needs = |version| match context.version >= version {
        true => Ok(()),
        false => Err(ErrorCode::UNSUPPORTED_VERSION),
    };
    let start = FoundOffset {
        offset: log.start_offset(),
        timestamp: -1,
        leader_epoch: log.epoch_of(log.start_offset()),
    };
    match asked.timestamp {
        LATEST => Ok(FoundOffset {
            offset: end,
            timestamp: -1,
            leader_epoch: partition.leader_epoch,
        }),
        EARLIEST => Ok(start),
        MAX_TIMESTAMP => needs(7).map(|()| below(log.offset_of_max_timestamp(), end)),
        EARLIEST_LOCAL => needs(8).map(|()| start),
        LATEST_TIERED => needs(9).map(|()| FoundOffset::NONE),
        EARLIEST_PENDING_UPLOAD => needs(11).map(|()| FoundOffset::NONE),
        timestamp if timestamp < 0 => Err(ErrorCode::UNSUPPORTED_VERSION),
        timestamp => Ok(below(log.offset_for_timestamp(timestamp), end)),
    }
}

/// Replaces a record that cannot be read yet by none.
fn below(found: FoundOffset, end: i64) -> FoundOffset {
    match found.offset < end {
        true => found,
        false => FoundOffset::NONE,
    }
}
