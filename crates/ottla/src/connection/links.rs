//! The table of links and everything that happens to them.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::{ErrorCode as BrokerError, Message, Request, decode_response, encode_request, peek_correlation_id};

use super::link_config::LinkConfig;
use super::link::{Failure, FailureKind, InFlight, Link, Outcome, Reply, State};
use super::net::{CloseReason, ConnId, LookupId, NetAction, NetEvent};
use super::versions::BrokerVersions;
use crate::env::{Instant, Rng};
use crate::error::{Error, ErrorCode};
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
    links: HashMap<LinkKey, Link>,
    by_conn: HashMap<ConnId, LinkKey>,
    by_lookup: HashMap<LookupId, LinkKey>,
    timers: BTreeSet<(Instant, LinkKey)>,
    throttles: BTreeSet<(Instant, LinkKey)>,
    actions: VecDeque<NetAction>,
    events: VecDeque<LinkEvent>,
    next_id: u64,
    rng: Rng,
}

impl Links {
    /// An empty table.
    pub fn new(config: LinkConfig, rng: Rng) -> Self {
        Links {
            config,
            links: HashMap::new(),
            by_conn: HashMap::new(),
            by_lookup: HashMap::new(),
            timers: BTreeSet::new(),
            throttles: BTreeSet::new(),
            actions: VecDeque::new(),
            events: VecDeque::new(),
            next_id: 1,
            rng,
        }
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
        if let Some(conn) = link.state.conn() {
            self.by_conn.insert(conn, to);
        }
        let up = matches!(link.state, State::Up { .. });
        self.links.insert(to, Link { armed: None, ..link });
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
        self.links.get(&key).is_some_and(|l| matches!(l.state, State::Up { .. }))
    }

