//! Metadata requests under way, and what follows when a broker does not answer.
//!
//! A broker that is frozen, cut off or overloaded keeps its connections: the client learns of it only when
//! `socket.timeout.ms` is over, a minute by default. A broker usually answers a metadata request within milliseconds, so
//! one that has not answered within several times the usual time is *late*: what was asked is asked of another broker as
//! well, connected to if need be, and the first answer counts. The late request stays under way, since the broker may
//! just be slow and nobody else reachable.
//!
//! Brokers are not flooded: each has at most one refresh under way, all of them together [`MAX_UNDER_WAY`], and with each
//! late one the client waits twice as long for the next.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic};

use super::{Cluster, duration_ms};
use crate::connection::{BrokerKey, Owner};
use crate::context::Ctx;
use crate::error::Error;
use crate::log::DebugContexts;
use crate::request::ReadyBroker;
use crate::sys::Instant;

/// Requests of one kind under way at once, late ones included.
pub(super) const MAX_UNDER_WAY: usize = 5;
/// Refreshes under way at once that are not late: an ordinary one, and one for what cannot wait for it.
pub(super) const MAX_PROMPT: usize = 2;
/// No request is late before this: connections with a high delay and a short pause of a broker are nothing special.
const LATE_AFTER_MIN: Duration = Duration::from_secs(2);
/// A request is late after so many times the usual time.
const LATE_FACTOR: u32 = 4;
/// An answer counts as at most this for the usual time: one outlier must not make the client patient for long.
const USUAL_MAX: Duration = Duration::from_millis(2500);

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    /// A refresh of these watched topics.
    Refresh(Vec<Arc<str>>),
    /// A call of the application.
    Call(u64),
}

/// A metadata request under way.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) key: BrokerKey,
    pub(super) sent_at: Instant,
    late_at: Instant,
    pub(super) is_late: bool,
    /// Others were under way on the connection already. A broker answers in order, and one of them may be a long poll.
    pub(super) is_behind: bool,
    pub(super) about: About,
    /// Whether every topic was asked for.
    pub(super) all: bool,
}

impl Asked {
    pub(super) fn is_refresh(&self) -> bool {
        matches!(self.about, About::Refresh(_))
    }

    /// When this will be late.
    pub(super) fn late_at(&self) -> Option<Instant> {
        (!self.is_late).then_some(self.late_at)
    }
}

impl Cluster {
    /// How long to wait for an answer before another broker is asked.
    fn late_after(&self, ctx: &Ctx<'_>) -> Duration {
        let late = self.asked.values().filter(|a| a.is_late).count();
        let doubled = 1u32 << late.min(MAX_UNDER_WAY);
        let usual = self.usual.saturating_mul(LATE_FACTOR).max(LATE_AFTER_MIN);
        usual
            .saturating_mul(doubled)
            .min(duration_ms(ctx.conf.socket_timeout_ms))
    }

    /// Learns from an answer how long answers take.
    pub(super) fn note_rtt(&mut self, rtt: Duration) {
        self.usual = (self.usual * 3 + rtt.min(USUAL_MAX)) / 4;
    }

    pub(super) fn send_request(
        &mut self,
        ctx: &mut Ctx<'_>,
        broker: &ReadyBroker,
        topics: Option<Vec<String>>,
        timeout: Duration,
        about: About,
    ) -> Result<u64, Error> {
        let version = broker.version::<MetadataRequest>()?;
        let all = topics.is_none();
        let request = MetadataRequest {
            // Version 0 has no null list: there the empty list means every topic.
            topics: match topics {
                None if version < MetadataRequest::NULL_TOPICS_SINCE => Some(Vec::new()),
                other => other.map(|names| {
                    let topic = |name| MetadataRequestTopic {
                        name: Some(name),
                        ..Default::default()
                    };
                    names.into_iter().map(topic).collect()
                }),
            },
            // Before version 4 brokers create what is asked for, and there is no way to say otherwise.
            allow_auto_topic_creation: ctx.conf.allow_auto_create_topics
                || version < MetadataRequest::AUTO_CREATION_FLAG_SINCE,
            ..Default::default()
        };
        let tag = self.ids.next_tag(Owner::Cluster);
        let is_behind = ctx.connections.in_flight(broker.key) > 0;
        broker.send(ctx, tag, &request, version, timeout)?;
        let asked = Asked {
            key: broker.key,
            sent_at: ctx.now,
            late_at: ctx.now + self.late_after(ctx),
            is_late: false,
            is_behind,
            about,
            all,
        };
        self.asked.insert(tag.id, asked);
        Ok(tag.id)
    }

