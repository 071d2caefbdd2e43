//! What the fetcher makes of news: topics and leaders that change, connections that come and go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::fetcher::Fetcher;
use super::positions::{FetchState, Next, Position};
use crate::cluster::Cluster;
use crate::connection::BrokerKey;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::types::NodeId;

impl Fetcher {
    /// Metadata of a topic changed: leaders may have moved, the topic may be gone or another one.
    pub(super) fn on_topic_changed(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        let ids = self.positions.of_topic(name);
        if ids.is_empty() {
            return;
        }
        let Some(meta) = cluster.topic(name) else { return };
        let (topic_id, error) = (meta.id, meta.error);
        let missing_for = meta.missing_since.map(|since| ctx.now.since(since));
        let partitions = meta.partition_count();
        for id in ids {
            let Some(p) = self.positions.get_mut(id) else { continue };
            if error != ErrorCode::NO_ERROR {
                self.on_topic_error(id, error, missing_for);
                continue;
            }
            if p.state.partition() >= partitions {
                self.check_missing(ctx, cluster, id);
                continue;
            }
            let recreated = !topic_id.is_zero() && !p.topic_id.is_zero() && p.topic_id != topic_id;
            p.topic_id = if topic_id.is_zero() { p.topic_id } else { topic_id };
            if recreated && matches!(p.next, Next::At(_)) {
                let why = Error::new(ErrorCode::UNKNOWN_TOPIC_ID, "the topic was deleted and created again");
                self.set_fetch_state(id, FetchState::Idle);
                self.begin_anew(id);
                self.reset(ctx, cluster, id, &why);
                continue;
            }
            self.follow_leader(ctx, cluster, id);
        }
    }

    fn on_topic_error(&mut self, id: u32, error: ErrorCode, missing_for: Option<Duration>) {
        // A topic that was just created is not known to every broker at once.
        let settled = missing_for.is_none_or(|t| t >= self.settings.propagation);
        let passes = matches!(error, ErrorCode::LEADER_NOT_AVAILABLE | ErrorCode::UNKNOWN);
        if passes || error.action().is_retriable() && !settled {
            return;
        }
        let Some(p) = self.positions.get(id) else { return };
        let text = format!("Subscribed topic not available: {}: {}", p.name, error.description());
        self.report_error(id, Error::new(error, text));
    }

    /// Moves a partition to its present leader if it waits elsewhere.
    fn follow_leader(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
        let Some(p) = self.positions.get(id) else { return };
        let leader = cluster.leader(&p.name, p.state.partition());
        let elsewhere = match p.fetch_state {
            FetchState::NoLeader => leader.is_some(),
            // With a new leader there is no reason to sit the backoff out.
            FetchState::Backoff(_) => {
                matches!(p.next, Next::At(_)) && leader.is_some() && p.reported == ErrorCode::NO_ERROR
            }
            FetchState::Ready(node) => p.preferred.is_none() && leader != Some(node),
            FetchState::InFlight(node) => {
                let moved = p.preferred.is_none() && leader.is_some_and(|l| l != node);
                let known = cluster.topic(&p.name).and_then(|t| t.partition(p.state.partition()));
                // The broker would refuse the epoch that it remembers.
                moved || known.is_some_and(|known| known.leader_epoch > p.sent_leader_epoch)
            }
            FetchState::Idle | FetchState::LookUp(_) | FetchState::QueueFull | FetchState::AwaitBudget => false,
        };
        if elsewhere {
            self.update_fetch_state(ctx, cluster, id);
        }
    }

    pub(super) fn on_connection_up(&mut self, key: BrokerKey) {
        if key == BrokerKey::general(key.node) && self.leaders.contains_key(&key.node) {
            self.dirty.insert(key.node);
        }
    }

    /// A connection is gone: its leaderships may be, too.
    pub(super) fn on_connection_down(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        error: Option<&Error>,
    ) {
        if key != BrokerKey::general(key.node) {
            return;
        }
        if error.is_some() {
            self.on_broker_unreachable(ctx, cluster, key.node);
        }
        if self.leaders.contains_key(&key.node) {
            self.dirty.insert(key.node);
        }
    }

    /// A broker cannot be reached: its leaderships may be somewhere else, and what it was preferred for is read from leaders.
    pub(super) fn on_broker_unreachable(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        let mut ids = self.end_session(node, true);
        if let Some(leader) = self.leaders.get_mut(&node) {
            ids.extend(std::mem::take(&mut leader.ready));
        }
        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        for id in ids {
            let Some(p) = self.positions.get_mut(id) else { continue };
            if !matches!(p.fetch_state, FetchState::Ready(n) | FetchState::InFlight(n) if n == node) {
                continue;
            }
            p.preferred = None;
            names.insert(p.name.clone());
            self.update_fetch_state(ctx, cluster, id);
        }
        for name in names {
            cluster.request_refresh(&name, ctx.now);
        }
    }
}

/// An answer brought so much of a partition.
pub(super) fn log_fetched(ctx: &Ctx<'_>, p: &Position, bytes: usize, at: i64, end_of_log: i64) {
    ctx.log.debug(DebugContexts::FETCH, "FETCHED", || {
        format!(
            "{}: {bytes} bytes from offset {at}, the log ends at {end_of_log}",
            p.state.tp()
        )
    });
}

/// A closer replica is to be read from (KIP-392).
pub(super) fn log_preferred_replica(ctx: &Ctx<'_>, p: &Position, replica: NodeId) {
    ctx.log.debug(DebugContexts::FETCH, "FOLLOWER", || {
        format!(
            "{}: the leader sends to broker {replica}, which is closer",
            p.state.tp()
        )
    });
}