    /// Whether the link is up or on its way there.
    pub fn is_active(&self, key: LinkKey) -> bool {
        self.links.get(&key).is_some_and(|l| !matches!(l.state, State::Idle | State::Backoff { .. }))
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

    /// Whether the last attempt or connection failed and none has succeeded since.
    pub fn is_failing(&self, key: LinkKey) -> bool {
        self.links.get(&key).is_some_and(|l| l.failures > 0)
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

    /// Notes that the broker wants a pause of `throttle` (KIP-219).
    pub fn throttle(&mut self, key: LinkKey, throttle: Duration, now: Instant) {
        if throttle.is_zero() {
            return;
        }
        if let Some(link) = self.links.get_mut(&key) {
            let until = now + throttle;
            if until > link.throttled_until {
                self.throttles.remove(&(link.throttled_until, key));
                link.throttled_until = until;
                self.throttles.insert((until, key));
            }
        }
    }

    /// Closes a connection whose peer broke the protocol; requests in flight fail with `error`.
    pub fn fail(&mut self, key: LinkKey, error: Error, now: Instant) {
        self.take_down(key, Some(error), now);
    }

    /// Closes every connection without an event.
    pub fn close_all(&mut self) {
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
            NetEvent::Connected { conn } => self.on_connected(conn, now),
            NetEvent::Written { conn, begun, done } => self.on_written(conn, begun, done),
            NetEvent::Received { conn, body } => self.on_received(conn, body, now),
            NetEvent::Closed { conn, reason } => self.on_closed(conn, reason, now),
        }
    }

    // ---------------------------------------------------------------- connecting

    fn new_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn start_attempt(&mut self, key: LinkKey, now: Instant) {
        let lookup = LookupId(self.new_id());
        let setup = self.config.setup_timeout;
        let Some(link) = self.links.get_mut(&key) else { return };
        link.tried = true;
        if !link.addrs.is_empty() && link.addrs_expire > now {
            link.addrs_left = link.addrs.len();
            self.try_next_address(key, now);
            return;
        }
        self.actions.push_back(NetAction::Resolve {
            lookup,
            host: link.host.clone(),
            port: link.port,
        });
        link.enter(
            State::Resolving {
                lookup,
                deadline: now + setup,
            },
            now,
        );
        self.by_lookup.insert(lookup, key);
        self.rearm(key);
    }

    fn on_resolved(&mut self, lookup: LookupId, result: Result<Vec<std::net::SocketAddr>, String>, now: Instant) {
        let Some(key) = self.by_lookup.remove(&lookup) else { return };
        let start = self.rng.next_u64() as usize;
        let ttl = self.config.address_ttl;
        let Some(link) = self.links.get_mut(&key) else { return };
        if !matches!(link.state, State::Resolving { lookup: l, .. } if l == lookup) {
            return;
        }
        match result {
            Ok(addrs) if !addrs.is_empty() => {
                link.addrs_left = addrs.len();
                // Several clients given the same list must not all start with its first address.
                link.next_addr = start % addrs.len();
                link.addrs = addrs;
                link.addrs_expire = now + ttl;
                self.try_next_address(key, now);
            }
            other => {
                let reason = other.err().unwrap_or_else(|| "no address".into());
                let text = format!("Failed to resolve '{}:{}': {reason}", link.host, link.port);
                self.take_down(key, Some(Error::new(ErrorCode::L_RESOLVE, text)), now);
            }
        }
    }

    fn try_next_address(&mut self, key: LinkKey, now: Instant) {
        let conn = ConnId(self.new_id());
        let deadline = now + self.config.setup_timeout;
        let Some(link) = self.links.get_mut(&key) else { return };
        let index = if link.next_addr < link.addrs.len() { link.next_addr } else { 0 };
        let Some(&addr) = link.addrs.get(index) else { return };
        link.next_addr = index + 1;
        link.addrs_left = link.addrs_left.saturating_sub(1);
        link.enter(State::Connecting { conn, deadline }, now);
        self.by_conn.insert(conn, key);
        self.actions.push_back(NetAction::Connect { conn, addr });
        self.rearm(key);
    }

    fn on_connected(&mut self, conn: ConnId, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let ask = self.config.ask_versions;
        let fallback = self.config.fallback_release.clone();
        let Some(link) = self.links.get_mut(&key) else { return };
        if !matches!(link.state, State::Connecting { .. }) {
            return;
        }
        link.next_correlation_id = 1;
        link.frames_sent = 0;
        link.frames_begun = 0;
        link.frames_done = 0;
        link.timeouts = 0;
        let assume_old = link.assume_old_until.is_some_and(|until| until > now);
        if ask && !assume_old {
            link.enter(State::Negotiating { conn }, now);
            self.ask_versions(key, <ApiVersionsRequest as Message>::MAX_VERSION, now);
        } else {
            self.come_up(key, BrokerVersions::of_release(&fallback), now);
        }
    }

    fn ask_versions(&mut self, key: LinkKey, version: i16, now: Instant) {
        let request = ApiVersionsRequest {
            client_software_name: self.config.software_name.clone(),
            client_software_version: self.config.software_version.clone(),
            ..Default::default()
        };
        let tag = Tag {
            owner: Owner::Link,
            id: u64::from(version.unsigned_abs()),
        };
        let timeout = self.config.versions_timeout;
        if let Err(error) = self.send_frame(key, now, tag, &request, version, timeout, true) {
            self.take_down(key, Some(error), now);
        }
    }

    fn on_versions(&mut self, key: LinkKey, reply: &Reply, now: Instant) {
        // An unsupported version is answered in version 0, whatever was asked.
        let decoded = match reply.decode::<ApiVersionsRequest>() {
            Ok(r) if r.error_code != BrokerError::UNSUPPORTED_VERSION.0 => Ok(r),
            _ => decode_response::<ApiVersionsRequest>(reply.body.clone(), API_VERSIONS_FIRST).map(|(_, r)| r),
        };
        let response: ApiVersionsResponse = match decoded {
            Ok(r) => r,
            Err(e) => {
                let text = format!("ApiVersions response cannot be read: {e}");
                return self.take_down(key, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
            }
        };
        if response.error_code == BrokerError::UNSUPPORTED_VERSION.0 && reply.version > API_VERSIONS_FIRST {
            let best = response
                .api_keys
                .iter()
                .find(|k| k.api_key == ottla_protocol::ApiKey::API_VERSIONS.0)
                .map_or(API_VERSIONS_FIRST, |k| k.max_version);
            let version = best.clamp(API_VERSIONS_FIRST, reply.version - 1);
            return self.ask_versions(key, version, now);
        }
        if response.error_code != 0 {
            let code = BrokerError(response.error_code);
            let text = format!("ApiVersions request was refused: {}", code.name().unwrap_or("unknown error"));
            return self.take_down(key, Some(Error::new(code.into(), text)), now);
        }
        let rows = response.api_keys.iter().map(|k| (k.api_key, k.min_version, k.max_version));
        self.come_up(key, BrokerVersions::new(rows), now);
    }

    fn come_up(&mut self, key: LinkKey, versions: BrokerVersions, now: Instant) {
        let Some(link) = self.links.get_mut(&key) else { return };
        let Some(conn) = link.state.conn() else { return };
        let versions = Arc::new(versions);
        link.enter(State::Up { conn, versions }, now);
        link.failures = 0;
        link.wanted = false;
        link.last_used = now;
        self.events.push_back(LinkEvent::Up { key });
        self.rearm(key);
    }

    // ---------------------------------------------------------------- requests

    #[allow(clippy::too_many_arguments)] // one private function behind two public ones
    fn send_frame<R: Request>(
        &mut self,
        key: LinkKey,
        now: Instant,
        tag: Tag,
        request: &R,
        version: i16,
        timeout: Duration,
        expects_reply: bool,
    ) -> Result<(), Error> {
        let not_up = || Error::new(ErrorCode::L_TRANSPORT, "not connected");
        let link = self.links.get_mut(&key).ok_or_else(not_up)?;
        let conn = match link.state {
            State::Up { conn, .. } | State::Negotiating { conn } => conn,
            _ => return Err(not_up()),
        };
        let correlation_id = link.next_correlation_id;
        let frame = encode_request(correlation_id, Some(&self.config.client_id), request, version)
            .map_err(|e| Error::new(ErrorCode::L_INVALID_ARG, format!("request cannot be encoded: {e}")))?;
        link.next_correlation_id = correlation_id.checked_add(1).unwrap_or(1);
        link.frames_sent += 1;
        link.in_flight.push_back(InFlight {
            correlation_id,
            tag,
            version,
            sent_at: now,
            deadline: now + timeout,
            frame: link.frames_sent,
            expects_reply,
            abandoned: false,
            api_name: R::KEY.name().unwrap_or("unknown"),
        });
        link.last_used = now;
        self.actions.push_back(NetAction::Send { conn, frame });
        self.rearm(key);
        Ok(())
    }

    fn on_written(&mut self, conn: ConnId, begun: u64, done: u64) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let Some(link) = self.links.get_mut(&key) else { return };
        link.frames_begun = begun;
        link.frames_done = done.min(link.frames_sent);
        let mut i = 0;
        while let Some(r) = link.in_flight.get(i) {
            if r.frame > done {
                break;
            }
            if r.expects_reply {
                i += 1;
                continue;
            }
            let tag = r.tag;
            let reported = r.abandoned;
            link.in_flight.remove(i);
            if !reported {
                self.events.push_back(LinkEvent::Outcome {
                    key,
                    tag,
                    outcome: Outcome::Sent,
                });
            }
        }
        self.tell_room(key);
        self.rearm(key);
    }

    /// Whoever was turned away need not own the request whose end has made room.
    fn tell_room(&mut self, key: LinkKey) {
        let max_in_flight = self.config.max_in_flight;
        let Some(link) = self.links.get_mut(&key) else { return };
        if link.turned_away && link.in_flight.len() < max_in_flight {
            link.turned_away = false;
            self.events.push_back(LinkEvent::Unthrottled { key });
        }
    }

    fn on_received(&mut self, conn: ConnId, body: Bytes, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let Some(link) = self.links.get_mut(&key) else { return };
        link.last_used = now;
        // Requests without a response stand in the queue only until the kernel took them.
        let position = link.in_flight.iter().position(|r| r.expects_reply);
        let expected = position.and_then(|i| link.in_flight.get(i)).map(|r| r.correlation_id);
        let got = peek_correlation_id(&body).ok();
        if got.is_none() || got != expected {
            let text = format!(
                "{}: response with correlation id {} where {} was expected: the peer broke the protocol",
                link.peer(),
                got.map_or("(none)".into(), |g| g.to_string()),
                expected.map_or("none".into(), |e| e.to_string()),
            );
            return self.take_down(key, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
        }
        let Some(request) = position.and_then(|i| link.in_flight.remove(i)) else { return };
        let reply = Reply {
            version: request.version,
            body,
            rtt: now.since(request.sent_at),
        };
        self.tell_room(key);
        self.rearm(key);
        if request.abandoned {
            return;
        }
        if request.tag.owner == Owner::Link {
            return self.on_versions(key, &reply, now);
        }
        self.events.push_back(LinkEvent::Outcome {
            key,
            tag: request.tag,
            outcome: Outcome::Reply(reply),
        });
    }

    // ---------------------------------------------------------------- endings

    fn on_closed(&mut self, conn: ConnId, reason: CloseReason, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let Some(link) = self.links.get_mut(&key) else { return };
        let peer = link.peer();
        let ms = now.since(link.since).as_millis();
        let state = link.state.name();
        match (&link.state, &reason) {
            (State::Connecting { .. }, CloseReason::Io(text)) => {
                let text = format!("Connect to {peer} failed: {text} (after {ms}ms in state {state})");
                self.by_conn.remove(&conn);
                self.next_address_or_down(key, text, now);
            }
            (State::Negotiating { .. }, CloseReason::PeerClosed | CloseReason::Io(_)) => {
                // Brokers before 0.10.0 close the connection on a request that they do not know (KIP-35).
                link.assume_old_until = Some(now + self.config.fallback_for);
                let text = format!(
                    "{peer}: disconnected during the ApiVersions request (after {ms}ms in state {state}): broker older \
                     than 0.10 or not Kafka; assuming broker version {} for {} s",
                    self.config.fallback_release,
                    self.config.fallback_for.as_secs(),
                );
                self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
            }
            (_, CloseReason::NotKafka(what)) => {
                let text = format!("{peer}: {what} (after {ms}ms in state {state})");
                self.take_down(key, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
            }
            (_, CloseReason::PeerClosed) => {
                // Closing an idle connection is the broker's good right, and no failure.
                let error = link.in_flight.front().map(|first| {
                    let (name, n) = (first.api_name, link.in_flight.len());
                    let text = format!(
                        "{peer}: Disconnected: the broker closed the connection with {n} requests in flight, first \
                         {name} (after {ms}ms in state {state})"
                    );
                    Error::new(ErrorCode::L_TRANSPORT, text)
                });
                self.take_down(key, error, now);
            }
            (_, CloseReason::CutShort { got, of }) => {
                let of = of.map_or("an unknown number of".into(), |n| n.to_string());
                let text = format!(
                    "{peer}: Disconnected: the peer closed the connection in the middle of a response, after {got} of \
                     {of} bytes: it failed, or it is not a Kafka broker (after {ms}ms in state {state})"
                );
                self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
            }
            (_, CloseReason::Io(io)) => {
                let text = format!("{peer}: {io} (after {ms}ms in state {state})");
                self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
            }
        }
    }

    fn next_address_or_down(&mut self, key: LinkKey, text: String, now: Instant) {
        let left = self.links.get(&key).map_or(0, |l| l.addrs_left);
        if left > 0 {
            self.try_next_address(key, now);
        } else {
            self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
        }
    }

    fn on_deadline(&mut self, key: LinkKey, now: Instant) {
        let Some(link) = self.links.get_mut(&key) else { return };
        match link.state {
            State::Idle => {
                if link.wanted {
                    self.start_attempt(key, now);
                }
            }
            State::Backoff { until } if until <= now => {
                link.enter(State::Idle, now);
                if link.wanted {
                    self.start_attempt(key, now);
                }
            }
            State::Resolving { deadline, .. } if deadline <= now => {
                let ms = now.since(link.since).as_millis();
                let text = format!("Failed to resolve '{}:{}': timed out after {ms}ms", link.host, link.port);
                self.take_down(key, Some(Error::new(ErrorCode::L_RESOLVE, text)), now);
            }
            State::Connecting { conn, deadline } if deadline <= now => {
                let ms = now.since(link.since).as_millis();
                let text = format!(
                    "Connect to {} failed: timed out (after {ms}ms in state {})",
                    link.peer(),
                    link.state.name()
                );
                self.actions.push_back(NetAction::Close { conn });
                self.by_conn.remove(&conn);
                self.next_address_or_down(key, text, now);
            }
            State::Negotiating { .. } | State::Up { .. } => self.on_request_deadline(key, now),
            State::Backoff { .. } | State::Resolving { .. } | State::Connecting { .. } => {}
        }
    }

    fn on_request_deadline(&mut self, key: LinkKey, now: Instant) {
        let Some(link) = self.links.get_mut(&key) else { return };
        let peer = link.peer();
        let begun = link.frames_begun;
        let mut timed_out = Vec::new();
        for r in link.in_flight.iter_mut().filter(|r| !r.abandoned && r.deadline <= now) {
            r.abandoned = true;
            let ms = now.since(r.sent_at).as_millis();
            let text = format!("{peer}: {} request timed out after {ms}ms", r.api_name);
            let written = r.frame <= begun;
            let code = if written { ErrorCode::L_TIMED_OUT } else { ErrorCode::L_TIMED_OUT_QUEUE };
            timed_out.push((r.tag, written, Error::new(code, text)));
        }
        if timed_out.is_empty() {
            let idle = self.config.idle_after.is_some_and(|i| link.in_flight.is_empty() && now.since(link.last_used) >= i);
            if idle {
                self.take_down(key, None, now);
            }
            return;
        }
        link.timeouts = link.timeouts.saturating_add(u32::try_from(timed_out.len()).unwrap_or(u32::MAX));
        let negotiating = matches!(link.state, State::Negotiating { .. });
        let too_many = self.config.max_timeouts > 0 && link.timeouts >= self.config.max_timeouts;
        let first = timed_out.first().map(|t| t.2.clone());
        for (tag, written, error) in timed_out {
            if tag.owner != Owner::Link {
                let kind = FailureKind::TimedOut;
                self.fail_request(key, tag, Failure { kind, written, error });
            }
        }
        if negotiating || too_many {
            self.take_down(key, first, now);
        }
    }

    fn fail_request(&mut self, key: LinkKey, tag: Tag, failure: Failure) {
        self.events.push_back(LinkEvent::Outcome {
            key,
            tag,
            outcome: Outcome::Failed(failure),
        });
    }

    /// Ends the present connection or attempt: requests fail, the next attempt is put off.
    fn take_down(&mut self, key: LinkKey, error: Option<Error>, now: Instant) {
        let Some(link) = self.links.get_mut(&key) else { return };
        if let Some(conn) = link.state.conn() {
            self.by_conn.remove(&conn);
            self.actions.push_back(NetAction::Close { conn });
        }
        if let State::Resolving { lookup, .. } = link.state {
            self.by_lookup.remove(&lookup);
        }
        let requests: Vec<InFlight> = link.in_flight.drain(..).collect();
        let begun = link.frames_begun;
        let peer = link.peer();
        link.throttled_until = Instant::ORIGIN;
        match &error {
            // Closed on purpose: nothing speaks against connecting again when somebody wants to.
            None => link.enter(State::Idle, now),
            Some(_) => {
                let base = self.config.reconnect_backoff;
                let max = self.config.reconnect_backoff_max.max(base);
                let doubled = base.saturating_mul(1 << link.failures.min(20));
                let delay = self.rng.jitter(doubled.min(max), 0.25, 0.5).min(max);
                link.failures = link.failures.saturating_add(1);
                link.enter(State::Backoff { until: now + delay }, now);
                // Whoever still needs the link asks again on hearing of the failure.
                link.wanted = false;
            }
        }
        for r in requests.into_iter().filter(|r| !r.abandoned && r.tag.owner != Owner::Link) {
            let error = error.clone().unwrap_or_else(|| {
                Error::new(ErrorCode::L_TRANSPORT, format!("{peer}: connection closed by the client"))
            });
            let kind = FailureKind::Disconnected;
            let written = r.frame <= begun;
            self.fail_request(key, r.tag, Failure { kind, written, error });
        }
        self.events.push_back(LinkEvent::Down { key, error });
        self.rearm(key);
    }

    fn rearm(&mut self, key: LinkKey) {
        let idle_after = self.config.idle_after;
        let Some(link) = self.links.get_mut(&key) else { return };
        let next = link.deadline(idle_after, Instant::ORIGIN);
        if next != link.armed {
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
