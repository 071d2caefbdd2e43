//! Builds and sends the requests of share sessions.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::share_acknowledge::{self, ShareAcknowledgeRequest};
use ottla_protocol::api::share_fetch::{self, ShareFetchRequest};

use super::acknowledgements::{AcknowledgementSet, PartitionId, WireBatch, wire_batches};
use super::settings::Settings;
use crate::connection::Tag;
use crate::context::Ctx;
use crate::error::Error;
use crate::request::ReadyBroker;

/// The member that sends a request, and the epoch of its session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender<'a> {
    pub(super) group_id: &'a str,
    pub(super) member_id: &'a str,
    pub(super) epoch: i32,
}

/// The content of a ShareFetch request.
#[derive(Debug)]
pub(super) struct Fetch<'a> {
    pub(super) settings: &'a Settings,
    /// The time for which the broker may wait for records.
    pub(super) max_wait_ms: u32,
    /// The partitions to add to the session, and those to remove.
    pub(super) changes: (Vec<PartitionId>, Vec<PartitionId>),
}

/// Sends a ShareFetch request.
///
/// # Errors
/// `_UNSUPPORTED_FEATURE` for a broker without share groups, and those of the connection.
pub(super) fn send_fetch(
    ctx: &mut Ctx<'_>,
    broker: &ReadyBroker,
    tag: Tag,
    sender: &Sender<'_>,
    fetch: &Fetch<'_>,
    acknowledgements: &[AcknowledgementSet],
) -> Result<(), Error> {
    let version = broker.version_within::<ShareFetchRequest>(ShareFetchRequest::STABLE_SINCE, i16::MAX)?;
    let settings = fetch.settings;
    let (added, forgotten) = &fetch.changes;
    let mut partitions: BTreeMap<PartitionId, Vec<WireBatch>> = wire_batches(acknowledgements);
    for id in added {
        partitions.entry(*id).or_default();
    }
    let request = ShareFetchRequest {
        group_id: Some(sender.group_id.to_owned()),
        member_id: Some(sender.member_id.to_owned()),
        share_session_epoch: sender.epoch,
        max_wait_ms: i32::try_from(fetch.max_wait_ms).unwrap_or(i32::MAX),
        min_bytes: settings.min_bytes,
        max_bytes: i32::try_from(settings.max_bytes).unwrap_or(i32::MAX),
        max_records: settings.max_records,
        batch_size: settings.max_records,
        share_acquire_mode: settings.acquire_mode(version),
        topics: by_topic(partitions)
            .into_iter()
            .map(|(topic_id, partitions)| share_fetch::FetchTopic {
                topic_id,
                partitions: partitions.into_iter().map(fetch_partition).collect(),
                ..Default::default()
            })
            .collect(),
        forgotten_topics_data: by_topic(forgotten.iter().map(|id| (*id, ())))
            .into_iter()
            .map(|(topic_id, partitions)| share_fetch::ForgottenTopic {
                topic_id,
                partitions: partitions.into_iter().map(|(index, ())| index).collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    let timeout = ctx.socket_timeout() + Duration::from_millis(fetch.max_wait_ms.into());
    broker.send(ctx, tag, &request, version, timeout)
}

fn fetch_partition((partition_index, batches): (i32, Vec<WireBatch>)) -> share_fetch::FetchPartition {
    let batches = batches.into_iter().map(|b| share_fetch::AcknowledgementBatch {
        first_offset: b.offsets.first,
        last_offset: b.offsets.last,
        acknowledge_types: b.types,
        ..Default::default()
    });
    share_fetch::FetchPartition {
        partition_index,
        acknowledgement_batches: batches.collect(),
        ..Default::default()
    }
}

/// Returns whether the broker can renew acquisition locks (Apache Kafka 4.2 and later).
pub(super) fn can_renew(broker: &ReadyBroker) -> bool {
    let version = broker.version::<ShareAcknowledgeRequest>();
    version.is_ok_and(|v| v >= ShareAcknowledgeRequest::RENEW_SINCE)
}

/// Sends a ShareAcknowledge request.
///
/// # Errors
/// `_UNSUPPORTED_FEATURE` for a broker without share groups, and those of the connection.
pub(super) fn send_acknowledge(
    ctx: &mut Ctx<'_>,
    broker: &ReadyBroker,
    tag: Tag,
    sender: &Sender<'_>,
    acknowledgements: &[AcknowledgementSet],
) -> Result<(), Error> {
    let version = broker.version_within::<ShareAcknowledgeRequest>(ShareAcknowledgeRequest::STABLE_SINCE, i16::MAX)?;
    let partitions = by_topic(wire_batches(acknowledgements));
    let request = ShareAcknowledgeRequest {
        group_id: Some(sender.group_id.to_owned()),
        member_id: Some(sender.member_id.to_owned()),
        share_session_epoch: sender.epoch,
        is_renew_ack: acknowledgements.iter().any(AcknowledgementSet::renews),
        topics: partitions
            .into_iter()
            .map(|(topic_id, partitions)| share_acknowledge::AcknowledgeTopic {
                topic_id,
                partitions: partitions.into_iter().map(acknowledge_partition).collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    let timeout = ctx.socket_timeout();
    broker.send(ctx, tag, &request, version, timeout)
}

fn acknowledge_partition((partition_index, batches): (i32, Vec<WireBatch>)) -> share_acknowledge::AcknowledgePartition {
    let batches = batches.into_iter().map(|b| share_acknowledge::AcknowledgementBatch {
        first_offset: b.offsets.first,
        last_offset: b.offsets.last,
        acknowledge_types: b.types,
        ..Default::default()
    });
    share_acknowledge::AcknowledgePartition {
        partition_index,
        acknowledgement_batches: batches.collect(),
        ..Default::default()
    }
}

fn by_topic<T>(partitions: impl IntoIterator<Item = (PartitionId, T)>) -> BTreeMap<Uuid, Vec<(i32, T)>> {
    let mut topics: BTreeMap<Uuid, Vec<(i32, T)>> = BTreeMap::new();
    for ((topic, index), value) in partitions {
        topics.entry(topic).or_default().push((index, value));
    }
    topics
}
