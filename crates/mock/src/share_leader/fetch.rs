//! Fetches of members of share groups: reading, acquisition, delay and response.

use std::collections::BTreeSet;

use ottla_protocol::api::share_fetch::{
    AcquiredRecords, LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareFetchResponse, ShareFetchableTopicResponse,
};
use ottla_protocol::{ApiKey, ErrorCode, Records};

use super::partitions::{change, is_loaded, load, partition};
use crate::brokers::Broker;
use crate::ids::{BrokerId, DelayedId};
use crate::log::ReadableBatch;
use crate::purgatory::DelayedOperation;
use crate::request::Context;
use crate::share::{Acknowledged, AcquiredRange, Acquisition, DelayedShareFetch, ReadBatch, record_count};
use crate::share_key::{PartitionId, ShareKey};
use crate::state::ClusterState;

/// The maximum number of offsets in a batch of the log that is delivered. The header of a batch can claim any number, and
/// the states of records take memory.
const BATCH_OFFSETS_MAX: i64 = 1 << 17;

/// A batch that was read, with its records.
struct BatchRead {
    range: ReadBatch,
    records: Records,
}

/// Serves a fetch at once, or delays it for up to `max_wait_ms`. Returns the response if there is one now.
pub(crate) fn begin(
    state: &mut ClusterState,
    context: &Context,
    max_wait_ms: i32,
    mut fetch: DelayedShareFetch,
) -> Option<ShareFetchResponse> {
    let asks_for_nothing = fetch.partitions.is_empty() || fetch.max_records <= 0 || fetch.max_bytes == 0;
    if asks_for_nothing {
        fetch.partitions.clear();
        return Some(answer(state, context, &fetch, Vec::new()));
    }
    let mut readable = Vec::with_capacity(fetch.partitions.len());
    for id in std::mem::take(&mut fetch.partitions) {
        let key = ShareKey::new(&fetch.group, id);
        match check_fault(state, id).and_then(|()| load(state, context.broker, &key)) {
            Ok(()) => readable.push(id),
            Err(error) => fetch.failed.push((id, error)),
        }
    }
    fetch.partitions = readable;
    if max_wait_ms <= 0 || fetch.partitions.is_empty() || is_ready(state, context, &fetch) {
        return Some(complete(state, context, &fetch));
    }
    let deadline = state.now.plus_ms(max_wait_ms);
    let partitions = fetch.partitions.clone();
    let keys = keys(&fetch);
    let id = state.delay(context, DelayedOperation::ShareFetch(fetch), Some(deadline));
    state.topics.watch(id, partitions);
    state.share.watch(id, keys);
    None
}

fn check_fault(state: &mut ClusterState, (topic, index): PartitionId) -> Result<(), ErrorCode> {
    match state.topics.by_id(topic) {
        Some(topic) => state
            .faults
            .take_partition_error(ApiKey::SHARE_FETCH, &topic.name, index),
        None => Ok(()),
    }
}

fn keys(fetch: &DelayedShareFetch) -> Vec<ShareKey> {
    let keys = fetch.partitions.iter().map(|id| ShareKey::new(&fetch.group, *id));
    keys.collect()
}

// ---------------------------------------------------------------- delay

/// Completes a delayed fetch if it can acquire enough.
pub(crate) fn try_complete(state: &mut ClusterState, id: DelayedId) {
    let Some(delayed) = state.purgatory.remove(id) else {
        return;
    };
    let is_ready = match &delayed.operation {
        DelayedOperation::ShareFetch(fetch) => is_ready(state, &delayed.context, fetch),
        _ => false,
    };
    state.purgatory.insert(id, delayed);
    if is_ready {
        expire(state, id);
    }
}

/// Answers a delayed fetch with what it can acquire now.
pub(crate) fn expire(state: &mut ClusterState, id: DelayedId) {
    let Some(delayed) = state.take_delayed(id) else {
        return;
    };
    let DelayedOperation::ShareFetch(fetch) = delayed.operation else {
        return;
    };
    forget(state, id, &fetch);
    let response = complete(state, &delayed.context, &fetch);
    state.respond(&delayed.context, &response);
}

/// Removes a fetch from the watchers of its partitions.
pub(crate) fn forget(state: &mut ClusterState, id: DelayedId, fetch: &DelayedShareFetch) {
    state.topics.unwatch(id, fetch.partitions.iter().copied());
    state.share.unwatch(id, keys(fetch));
}

/// Tries to complete the delayed fetches that watch a share partition.
pub(super) fn wake(state: &mut ClusterState, key: &ShareKey) {
    let watchers = state.share.entry(key).map(|entry| entry.watchers.clone());
    for id in watchers.unwrap_or_default() {
        try_complete(state, id);
    }
}

// ---------------------------------------------------------------- reading

