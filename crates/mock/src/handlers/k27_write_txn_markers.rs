//! WriteTxnMarkers (key 27), versions 1 and 2; version 0 where a version range simulates older brokers. The coordinators of
//! this cluster write their markers without requests: here arrive those of admin clients, which end a transaction in one
//! partition (KIP-664).
//!
//! The leader appends the marker whether or not the producer's transaction is open. The coordinator's state stays as it
//! is. The transaction version of version 2 (KIP-1228) decides on the epoch: below 2 it may be that of the producer's
//! last batch; from 2 on it must be greater, unless the marker repeats the last one. Errors per partition:
//! UNKNOWN_TOPIC_OR_PARTITION also at brokers without a replica, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS,
//! INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED for a coordinator epoch before that of the last marker.
//!
//! Omitted: the response does not wait for the followers; markers in `__consumer_offsets`.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use ottla_protocol::record::ControlType;

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::log::PartitionLog;
use crate::replication::replicate;
use crate::request::Context;
use crate::transaction_index::Marker;

pub(crate) struct WriteTxnMarkers;

impl Handler for WriteTxnMarkers {
    type Request = WriteTxnMarkersRequest;

    const MIN_VERSION: i16 = 1;
    const OLDEST_VERSION: i16 = 0;

    fn handle(cluster: &mut Cluster, context: &Context, request: WriteTxnMarkersRequest) -> AnswerOf<Self> {
        respond(request, |marker, topic, partition| {
            write(cluster, context, marker, topic, partition)
        })
    }

    fn refuse(_: &Cluster, _: &Context, request: WriteTxnMarkersRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(request, |_, _, _| Err(error))
    }
}

fn respond(
    request: WriteTxnMarkersRequest,
    mut write: impl FnMut(&WritableTxnMarker, &str, i32) -> Result<(), ErrorCode>,
) -> Answer<WriteTxnMarkersResponse> {
    let mut markers = Vec::with_capacity(request.markers.len());
    for marker in &request.markers {
        let mut topics = Vec::with_capacity(marker.topics.len());
        for topic in &marker.topics {
            let result = |partition_index: &i32| WritableTxnMarkerPartitionResult {
                partition_index: *partition_index,
                error_code: write(marker, &topic.name, *partition_index)
                    .err()
                    .unwrap_or(ErrorCode::NONE)
                    .0,
                ..Default::default()
            };
            topics.push(WritableTxnMarkerTopicResult {
                name: topic.name.clone(),
                partitions: topic.partition_indexes.iter().map(result).collect(),
                ..Default::default()
            });
        }
        markers.push(WritableTxnMarkerResult {
            producer_id: marker.producer_id,
            topics,
            ..Default::default()
        });
    }
    Answer::Respond(WriteTxnMarkersResponse {
        markers,
        ..Default::default()
    })
}

/// Appends a marker to a partition's log.
fn write(
    cluster: &mut Cluster,
    context: &Context,
    marker: &WritableTxnMarker,
    topic: &str,
    index: i32,
) -> Result<(), ErrorCode> {
    let now_ms = cluster.state.broker_clock_ms(context.broker);
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let topic = cluster.state.topics.by_name_mut(topic).ok_or(unknown)?;
    let (id, min_insync) = (topic.id, topic.config.min_insync_replicas);
    let partition = topic.partition_mut(index).ok_or(unknown)?;
    if !partition.replicas.contains(&context.broker) {
        return Err(unknown);
    }
    partition.check_access(context.broker, -1, true)?;
    let insync = i32::try_from(partition.isr.len()).unwrap_or(i32::MAX);
    if insync < min_insync {
        return Err(ErrorCode::NOT_ENOUGH_REPLICAS);
    }
    check_epochs(&partition.log, marker)?;
    let written = Marker {
        producer_id: marker.producer_id,
        epoch: marker.producer_epoch,
        outcome: match marker.transaction_result {
            true => ControlType::COMMIT,
            false => ControlType::ABORT,
        },
        coordinator_epoch: marker.coordinator_epoch,
    };
    let leader_epoch = partition.leader_epoch;
    let appended = partition.log.append_marker(written, leader_epoch, now_ms);
    let end_offset = appended.ok_or(ErrorCode::UNKNOWN_SERVER_ERROR)?.base_offset + 1;
    replicate(&mut cluster.state, id, index, end_offset);
    Ok(())
}

/// Checks a marker against the producer's last batch and last marker.
fn check_epochs(log: &PartitionLog, marker: &WritableTxnMarker) -> Result<(), ErrorCode> {
    let (id, epoch) = (marker.producer_id, marker.producer_epoch);
    let current = log.producers.epoch(id).unwrap_or(-1);
    let is_repeated = epoch == current && (log.transactions.open(id).is_none() || epoch == i16::MAX);
    let is_current = match marker.transaction_version {
        ..2 => epoch >= current,
        _ => epoch > current || is_repeated,
    };
    if !is_current {
        return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
    }
    match log.producers.coordinator_epoch(id) {
        Some(last) if last > marker.coordinator_epoch => Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED),
        _ => Ok(()),
    }
}
