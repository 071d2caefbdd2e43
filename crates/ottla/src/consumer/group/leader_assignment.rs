//! Looking after the group's topics: only the leader's joining anew makes the coordinator divide anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assignor::{self, Shape};
use super::classic::{ClassicMember, State};
use crate::cluster::{Cluster, TopicMeta};
use crate::context::Ctx;
use crate::error::ErrorCode;
use crate::log::DebugContexts;
use crate::sys::Instant;
use crate::types::NodeId;

impl ClassicMember {
    /// A leader that took an assignment over looks whether it would give itself the same: topics may have grown while
    /// nobody led. What it cannot see in its own assignment stays unnoticed until the next change.
    pub(super) fn check_inheritance(&mut self, ctx: &Ctx<'_>, cluster: &Cluster) {
        let usable = |t: &Arc<str>| cluster.topic(t).is_some_and(|m| m.is_usable());
        if self.state != State::Stable || !self.watched.iter().all(usable) {
            return;
        }
        let Some(assignment) = self.inherited.take() else {
            return;
        };
        self.divided = self.shapes(cluster);
        let Some(strategy) = self.strategy else { return };
        let due = assignor::divide(strategy, &self.members, &self.divided);
        if due.get(&self.member_id) != Some(&assignment) {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                "the assignment that was taken over is out of date".into()
            });
            self.rebalance(ctx, false);
        }
    }

    /// A leader that divided by what it knew looks whether it knows better by now: what metadata told while the assignments
    /// were on their way is not told again.
    pub(super) fn check_division(&mut self, ctx: &Ctx<'_>, cluster: &Cluster) {
        let leads = !self.members.is_empty() && self.inherited.is_none();
        if !leads || self.state != State::Stable {
            return;
        }
        let now = self.shapes(cluster);
        let changed = now.iter().find(|(topic, shape)| self.differs(ctx, topic, shape));
        if let Some((topic, _)) = changed {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                format!("{topic} has changed while its partitions were divided")
            });
            self.rebalance(ctx, false);
        }
    }

    /// Whether a topic is not as it was divided. A change of racks only matters to a leader that has one (KIP-881).
    fn differs(&self, ctx: &Ctx<'_>, topic: &str, now: &Shape) -> bool {
        let Some(before) = self.divided.get(topic) else {
            return true;
        };
        before.count != now.count || !ctx.conf.client_rack.is_empty() && before.racks != now.racks
    }

    /// What there is to divide: the topics that are watched and known.
    pub(super) fn shapes(&self, cluster: &Cluster) -> BTreeMap<String, Shape> {
        let shapes = self.watched.iter().filter_map(|t| {
            let meta = cluster.topic(t).filter(|m| m.is_usable())?;
            Some((t.to_string(), self.shape(cluster, t, meta)))
        });
        shapes.collect()
    }

    fn shape(&self, cluster: &Cluster, topic: &str, meta: &TopicMeta) -> Shape {
        let count = meta.partition_count();
        let mut racks = Vec::new();
        if self.members.iter().any(|m| m.rack.is_some()) {
            let known = self.divided.get(topic);
            for partition in 0..count {
                let replicas = meta.partition(partition).map_or(&[][..], |p| &p.replicas);
                let nodes: Option<Vec<_>> = replicas.iter().map(|id| cluster.node(NodeId(*id))).collect();
                let at = usize::try_from(partition).unwrap_or(usize::MAX);
                let before = known.and_then(|shape| shape.racks.get(at));
                racks.push(match (nodes, before) {
                    // Brokers that are down are not told of, and have not moved.
                    (None, Some(before)) => before.clone(),
                    (nodes, _) => nodes.into_iter().flatten().filter_map(|n| n.rack.clone()).collect(),
                });
            }
        }
        Shape { count, racks }
    }

    /// Has the names of all topics kept up to date, or not any more. They are asked for at once, however new the last listing
    /// is: who subscribes means the topics that there are by now.
    pub(super) fn list_all(&mut self, now: Instant, cluster: &mut Cluster, wanted: bool) {
        if wanted || self.subscription.has_patterns() {
            cluster.list_all(now, wanted);
        }
    }

    /// Whether it is not known yet which topics the patterns mean.
    pub(super) fn awaits_listing(&self, cluster: &Cluster) -> bool {
        self.subscription.has_patterns() && !cluster.is_listed_since(self.listing_since)
    }

    /// Looks whether the cluster's topics have changed since the patterns were matched with them.
    pub(super) fn check_listing(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster) {
        if self.subscription.has_patterns() && self.seen_listing != cluster.listings() {
            self.seen_listing = cluster.listings();
            if self.state == State::PreparingJoin {
                self.retry_at = self.retry_at.min(ctx.now);
            }
            self.match_patterns(ctx, cluster);
        }
    }

    /// A topic that has come or gone is a change of the subscription.
    fn match_patterns(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster) {
        let topics = self.subscription.topics(cluster);
        if topics.iter().eq(&self.topics) {
            return;
        }
        ctx.log.debug(DebugContexts::CGRP, "SUBSCRIPTION", || {
            format!("the subscription's patterns mean {} topic(s) now", topics.len())
        });
        self.topics = topics.iter().cloned().collect();
        let of_members = self.members.iter().flat_map(|m| &m.topics);
        let watched = of_members.map(|t| Arc::from(t.as_str())).chain(topics).collect();
        self.watch_only(ctx.now, cluster, watched);
        if !self.is_inactive() && !self.leaving {
            self.rebalance(ctx, false);
        }
    }

    /// Metadata of a topic changed.
    pub(super) fn on_topic_changed(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        if !self.watched.contains(name) {
            return;
        }
        // A topic that is gone matches no pattern any more.
        if self.subscription.has_patterns() && !cluster.topic(name).is_some_and(|m| m.is_usable()) {
            self.match_patterns(ctx, cluster);
        }
        let Some(meta) = cluster.topic(name) else { return };
        let subscribed = self.subscription.names().contains(name);
        let error = match subscribed && meta.error != ErrorCode::LEADER_NOT_AVAILABLE {
            true => meta.error,
            false => ErrorCode::NO_ERROR,
        };
        self.actions.extend(self.topic_errors.note(name, error));
        if self.state == State::PreparingJoin {
            self.retry_at = self.retry_at.min(ctx.now);
        }
        if self.inherited.is_some() {
            return self.check_inheritance(ctx, cluster);
        }
        // Only the leader's joining anew makes the coordinator divide anew.
        let leads = !self.members.is_empty();
        let changed = || self.differs(ctx, name, &self.shape(cluster, name, meta));
        if leads && self.state == State::Stable && meta.is_usable() && changed() {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                format!("{name} has another number of partitions, or replicas in other racks")
            });
            self.rebalance(ctx, false);
        }
    }
}
