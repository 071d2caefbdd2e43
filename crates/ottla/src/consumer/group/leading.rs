//! Looking after the group's topics: only the leader's joining anew makes the coordinator divide anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assignor;
use super::membership::{Membership, State};
use super::orders::Order;
use crate::cluster::{Cluster, Ctx};
use crate::error::{Error, ErrorCode};
use crate::event::DebugContexts;

impl Membership {
    /// A leader that took an assignment over looks whether it would give itself the same: topics may have grown while
    /// nobody led. What it cannot see in its own share stays unnoticed until the next change.
    pub(super) fn check_inheritance(&mut self, ctx: &Ctx<'_>, cluster: &Cluster) {
        let usable = |t: &Arc<str>| cluster.topic(t).is_some_and(|m| m.is_usable());
        if self.state != State::Stable || !self.watched.iter().all(usable) {
            return;
        }
        let Some(share) = self.inherited.take() else { return };
        self.divided = self.counts(cluster);
        let Some(strategy) = self.strategy else { return };
        let due = assignor::divide(strategy, &self.members, &self.divided);
        if due.get(&self.member_id) != Some(&share) {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                "the assignment that was taken over is out of date".into()
            });
            self.rebalance(ctx, false);
        }
    }

    /// A leader that divided by what it knew looks whether it knows better by now: what metadata told while the shares
    /// were on their way is not told again.
    pub(super) fn check_division(&mut self, ctx: &Ctx<'_>, cluster: &Cluster) {
        let leads = !self.members.is_empty() && self.inherited.is_none();
        if !leads || self.state != State::Stable {
            return;
        }
        let now = self.counts(cluster);
        let changed = now
            .iter()
            .find(|(topic, count)| self.divided.get(*topic) != Some(count));
        if let Some((topic, _)) = changed {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                format!("{topic} got another number of partitions while its partitions were divided")
            });
            self.rebalance(ctx, false);
        }
    }

    /// The partition counts of the topics that are watched and known.
    pub(super) fn counts(&self, cluster: &Cluster) -> BTreeMap<String, i32> {
        let counts = self.watched.iter().filter_map(|t| {
            let meta = cluster.topic(t).filter(|m| m.is_usable())?;
            Some((t.to_string(), meta.partition_count()))
        });
        counts.collect()
    }

    /// Metadata of a topic changed.
    pub(super) fn on_topic_changed(&mut self, ctx: &Ctx<'_>, cluster: &Cluster, name: &Arc<str>) {
        if !self.watched.contains(name) {
            return;
        }
        let Some(meta) = cluster.topic(name) else { return };
        let subscribed = self.topics.contains(name);
        if subscribed && !meta.error.is_ok() && meta.error != ErrorCode::LEADER_NOT_AVAILABLE {
            if self.told.insert(name.clone(), meta.error) != Some(meta.error) {
                let text = format!("Subscribed topic not available: {name}: {}", meta.error.description());
                self.orders.push(Order::Tell(Error::new(meta.error, text)));
            }
        } else {
            self.told.remove(name);
        }
        if self.state == State::Wanting {
            self.retry_at = self.retry_at.min(ctx.now);
        }
        if self.inherited.is_some() {
            return self.check_inheritance(ctx, cluster);
        }
        // Only the leader's joining anew makes the coordinator divide anew.
        let leads = !self.members.is_empty();
        let count = if meta.is_usable() {
            Some(meta.partition_count())
        } else {
            None
        };
        let known = self.divided.get(&**name).copied();
        if leads && self.state == State::Stable && count.is_some() && count != known {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                format!("{name} has another number of partitions")
            });
            self.rebalance(ctx, false);
        }
    }
}