/// Returns the partitions from which records may be acquired, with the offsets to read.
fn acquirable(state: &mut ClusterState, context: &Context, fetch: &DelayedShareFetch) -> Vec<(PartitionId, i64)> {
    let mut acquirable = Vec::with_capacity(fetch.partitions.len());
    for &id in &fetch.partitions {
        let key = ShareKey::new(&fetch.group, id);
        if !is_loaded(state, context.broker, &key) && load(state, context.broker, &key).is_err() {
            continue;
        }
        let offset = change(state, &key, |partition, _, limits| {
            partition.can_acquire(limits).then(|| partition.next_fetch_offset())
        });
        acquirable.extend(offset.flatten().map(|offset| (id, offset)));
    }
    acquirable
}

/// Returns true when the partitions have `min_bytes` to read, or one of them cannot be read.
fn is_ready(state: &mut ClusterState, context: &Context, fetch: &DelayedShareFetch) -> bool {
    let acquirable = acquirable(state, context, fetch);
    if acquirable.is_empty() {
        return false;
    }
    let isolation_level = isolation_level(state, &fetch.group);
    let share = fetch.max_bytes / acquirable.len();
    let mut bytes = 0;
    for (id, offset) in acquirable {
        let Some(log) = partition(state, id).map(|p| &p.log) else {
            continue;
        };
        if !(log.start_offset()..=log.end_offset()).contains(&offset) {
            return true;
        }
        let available = log.available_bytes(offset, log.readable_end(isolation_level), share);
        bytes += available.min(share);
    }
    bytes >= fetch.min_bytes
}

fn isolation_level(state: &ClusterState, group: &str) -> i8 {
    i8::from(state.share_settings(group).read_committed)
}

/// Acquires what can be acquired now, and returns the response.
fn complete(state: &mut ClusterState, context: &Context, fetch: &DelayedShareFetch) -> ShareFetchResponse {
    let acquirable = acquirable(state, context, fetch);
    let share = fetch.max_bytes / acquirable.len().max(1);
    let mut left = fetch.max_bytes;
    let mut acquired_records = 0;
    let mut read_bytes = 0;
    let mut results = Vec::with_capacity(acquirable.len());
    for (id, offset) in acquirable {
        let key = ShareKey::new(&fetch.group, id);
        let mut data = PartitionData {
            partition_index: id.1,
            records: Some(Records::default()),
            ..Default::default()
        };
        let Some((start, end)) = partition(state, id).map(|p| (p.log.start_offset(), p.log.end_offset())) else {
            continue;
        };
        if !(start..=end).contains(&offset) {
            // The client fetches again from the new start offset.
            change(state, &key, |partition, journal, _| {
                partition.log_start_moved(journal, start)
            });
            results.push((id, data));
            continue;
        }
        let batches = read(state, fetch, id, offset, left.min(share), read_bytes == 0);
        let size: usize = batches.iter().map(|batch| batch.records.len()).sum();
        read_bytes += size;
        left = left.saturating_sub(size);
        let ranges: Vec<_> = batches.iter().map(|batch| batch.range).collect();
        let acquisition = Acquisition {
            member: &fetch.member,
            is_strict: fetch.is_strict,
            batch_size: fetch.batch_size,
            max_records: fetch.max_records - acquired_records,
            fetch_offset: offset,
            batches: &ranges,
        };
        let acquired = change(state, &key, |partition, journal, limits| {
            partition.acquire(journal, limits, &acquisition)
        });
        let acquired = acquired.unwrap_or_default();
        acquired_records += record_count(&acquired);
        data.records = Some(records_of(batches, &acquired));
        data.acquired_records = acquired.iter().map(to_wire).collect();
        results.push((id, data));
    }
    let response = answer(state, context, fetch, results);
    // Other fetches may acquire what this one has left.
    for key in keys(fetch) {
        wake(state, &key);
    }
    response
}

/// Reads whole batches of a partition.
fn read(
    state: &ClusterState,
    fetch: &DelayedShareFetch,
    id: PartitionId,
    offset: i64,
    max_bytes: usize,
    at_least_one: bool,
) -> Vec<BatchRead> {
    let Some(log) = partition(state, id).map(|p| &p.log) else {
        return Vec::new();
    };
    let isolation_level = isolation_level(state, &fetch.group);
    let read = log.read_batches(offset, log.readable_end(isolation_level), max_bytes, at_least_one);
    let is_deliverable = |batch: &ReadableBatch<'_>| i64::from(batch.header.last_offset_delta) < BATCH_OFFSETS_MAX;
    let batches = read.into_iter().take_while(is_deliverable).map(|batch| BatchRead {
        range: ReadBatch {
            base: batch.header.base_offset,
            last: batch.header.last_offset(),
            is_aborted: isolation_level == 1 && log.is_aborted(&batch),
        },
        records: batch.records.clone(),
    });
    batches.collect()
}

