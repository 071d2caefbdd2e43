//! The table of links and everything that happens to them.

mod connecting;
mod endings;
mod logging;
mod requests;
mod statistics;
mod throttling;
mod watching;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::{
    ErrorCode as BrokerError, Message, Request, decode_response, encode_request, peek_correlation_id,
};

use super::link::{Failure, FailureKind, INIT, InFlight, Link, Loss, Outcome, Reply, State};
use super::link_config::LinkConfig;
use super::net::{CloseReason, ConnId, LookupId, NetAction, NetEvent};
use super::traffic::Totals;
use super::versions::BrokerVersions;
use crate::env::{Instant, Rng};
use crate::error::{Error, ErrorCode};
use crate::event::{BrokerState, Exchange, Logger, Watcher};
use crate::types::NodeId;

/// What a connection is for. Requests that may be held back by the broker for long have connections of their own, since
/// a broker handles the requests of one connection one after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Purpose {
    /// Metadata, Produce, Fetch, admin requests.
    General,
    /// The group or transaction coordinator: heartbeats must not wait behind a long poll.
    Coordinator,
}

/// Names a link: a broker and what the connection is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkKey {
    /// The broker.
    pub node: NodeId,
    /// The connection's purpose.
    pub purpose: Purpose,
}

impl LinkKey {
    /// The ordinary connection of a broker.
    pub fn general(node: NodeId) -> Self {
        LinkKey {
            node,
            purpose: Purpose::General,
        }
    }

    /// The coordinator connection of a broker.
    pub fn coordinator(node: NodeId) -> Self {
        LinkKey {
            node,
            purpose: Purpose::Coordinator,
        }
    }
}

/// Which manager a response goes to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Owner {
    /// The link itself (ApiVersions).
    Link,
    /// Metadata.
    Cluster,
    /// The producer's sender.
    Producer,
    /// The consumer's fetcher.
    Fetcher,
    /// Offset look-ups.
    Offsets,
    /// The consumer group.
    Group,
    /// Calls that belong to neither.
    Admin,
    /// Client metrics.
    Telemetry,
}

/// Travels with a request and comes back with its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tag {
    /// Which manager.
    pub owner: Owner,
    /// The manager's own number for the request.
    pub id: u64,
}

/// Whether a request can be sent on a link.
#[derive(Clone, Debug)]
pub enum Ready {
    /// Now, in any version that the broker speaks.
    Yes(Arc<BrokerVersions>),
    /// Connected, but `max.in.flight.requests.per.connection` requests are under way or the broker asked for a pause:
    /// an outcome or [`LinkEvent::Unthrottled`] will come.
    Busy,
    /// Not connected. The link is now wanted: [`LinkEvent::Up`] or [`LinkEvent::Down`] will come.
    Connecting,
    /// No such broker is known.
    Unknown,
}

/// What managers learn from the table.
#[derive(Debug)]
pub enum LinkEvent {
    /// Requests can be sent.
    Up {
        /// Which link.
        key: LinkKey,
    },
    /// An attempt failed or the connection is gone; every request in flight was failed before.
    Down {
        /// Which link.
        key: LinkKey,
        /// Why, naming address and state; `None` when the client closed it on purpose or it was idle.
        error: Option<Error>,
        /// What was lost with it.
        loss: Loss,
    },
    /// A response asked for a pause, or is the first after one that asks for none.
    Throttled {
        /// Which link.
        key: LinkKey,
        /// The pause, 0 when there is none any more.
        throttle_ms: i32,
    },
    /// Requests can be sent again: a pause that the broker asked for is over, or one of too many requests has ended.
    Unthrottled {
        /// Which link.
        key: LinkKey,
    },
    /// What became of a request.
    Outcome {
        /// On which link.
        key: LinkKey,
        /// The request's tag.
        tag: Tag,
        /// What became of it.
        outcome: Outcome,
    },
}

/// The ApiVersions version that every broker since 0.10 answers.
const API_VERSIONS_FIRST: i16 = 0;

