//! The table of connections and everything that happens to them.

mod connecting;
mod disconnect;
mod interceptors;
mod logging;
mod requests;
mod statistics;
mod throttling;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::{
    ErrorCode as BrokerError, Message, Request, decode_response, encode_request, peek_correlation_id,
};

use super::broker_connection::{
    BrokerConnection, DisconnectKind, Failure, FailureKind, INIT, InFlight, Outcome, Reply, State, address_text,
};
use super::config::ConnectionConfig;
use super::connection_stats::Totals;
use super::net::{CloseReason, ConnId, LookupId, NetAction, NetEvent};
use super::race::{HEAD_START, Race, Runner, in_order};
use super::versions::BrokerVersions;
use crate::error::{Error, ErrorCode};
use crate::interceptor::{BrokerState, Interceptor, RequestInfo};
use crate::log::Logger;
use crate::sys::{Instant, Rng};
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

/// Names a connection: a broker and what the connection is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BrokerKey {
    /// The broker.
    pub node: NodeId,
    /// The connection's purpose.
    pub purpose: Purpose,
}

impl BrokerKey {
    /// The ordinary connection of a broker.
    pub fn general(node: NodeId) -> Self {
        BrokerKey {
            node,
            purpose: Purpose::General,
        }
    }

    /// The coordinator connection of a broker.
    pub fn coordinator(node: NodeId) -> Self {
        BrokerKey {
            node,
            purpose: Purpose::Coordinator,
        }
    }
}

/// Which manager a response goes to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Owner {
    /// The connection itself (ApiVersions).
    BrokerConnection,
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

/// Whether a request can be sent on a connection.
#[derive(Clone, Debug)]
pub enum Ready {
    /// Now, in any version that the broker speaks.
    Yes(Arc<BrokerVersions>),
    /// Connected, but `max.in.flight.requests.per.connection` requests are under way or the broker asked for a pause:
    /// an outcome or [`ConnectionEvent::SendReady`] will come.
    Busy,
    /// Not connected. The connection is now wanted: [`ConnectionEvent::Up`] or [`ConnectionEvent::Down`] will come.
    Connecting,
    /// No such broker is known.
    Unknown,
}

/// What managers learn from the table.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// Requests can be sent.
    Up {
        /// Which connection.
        key: BrokerKey,
    },
    /// An attempt failed or the connection is gone; every request in flight was failed before.
    Down {
        /// Which connection.
        key: BrokerKey,
        /// Why, naming address and state; `None` when the client closed it on purpose or it was idle.
        error: Option<Error>,
        /// What was lost with it.
        loss: DisconnectKind,
    },
    /// A response asked for a pause, or is the first after one that asks for none.
    Throttled {
        /// Which connection.
        key: BrokerKey,
        /// The pause, 0 when there is none any more.
        throttle_ms: i32,
    },
    /// Requests can be sent again: a pause that the broker asked for is over, or one of too many requests has ended.
    SendReady {
        /// Which connection.
        key: BrokerKey,
    },
    /// The canonical names of a name were looked up.
    Names {
        /// As [`ConnectionTable::look_up_names`] returned it.
        lookup: LookupId,
        /// At least one name, or why there is none.
        result: Result<Vec<String>, String>,
    },
    /// What became of a request.
    Outcome {
        /// On which connection.
        key: BrokerKey,
        /// The request's tag.
        tag: Tag,
        /// What became of it.
        outcome: Outcome,
    },
}

/// The ApiVersions version that every broker since 0.10 answers.
const API_VERSIONS_FIRST: i16 = 0;

/// All connections of a client.
#[derive(Debug)]
pub struct ConnectionTable {
    config: ConnectionConfig,
    log: Arc<Logger>,
    /// In order, so that what is done for all of them is done in the same order every time.
    connections: BTreeMap<BrokerKey, BrokerConnection>,
    by_conn: BTreeMap<ConnId, BrokerKey>,
    by_lookup: BTreeMap<LookupId, BrokerKey>,
    timers: BTreeSet<(Instant, BrokerKey)>,
    throttles: BTreeSet<(Instant, BrokerKey)>,
    /// The last response that could ask for a pause did.
    throttled: bool,
    actions: VecDeque<NetAction>,
    events: VecDeque<ConnectionEvent>,
    next_id: u64,
    rng: Rng,
    watcher: Option<Arc<dyn Interceptor>>,
    totals: Totals,
}

