//! Reading for Fetch requests, and their completion in the purgatory.

use std::collections::BTreeSet;

use ottla_protocol::api::fetch::{
    AbortedTransaction, EpochEndOffset, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint,
    PartitionData,
};
use ottla_protocol::{ApiKey, ErrorCode, Records};

use crate::brokers::Broker;
use crate::fetch_session::{FetchSlot, SessionMode};
use crate::ids::{BrokerId, DelayedId};
use crate::purgatory::{DelayedFetch, DelayedOperation};
use crate::request::Context;
use crate::state::ClusterState;
use crate::topics::Partition;

pub(crate) type Answered = Vec<(FetchSlot, PartitionData)>;

/// The result of reading.
pub(crate) struct ReadResult {
    answered: Answered,
    pub(crate) bytes: usize,
    /// A partition has an error, a preferred replica or a diverging epoch, so that the response must not be delayed.
    pub(crate) urgent: bool,
}

pub(crate) fn read_all(state: &mut ClusterState, context: &Context, fetch: &DelayedFetch) -> ReadResult {
    let mut result = ReadResult {
        answered: Vec::with_capacity(fetch.slots.len()),
        bytes: 0,
        urgent: false,
    };
    for slot in &fetch.slots {
        let left = fetch.max_bytes.saturating_sub(result.bytes);
        let data = take_error(state, slot)
            .and_then(|()| read_slot(state, context, fetch, slot, left, result.bytes == 0))
            .unwrap_or_else(|error| failed(slot.partition, error, fetch.isolation_level));
        result.bytes += data.records.as_ref().map_or(0, Records::len);
        result.urgent |= data.error_code != 0 || data.preferred_read_replica >= 0 || data.diverging_epoch.epoch >= 0;
        result.answered.push((slot.clone(), data));
    }
    result
}

/// Checks that no error was set for the partition.
fn take_error(state: &mut ClusterState, slot: &FetchSlot) -> Result<(), ErrorCode> {
    if !state.faults.has_partition_errors() {
        return Ok(());
    }
    match state.topics.find(&slot.topic) {
        Some(topic) => state
            .faults
            .take_partition_error(ApiKey::FETCH, &topic.name, slot.partition),
        None => Ok(()),
    }
}