/// Returns the batches from the first to the last acquired record.
fn records_of(batches: Vec<BatchRead>, acquired: &[AcquiredRange]) -> Records {
    let (Some(first), Some(last)) = (acquired.first(), acquired.last()) else {
        return Records::default();
    };
    let overlapping = batches
        .into_iter()
        .filter(|batch| batch.range.last >= first.first && batch.range.base <= last.last);
    let parts = overlapping.flat_map(|batch| batch.records.parts().to_vec());
    Records::from_parts(parts.collect::<Vec<_>>())
}

fn to_wire(range: &AcquiredRange) -> AcquiredRecords {
    AcquiredRecords {
        first_offset: range.first,
        last_offset: range.last,
        delivery_count: i16::try_from(range.delivery_count).unwrap_or(i16::MAX),
        ..Default::default()
    }
}

// ---------------------------------------------------------------- response

/// Returns the response with the results of reading, the failed partitions and the outcome of the acknowledgements.
fn answer(
    state: &mut ClusterState,
    context: &Context,
    fetch: &DelayedShareFetch,
    results: Vec<(PartitionId, PartitionData)>,
) -> ShareFetchResponse {
    let mut results = results;
    results.extend(fetch.failed.iter().map(|(id, error)| (*id, failed(*id, *error))));
    let leaders = name_leaders(state, &mut results);
    if fetch.is_incremental {
        let sessions = &mut state.share.sessions;
        results.retain(|(id, data)| {
            let has_records = data.records.as_ref().is_some_and(|records| !records.is_empty());
            let member = (fetch.group.as_str(), &*fetch.member);
            sessions.must_answer(context.broker, member, *id, has_records, data.error_code != 0)
        });
    }
    for (id, outcome) in &fetch.acknowledged {
        match results.iter_mut().find(|(found, _)| found == id) {
            Some((_, data)) => add_outcome(data, outcome),
            None => {
                let mut data = failed(*id, ErrorCode::NONE);
                add_outcome(&mut data, outcome);
                results.push((*id, data));
            }
        }
    }
    ShareFetchResponse {
        throttle_time_ms: context.throttle_time_ms,
        acquisition_lock_timeout_ms: state.share_settings(&fetch.group).record_lock_duration_ms,
        responses: by_topic(results),
        node_endpoints: node_endpoints(state, &leaders, |id, broker| NodeEndpoint {
            node_id: id.0,
            host: broker.host.clone(),
            port: broker.port.into(),
            rack: broker.rack.clone(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn failed(id: PartitionId, error: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index: id.1,
        error_code: error.0,
        error_message: error.name().filter(|_| error != ErrorCode::NONE).map(str::to_owned),
        records: Some(Records::default()),
        ..Default::default()
    }
}

fn add_outcome(data: &mut PartitionData, outcome: &Acknowledged) {
    data.acknowledge_error_code = outcome.error.0;
    data.acknowledge_error_message.clone_from(&outcome.message);
}

/// Adds the current leaders to the partitions of clients with stale metadata, and returns the leaders.
fn name_leaders(state: &ClusterState, results: &mut [(PartitionId, PartitionData)]) -> BTreeSet<BrokerId> {
    let mut leaders = BTreeSet::new();
    for (id, data) in results {
        let is_stale = matches!(
            ErrorCode(data.error_code),
            ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH
        );
        if let Some(found) = partition(state, *id).filter(|_| is_stale) {
            leaders.extend(found.leader);
            data.current_leader = LeaderIdAndEpoch {
                leader_id: found.leader.map_or(-1, |b| b.0),
                leader_epoch: found.leader_epoch,
                ..Default::default()
            };
        }
    }
    leaders
}

/// Returns the addresses of brokers.
pub(crate) fn node_endpoints<N>(
    state: &ClusterState,
    leaders: &BTreeSet<BrokerId>,
    node: impl Fn(BrokerId, &Broker) -> N,
) -> Vec<N> {
    let named = leaders.iter().filter_map(|id| Some((*id, state.brokers.get(*id)?)));
    named.map(|(id, broker)| node(id, broker)).collect()
}

/// Gathers the partitions of each topic.
fn by_topic(results: Vec<(PartitionId, PartitionData)>) -> Vec<ShareFetchableTopicResponse> {
    let mut topics: Vec<ShareFetchableTopicResponse> = Vec::new();
    for ((topic_id, _), data) in results {
        match topics.iter_mut().find(|topic| topic.topic_id == topic_id) {
            Some(topic) => topic.partitions.push(data),
            None => topics.push(ShareFetchableTopicResponse {
                topic_id,
                partitions: vec![data],
                ..Default::default()
            }),
        }
    }
    topics
}
