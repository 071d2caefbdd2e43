//! Fetch (key 1), versions 4 to 18.
//!
//! Waits up to `max_wait_ms` for `min_bytes`. The response keeps to `max_bytes` and each partition's
//! `partition_max_bytes`, except that the first partition with records gives at least one whole batch; what is cut is
//! the last batch of a partition. From version 7 on there are fetch sessions (KIP-227), from 9 on leader epochs are
//! checked (KIP-320), from 11 on consumers may read from followers and are sent to one in their rack if the cluster is
//! set up so (KIP-392), from 12 on diverging logs are told, from 13 on topics have ids, from 16 on the new leader's
//! address comes with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951).
//! Errors: OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, NOT_LEADER_OR_FOLLOWER,
//! FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH and the three of sessions.
//!
//! Records are slices of the log; nothing is copied. Read committed stops at the last stable offset and lists the
//! aborted transactions that the records belong to, in the order of their markers (KIP-98).
//!
//! Left out: fetches by replicas are served as those of consumers; nothing is throttled unless asked for from outside.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::api::fetch::{
    AbortedTransaction, EpochEndOffset, FetchRequest, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch,
    NodeEndpoint, PartitionData,
};
use ottla_protocol::{ApiKey, ErrorCode, Records, Uuid};

use super::{Answer, AnswerOf, Handler};
use crate::cluster::{BrokerId, Cluster};
use crate::dispatch::Context;
use crate::fetch_session::{FetchSlot, SessionMode, requested_slots};
use crate::purgatory::{DelayedId, DelayedOperation};
use crate::topics::Partition;

pub(crate) struct Fetch;

/// A fetch, whether parked or not.
#[derive(Debug)]
pub(crate) struct DelayedFetch {
    session: SessionMode,
    slots: Vec<FetchSlot>,
    max_bytes: usize,
    pub(crate) isolation_level: i8,
    rack_id: String,
    waits_on: Vec<(Uuid, i32)>,
    /// Answered as soon as this much can be read.
    pub(crate) min_bytes: usize,
    /// What can be read so far.
    pub(crate) available: usize,
}

type Answered = Vec<(FetchSlot, PartitionData)>;

/// What was read.
struct ReadResult {
    answered: Answered,
    bytes: usize,
    /// There is something to tell besides records.
    urgent: bool,
}

impl Handler for Fetch {
    type Request = FetchRequest;

    const MIN_VERSION: i16 = 4;

    fn handle(cluster: &mut Cluster, context: &Context, request: FetchRequest) -> AnswerOf<Self> {
        let now = cluster.now;
        let Some(broker) = cluster.brokers.get_mut(&context.broker) else {
            return Answer::Close(crate::CloseReason::BrokerDown);
        };
        let (session, slots) = match broker.sessions.begin(&request, context.version, now) {
            Ok(begun) => begun,
            Err(error) => {
                return Answer::Respond(FetchResponse {
                    throttle_time_ms: context.throttle_time_ms,
                    error_code: error.0,
                    ..Default::default()
                });
            }
        };
        let max_bytes = request.max_bytes.clamp(0, cluster.config.fetch_max_bytes);
        let min_bytes = request.min_bytes.clamp(0, max_bytes);
        let mut fetch = DelayedFetch {
            session,
            slots,
            max_bytes: usize::try_from(max_bytes).unwrap_or(0),
            isolation_level: request.isolation_level,
            rack_id: request.rack_id,
            waits_on: Vec::new(),
            min_bytes: usize::try_from(min_bytes).unwrap_or(0),
            available: 0,
        };
        let read = read_all(cluster, context, &fetch);
        let enough = read.bytes >= fetch.min_bytes || read.urgent;
        if request.max_wait_ms <= 0 || fetch.slots.is_empty() || enough {
            return Answer::Respond(answer(cluster, context, fetch.session, read));
        }
        fetch.available = read.bytes;
        park(cluster, context, request.max_wait_ms, fetch);
        Answer::Delayed
    }

    fn refuse(_: &Cluster, context: &Context, request: FetchRequest, error: ErrorCode) -> AnswerOf<Self> {
        let slots = requested_slots(&request, context.version);
        let isolation_level = request.isolation_level;
        let answered = slots.into_iter().map(|slot| {
            let data = failed(slot.partition, error, isolation_level);
            (slot, data)
        });
        // A session's partitions are not repeated in the request; the whole of it is refused then.
        let whole = context.version >= 7 && (request.topics.is_empty() || context.refuse_whole);
        if whole {
            return Answer::Respond(FetchResponse {
                throttle_time_ms: context.throttle_time_ms,
                error_code: error.0,
                ..Default::default()
            });
        }
        Answer::Respond(FetchResponse {
            throttle_time_ms: context.throttle_time_ms,
            responses: by_topic(answered.collect()),
            ..Default::default()
        })
    }
}

