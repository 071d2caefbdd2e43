//! Share partitions at their leaders: loading, changes, and the timers of acquisition locks.

use ottla_protocol::ErrorCode;

use crate::ids::BrokerId;
use crate::share::{Journal, Limits, ShareChange, ShareEvent, SharePartition};
use crate::share_config::ShareOffsetReset;
use crate::share_key::{PartitionId, ShareKey};
use crate::state::ClusterState;
use crate::timers::Timer;
use crate::topics::Partition;

/// Returns a partition of an existing topic.
pub(super) fn partition(state: &ClusterState, (topic, index): PartitionId) -> Option<&Partition> {
    let topic = state.topics.by_id(topic).filter(|t| state.is_visible(t))?;
    topic.partition(index)
}

/// Returns true when `broker` has loaded the share partition and is still the leader.
pub(super) fn is_loaded(state: &ClusterState, broker: BrokerId, key: &ShareKey) -> bool {
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
pub(super) fn load(state: &mut ClusterState, broker: BrokerId, key: &ShareKey) -> Result<(), ErrorCode> {
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
pub(super) fn change<R>(
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

/// Discards the leader's state. Acquisitions that were not released end.
pub(super) fn unload(state: &mut ClusterState, key: &ShareKey) {
    let loaded = state.share.entry_mut(key).and_then(|entry| entry.loaded.take());
    if let Some(loaded) = loaded {
        let start = loaded.start_offset();
        record(state, key, start, start - 1, ShareChange::Unloaded);
        schedule_expiry(state, key);
    }
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
pub(super) fn schedule_expiry(state: &mut ClusterState, key: &ShareKey) {
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