/// All links of a client.
#[derive(Debug)]
pub struct Links {
    config: LinkConfig,
    log: Arc<Logger>,
    /// In order, so that what is done for all of them is done in the same order every time.
    links: BTreeMap<LinkKey, Link>,
    by_conn: BTreeMap<ConnId, LinkKey>,
    by_lookup: BTreeMap<LookupId, LinkKey>,
    timers: BTreeSet<(Instant, LinkKey)>,
    throttles: BTreeSet<(Instant, LinkKey)>,
    /// The last response that could ask for a pause did.
    throttled: bool,
    actions: VecDeque<NetAction>,
    events: VecDeque<LinkEvent>,
    next_id: u64,
    rng: Rng,
    watcher: Option<Arc<dyn Watcher>>,
    totals: Totals,
}

impl Links {
    /// An empty table, which logs nothing.
    pub fn new(config: LinkConfig, rng: Rng) -> Self {
        Links {
            config,
            log: Arc::new(Logger::silent()),
            links: BTreeMap::new(),
            by_conn: BTreeMap::new(),
            by_lookup: BTreeMap::new(),
            timers: BTreeSet::new(),
            throttles: BTreeSet::new(),
            throttled: false,
            actions: VecDeque::new(),
            events: VecDeque::new(),
            next_id: 1,
            rng,
            watcher: None,
            totals: Totals::default(),
        }
    }

    /// The same, with a log.
    #[must_use]
    pub fn with_log(self, log: Arc<Logger>) -> Self {
        Links { log, ..self }
    }

    // ---------------------------------------------------------------- for managers

    /// Makes a broker known or gives it a new address. A connection to an old address is closed.
    pub fn set_address(&mut self, key: LinkKey, host: &str, port: u16, now: Instant) {
        match self.links.get_mut(&key) {
            None => {
                self.links.insert(key, Link::new(host.to_owned(), port, now));
            }
            Some(link) if link.host == host && link.port == port => {}
            Some(link) => {
                link.host = host.to_owned();
                link.port = port;
                link.addrs.clear();
                link.failures = 0;
                link.unreachable = false;
                let was_idle = matches!(link.state, State::Idle);
                if !was_idle {
                    self.take_down(key, None, now);
                }
            }
        }
    }

    /// Turns the connection of `from` into that of `to`, unless `to` has one of its own; `from` is idle afterwards.
    /// Requests in flight go along.
    pub fn adopt(&mut self, from: LinkKey, to: LinkKey, now: Instant) {
        let free = self.links.get(&to).is_none_or(|l| matches!(l.state, State::Idle));
        let Some(link) = self.links.remove(&from) else { return };
        if !free || link.state.conn().is_none() {
            self.links.insert(from, link);
            return;
        }
        for key in [from, to] {
            self.disarm(key);
        }
        if let Some(at) = link.armed {
            self.timers.remove(&(at, from));
        }
        let mut idle = Link::new(link.host.clone(), link.port, now);
        idle.tried = true;
        self.links.insert(from, idle);
        // What the connection has carried is the broker's, behind what earlier ones have.
        let mut traffic = self.links.remove(&to).map(|l| l.traffic).unwrap_or_default();
        traffic.absorb(link.traffic);
        if let Some(conn) = link.state.conn() {
            self.by_conn.insert(conn, to);
        }
        let up = matches!(link.state, State::Up { .. });
        // Who watches learns of the broker's id so.
        let adopted = Link {
            armed: None,
            announced: INIT,
            traffic,
            ..link
        };
        self.links.insert(to, adopted);
        self.rearm(to);
        if up {
            self.events.push_back(LinkEvent::Up { key: to });
        }
    }

    fn disarm(&mut self, key: LinkKey) {
        if let Some(at) = self.links.get_mut(&key).and_then(|l| l.armed.take()) {
            self.timers.remove(&(at, key));
        }
    }

    /// Forgets a broker; its connection is closed and its requests fail.
    pub fn remove(&mut self, key: LinkKey, now: Instant) {
        if self.links.contains_key(&key) {
            self.take_down(key, None, now);
            if let Some(at) = self.links.remove(&key).and_then(|l| l.armed) {
                self.timers.remove(&(at, key));
            }
        }
    }

    /// Whether a request can be sent on `key` now. When the link is not up, it is brought up.
    pub fn ready(&mut self, key: LinkKey, now: Instant) -> Ready {
        let max_in_flight = self.config.max_in_flight;
        let Some(link) = self.links.get_mut(&key) else {
            return Ready::Unknown;
        };
        match &link.state {
            State::Up { versions, .. } => {
                if link.is_full(max_in_flight) || link.throttled_until > now {
                    link.turned_away = true;
                    Ready::Busy
                } else {
                    Ready::Yes(versions.clone())
                }
            }
            _ => {
                link.wanted = true;
                if matches!(link.state, State::Idle) {
                    self.start_attempt(key, now);
                }
                Ready::Connecting
            }
        }
    }