fn park(cluster: &mut Cluster, context: &Context, max_wait_ms: i32, mut fetch: DelayedFetch) {
    let mut waits_on = Vec::with_capacity(fetch.slots.len());
    for slot in &fetch.slots {
        if let Some(topic) = cluster.topics.find(&slot.topic) {
            waits_on.push((topic.id, slot.partition));
        }
    }
    fetch.waits_on.clone_from(&waits_on);
    let deadline = cluster.now.plus_ms(max_wait_ms);
    let token = cluster.park(context, DelayedOperation::Fetch(fetch), Some(deadline));
    cluster.wait_on(token, waits_on);
}

fn read_all(cluster: &Cluster, context: &Context, fetch: &DelayedFetch) -> ReadResult {
    let mut result = ReadResult {
        answered: Vec::with_capacity(fetch.slots.len()),
        bytes: 0,
        urgent: false,
    };
    for slot in &fetch.slots {
        let left = fetch.max_bytes.saturating_sub(result.bytes);
        let data = read_slot(cluster, context, fetch, slot, left, result.bytes == 0)
            .unwrap_or_else(|error| failed(slot.partition, error, fetch.isolation_level));
        result.bytes += data.records.as_ref().map_or(0, Records::len);
        result.urgent |= data.error_code != 0 || data.preferred_read_replica >= 0 || data.diverging_epoch.epoch >= 0;
        result.answered.push((slot.clone(), data));
    }
    result
}

