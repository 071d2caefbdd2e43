//! Refreshes: which topics are asked for, and when they are next.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::in_flight::{About, MAX_PROMPT, MAX_UNDER_WAY};
use super::{Cluster, duration_ms, refresh_interval};
use crate::context::Ctx;
use crate::error::ErrorCode;
use crate::log::{DebugContexts, level};
use crate::request::ReadyBroker;
use crate::sys::Instant;
use crate::types::{NodeId, is_valid_topic_name};

/// Refreshes are this far apart at least, so that what comes up at the same time is asked for together.
const PAUSE: Duration = Duration::from_millis(10);

/// How often a suspected topic is asked for at the slowest pause before pauses grow on. A cluster that has lost more than
/// one broker may take half a minute to agree on a leader, and whoever waits longer then has the outage last longer.
const STEADY_ASKS: u32 = 30;

/// The pause before a topic is asked for again that was called stale and about which `refresh_attempts` answers brought nothing
/// new: doubled from `fast` up to `slowest`, for a while as long as that, and then doubled again.
fn refresh_pause(refresh_attempts: u32, fast: Duration, slowest: Duration) -> Duration {
    let asked = refresh_attempts.saturating_sub(1);
    let doubled = |from: Duration, times: u32| from.saturating_mul(1u32.checked_shl(times).unwrap_or(u32::MAX));
    let rising = doubled(fast, asked);
    if rising < slowest {
        return rising;
    }
    let times = (0..asked).take_while(|n| doubled(fast, *n) < slowest).count();
    let at_slowest = asked.saturating_sub(u32::try_from(times).unwrap_or(u32::MAX));
    doubled(slowest, at_slowest.saturating_sub(STEADY_ASKS))
}