    /// Like [`ready`](Self::ready), but [`Ready::Busy`] as well while `max_unsent` requests have not been taken whole by
    /// the kernel: what waits in front of a full socket had better wait where it can still join a larger batch.
    pub fn ready_for_bulk(&mut self, key: LinkKey, now: Instant, max_unsent: u64) -> Ready {
        if let Some(link) = self.links.get_mut(&key)
            && matches!(link.state, State::Up { .. })
            && link.frames_sent - link.frames_done >= max_unsent
        {
            link.turned_away = true;
            return Ready::Busy;
        }
        self.ready(key, now)
    }

    /// Whether the link is up, without wanting it.
    pub fn is_up(&self, key: LinkKey) -> bool {
        self.links
            .get(&key)
            .is_some_and(|l| matches!(l.state, State::Up { .. }))
    }

    /// Whether the link is up or on its way there.
    pub fn is_active(&self, key: LinkKey) -> bool {
        self.links
            .get(&key)
            .is_some_and(|l| !matches!(l.state, State::Idle | State::Backoff { .. }))
    }

    /// Whether the link's next attempt has to wait, and until when.
    pub fn backoff_until(&self, key: LinkKey) -> Option<Instant> {
        match self.links.get(&key)?.state {
            State::Backoff { until } => Some(until),
            _ => None,
        }
    }

    /// Whether any attempt was ever made to connect.
    pub fn was_tried(&self, key: LinkKey) -> bool {
        self.links.get(&key).is_some_and(|l| l.tried)
    }

    /// Whether the last attempt to connect failed. A connection that broke says nothing of whether another can be made.
    pub fn is_unreachable(&self, key: LinkKey) -> bool {
        self.links.get(&key).is_some_and(|l| l.unreachable)
    }