fn read_slot(
    state: &ClusterState,
    context: &Context,
    fetch: &DelayedFetch,
    slot: &FetchSlot,
    left: usize,
    at_least_one: bool,
) -> Result<PartitionData, ErrorCode> {
    let topic = state.topics.find(&slot.topic).filter(|t| state.is_visible(t));
    let topic = topic.ok_or_else(|| slot.topic.unknown_error())?;
    let partition = topic
        .partition(slot.partition)
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let leader_only = context.version < 11;
    partition.check_access(context.broker, slot.current_leader_epoch, leader_only)?;
    let log = &partition.log;
    let offsets = FetchableOffsets::of(partition, context.broker);
    let mut data = PartitionData {
        partition_index: slot.partition,
        high_watermark: offsets.high_watermark,
        last_stable_offset: log.last_stable_offset().min(offsets.high_watermark),
        log_start_offset: offsets.start,
        aborted_transactions: (fetch.isolation_level == 1).then(Vec::new),
        records: Some(Records::default()),
        ..Default::default()
    };
    if let Some(replica) = preferred_replica(state, context, partition, &fetch.rack_id) {
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
    if !(offsets.start..=offsets.end).contains(&slot.fetch_offset) {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    let limit = left.min(usize::try_from(slot.partition_max_bytes).unwrap_or(0));
    let end = log.readable_end(fetch.isolation_level).min(offsets.high_watermark);
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

/// The offsets of a partition as one of its replicas serves them.
struct FetchableOffsets {
    start: i64,
    end: i64,
    high_watermark: i64,
}

impl FetchableOffsets {
    fn of(partition: &Partition, broker: BrokerId) -> Self {
        let log = &partition.log;
        let (start, end) = match partition.leader == Some(broker) {
            true => (None, None),
            false => partition.follower_range,
        };
        Self {
            start: start.unwrap_or(log.start_offset()),
            end: end.unwrap_or(log.end_offset()),
            high_watermark: end.unwrap_or(log.high_watermark()),
        }
    }
}

pub(crate) fn failed(partition: i32, error: ErrorCode, isolation_level: i8) -> PartitionData {
    PartitionData {
        partition_index: partition,
        error_code: error.0,
        high_watermark: -1,
        aborted_transactions: (isolation_level == 1).then(Vec::new),
        records: Some(Records::default()),
        ..Default::default()
    }
}

/// Returns the follower that the consumer should fetch from instead of the leader.
fn preferred_replica(
    state: &ClusterState,
    context: &Context,
    partition: &Partition,
    rack_id: &str,
) -> Option<BrokerId> {
    if context.version < 11 || partition.leader != Some(context.broker) {
        return None;
    }
    if partition.follower.is_some_and(|b| b != context.broker) {
        return partition.follower;
    }
    let usable = |b: &BrokerId| *b != context.broker && state.brokers.is_accepting(*b);
    if let Some(replica) = partition.preferred_replica.filter(usable) {
        return Some(replica);
    }
    let rack_of = |b: &BrokerId| state.brokers.get(*b).and_then(|b| b.rack.as_deref());
    let elsewhere = rack_of(&context.broker) != Some(rack_id);
    if !state.config.rack_aware_fetch || rack_id.is_empty() || !elsewhere {
        return None;
    }
    let near = |b: &BrokerId| usable(b) && rack_of(b) == Some(rack_id);
    partition.isr.iter().copied().find(|b| near(b))
}

pub(crate) fn answer(
    state: &mut ClusterState,
    context: &Context,
    session: SessionMode,
    read: ReadResult,
) -> FetchResponse {
    let mut answered = read.answered;
    let mut session_id = 0;
    let now = state.now;
    if let Some(broker) = state.brokers.get_mut(context.broker) {
        match session {
            SessionMode::None => {}
            SessionMode::New => {
                let rng = &mut state.rng;
                session_id = broker.sessions.create(rng, context.version, &answered, now);
            }
            SessionMode::Incremental(id) => {
                broker.sessions.retain_changed(id, &mut answered);
                session_id = id;
            }
        }
    }
    let node_endpoints = name_leaders(state, context, &mut answered);
    FetchResponse {
        throttle_time_ms: context.throttle_time_ms,
        session_id,
        responses: by_topic(answered),
        node_endpoints,
        ..Default::default()
    }
}

/// Gathers neighbouring partitions of one topic.
pub(crate) fn by_topic(answered: Answered) -> Vec<FetchableTopicResponse> {
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

/// Adds the current leaders to the partitions of clients with stale metadata, and returns the leaders' addresses.
fn name_leaders(state: &ClusterState, context: &Context, answered: &mut Answered) -> Vec<NodeEndpoint> {
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
        let found = state.topics.find(&slot.topic).and_then(|t| t.partition(slot.partition));
        if let Some(partition) = found {
            leaders.extend(partition.leader);
            data.current_leader = LeaderIdAndEpoch {
                leader_id: partition.leader.map_or(-1, |b| b.0),
                leader_epoch: partition.leader_epoch,
                ..Default::default()
            };
        }
    }
    let named = state.brokers.iter().filter(|(id, _)| leaders.contains(id));
    let endpoint = |(id, broker): (BrokerId, &Broker)| NodeEndpoint {
        node_id: id.0,
        host: broker.host.clone(),
        port: broker.port.into(),
        rack: broker.rack.clone(),
        ..Default::default()
    };
    named.map(endpoint).collect()
}

/// Delays a fetch until `fetch.min_bytes` can be read, for up to `max_wait_ms`.
pub(crate) fn delay(state: &mut ClusterState, context: &Context, max_wait_ms: i32, mut fetch: DelayedFetch) {
    let mut watched = Vec::with_capacity(fetch.slots.len());
    for slot in &fetch.slots {
        if let Some(topic) = state.topics.find(&slot.topic) {
            watched.push((topic.id, slot.partition));
        }
    }
    fetch.watched.clone_from(&watched);
    let deadline = state.now.plus_ms(max_wait_ms);
    let id = state.delay(context, DelayedOperation::Fetch(fetch), Some(deadline));
    state.topics.watch(id, watched);
}

/// Answers a delayed fetch with the records that can be read now.
pub(crate) fn complete(state: &mut ClusterState, id: DelayedId) {
    let Some(delayed) = state.take_delayed(id) else {
        return;
    };
    let DelayedOperation::Fetch(fetch) = delayed.operation else {
        return;
    };
    state.topics.unwatch(id, fetch.watched.iter().copied());
    let read = read_all(state, &delayed.context, &fetch);
    let response = answer(state, &delayed.context, fetch.session, read);
    state.respond(&delayed.context, &response);
}
