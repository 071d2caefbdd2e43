//! Replication: high watermarks, the delayed requests that watch them, and the responses to Produce.

use std::collections::BTreeSet;

use ottla_protocol::api::produce::{LeaderIdAndEpoch, NodeEndpoint, ProduceResponse};
use ottla_protocol::{ErrorCode, Uuid};

use crate::batch_validation::failure;
use crate::faults::LeaderHints;
use crate::fetch;
use crate::ids::{BrokerId, DelayedId};
use crate::purgatory::{DelayedOperation, DelayedProduce};
use crate::request::Context;
use crate::share_leader;
use crate::state::ClusterState;
use crate::timers::Timer;
use crate::topics::{Partition, TopicRef};

/// Lets the followers copy a partition up to `end_offset`, at once or after `replication_delay_us`.
pub(crate) fn replicate(state: &mut ClusterState, topic: Uuid, partition: i32, end_offset: i64) {
    let Some(replica_set) = state.topics.by_id(topic).and_then(|t| t.partition(partition)) else {
        return;
    };
    if state.config.replication_delay_us == 0 || replica_set.isr.len() < 2 {
        advance_high_watermark(state, topic, partition, end_offset);
        return;
    }
    let at = state.now.plus_us(state.config.replication_delay_us);
    let timer = Timer::Replicated {
        topic,
        partition,
        leader_epoch: replica_set.leader_epoch,
        offset: end_offset,
    };
    state.timers.set(at, timer);
}

/// Completes a replication up to `offset`. A leader of another epoch discards it: its log began with the records of the
/// followers, and may hold another record at the offset.
pub(crate) fn replicated(state: &mut ClusterState, topic: Uuid, partition: i32, leader_epoch: i32, offset: i64) {
    let found = state.topics.by_id(topic).and_then(|t| t.partition(partition));
    if found.is_some_and(|p| p.leader_epoch == leader_epoch) {
        advance_high_watermark(state, topic, partition, offset);
    }
}

/// Advances a high watermark, and completes the delayed requests that it satisfies.
fn advance_high_watermark(state: &mut ClusterState, topic: Uuid, index: i32, offset: i64) {
    let found = state.topics.by_id_mut(topic).and_then(|t| t.partition_mut(index));
    let Some(partition) = found else {
        return;
    };
    let before = [0, 1].map(|level| partition.log.readable_end(level));
    if !partition.log.advance_high_watermark(offset) || partition.watchers.is_empty() {
        return;
    }
    let log = &partition.log;
    let ranges = [(0, before[0]), (1, before[1])];
    let readable = ranges.map(|(level, from)| log.available_bytes(from, log.readable_end(level), usize::MAX));
    let watchers = partition.watchers.clone();
    records_readable(state, &watchers, readable);
}

/// Adds the newly readable bytes, uncommitted and committed, to the delayed requests that watch the partition.
fn records_readable(state: &mut ClusterState, watchers: &BTreeSet<DelayedId>, [uncommitted, committed]: [usize; 2]) {
    for &id in watchers {
        match state.purgatory.get_mut(id).map(|r| &mut r.operation) {
            Some(DelayedOperation::Fetch(fetch)) => {
                let bytes = match fetch.isolation_level {
                    1 => committed,
                    _ => uncommitted,
                };
                fetch.available = fetch.available.saturating_add(bytes);
                if fetch.available >= fetch.min_bytes {
                    fetch::complete(state, id);
                }
            }
            Some(DelayedOperation::Produce(_)) => try_complete_produce(state, id),
            Some(DelayedOperation::ShareFetch(_)) => share_leader::try_complete(state, id),
            Some(DelayedOperation::ShareSessionRefused | DelayedOperation::JoinGroup | DelayedOperation::SyncGroup)
            | None => {}
        }
    }
}

/// Completes the requests that watch a partition after it was deleted or has changed its leader.
pub(crate) fn partition_changed<'a>(state: &mut ClusterState, watchers: impl IntoIterator<Item = &'a DelayedId>) {
    for &id in watchers {
        match state.purgatory.operation(id) {
            Some(DelayedOperation::Fetch(_)) => fetch::complete(state, id),
            Some(DelayedOperation::Produce(_)) => try_complete_produce(state, id),
            // As in Kafka, share fetches wait until their deadline.
            Some(
                DelayedOperation::ShareFetch(_)
                | DelayedOperation::ShareSessionRefused
                | DelayedOperation::JoinGroup
                | DelayedOperation::SyncGroup,
            )
            | None => {}
        }
    }
}

/// Completes a delayed request at its deadline.
pub(crate) fn expire(state: &mut ClusterState, id: DelayedId) {
    match state.purgatory.operation(id) {
        Some(DelayedOperation::Fetch(_)) => fetch::complete(state, id),
        Some(DelayedOperation::Produce(_)) => expire_produce(state, id),
        Some(DelayedOperation::ShareFetch(_)) => share_leader::expire(state, id),
        Some(DelayedOperation::ShareSessionRefused) => share_leader::refuse_session(state, id),
        // Groups set their own timers.
        Some(DelayedOperation::JoinGroup | DelayedOperation::SyncGroup) | None => {}
    }
}

/// Drops a delayed request whose connection is gone.
pub(crate) fn forget(state: &mut ClusterState, id: DelayedId) {
    let Some(delayed) = state.take_delayed(id) else {
        return;
    };
    match delayed.operation {
        DelayedOperation::Fetch(fetch) => state.topics.unwatch(id, fetch.watched),
        DelayedOperation::Produce(produce) => state.topics.unwatch(id, produce.watched()),
        DelayedOperation::ShareFetch(fetch) => share_leader::forget(state, id, &fetch),
        // The group keeps the member. Completing its request has no effect then.
        DelayedOperation::ShareSessionRefused | DelayedOperation::JoinGroup | DelayedOperation::SyncGroup => {}
    }
}

