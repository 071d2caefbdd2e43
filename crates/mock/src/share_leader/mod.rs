//! The leaders' side of share groups: share partitions with the logs, timers and delayed fetches of the cluster.
//!
//! A leader loads a share partition with the first fetch, and keeps it until the leader or its epoch changes, the topic is
//! deleted, an operator sets the start offset, or the last session of the group at the broker ends with its connection.

mod acknowledge;
mod fetch;

pub(crate) use acknowledge::{AcknowledgedPartition, acknowledge};
pub(crate) use fetch::{begin, by_topic, expire, forget, node_endpoints, try_complete};

use ottla_protocol::api::share_fetch::ShareFetchResponse;
use ottla_protocol::{ErrorCode, Uuid};

use crate::ids::{BrokerId, ConnectionKey, DelayedId};
use crate::purgatory::DelayedOperation;
use crate::request::Context;
use crate::share::{Journal, Limits, ShareChange, ShareEvent, SharePartition, SharePartitionView};
use crate::share_config::ShareOffsetReset;
use crate::share_key::{PartitionId, ShareKey};
use crate::state::ClusterState;
use crate::timers::Timer;
use crate::topics::Partition;

/// Returns a partition of an existing topic.
fn partition(state: &ClusterState, (topic, index): PartitionId) -> Option<&Partition> {
    let topic = state.topics.by_id(topic).filter(|t| state.is_visible(t))?;
    topic.partition(index)
}

/// Returns true when `broker` has loaded the share partition and is still the leader.
fn is_loaded(state: &ClusterState, broker: BrokerId, key: &ShareKey) -> bool {
    let Some(partition) = partition(state, key.id()).filter(|p| p.leader == Some(broker)) else {
        return false;
    };
    let entry = state.share.entry(key);
    entry.is_some_and(|e| e.current(partition.leader, partition.leader_epoch).is_some())
}

/// Loads the share partition at `broker` unless it has.
///
/// # Errors
/// UNKNOWN_TOPIC_OR_PARTITION; NOT_LEADER_OR_FOLLOWER; OFFSET_NOT_AVAILABLE when the start offset is to be that of a time
/// after the last record; the error of the durable state.
fn load(state: &mut ClusterState, broker: BrokerId, key: &ShareKey) -> Result<(), ErrorCode> {
    if is_loaded(state, broker, key) {
        return Ok(());
    }
    let found = partition(state, key.id()).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    if found.leader != Some(broker) {
        return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    }
    if let Some(error) = state.share.write_error(&key.group) {
        return Err(error);
    }
    let leader_epoch = found.leader_epoch;
    let is_new = state
        .share
        .entry(key)
        .is_none_or(|e| e.persisted.start_offset().is_none());
    let reset = match is_new {
        true => reset_offset(state, key, found)?,
        false => -1,
    };
    let entry = state.share.get_or_create(key);
    let loaded = SharePartition::load(broker, leader_epoch, &entry.persisted, reset);
    let start = loaded.start_offset();
    entry.loaded = Some(loaded);
    record(state, key, start, start - 1, ShareChange::Loaded);
    schedule_expiry(state, key);
    Ok(())
}

/// Returns the start offset of a share partition without a durable one.
fn reset_offset(state: &ClusterState, key: &ShareKey, partition: &Partition) -> Result<i64, ErrorCode> {
    let log = &partition.log;
    match state.share_settings(&key.group).offset_reset {
        ShareOffsetReset::Latest => Ok(log.high_watermark()),
        ShareOffsetReset::Earliest => Ok(log.start_offset()),
        ShareOffsetReset::ByDuration(millis) => {
            let found = log.offset_for_timestamp(state.wall_clock_ms().saturating_sub(millis));
            match found.offset {
                ..0 => Err(ErrorCode::OFFSET_NOT_AVAILABLE),
                offset => Ok(offset),
            }
        }
    }
}

/// Returns the settings for changes of a group's share partitions now.
fn limits(state: &ClusterState, group: &str) -> Limits {
    let settings = state.share_settings(group);
    Limits {
        delivery_count: settings.delivery_count_limit,
        in_flight: settings.partition_max_record_locks.into(),
        locked_until: state.now.plus_ms(settings.record_lock_duration_ms),
        renewal: settings.renew_acknowledge,
    }
}