impl ConnectionTable {
    /// An empty table, which logs nothing.
    pub fn new(config: ConnectionConfig, rng: Rng) -> Self {
        ConnectionTable {
            config,
            log: Arc::new(Logger::silent()),
            connections: BTreeMap::new(),
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
        ConnectionTable { log, ..self }
    }

    // ---------------------------------------------------------------- for managers

    /// Makes a broker known or gives it a new address. A connection to an old address is closed.
    pub fn set_address(&mut self, key: BrokerKey, host: &str, port: u16, now: Instant) {
        match self.connections.get_mut(&key) {
            None => {
                self.connections
                    .insert(key, BrokerConnection::new(host.to_owned(), port, now));
            }
            Some(connection) if connection.host == host && connection.port == port => {}
            Some(connection) => {
                connection.host = host.to_owned();
                connection.port = port;
                connection.addrs.clear();
                connection.failures = 0;
                connection.unreachable = false;
                let was_idle = matches!(connection.state, State::Idle);
                if !was_idle {
                    self.take_down(key, None, now);
                }
            }
        }
    }

    /// Turns the connection of `from` into that of `to`, unless `to` has one of its own; `from` is idle afterwards.
    /// Requests in flight go along.
    pub fn adopt(&mut self, from: BrokerKey, to: BrokerKey, now: Instant) {
        let free = self.connections.get(&to).is_none_or(|l| matches!(l.state, State::Idle));
        let Some(connection) = self.connections.remove(&from) else {
            return;
        };
        if !free || connection.state.conn().is_none() {
            self.connections.insert(from, connection);
            return;
        }
        for key in [from, to] {
            self.disarm(key);
        }
        if let Some(at) = connection.armed {
            self.timers.remove(&(at, from));
        }
        let mut idle = BrokerConnection::new(connection.host.clone(), connection.port, now);
        idle.tried = true;
        self.connections.insert(from, idle);
        // What the connection has carried is the broker's, behind what earlier ones have.
        let before = self.connections.remove(&to);
        let kept_until = before.as_ref().map_or(Instant::ORIGIN, |l| l.kept_until);
        let mut connection_stats = before.map(|l| l.connection_stats).unwrap_or_default();
        connection_stats.absorb(connection.connection_stats);
        if let Some(conn) = connection.state.conn() {
            self.by_conn.insert(conn, to);
        }
        let up = matches!(connection.state, State::Up { .. });
        // Who watches learns of the broker's id so.
        let adopted = BrokerConnection {
            armed: None,
            announced: INIT,
            kept_until: kept_until.max(connection.kept_until),
            connection_stats,
            ..connection
        };
        self.connections.insert(to, adopted);
        self.rearm(to);
        if up {
            self.events.push_back(ConnectionEvent::Up { key: to });
        }
    }

    fn disarm(&mut self, key: BrokerKey) {
        if let Some(at) = self.connections.get_mut(&key).and_then(|l| l.armed.take()) {
            self.timers.remove(&(at, key));
        }
    }

    /// Forgets a broker; its connection is closed and its requests fail.
    pub fn remove(&mut self, key: BrokerKey, now: Instant) {
        if self.connections.contains_key(&key) {
            self.take_down(key, None, now);
            if let Some(at) = self.connections.remove(&key).and_then(|l| l.armed) {
                self.timers.remove(&(at, key));
            }
        }
    }

    /// Whether a request can be sent on `key` now. When the connection is not up, it is brought up.
    pub fn ready(&mut self, key: BrokerKey, now: Instant) -> Ready {
        let max_in_flight = self.config.max_in_flight;
        let Some(connection) = self.connections.get_mut(&key) else {
            return Ready::Unknown;
        };
        match &connection.state {
            State::Up { versions, .. } => {
                if connection.is_full(max_in_flight) || connection.throttled_until > now {
                    connection.send_blocked = true;
                    Ready::Busy
                } else {
                    Ready::Yes(versions.clone())
                }
            }
            _ => {
                connection.wanted = true;
                if matches!(connection.state, State::Idle) {
                    self.start_attempt(key, now);
                }
                Ready::Connecting
            }
        }
    }

    /// Keeps a connection until `until`: when the broker closes it, or it breaks, it is made again after the ordinary
    /// reconnect backoff, without being wanted. One that the client closes for being idle (`connections.max.idle.ms`) is not.
    pub fn keep(&mut self, key: BrokerKey, until: Instant) {
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.kept_until = connection.kept_until.max(until);
        }
    }