// ---------------------------------------------------------------- acks=all

/// Delays a produce request until its appends are replicated, for up to `timeout_ms`.
pub(crate) fn delay_produce(state: &mut ClusterState, context: &Context, timeout_ms: i32, produce: DelayedProduce) {
    let watched = produce.watched();
    let deadline = state.now.plus_ms(timeout_ms);
    let id = state.delay(context, DelayedOperation::Produce(produce), Some(deadline));
    state.topics.watch(id, watched);
}

/// Settles the replicated and the failed partitions of a delayed produce request, and answers it when none is left.
fn try_complete_produce(state: &mut ClusterState, id: DelayedId) {
    let Some(delayed) = state.purgatory.get_mut(id) else {
        return;
    };
    let DelayedOperation::Produce(produce) = &mut delayed.operation else {
        return;
    };
    let broker = delayed.context.broker;
    let DelayedProduce { response, until } = produce;
    let mut settled = Vec::new();
    let topics = &state.topics;
    until.retain(|append| {
        let partition = topics.by_id(append.topic).and_then(|t| t.partition(append.partition));
        let error = match partition {
            None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Some(p) if p.leader != Some(broker) || p.leader_epoch != append.leader_epoch => {
                ErrorCode::NOT_LEADER_OR_FOLLOWER
            }
            Some(p) if p.log.high_watermark() >= append.end_offset => ErrorCode::NONE,
            Some(_) => return true,
        };
        if error != ErrorCode::NONE {
            set_error(response, append.position, error);
        }
        settled.push((append.topic, append.partition));
        false
    });
    let done = until.is_empty();
    state.topics.unwatch(id, settled);
    if done {
        finish_produce(state, id);
    }
}

/// Answers a delayed produce request whose followers were too slow with REQUEST_TIMED_OUT.
fn expire_produce(state: &mut ClusterState, id: DelayedId) {
    if let Some(delayed) = state.purgatory.get_mut(id)
        && let DelayedOperation::Produce(produce) = &mut delayed.operation
    {
        let watched = produce.watched();
        for append in produce.until.drain(..) {
            set_error(&mut produce.response, append.position, ErrorCode::REQUEST_TIMED_OUT);
        }
        state.topics.unwatch(id, watched);
        finish_produce(state, id);
    }
}

fn finish_produce(state: &mut ClusterState, id: DelayedId) {
    if let Some(delayed) = state.take_delayed(id)
        && let DelayedOperation::Produce(mut produce) = delayed.operation
    {
        if let Some(error) = delayed.context.error_after {
            fail_all(&mut produce.response, error);
        }
        name_leaders(state, &delayed.context, &mut produce.response);
        state.respond(&delayed.context, &produce.response);
    }
}

/// Replaces the result of every partition that succeeded by an error.
fn fail_all(response: &mut ProduceResponse, error: ErrorCode) {
    let partitions = response.responses.iter_mut().flat_map(|t| &mut t.partition_responses);
    for partition in partitions.filter(|p| p.error_code == 0) {
        *partition = failure(partition.index, error.into());
    }
}

/// Sets the error of a partition after a successful append. The response keeps the offset, as that of Kafka's brokers
/// does.
fn set_error(response: &mut ProduceResponse, position: (usize, usize), error: ErrorCode) {
    let topic = response.responses.get_mut(position.0);
    if let Some(partition) = topic.and_then(|t| t.partition_responses.get_mut(position.1)) {
        partition.error_code = error.0;
    }
}

/// Adds the current leaders and their addresses to the partitions that failed with NOT_LEADER_OR_FOLLOWER, where the
/// version has the fields.
pub(crate) fn name_leaders(state: &ClusterState, context: &Context, response: &mut ProduceResponse) {
    if context.version < 10 || state.faults.leader_hints() == LeaderHints::None {
        return;
    }
    let mut leaders: BTreeSet<BrokerId> = BTreeSet::new();
    for topic in &mut response.responses {
        let name = match context.version {
            ..13 => TopicRef::Name(topic.name.clone()),
            _ => TopicRef::Id(topic.topic_id),
        };
        for answered in &mut topic.partition_responses {
            if answered.error_code != ErrorCode::NOT_LEADER_OR_FOLLOWER.0 {
                continue;
            }
            let found = state.topics.find(&name).and_then(|t| t.partition(answered.index));
            if let Some(partition) = found {
                let (leader, leader_epoch) = hint(state, partition);
                leaders.extend(leader.filter(|_| state.faults.leader_hints() != LeaderHints::NoAddress));
                answered.current_leader = LeaderIdAndEpoch {
                    leader_id: leader.map_or(-1, |b| b.0),
                    leader_epoch,
                    ..Default::default()
                };
            }
        }
    }
    let endpoints = leaders.into_iter().filter_map(|id| Some((id, state.brokers.get(id)?)));
    response.node_endpoints = endpoints
        .map(|(id, broker)| NodeEndpoint {
            node_id: id.0,
            host: broker.host.clone(),
            port: broker.port.into(),
            rack: broker.rack.clone(),
            ..Default::default()
        })
        .collect();
}

/// Returns the leader and the epoch to report.
fn hint(state: &ClusterState, partition: &Partition) -> (Option<BrokerId>, i32) {
    let (leader, epoch) = (partition.leader, partition.leader_epoch);
    if state.faults.leader_hints() != LeaderHints::Stale {
        return (leader, epoch);
    }
    let other = state.brokers.ids().find(|b| Some(*b) != leader);
    (other.or(leader), (epoch - 1).max(0))
}
