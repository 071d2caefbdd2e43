//! Metadata requests in flight, and brokers that are late to answer them.
//!
//! A broker that is frozen, cut off or overloaded keeps its connections, so that the client notices it only after
//! `socket.timeout.ms`, by default a minute. A broker usually answers a metadata request within milliseconds; one that has
//! not answered within several times the typical round trip is *late*. The request is then repeated to another broker,
//! which is connected to if necessary, and the first response counts. The late request stays in flight, because the
//! broker may be slow and the only one that is reachable.
//!
//! The load on brokers is bounded: each has at most one refresh in flight, all together have [`MAX_IN_FLIGHT`], and the
//! limit for lateness doubles with each late request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic};

use crate::connection::{BrokerKey, Owner};
use crate::context::Ctx;
use crate::error::Error;
use crate::request::{ReadyBroker, RequestIds};
use crate::sys::Instant;

/// Maximum number of requests for one subject in flight, late ones included.
pub(super) const MAX_IN_FLIGHT: usize = 5;
/// Maximum number of refreshes in flight that are not late: an ordinary one, and one for urgent topics.
pub(super) const MAX_ON_TIME: usize = 2;
/// The minimum age of a late request. High-latency links and short pauses of a broker stay below it.
const LATE_AFTER_MIN: Duration = Duration::from_secs(2);
/// A request is late after this multiple of the typical round trip.
const LATE_FACTOR: u32 = 4;
/// The limit at which a round trip enters the typical one, so that a single outlier does not raise it for long.
const RTT_SAMPLE_MAX: Duration = Duration::from_millis(2500);

/// The subject of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// A refresh of these watched topics.
    Refresh(Vec<Arc<str>>),
    /// A call of the application.
    Call(u64),
}

/// A metadata request in flight.
#[derive(Debug)]
pub(super) struct SentRequest {
    pub(super) key: BrokerKey,
    pub(super) sent_at: Instant,
    late_at: Instant,
    pub(super) is_late: bool,
    /// Set if other requests were in flight on the connection before it. A broker answers in order, and one of them may be
    /// a long poll.
    is_behind: bool,
    pub(super) subject: Subject,
    /// Set if every topic was requested.
    pub(super) all: bool,
}

impl SentRequest {
    fn is_refresh(&self) -> bool {
        matches!(self.subject, Subject::Refresh(_))
    }
}

/// The metadata requests in flight.
#[derive(Debug, Default)]
pub(super) struct MetadataRequests {
    ids: RequestIds,
    /// By the id of the tag.
    in_flight: BTreeMap<u64, SentRequest>,
    typical_rtt: Duration,
    /// The broker whose connection ended before it had answered a metadata request, and until when others are preferred.
    unresponsive: Option<(BrokerKey, Instant)>,
}