    /// Like [`ready`](Self::ready), but [`Ready::Busy`] as well while `max_unsent` requests have not been taken whole by
    /// the kernel: what waits in front of a full socket had better wait where it can still join a larger batch.
    pub fn ready_for_bulk(&mut self, key: BrokerKey, now: Instant, max_unsent: u64) -> Ready {
        if let Some(connection) = self.connections.get_mut(&key)
            && matches!(connection.state, State::Up { .. })
            && connection.frames_sent - connection.frames_done >= max_unsent
        {
            connection.send_blocked = true;
            return Ready::Busy;
        }
        self.ready(key, now)
    }

    /// Whether the connection is up, without wanting it.
    pub fn is_up(&self, key: BrokerKey) -> bool {
        self.connections
            .get(&key)
            .is_some_and(|l| matches!(l.state, State::Up { .. }))
    }

    /// Whether the connection is up or on its way there.
    pub fn is_active(&self, key: BrokerKey) -> bool {
        self.connections
            .get(&key)
            .is_some_and(|l| !matches!(l.state, State::Idle | State::Backoff { .. }))
    }

    /// Whether the connection's next attempt has to wait, and until when.
    pub fn backoff_until(&self, key: BrokerKey) -> Option<Instant> {
        match self.connections.get(&key)?.state {
            State::Backoff { until } => Some(until),
            _ => None,
        }
    }

    /// Whether any attempt was ever made to connect.
    pub fn was_tried(&self, key: BrokerKey) -> bool {
        self.connections.get(&key).is_some_and(|l| l.tried)
    }

    /// Whether the last attempt to connect failed. A connection that broke says nothing of whether another can be made.
    pub fn is_unreachable(&self, key: BrokerKey) -> bool {
        self.connections.get(&key).is_some_and(|l| l.unreachable)
    }

