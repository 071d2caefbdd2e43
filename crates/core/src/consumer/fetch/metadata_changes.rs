//! Changes of topics and leaders in metadata, and brokers that become unreachable.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::partitions::ConsumedPartitions;
use super::positions::{FetchState, Next};
use crate::cluster::Cluster;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::types::NodeId;

/// Handles changed metadata of a topic: new leaders, errors, a deleted topic, or another topic of the same name.
pub(super) fn on_topic_changed(
    consumed: &mut ConsumedPartitions,
    ctx: &mut Ctx<'_>,
    cluster: &mut Cluster,
    name: &Arc<str>,
) {
    let ids = consumed.positions().of_topic(name);
    if ids.is_empty() {
        return;
    }
    let Some(meta) = cluster.topic(name) else { return };
    let (topic_id, error) = (meta.id, meta.error);
    let missing_for = meta.missing_since.map(|since| ctx.now.since(since));
    let partitions = meta.partition_count();
    for id in ids {
        let Some(p) = consumed.get_mut(id) else { continue };
        if error != ErrorCode::NO_ERROR {
            on_topic_error(consumed, id, error, missing_for);
            continue;
        }
        if p.state.partition() >= partitions {
            consumed.check_missing(ctx, cluster, id);
            continue;
        }
        let recreated = !topic_id.is_zero() && !p.topic_id.is_zero() && p.topic_id != topic_id;
        p.topic_id = if topic_id.is_zero() { p.topic_id } else { topic_id };
        if recreated && matches!(p.next, Next::At(_)) {
            let reason = Error::new(ErrorCode::UNKNOWN_TOPIC_ID, "the topic was deleted and created again");
            consumed.set_fetch_state(id, FetchState::Idle);
            consumed.begin_anew(id);
            consumed.reset(ctx, cluster, id, &reason);
            continue;
        }
        follow_leader(consumed, ctx, cluster, id);
    }
}

fn on_topic_error(consumed: &mut ConsumedPartitions, id: u32, error: ErrorCode, missing_for: Option<Duration>) {
    // A topic that was just created is not known to every broker at once.
    let is_lasting = missing_for.is_none_or(|t| t >= consumed.settings().propagation);
    let is_transient = matches!(error, ErrorCode::LEADER_NOT_AVAILABLE | ErrorCode::UNKNOWN);
    if is_transient || error.action().is_retriable() && !is_lasting {
        return;
    }
    let Some(p) = consumed.get(id) else { return };
    let text = format!("Subscribed topic not available: {}: {}", p.name, error.description());
    consumed.report_error(id, Error::new(error, text));
}

/// Updates the fetch state of a partition that waits for another broker than its present leader.
fn follow_leader(consumed: &mut ConsumedPartitions, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
    let Some(p) = consumed.get(id) else { return };
    let leader = cluster.leader(&p.name, p.state.partition());
    let elsewhere = match p.fetch_state() {
        FetchState::NoLeader => leader.is_some(),
        // A new leader ends the backoff.
        FetchState::Backoff(_) => {
            matches!(p.next, Next::At(_)) && leader.is_some() && p.reported == ErrorCode::NO_ERROR
        }
        FetchState::Ready(node) => p.preferred.is_none() && leader != Some(node),
        FetchState::InFlight(node) => {
            let moved = p.preferred.is_none() && leader.is_some_and(|l| l != node);
            let known = cluster.topic(&p.name).and_then(|t| t.partition(p.state.partition()));
            // The broker would refuse the leader epoch in its session.
            moved || known.is_some_and(|known| known.leader_epoch > p.sent_leader_epoch)
        }
        FetchState::Idle
        | FetchState::LookUp(_)
        | FetchState::QueueFull
        | FetchState::AwaitBudget
        | FetchState::Opening(_) => false,
    };
    if elsewhere {
        consumed.update_fetch_state(ctx, cluster, id);
    }
}

/// Handles a broker that cannot be reached: requests metadata, as leaders may have changed, and returns partitions from
/// this follower to their leaders. `in_session` are the partitions of the broker's session.
pub(super) fn on_broker_unreachable(
    consumed: &mut ConsumedPartitions,
    ctx: &mut Ctx<'_>,
    cluster: &mut Cluster,
    node: NodeId,
    in_session: Vec<u32>,
) {
    let ready = consumed.leaders().take_ready(node);
    let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
    for id in in_session.into_iter().chain(ready) {
        let Some(p) = consumed.get_mut(id) else { continue };
        if !matches!(p.fetch_state(), FetchState::Ready(n) | FetchState::InFlight(n) if n == node) {
            continue;
        }
        p.preferred = None;
        names.insert(p.name.clone());
        consumed.update_fetch_state(ctx, cluster, id);
    }
    for name in names {
        cluster.request_refresh(&name, ctx.now);
    }
}