fn read_slot(
    cluster: &Cluster,
    context: &Context,
    fetch: &DelayedFetch,
    slot: &FetchSlot,
    left: usize,
    at_least_one: bool,
) -> Result<PartitionData, ErrorCode> {
    let topic = cluster.topics.find(&slot.topic).filter(|t| cluster.is_visible(t));
    let topic = topic.ok_or_else(|| slot.topic.unknown_error())?;
    let partition = topic
        .partition(slot.partition)
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    cluster
        .faults
        .check_partition(ApiKey::FETCH, &topic.name, slot.partition)?;
    let leader_only = context.version < 11;
    partition.check_access(context.broker, slot.current_leader_epoch, leader_only)?;
    let log = &partition.log;
    let mut data = PartitionData {
        partition_index: slot.partition,
        high_watermark: log.high_watermark(),
        last_stable_offset: log.last_stable_offset(),
        log_start_offset: log.start_offset(),
        aborted_transactions: (fetch.isolation_level == 1).then(Vec::new),
        records: Some(Records::default()),
        ..Default::default()
    };
    if let Some(replica) = preferred_replica(cluster, context, partition, &fetch.rack_id) {
        data.preferred_read_replica = replica.0;
        return Ok(data);
    }
    if slot.last_fetched_epoch >= 0 {
        let (epoch, end_offset) = log
            .end_offset_for_epoch(slot.last_fetched_epoch, partition.leader_epoch)
            .ok_or(ErrorCode::OFFSET_OUT_OF_RANGE)?;
        if epoch < slot.last_fetched_epoch || end_offset < slot.fetch_offset {
            data.diverging_epoch = EpochEndOffset {
                epoch,
                end_offset,
                ..Default::default()
            };
            return Ok(data);
        }
    }
    if !(log.start_offset()..=log.end_offset()).contains(&slot.fetch_offset) {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    let limit = left.min(usize::try_from(slot.partition_max_bytes).unwrap_or(0));
    let end = log.readable_end(fetch.isolation_level);
    let read = log.read(slot.fetch_offset, end, limit, at_least_one);
    if fetch.isolation_level == 1 {
        let aborted = log.transactions.aborted(slot.fetch_offset, read.end_offset);
        let aborted = aborted.map(|a| AbortedTransaction {
            producer_id: a.producer_id,
            first_offset: a.first_offset,
            ..Default::default()
        });
        data.aborted_transactions = Some(aborted.collect());
    }
    data.records = Some(read.records);
    Ok(data)
}

fn failed(partition: i32, error: ErrorCode, isolation_level: i8) -> PartitionData {
    PartitionData {
        partition_index: partition,
        error_code: error.0,
        high_watermark: -1,
        aborted_transactions: (isolation_level == 1).then(Vec::new),
        records: Some(Records::default()),
        ..Default::default()
    }
}

/// The follower to which a consumer should go instead of its leader.
fn preferred_replica(cluster: &Cluster, context: &Context, partition: &Partition, rack_id: &str) -> Option<BrokerId> {
    if context.version < 11 || partition.leader != Some(context.broker) {
        return None;
    }
    let usable = |b: &BrokerId| *b != context.broker && cluster.is_accepting(*b);
    if let Some(replica) = partition.preferred_replica.filter(usable) {
        return Some(replica);
    }
    let rack_of = |b: &BrokerId| cluster.brokers.get(b).and_then(|b| b.rack.as_deref());
    let elsewhere = rack_of(&context.broker) != Some(rack_id);
    if !cluster.config.rack_aware_fetch || rack_id.is_empty() || !elsewhere {
        return None;
    }
    let near = |b: &BrokerId| usable(b) && rack_of(b) == Some(rack_id);
    partition.isr.iter().copied().find(|b| near(b))
}

fn answer(cluster: &mut Cluster, context: &Context, session: SessionMode, read: ReadResult) -> FetchResponse {
    let mut answered = read.answered;
    let mut session_id = 0;
    let now = cluster.now;
    if let Some(broker) = cluster.brokers.get_mut(&context.broker) {
        match session {
            SessionMode::None => {}
            SessionMode::New => {
                let rng = &mut cluster.rng;
                session_id = broker.sessions.create(rng, context.version, &answered, now);
            }
            SessionMode::Incremental(id) => {
                broker.sessions.keep_news(id, &mut answered);
                session_id = id;
            }
        }
    }
    let node_endpoints = name_leaders(cluster, context, &mut answered);
    FetchResponse {
        throttle_time_ms: context.throttle_time_ms,
        session_id,
        responses: by_topic(answered),
        node_endpoints,
        ..Default::default()
    }
}

/// Gathers neighbouring partitions of one topic.
fn by_topic(answered: Answered) -> Vec<FetchableTopicResponse> {
    let mut topics: Vec<FetchableTopicResponse> = Vec::new();
    let mut current = None;
    for (slot, data) in answered {
        if current.as_ref() != Some(&slot.topic) {
            topics.push(FetchableTopicResponse {
                topic_id: slot.topic.id(),
                topic: slot.topic.name(),
                ..Default::default()
            });
            current = Some(slot.topic);
        }
        if let Some(topic) = topics.last_mut() {
            topic.partitions.push(data);
        }
    }
    topics
}

/// Tells clients that are behind who leads now, and where to find it.
fn name_leaders(cluster: &Cluster, context: &Context, answered: &mut Answered) -> Vec<NodeEndpoint> {
    if context.version < 16 {
        return Vec::new();
    }
    let mut leaders = BTreeSet::new();
    for (slot, data) in answered {
        let error = ErrorCode(data.error_code);
        if !matches!(
            error,
            ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH
        ) {
            continue;
        }
        let found = cluster
            .topics
            .find(&slot.topic)
            .and_then(|t| t.partition(slot.partition));
        if let Some(partition) = found {
            leaders.extend(partition.leader);
            data.current_leader = LeaderIdAndEpoch {
                leader_id: partition.leader.map_or(-1, |b| b.0),
                leader_epoch: partition.leader_epoch,
                ..Default::default()
            };
        }
    }
    let by_id: BTreeMap<_, _> = cluster.brokers.iter().filter(|(id, _)| leaders.contains(id)).collect();
    let endpoint = |(id, broker): (&BrokerId, &crate::cluster::Broker)| NodeEndpoint {
        node_id: id.0,
        host: broker.host.clone(),
        port: broker.port.into(),
        rack: broker.rack.clone(),
        ..Default::default()
    };
    by_id.into_iter().map(endpoint).collect()
}

impl Cluster {
    /// Answers a parked fetch with what can be read now.
    pub(crate) fn complete_fetch(&mut self, token: DelayedId) {
        let Some(parked) = self.unpark(token) else {
            return;
        };
        let DelayedOperation::Fetch(fetch) = parked.waiting else {
            return;
        };
        self.stop_waiting_for_records(token, &fetch);
        let read = read_all(self, &parked.context, &fetch);
        let response = answer(self, &parked.context, fetch.session, read);
        self.respond(&parked.context, &response);
    }

    pub(crate) fn stop_waiting_for_records(&mut self, token: DelayedId, fetch: &DelayedFetch) {
        self.stop_waiting(token, fetch.waits_on.iter().copied());
    }
}