    /// Every link's key.
    pub fn keys(&self) -> impl Iterator<Item = LinkKey> + '_ {
        self.links.keys().copied()
    }

    /// The versions that the broker at `key` speaks, while it is up.
    pub fn versions(&self, key: LinkKey) -> Option<Arc<BrokerVersions>> {
        match &self.links.get(&key)?.state {
            State::Up { versions, .. } => Some(versions.clone()),
            _ => None,
        }
    }

    /// `host:port` of a link.
    pub fn address(&self, key: LinkKey) -> Option<(&str, u16)> {
        self.links.get(&key).map(|l| (l.host.as_str(), l.port))
    }

    /// A link as it is called in logs and errors: `host:port/id`.
    pub fn name(&self, key: LinkKey) -> String {
        let link = self.links.get(&key);
        link.map_or_else(|| key.node.to_string(), |link| logging::Name(key, link).to_string())
    }

    /// Requests in flight on a link.
    pub fn in_flight(&self, key: LinkKey) -> usize {
        self.links.get(&key).map_or(0, |l| l.in_flight.len())
    }

    /// Sends a request on a link that is [`Ready::Yes`]. The outcome comes as [`LinkEvent::Outcome`] with `tag`.
    ///
    /// Fails, with nothing sent, when the link is not up or the request cannot be encoded.
    pub fn send<R: Request>(
        &mut self,
        key: LinkKey,
        now: Instant,
        tag: Tag,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<(), Error> {
        self.send_frame(key, now, tag, request, version, timeout, true)
    }

    /// Like [`send`](Self::send) for a request that the broker does not answer (Produce with acks=0): the outcome is
    /// [`Outcome::Sent`].
    pub fn send_unanswered<R: Request>(
        &mut self,
        key: LinkKey,
        now: Instant,
        tag: Tag,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<(), Error> {
        self.send_frame(key, now, tag, request, version, timeout, false)
    }

    /// Whether the kernel has not taken the whole of a request yet: the network may still read what it refers to.
    pub fn is_unwritten(&self, key: LinkKey, tag: Tag) -> bool {
        self.links.get(&key).is_some_and(|link| {
            let mut requests = link.in_flight.iter();
            requests.any(|r| r.tag == tag && r.frame > link.frames_done)
        })
    }

    /// Has the network close a connection. Nothing that was to be sent on it is looked at any more.
    fn close_connection(actions: &mut VecDeque<NetAction>, conn: ConnId) {
        actions.retain(|a| !matches!(a, NetAction::Send { conn: of, .. } if *of == conn));
        actions.push_back(NetAction::Close { conn });
    }

    /// Closes a connection whose peer broke the protocol, or that is of no use any more; requests in flight fail with `error`.
    pub fn fail(&mut self, key: LinkKey, error: Error, now: Instant) {
        self.take_down(key, Some(error), now);
    }

    /// [Fails](Self::fail) a connection whose peer's response to a request of `api` cannot be read; gives the error.
    pub fn fail_unreadable(&mut self, key: LinkKey, api: impl Display, cause: impl Display, now: Instant) -> Error {
        let error = Error::new(ErrorCode::L_BAD_MSG, format!("{api} response cannot be read: {cause}"));
        self.fail(key, error.clone(), now);
        error
    }

    /// Closes a connection on which something holds up what is more urgent; requests in flight fail, and it is connected
    /// anew as soon as somebody wants to.
    pub fn hang_up(&mut self, key: LinkKey, now: Instant) {
        self.take_down(key, None, now);
    }

    /// Closes every connection without an event.
    pub fn close_all(&mut self) {
        self.actions.retain(|a| !matches!(a, NetAction::Send { .. }));
        for link in self.links.values_mut() {
            if let Some(conn) = link.state.conn() {
                self.actions.push_back(NetAction::Close { conn });
            }
            link.state = State::Idle;
            link.wanted = false;
            link.in_flight.clear();
            link.armed = None;
        }
        self.by_conn.clear();
        self.by_lookup.clear();
        self.timers.clear();
        self.throttles.clear();
        self.events.clear();
    }

    // ---------------------------------------------------------------- for the driver

    /// What the network is to do next.
    pub fn next_action(&mut self) -> Option<NetAction> {
        self.actions.pop_front()
    }

    /// What the managers are to learn next.
    pub fn next_event(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }

    /// Whether [`next_event`](Self::next_event) has something.
    pub fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// When [`poll`](Self::poll) is next needed if nothing else happens.
    pub fn next_wake(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|t| t.0);
        crate::env::earliest(timer, self.throttles.first().map(|t| t.0))
    }

    /// Handles what is due at `now`.
    pub fn poll(&mut self, now: Instant) {
        while let Some(&(at, key)) = self.throttles.first().filter(|t| t.0 <= now) {
            self.throttles.remove(&(at, key));
            self.events.push_back(LinkEvent::Unthrottled { key });
        }
        while let Some(&(at, key)) = self.timers.first().filter(|t| t.0 <= now) {
            self.timers.remove(&(at, key));
            if let Some(link) = self.links.get_mut(&key) {
                link.armed = None;
                self.on_deadline(key, now);
                self.rearm(key);
            }
        }
    }

    /// Takes in what the network reports. Reports about connections that are closed already are ignored.
    pub fn on_net(&mut self, event: NetEvent, now: Instant) {
        match event {
            NetEvent::Resolved { lookup, result } => self.on_resolved(lookup, result, now),
            NetEvent::Connected { conn, socket } => self.on_connected(conn, socket, now),
            NetEvent::Written { conn, begun, done } => self.on_written(conn, begun, done, now),
            NetEvent::Received { conn, body } => self.on_received(conn, body, now),
            NetEvent::Closed { conn, reason } => self.on_closed(conn, reason, now),
        }
    }

    /// Every change of a link ends here.
    fn rearm(&mut self, key: LinkKey) {
        self.tell_state(key);
        let idle_after = self.config.idle_after;
        let Some(link) = self.links.get_mut(&key) else { return };
        let next = link.deadline(idle_after, Instant::ORIGIN);
        // Deadlines mostly move further away. A timer that goes off too early looks when the link is due by then.
        let early_enough = match next {
            Some(next) => link.armed.is_some_and(|armed| armed <= next),
            None => link.armed.is_none(),
        };
        if !early_enough {
            if let Some(at) = link.armed {
                self.timers.remove(&(at, key));
            }
            if let Some(at) = next {
                self.timers.insert((at, key));
            }
            link.armed = next;
        }
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