/// Changes a loaded share partition. Records the changes, and adapts the timer of its locks. Returns `None` when it is
/// not loaded.
fn change<R>(
    state: &mut ClusterState,
    key: &ShareKey,
    change: impl FnOnce(&mut SharePartition, &mut Journal<'_>, &Limits) -> R,
) -> Option<R> {
    let limits = limits(state, &key.group);
    let write_error = state.share.write_error(&key.group);
    let entry = state.share.entry_mut(key)?;
    let mut journal = Journal {
        persisted: &mut entry.persisted,
        write_error,
        changes: Vec::new(),
    };
    let result = change(entry.loaded.as_mut()?, &mut journal, &limits);
    for changed in journal.changes {
        record(state, key, changed.first, changed.last, changed.change);
    }
    schedule_expiry(state, key);
    Some(result)
}

fn record(state: &mut ClusterState, key: &ShareKey, first_offset: i64, last_offset: i64, change: ShareChange) {
    let at = state.now;
    state.share.events.push(|| ShareEvent {
        at,
        group: key.group.clone(),
        topic_id: key.topic,
        partition: key.partition,
        first_offset,
        last_offset,
        change,
    });
}

/// Sets the timer of the first acquisition lock that ends.
fn schedule_expiry(state: &mut ClusterState, key: &ShareKey) {
    let Some(entry) = state.share.entry_mut(key) else {
        return;
    };
    let next = entry.loaded.as_ref().and_then(SharePartition::next_expiry);
    if next == entry.lock_timer.map(|(at, _)| at) {
        return;
    }
    if let Some((_, timer)) = entry.lock_timer.take() {
        state.timers.cancel(timer);
    }
    entry.lock_timer = next.map(|at| (at, state.timers.set(at, Timer::ShareLocks(key.clone()))));
}

/// Releases the records whose acquisition locks have expired.
pub(crate) fn locks_due(state: &mut ClusterState, key: &ShareKey) {
    let leader = partition(state, key.id()).map(|p| (p.leader, p.leader_epoch));
    let Some(entry) = state.share.entry_mut(key) else {
        return;
    };
    entry.lock_timer = None;
    let is_current = leader.is_some_and(|(leader, epoch)| entry.current(leader, epoch).is_some());
    if !is_current {
        // The locks have ended with their leader.
        entry.loaded = None;
        return;
    }
    let now = state.now;
    change(state, key, |partition, journal, limits| {
        partition.expire_locks(journal, limits, now)
    });
    wake(state, key);
}

/// Tries to complete the delayed fetches that watch a share partition.
fn wake(state: &mut ClusterState, key: &ShareKey) {
    let watchers = state.share.entry(key).map(|entry| entry.watchers.clone());
    for id in watchers.unwrap_or_default() {
        try_complete(state, id);
    }
}

/// Ends the share session of a member at a broker, and releases the records that it has acquired there.
pub(crate) fn release_session(state: &mut ClusterState, broker: BrokerId, group: &str, member: &str) {
    let partitions = state.share.sessions.remove(broker, group, member);
    for id in partitions.unwrap_or_default() {
        let key = ShareKey::new(group, id);
        if is_loaded(state, broker, &key) {
            change(state, &key, |partition, journal, limits| {
                partition.release(journal, limits, member)
            });
            wake(state, &key);
        }
    }
}

/// Delays the refusal of a share session for which the broker has no place.
pub(crate) fn delay_refusal(state: &mut ClusterState, context: &Context, max_wait_ms: i32) {
    let deadline = state.now.plus_ms(max_wait_ms);
    state.delay(context, DelayedOperation::ShareSessionRefused, Some(deadline));
}

/// Answers a delayed refusal of a share session.
pub(crate) fn refuse_session(state: &mut ClusterState, id: DelayedId) {
    if let Some(delayed) = state.take_delayed(id) {
        let error = ErrorCode::SHARE_SESSION_LIMIT_REACHED;
        let response = ShareFetchResponse {
            throttle_time_ms: delayed.context.throttle_time_ms,
            error_code: error.0,
            error_message: error.name().map(str::to_owned),
            ..Default::default()
        };
        state.respond(&delayed.context, &response);
    }
}

/// Ends the share sessions that a closed connection has opened. With the last session of a group at the broker, the broker
/// unloads the group's share partitions.
pub(crate) fn connection_closed(state: &mut ClusterState, connection: ConnectionKey) {
    for (group, member) in state.share.sessions.of_connection(connection) {
        release_session(state, connection.0, &group, &member);
        if !state.share.sessions.has_members(connection.0, &group) {
            unload(state, &group, |partition| partition.leader == connection.0);
        }
    }
}

/// Unloads share partitions of a group. Acquisitions that were not released end.
fn unload(state: &mut ClusterState, group: &str, unloads: impl Fn(&SharePartition) -> bool) {
    let keys: Vec<_> = state.share.of_group(group).map(|(key, _)| key.clone()).collect();
    for key in keys {
        if let Some(entry) = state.share.entry_mut(&key)
            && entry.loaded.as_ref().is_some_and(&unloads)
        {
            entry.loaded = None;
            schedule_expiry(state, &key);
        }
    }
}

// ---------------------------------------------------------------- topics, groups and operators

/// Removes the share partitions of a deleted topic.
pub(crate) fn topic_deleted(state: &mut ClusterState, topic: Uuid) {
    remove(state, |key| key.topic == topic);
}

/// Removes the share partitions of a deleted group.
pub(crate) fn group_deleted(state: &mut ClusterState, group: &str) {
    remove(state, |key| key.group == group);
}

/// Removes the share partitions of a group in a topic. Returns false if there is none.
pub(crate) fn forget_offsets(state: &mut ClusterState, group: &str, topic: Uuid) -> bool {
    let before = state.share.of_group(group).count();
    remove(state, |key| key.group == group && key.topic == topic);
    state.share.of_group(group).count() < before
}

/// Sets the start offset of a share partition on behalf of an operator. The leader forgets what it knows.
pub(crate) fn set_start_offset(state: &mut ClusterState, key: &ShareKey, start_offset: i64) {
    let entry = state.share.get_or_create(key);
    entry.persisted.reset(start_offset);
    entry.loaded = None;
    schedule_expiry(state, key);
}

fn remove(state: &mut ClusterState, gone: impl Fn(&ShareKey) -> bool) {
    for (_, entry) in state.share.remove(gone) {
        if let Some((_, timer)) = entry.lock_timer {
            state.timers.cancel(timer);
        }
    }
}

/// Returns a snapshot of a share partition, `None` when the group has never read it.
pub(crate) fn view(state: &ClusterState, key: &ShareKey) -> Option<SharePartitionView> {
    let entry = state.share.entry(key)?;
    let leader = partition(state, key.id());
    let loaded = leader.and_then(|p| entry.current(p.leader, p.leader_epoch));
    Some(match loaded {
        Some(loaded) => SharePartitionView::loaded(loaded),
        None => SharePartitionView::persisted(&entry.persisted),
    })
}