impl MetadataRequests {
    /// Sends a request for `topics`, or for all. Returns its id.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        broker: &ReadyBroker,
        topics: Option<Vec<String>>,
        subject: Subject,
    ) -> Result<u64, Error> {
        let version = broker.version::<MetadataRequest>()?;
        let all = topics.is_none();
        let request = MetadataRequest {
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
            allow_auto_topic_creation: ctx.conf.allow_auto_create_topics
                || version < MetadataRequest::AUTO_CREATION_FLAG_SINCE,
            ..Default::default()
        };
        let tag = self.ids.next_tag(Owner::Cluster);
        let is_behind = ctx.connections.in_flight(broker.key) > 0;
        let timeout = ctx.socket_timeout();
        broker.send(ctx, tag, &request, version, timeout)?;
        let sent = SentRequest {
            key: broker.key,
            sent_at: ctx.now,
            late_at: ctx.now + self.late_after(ctx),
            is_late: false,
            is_behind,
            subject,
            all,
        };
        self.in_flight.insert(tag.id, sent);
        Ok(tag.id)
    }

    /// Removes and returns the request with this id.
    pub(super) fn take(&mut self, id: u64) -> Option<SentRequest> {
        self.in_flight.remove(&id)
    }

    /// Returns the number of requests in flight for a call.
    pub(super) fn count_of_call(&self, call: u64) -> usize {
        let is_of_call = |sent: &&SentRequest| sent.subject == Subject::Call(call);
        self.in_flight.values().filter(is_of_call).count()
    }

    /// Returns the numbers of refreshes in flight that are late, and that are not.
    pub(super) fn refresh_counts(&self) -> (usize, usize) {
        let refreshes = self.in_flight.values().filter(|sent| sent.is_refresh());
        let (late, on_time): (Vec<_>, Vec<_>) = refreshes.partition(|sent| sent.is_late);
        (late.len(), on_time.len())
    }

    /// Returns whether a refresh is in flight to a broker.
    pub(super) fn is_refreshing(&self, key: BrokerKey) -> bool {
        self.in_flight.values().any(|sent| sent.key == key && sent.is_refresh())
    }

    /// Returns whether a refresh of every topic is in flight and not late.
    pub(super) fn is_listing(&self) -> bool {
        let is_listing = |sent: &SentRequest| sent.is_refresh() && sent.all && !sent.is_late;
        self.in_flight.values().any(is_listing)
    }

    /// Returns whether a request that is not late is behind others on its connection.
    pub(super) fn is_behind(&self) -> bool {
        self.in_flight.values().any(|sent| sent.is_behind && !sent.is_late)
    }

    /// Moves the requests of a connection to another key, under which the same connection continues.
    pub(super) fn rename(&mut self, from: BrokerKey, to: BrokerKey) {
        for sent in self.in_flight.values_mut().filter(|sent| sent.key == from) {
            sent.key = to;
        }
    }

    // ---------------------------------------------------------------- lateness

    fn late_after(&self, ctx: &Ctx<'_>) -> Duration {
        let late = self.in_flight.values().filter(|sent| sent.is_late).count();
        let doubled = 1u32 << late.min(MAX_IN_FLIGHT);
        let base = self.typical_rtt.saturating_mul(LATE_FACTOR).max(LATE_AFTER_MIN);
        base.saturating_mul(doubled).min(ctx.socket_timeout())
    }

    /// Returns when the next request becomes late.
    pub(super) fn next_late(&self) -> Option<Instant> {
        let on_time = self.in_flight.values().filter(|sent| !sent.is_late);
        on_time.map(|sent| sent.late_at).min()
    }

    /// Returns until when the broker that has failed last is avoided.
    pub(super) fn unresponsive_until(&self) -> Option<Instant> {
        self.unresponsive.map(|(_, until)| until)
    }

    /// Marks the requests that have become late. Returns their ids.
    pub(super) fn mark_late(&mut self, now: Instant) -> Vec<u64> {
        let mut late = Vec::new();
        for (id, sent) in &mut self.in_flight {
            if !sent.is_late && sent.late_at <= now {
                sent.is_late = true;
                late.push(*id);
            }
        }
        late
    }

    /// Returns a request in flight.
    pub(super) fn get(&self, id: u64) -> Option<&SentRequest> {
        self.in_flight.get(&id)
    }

    /// Returns whether a broker is late to answer a metadata request, so that another one of the candidates is preferred.
    ///
    /// Lateness belongs to the address: a frozen broker accepts further connections. Where every candidate is late, it
    /// belongs to the connection, since the connections may be dead while the brokers are well.
    pub(super) fn is_late(&self, ctx: &Ctx<'_>, candidates: &[BrokerKey], key: BrokerKey) -> bool {
        self.is_address_late(ctx, candidates, key)
            && (self.in_flight.values().any(|sent| sent.is_late && sent.key == key)
                || candidates
                    .iter()
                    .any(|other| !self.is_address_late(ctx, candidates, *other)))
    }

    /// Returns whether a broker is late over this connection or another one to the same address. A broker whose connection
    /// ended before it had answered counts as late for [`LATE_AFTER_MIN`] when another candidate is reachable.
    fn is_address_late(&self, ctx: &Ctx<'_>, candidates: &[BrokerKey], key: BrokerKey) -> bool {
        let same = |other: BrokerKey| other == key || ctx.connections.address(other) == ctx.connections.address(key);
        if self.in_flight.values().any(|sent| sent.is_late && same(sent.key)) {
            return true;
        }
        let is_unresponsive = self
            .unresponsive
            .is_some_and(|(broker, until)| until > ctx.now && same(broker));
        is_unresponsive
            && candidates.iter().any(|other| {
                ctx.connections.address(*other) != ctx.connections.address(key)
                    && !ctx.connections.is_unreachable(*other)
            })
    }

    /// Notes the response of a broker, which took `rtt`.
    pub(super) fn on_answer(&mut self, key: BrokerKey, rtt: Duration) {
        if self.unresponsive.is_some_and(|(broker, _)| broker == key) {
            self.unresponsive = None;
        }
        self.typical_rtt = (self.typical_rtt * 3 + rtt.min(RTT_SAMPLE_MAX)) / 4;
    }

    /// Notes a failed request. Returns when it is repeated to another broker: at once after the first failure, so that a
    /// change of leader becomes known before the former leader is connected to again.
    pub(super) fn on_failure(&mut self, ctx: &Ctx<'_>, candidates: &[BrokerKey], key: BrokerKey) -> Instant {
        let is_first = self.unresponsive.is_none_or(|(_, until)| until <= ctx.now);
        self.unresponsive = Some((key, ctx.now + LATE_AFTER_MIN));
        match is_first && self.is_late(ctx, candidates, key) {
            true => ctx.now,
            false => ctx.now + Duration::from_millis(ctx.conf.topic_metadata_refresh_fast_interval_ms.into()),
        }
    }
}

#[cfg(test)]
mod tests;