impl Cluster {
    pub(super) fn send_refresh(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let topic_due = self.due.first().is_some_and(|d| d.0 <= now);
        let brokers_due = self.brokers_due.is_some_and(|at| at <= now);
        let all_due = self.all_due.is_some_and(|at| at <= now);
        if !topic_due && !brokers_due && !all_due {
            return;
        }
        self.unanswered_since.get_or_insert(now);
        if self.not_before > now {
            return;
        }
        let Some(broker) = self.refresh_connection(ctx) else {
            return;
        };
        let due = self.due_topics(now).cloned().collect();
        let (names, all) = match all_due {
            true => (self.unhurried(), true),
            false => self.refresh_scope(ctx, due),
        };
        let topics = (!all).then(|| names.iter().map(|n| n.to_string()).collect());
        let timeout = ctx.socket_timeout();
        let about = About::Refresh(names.clone());
        match self.send_request(ctx, &broker, topics, timeout, about) {
            Ok(id) => {
                ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                    format!(
                        "asking broker {} for metadata of {} topic(s)",
                        broker.key.node,
                        names.len()
                    )
                });
                for name in &names {
                    self.reschedule(name, Instant::NEVER);
                    // What becomes urgent does not wait for an answer about every topic.
                    if let Some(watch) = self.watches.get_mut(name).filter(|_| !all) {
                        watch.asked = Some(id);
                    }
                }
                self.brokers_due = None;
                if all {
                    self.all_due = None;
                }
                self.not_before = now + PAUSE;
            }
            Err(error) => {
                ctx.log.log(level::WARNING, "METADATA", || error.to_string());
                self.not_before = now.plus_ms(1000);
            }
        }
    }

    fn due_topics(&self, now: Instant) -> impl Iterator<Item = &Arc<str>> {
        self.due.iter().take_while(move |d| d.0 <= now).map(|d| &d.1)
    }

    /// A broker to ask that has no refresh under way. While one is under way that is not late, none is connected to for
    /// this.
    fn refresh_connection(&mut self, ctx: &mut Ctx<'_>) -> Option<ReadyBroker> {
        let under_way = self.asked.values().filter(|a| a.is_refresh());
        let (late, prompt): (Vec<bool>, Vec<bool>) = under_way.map(|a| a.is_late).partition(|late| *late);
        if late.len() + prompt.len() >= MAX_UNDER_WAY || prompt.len() >= MAX_PROMPT {
            return None;
        }
        if !prompt.is_empty() {
            return self.idle_connection(ctx);
        }
        let topics = self.due_topics(ctx.now).filter_map(|name| self.topics.get(name));
        let lagging_brokers: BTreeSet<NodeId> = topics.flat_map(|t| t.lagging_brokers()).collect();
        self.prompt_connection(ctx, &lagging_brokers)
    }

    /// What to ask for when these topics are due, and whether for every topic of the cluster. Without
    /// `topic.metadata.refresh.sparse` that is so at the ordinary interval; what cannot wait is asked for by name, which
    /// is quicker and may create a topic.
    fn refresh_scope(&self, ctx: &Ctx<'_>, due: Vec<Arc<str>>) -> (Vec<Arc<str>>, bool) {
        if ctx.conf.topic_metadata_refresh_sparse {
            return (due, false);
        }
        let urgent: Vec<Arc<str>> = due.iter().filter(|name| self.is_urgent(name)).cloned().collect();
        let all_under_way = self.asked.values().any(|a| a.is_refresh() && a.all && !a.is_late);
        if !urgent.is_empty() {
            (urgent, false)
        } else if all_under_way {
            (due, false)
        } else {
            (self.unhurried(), true)
        }
    }

    /// The watched topics that need not be asked for by name.
    fn unhurried(&self) -> Vec<Arc<str>> {
        let names = self.watches.keys().filter(|name| !self.is_urgent(name));
        names.cloned().collect()
    }

    fn is_urgent(&self, name: &Arc<str>) -> bool {
        self.is_incomplete(name)
            || self
                .watches
                .get(name)
                .is_some_and(|w| w.refresh_attempts > 0 || w.confirm_since.is_some())
    }

    /// Whether something about a topic is missing. A name that brokers refuse is complete: no refresh makes it valid. A
    /// leader that no broker list names counts as missing: the answer came from a broker that lags behind.
    pub(super) fn is_incomplete(&self, name: &str) -> bool {
        if !is_valid_topic_name(name)
            && self
                .topics
                .get(name)
                .is_some_and(|t| t.error == ErrorCode::TOPIC_EXCEPTION)
        {
            return false;
        }
        let is_known = |node: &NodeId| self.nodes.contains_key(node);
        self.topics.get(name).is_none_or(|topic| {
            let mut leaders = topic.partitions.iter().filter_map(|p| p.leader.as_ref());
            topic.is_incomplete() || !leaders.all(is_known)
        })
    }

    pub(super) fn reschedule(&mut self, name: &str, at: Instant) {
        let Some((name, watch)) = self.watches.get_key_value(name) else {
            return;
        };
        let (name, old) = (name.clone(), watch.due);
        self.due.remove(&(old, name.clone()));
        if let Some(watch) = self.watches.get_mut(&name) {
            watch.due = at;
        }
        if at < Instant::NEVER {
            self.due.insert((at, name));
        }
    }

    /// Brings a topic's next refresh forward to `at` unless it is sooner already, or under way and not late.
    pub(super) fn schedule(&mut self, name: &str, at: Instant) {
        if self.watches.get(name).is_some_and(|w| w.asked.is_none() && w.due > at) {
            self.reschedule(name, at);
        }
    }

    /// After an answer: incomplete topics are asked for again soon, more and more slowly; so are topics that were called
    /// stale and about which the answer has brought nothing new; others at the ordinary interval.
    pub(super) fn plan_next(&mut self, ctx: &Ctx<'_>, name: &Arc<str>) {
        let incomplete = self.is_incomplete(name);
        let Some(watch) = self.watches.get_mut(name) else {
            return;
        };
        watch.asked = None;
        if watch.confirm_since.is_some() {
            // The answer was to a request from before.
            return self.reschedule(name, ctx.now);
        }
        let fast = duration_ms(ctx.conf.topic_metadata_refresh_fast_interval_ms);
        let interval = refresh_interval(ctx);
        let slowest = duration_ms(ctx.conf.retry_backoff_max_ms).max(fast);
        let pause = if incomplete {
            watch.misses = watch.misses.saturating_add(1);
            let factor = 1u32 << (watch.misses / 4).min(10);
            fast.saturating_mul(factor).min(slowest)
        } else {
            watch.misses = 0;
            let pause = refresh_pause(watch.refresh_attempts, fast, slowest);
            if watch.refresh_attempts > 0 && pause < interval {
                watch.refresh_attempts += 1;
                pause
            } else {
                watch.refresh_attempts = 0;
                interval
            }
        };
        self.reschedule(name, ctx.now + pause);
    }
}