    /// Every connection's key.
    pub fn keys(&self) -> impl Iterator<Item = BrokerKey> + '_ {
        self.connections.keys().copied()
    }

    /// The versions that the broker at `key` speaks, while it is up.
    pub fn versions(&self, key: BrokerKey) -> Option<Arc<BrokerVersions>> {
        match &self.connections.get(&key)?.state {
            State::Up { versions, .. } => Some(versions.clone()),
            _ => None,
        }
    }

    /// Looks up the names of a name's addresses; [`ConnectionEvent::Names`] will come.
    pub fn look_up_names(&mut self, host: &str, port: u16) -> LookupId {
        let (lookup, host) = (LookupId(self.new_id()), host.to_owned());
        self.actions.push_back(NetAction::ResolveNames { lookup, host, port });
        lookup
    }

    /// `host:port` of a connection.
    pub fn address(&self, key: BrokerKey) -> Option<(&str, u16)> {
        self.connections.get(&key).map(|l| (l.host.as_str(), l.port))
    }

    /// A connection as it is called in logs and errors: `host:port/id`.
    pub fn name(&self, key: BrokerKey) -> String {
        let connection = self.connections.get(&key);
        connection.map_or_else(
            || key.node.to_string(),
            |connection| logging::Name(key, connection).to_string(),
        )
    }

    /// Requests in flight on a connection.
    pub fn in_flight(&self, key: BrokerKey) -> usize {
        self.connections.get(&key).map_or(0, |l| l.in_flight.len())
    }

    /// Sends a request on a connection that is [`Ready::Yes`]. The outcome comes as [`ConnectionEvent::Outcome`] with `tag`.
    ///
    /// Fails, with nothing sent, when the connection is not up or the request cannot be encoded.
    pub fn send<R: Request>(
        &mut self,
        key: BrokerKey,
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
        key: BrokerKey,
        now: Instant,
        tag: Tag,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<(), Error> {
        self.send_frame(key, now, tag, request, version, timeout, false)
    }

    /// Whether the kernel has not taken the whole of a request yet: the network may still read what it refers to.
    pub fn is_unwritten(&self, key: BrokerKey, tag: Tag) -> bool {
        self.connections.get(&key).is_some_and(|connection| {
            let mut requests = connection.in_flight.iter();
            requests.any(|r| r.tag == tag && r.frame > connection.frames_done)
        })
    }

    /// Has the network close a connection. Nothing that was to be sent on it is looked at any more.
    fn close_connection(actions: &mut VecDeque<NetAction>, conn: ConnId) {
        actions.retain(|a| !matches!(a, NetAction::Send { conn: of, .. } if *of == conn));
        actions.push_back(NetAction::Close { conn });
    }

    /// Closes a connection whose peer broke the protocol, or that is of no use any more; requests in flight fail with `error`.
    pub fn fail(&mut self, key: BrokerKey, error: Error, now: Instant) {
        self.take_down(key, Some(error), now);
    }

    /// [Fails](Self::fail) a connection whose peer's response to a request of `api` cannot be read; gives the error.
    pub fn fail_unreadable(&mut self, key: BrokerKey, api: impl Display, cause: impl Display, now: Instant) -> Error {
        let error = Error::new(ErrorCode::L_BAD_MSG, format!("{api} response cannot be read: {cause}"));
        self.fail(key, error.clone(), now);
        error
    }

    /// Closes a connection on which something holds up what is more urgent; requests in flight fail, and it is connected
    /// anew as soon as somebody wants to.
    pub fn force_close(&mut self, key: BrokerKey, now: Instant) {
        self.take_down(key, None, now);
    }

    /// Closes every connection without an event.
    pub fn close_all(&mut self) {
        self.actions.retain(|a| !matches!(a, NetAction::Send { .. }));
        for connection in self.connections.values_mut() {
            for conn in connection.state.conns() {
                self.actions.push_back(NetAction::Close { conn });
            }
            connection.state = State::Idle;
            connection.wanted = false;
            connection.kept_until = Instant::ORIGIN;
            connection.renew_at = None;
            connection.in_flight.clear();
            connection.armed = None;
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
    pub fn next_event(&mut self) -> Option<ConnectionEvent> {
        self.events.pop_front()
    }

    /// Whether [`next_event`](Self::next_event) has something.
    pub fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// When [`poll`](Self::poll) is next needed if nothing else happens.
    pub fn next_wake(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|t| t.0);
        crate::sys::earliest(timer, self.throttles.first().map(|t| t.0))
    }

    /// Handles what is due at `now`.
    pub fn poll(&mut self, now: Instant) {
        while let Some(&(at, key)) = self.throttles.first().filter(|t| t.0 <= now) {
            self.throttles.remove(&(at, key));
            self.events.push_back(ConnectionEvent::SendReady { key });
        }
        while let Some(&(at, key)) = self.timers.first().filter(|t| t.0 <= now) {
            self.timers.remove(&(at, key));
            if let Some(connection) = self.connections.get_mut(&key) {
                connection.armed = None;
                self.on_deadline(key, now);
                self.rearm(key);
            }
        }
    }

    /// Takes in what the network reports. Reports about connections that are closed already are ignored.
    pub fn on_net(&mut self, event: NetEvent, now: Instant) {
        match event {
            NetEvent::Resolved { lookup, result } => self.on_resolved(lookup, result, now),
            NetEvent::Names { lookup, result } => self.events.push_back(ConnectionEvent::Names { lookup, result }),
            NetEvent::Connected { conn, socket } => self.on_connected(conn, socket, now),
            NetEvent::Written { conn, begun, done } => self.on_written(conn, begun, done, now),
            NetEvent::Received { conn, body } => self.on_received(conn, body, now),
            NetEvent::Closed { conn, reason } => self.on_closed(conn, reason, now),
        }
    }

    /// Every change of a connection ends here.
    fn rearm(&mut self, key: BrokerKey) {
        self.tell_state(key);
        let idle_after = self.config.idle_after;
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let next = connection.deadline(idle_after, Instant::ORIGIN);
        // Deadlines mostly move further away. A timer that goes off too early looks when the connection is due by then.
        let early_enough = match next {
            Some(next) => connection.armed.is_some_and(|armed| armed <= next),
            None => connection.armed.is_none(),
        };
        if !early_enough {
            if let Some(at) = connection.armed {
                self.timers.remove(&(at, key));
            }
            if let Some(at) = next {
                self.timers.insert((at, key));
            }
            connection.armed = next;
        }
    }
}

#[cfg(test)]
mod tests;
