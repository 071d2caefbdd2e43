//! The Fetch request: which partitions it names, with which limits.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::Uuid;
use ottla_protocol::api::fetch::{FetchPartition, FetchRequest, FetchTopic};

use super::partitions::ConsumedPartitions;
use super::positions::Next;
use super::session::Session;
use super::validation::leader_epoch;
use crate::cluster::Cluster;
use crate::config::units::int32;

/// A request that was built, without its wait.
pub(super) struct Built {
    pub(super) request: FetchRequest,
    /// The partitions that the request names.
    pub(super) partitions: Vec<u32>,
    /// The bytes of the budget that the response may use.
    pub(super) reserved: u64,
    /// The broker must not wait for records: an end of partition is to be reported.
    pub(super) is_urgent: bool,
}

/// Builds a request for the partitions `ids`, whose response may carry `granted` bytes.
pub(super) fn build(
    consumed: &mut ConsumedPartitions,
    cluster: &Cluster,
    session: Option<&Session>,
    ids: Vec<u32>,
    granted: u64,
    version: i16,
) -> Built {
    // Partitions of one topic name may belong to two topics: where a topic was created again with fewer partitions, those
    // that it lacks are still known by the id of the previous one.
    let mut by_topic: HashMap<(Arc<str>, Uuid), usize> = HashMap::new();
    let mut topics: Vec<FetchTopic> = Vec::new();
    let mut partitions = Vec::with_capacity(ids.len());
    let mut limits: u64 = 0;
    let mut is_urgent = false;
    let eof_events = consumed.settings().eof_events;
    for id in ids {
        let Some(p) = consumed.get_mut(id) else { continue };
        let Next::At(fetch_offset) = p.next else { continue };
        let limit = u64::try_from(p.max_bytes).unwrap_or(0);
        if version < FetchRequest::MAX_BYTES_SINCE && !partitions.is_empty() && limits + limit > granted {
            continue;
        }
        limits += limit;
        is_urgent |= p.nothing_fetched && eof_events;
        let leader_epoch = leader_epoch(cluster, p);
        p.sent_leader_epoch = leader_epoch;
        let index = *by_topic.entry((p.name.clone(), p.topic_id)).or_insert_with(|| {
            topics.push(FetchTopic {
                topic: p.name.to_string(),
                topic_id: p.topic_id,
                ..Default::default()
            });
            topics.len() - 1
        });
        if let Some(topic) = topics.get_mut(index) {
            topic.partitions.push(FetchPartition {
                partition: p.state.partition(),
                current_leader_epoch: leader_epoch,
                fetch_offset,
                last_fetched_epoch: if version < FetchRequest::DIVERGENCE_SINCE {
                    -1
                } else {
                    p.epoch
                },
                partition_max_bytes: p.max_bytes,
                ..Default::default()
            });
        }
        partitions.push(id);
    }
    let settings = consumed.settings();
    let mut request = FetchRequest {
        // The broker would wait for more bytes than it may return.
        min_bytes: settings.min_bytes.min(int32(granted)),
        max_bytes: int32(granted),
        isolation_level: i8::from(settings.read_committed),
        topics,
        rack_id: settings.rack.clone(),
        ..Default::default()
    };
    if version >= FetchRequest::SESSIONS_SINCE
        && let Some(session) = session
    {
        session.complete(&mut request, &partitions, consumed.positions(), version);
    }
    Built {
        request,
        partitions,
        reserved: if version < FetchRequest::MAX_BYTES_SINCE {
            limits
        } else {
            granted
        },
        is_urgent,
    }
}