    /// Has asked again what brokers are late to answer.
    pub(super) fn notice_late(&mut self, ctx: &Ctx<'_>) {
        let late: Vec<u64> = self
            .asked
            .iter()
            .filter(|(_, a)| !a.is_late && a.late_at <= ctx.now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            let Some(asked) = self.asked.get_mut(&id) else { continue };
            asked.is_late = true;
            let (about, all, node) = (asked.about.clone(), asked.all, asked.key.node);
            ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                format!("broker {node} is late to answer a metadata request: asking another one as well")
            });
            match about {
                About::Call(call) => {
                    if let Some(call) = self.calls.get_mut(&call) {
                        call.ask_at = call.ask_at.min(ctx.now);
                    }
                }
                About::Refresh(names) => {
                    self.brokers_due = Some(ctx.now);
                    self.list_again(all, ctx.now);
                    self.ask_again(id, &names, all, ctx.now);
                }
            }
        }
    }

    /// After a request for every topic: has them asked for at `at`, if somebody wants that.
    pub(super) fn list_again(&mut self, all: bool, at: Instant) {
        if all && self.lists_all {
            self.all_due = Some(at);
        }
    }

    /// Schedules for `at` what a request asked for, unless it is asked for by another one that was sent since.
    pub(super) fn ask_again(&mut self, id: u64, names: &[Arc<str>], all: bool, at: Instant) {
        for name in names {
            let Some(watch) = self.watches.get_mut(name) else {
                continue;
            };
            if watch.asked == Some(id) {
                watch.asked = None;
            } else if !all {
                continue;
            }
            self.schedule(name, at);
        }
    }

    /// Returns whether a broker is late to answer a metadata request, so that another one is asked.
    ///
    /// Lateness belongs to the address: a frozen broker accepts further connections. Where every candidate is late, it
    /// belongs to the connection, since the connections may be dead while the brokers are well.
    pub(super) fn is_late(&self, ctx: &Ctx<'_>, key: BrokerKey) -> bool {
        self.is_address_late(ctx, key)
            && (self.asked.values().any(|a| a.is_late && a.key == key)
                || self
                    .candidates(ctx)
                    .into_iter()
                    .any(|other| !self.is_address_late(ctx, other)))
    }

    /// Returns whether a broker is late over this connection or another one to the same address. A broker whose connection
    /// ended before it had answered counts as late for [`LATE_AFTER_MIN`] when another one can be asked.
    fn is_address_late(&self, ctx: &Ctx<'_>, key: BrokerKey) -> bool {
        let same = |other: BrokerKey| other == key || ctx.connections.address(other) == ctx.connections.address(key);
        if self.asked.values().any(|a| a.is_late && same(a.key)) {
            return true;
        }
        let is_unresponsive = self
            .unresponsive
            .is_some_and(|(broker, until)| until > ctx.now && same(broker));
        is_unresponsive
            && self.candidates(ctx).into_iter().any(|other| {
                ctx.connections.address(other) != ctx.connections.address(key) && !ctx.connections.is_unreachable(other)
            })
    }

    /// Notes that a broker has answered a metadata request.
    pub(super) fn note_answer(&mut self, key: BrokerKey) {
        if self.unresponsive.is_some_and(|(broker, _)| broker == key) {
            self.unresponsive = None;
        }
    }

    /// Notes that a metadata request has failed, and returns when another broker is asked: at once after the first
    /// failure, so that the news of a leader change comes before its former leader is connected to again.
    pub(super) fn note_failure(&mut self, ctx: &Ctx<'_>, key: BrokerKey) -> Instant {
        let is_first = self.unresponsive.is_none_or(|(_, until)| until <= ctx.now);
        self.unresponsive = Some((key, ctx.now + LATE_AFTER_MIN));
        match is_first && self.is_late(ctx, key) {
            true => ctx.now,
            false => ctx.now + duration_ms(ctx.conf.topic_metadata_refresh_fast_interval_ms),
        }
    }

    /// Whether a refresh is under way at a broker.
    pub(super) fn is_refreshing(&self, key: BrokerKey) -> bool {
        self.asked.values().any(|a| a.key == key && a.is_refresh())
    }
}
