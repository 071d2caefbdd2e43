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
use crate::consumer::units::int32;

/// The first version in which brokers detect truncated logs (KIP-595).
pub(super) const FIRST_WITH_DIVERGENCE: i16 = 12;
/// The first version with fetch sessions (KIP-227).
const FIRST_WITH_SESSIONS: i16 = 7;
/// The first version that limits the response as a whole, except for a first batch that is larger (KIP-74).
const FIRST_WITH_MAX_BYTES: i16 = 3;
/// The newest version that concerns consumers: later ones concern replication.
pub(super) const NEWEST: i16 = 17;

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
        if version < FIRST_WITH_MAX_BYTES && !partitions.is_empty() && limits + limit > granted {
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
                last_fetched_epoch: if version < FIRST_WITH_DIVERGENCE { -1 } else { p.epoch },
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
    if version >= FIRST_WITH_SESSIONS
        && let Some(session) = session
    {
        session.complete(&mut request, &partitions, consumed.positions(), version);
    }
    Built {
        request,
        partitions,
        reserved: if version < FIRST_WITH_MAX_BYTES {
            limits
        } else {
            granted
        },
        is_urgent,
    }
}
