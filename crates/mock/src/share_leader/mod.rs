//! The leaders' side of share groups: share partitions with the logs, timers and delayed fetches of the cluster.
//!
//! A leader loads a share partition with the first fetch, and keeps it until the leader or its epoch changes, the topic is
//! deleted, an operator sets the start offset, or the last session of the group at the broker ends with its connection.

mod acknowledge;
mod fetch;
mod partitions;

pub(crate) use acknowledge::{AcknowledgedPartition, acknowledge};
pub(crate) use fetch::{begin, expire, forget, node_endpoints, try_complete};

use ottla_protocol::api::share_fetch::ShareFetchResponse;
use ottla_protocol::{ErrorCode, Uuid};

use crate::ids::{BrokerId, ConnectionKey, DelayedId};
use crate::purgatory::DelayedOperation;
use crate::request::Context;
use crate::share::{ShareEntry, SharePartitionView};
use crate::share_key::ShareKey;
use crate::state::ClusterState;
use fetch::wake;
use partitions::{change, is_loaded, partition, unload};

/// Releases the records whose acquisition locks have expired.
pub(crate) fn locks_due(state: &mut ClusterState, key: &ShareKey) {
    let Some(entry) = state.share.entry_mut(key) else {
        return;
    };
    entry.lock_timer = None;
    let now = state.now;
    change(state, key, |partition, journal, limits| {
        partition.expire_locks(journal, limits, now)
    });
    wake(state, key);
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
            let led = |entry: &ShareEntry| entry.loaded.as_ref().is_some_and(|p| p.leader == connection.0);
            let loaded = state.share.of_group(&group).filter(|(_, entry)| led(entry));
            for key in loaded.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
                unload(state, &key);
            }
        }
    }
}

/// Unloads the share partitions whose partition has another leader or leader epoch than when they were loaded.
pub(crate) fn leaders_changed(state: &mut ClusterState) {
    let is_stale = |key: &ShareKey, entry: &ShareEntry| {
        let leader = partition(state, key.id());
        let current = leader.and_then(|p| entry.current(p.leader, p.leader_epoch));
        entry.loaded.is_some() && current.is_none()
    };
    let stale: Vec<_> = state
        .share
        .iter()
        .filter(|(key, entry)| is_stale(key, entry))
        .map(|(key, _)| key.clone())
        .collect();
    for key in stale {
        unload(state, &key);
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
    unload(state, key);
    state.share.get_or_create(key).persisted.reset(start_offset);
}

fn remove(state: &mut ClusterState, gone: impl FnMut(&ShareKey) -> bool) {
    for key in state
        .share
        .iter()
        .map(|(key, _)| key.clone())
        .filter(gone)
        .collect::<Vec<_>>()
    {
        unload(state, &key);
        state.share.remove(&key);
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
