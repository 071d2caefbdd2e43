//! Metadata requests: those of the application, refreshes, and when the next ones are due.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic};

use super::super::Ctx;
use super::{Call, Cluster, FIRST_CALL_ID, MetadataScope, duration_ms, refresh_interval};
use crate::connection::{BrokerVersions, LinkKey, Owner, Tag};
use crate::env::Instant;
use crate::error::{Error, ErrorCode};
use crate::event::{DebugContexts, level};
use crate::types::NodeId;

impl Cluster {
    pub(super) fn expire_calls(&mut self, now: Instant) {
        let late: Vec<u64> = self
            .calls
            .iter()
            .filter(|(_, c)| c.deadline <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            if let Some(call) = self.calls.remove(&id) {
                call.reply.fill(Err(self.why_late(&call)));
            }
        }
    }

    /// Why a call got no answer: it was never sent for want of a broker, its requests failed, or the broker is slow.
    fn why_late(&self, call: &Call) -> Error {
        match (&call.last_error, &self.last_failure) {
            (Some(error), _) => error.clone(),
            (None, Some(failure)) if !call.sent => {
                let text = format!(
                    "no broker could be reached in time; the last failure: {}",
                    failure.message
                );
                Error::new(ErrorCode::L_TRANSPORT, text)
            }
            (None, None) if !call.sent => Error::new(ErrorCode::L_TRANSPORT, "no broker could be reached in time"),
            _ => Error::new(
                ErrorCode::L_TIMED_OUT,
                "the broker did not answer a metadata request in time",
            ),
        }
    }

    pub(super) fn send_calls(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let waiting: Vec<u64> = self
            .calls
            .iter()
            .filter(|(_, c)| !c.sent && c.retry_at <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in waiting {
            let Some((key, versions)) = self.any_link(ctx) else {
                return;
            };
            let Some(call) = self.calls.get(&id) else { continue };
            let topics = match &call.scope {
                MetadataScope::AllTopics => None,
                MetadataScope::Topics(names) => Some(names.clone()),
                MetadataScope::KnownTopics => Some(self.watches.keys().map(|n| n.to_string()).collect()),
            };
            let timeout = call.deadline.since(now);
            let sent = self.send_request(ctx, key, &versions, id, topics, timeout);
            if let Some(call) = self.calls.get_mut(&id) {
                match sent {
                    Ok(()) => call.sent = true,
                    Err(error) => {
                        call.retry_at = now.plus_ms(100);
                        call.last_error = Some(error);
                    }
                }
            }
        }
    }

    pub(super) fn send_refresh(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let topic_due = self.due.first().is_some_and(|d| d.0 <= now);
        let brokers_due = self.brokers_due.is_some_and(|at| at <= now);
        if self.refreshing.is_some() || self.not_before > now || !(topic_due || brokers_due) {
            return;
        }
        let Some((key, versions)) = self.any_link(ctx) else {
            return;
        };
        let names: Vec<Arc<str>> = self
            .due
            .iter()
            .take_while(|d| d.0 <= now)
            .map(|d| d.1.clone())
            .collect();
        let id = self.next_refresh_id;
        self.next_refresh_id = (self.next_refresh_id + 1) % FIRST_CALL_ID;
        let sparse = ctx.conf.topic_metadata_refresh_sparse;
        let topics = sparse.then(|| names.iter().map(|n| n.to_string()).collect());
        let timeout = duration_ms(ctx.conf.socket_timeout_ms);
        match self.send_request(ctx, key, &versions, id, topics, timeout) {
            Ok(()) => {
                ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                    format!("asking broker {} for metadata of {} topic(s)", key.node, names.len())
                });
                for name in &names {
                    self.reschedule(name, Instant::NEVER);
                }
                self.refreshing = Some((id, names));
            }
            Err(error) => {
                ctx.log.log(level::WARNING, "METADATA", || error.to_string());
                self.not_before = now.plus_ms(1000);
            }
        }
    }

    fn send_request(
        &self,
        ctx: &mut Ctx<'_>,
        key: LinkKey,
        versions: &BrokerVersions,
        id: u64,
        topics: Option<Vec<String>>,
        timeout: Duration,
    ) -> Result<(), Error> {
        let version = versions.pick::<MetadataRequest>().ok_or_else(|| {
            Error::new(
                ErrorCode::L_UNSUPPORTED_FEATURE,
                "the broker speaks no common version of Metadata",
            )
        })?;
        let request = MetadataRequest {
            // Version 0 has no null list: there the empty list means every topic.
            topics: match topics {
                None if version == 0 => Some(Vec::new()),
                other => other.map(|names| {
                    let topic = |name| MetadataRequestTopic {
                        name: Some(name),
                        ..Default::default()
                    };
                    names.into_iter().map(topic).collect()
                }),
            },
            // Before version 4 brokers create what is asked for, and there is no way to say otherwise.
            allow_auto_topic_creation: self.auto_create || version < 4,
            ..Default::default()
        };
        let tag = Tag {
            owner: Owner::Cluster,
            id,
        };
        ctx.links.send(key, ctx.now, tag, &request, version, timeout)
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

    /// Brings a topic's next refresh forward to `at` unless it is sooner already or under way.
    pub(super) fn schedule(&mut self, name: &str, at: Instant) {
        let under_way = self
            .refreshing
            .as_ref()
            .is_some_and(|r| r.1.iter().any(|n| &**n == name));
        let sooner = self.watches.get(name).is_some_and(|w| w.due <= at);
        if !under_way && !sooner {
            self.reschedule(name, at);
        }
    }

    /// After an answer: complete topics are asked for at the ordinary interval, incomplete ones soon, more and more
    /// slowly.
    pub(super) fn plan_next(&mut self, ctx: &Ctx<'_>, name: &Arc<str>) {
        // A leader that no broker list names is as good as none: the answer came from a broker that lags behind.
        let is_known = |node: &NodeId| self.nodes.contains_key(node);
        let incomplete = self.topics.get(name).is_none_or(|topic| {
            let mut leaders = topic.partitions.iter().filter_map(|p| p.leader.as_ref());
            topic.is_incomplete() || !leaders.all(is_known)
        });
        let Some(watch) = self.watches.get_mut(name) else {
            return;
        };
        let next = if incomplete {
            watch.misses = watch.misses.saturating_add(1);
            let fast = duration_ms(ctx.conf.topic_metadata_refresh_fast_interval_ms);
            let slowest = duration_ms(ctx.conf.retry_backoff_max_ms).max(fast);
            let factor = 1u32 << (watch.misses / 4).min(10);
            Some(ctx.now + fast.saturating_mul(factor).min(slowest))
        } else {
            watch.misses = 0;
            refresh_interval(ctx).map(|i| ctx.now + i)
        };
        self.reschedule(name, next.unwrap_or(Instant::NEVER));
    }
}
