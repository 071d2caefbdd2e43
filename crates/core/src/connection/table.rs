//! The table of connections: the interface to the managers and to the driver.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::{ApiKey, Request};

use super::broker_connection::BrokerConnection;
use super::certificates::Replacement;
use super::config::ConnectionConfig;
use super::connection_stats::Totals;
use super::events::{ConnectionEvent, Ready};
use super::key::{BrokerKey, Purpose, Tag};
use super::net::{CertificateRefresh, ConnId, LookupId, NetAction, NetEvent, WorkId};
use super::requests::Progress;
use super::table_state::TableState;
use super::versions::BrokerVersions;
use crate::error::{Error, ErrorCode};
use crate::interceptor::Interceptor;
use crate::log::{Logger, level};
use crate::sasl::{Credentials, SaslWork, SaslWorkResult};
use crate::stats::{self, request_counts};
use crate::sys::{Instant, Rng, earliest};
use crate::types::ClientKind;

/// The timers of the connections, one each.
#[derive(Debug, Default)]
struct Timers {
    by_time: BTreeSet<(Instant, BrokerKey)>,
    by_key: BTreeMap<BrokerKey, Instant>,
}

impl Timers {
    /// Sets a connection's timer. One that is due earlier stays: deadlines mostly move further away, and a timer that goes
    /// off too early is set again then.
    fn arm(&mut self, key: BrokerKey, at: Option<Instant>) {
        let early_enough = match (at, self.by_key.get(&key)) {
            (Some(at), Some(armed)) => *armed <= at,
            (None, armed) => armed.is_none(),
            (Some(_), None) => false,
        };
        if !early_enough {
            self.disarm(key);
            if let Some(at) = at {
                self.by_time.insert((at, key));
                self.by_key.insert(key, at);
            }
        }
    }

    fn disarm(&mut self, key: BrokerKey) {
        if let Some(at) = self.by_key.remove(&key) {
            self.by_time.remove(&(at, key));
        }
    }

    fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|t| t.0)
    }

    /// Removes and returns a connection whose timer is due.
    fn take_due(&mut self, now: Instant) -> Option<BrokerKey> {
        let &(_, key) = self.by_time.first().filter(|t| t.0 <= now)?;
        self.disarm(key);
        Some(key)
    }
}

/// All connections of a client.
#[derive(Debug)]
pub struct ConnectionTable {
    state: TableState,
    /// Ordered, so that iteration is the same in every run.
    connections: BTreeMap<BrokerKey, BrokerConnection>,
    timers: Timers,
    /// The ends of pauses that brokers requested.
    throttles: BTreeSet<(Instant, BrokerKey)>,
    /// The last response that could request a pause did.
    throttled: bool,
}

impl ConnectionTable {
    /// Returns an empty table, which logs nothing.
    pub fn new(config: ConnectionConfig, rng: Rng) -> Self {
        ConnectionTable {
            state: TableState::new(config, rng),
            connections: BTreeMap::new(),
            timers: Timers::default(),
            throttles: BTreeSet::new(),
            throttled: false,
        }
    }

    /// Returns the name and the version of the client's software (KIP-511).
    pub fn software(&self) -> (&str, &str) {
        let config = &self.state.config;
        (&config.software_name, &config.software_version)
    }

    /// Returns the same table with a log.
    #[must_use]
    pub fn with_log(mut self, log: Arc<Logger>) -> Self {
        self.state.log = log;
        self
    }

    /// Notifies `interceptor` of every request, response and change of state from now on.
    pub fn watch(&mut self, interceptor: Arc<dyn Interceptor>) {
        self.state.interceptor = Some(interceptor);
    }

    /// Calls `f` with a connection, and sets its timer afterwards. Returns `None` when there is no such connection.
    fn with<T>(&mut self, key: BrokerKey, f: impl FnOnce(&mut BrokerConnection, &mut TableState) -> T) -> Option<T> {
        let connection = self.connections.get_mut(&key)?;
        let result = f(connection, &mut self.state);
        connection.announce_state(&self.state);
        self.timers.arm(key, connection.deadline(&self.state));
        Some(result)
    }

    // ---------------------------------------------------------------- for managers: connections

    /// Adds a broker or changes its address. A connection to an old address is closed.
    pub fn set_address(&mut self, key: BrokerKey, host: &str, port: u16, now: Instant) {
        if let Some(connection) = self.connections.get(&key) {
            if connection.host() != host || connection.port() != port {
                self.with(key, |connection, table| connection.set_address(table, host, port, now));
            }
        } else {
            self.connections
                .insert(key, BrokerConnection::new(key, host, port, now));
        }
    }

    /// Turns the connection of `from` into that of `to`, unless `to` has one that is not idle; `from` is idle afterwards.
    /// Requests in flight move with it.
    pub fn adopt(&mut self, from: BrokerKey, to: BrokerKey, now: Instant) {
        let free = self.connections.get(&to).is_none_or(BrokerConnection::is_idle);
        let Some(connection) = self.connections.remove(&from) else {
            return;
        };
        if !free || !connection.is_open() {
            self.connections.insert(from, connection);
            return;
        }
        for key in [from, to] {
            self.timers.disarm(key);
        }
        let before = self.connections.remove(&to);
        let (moved, idle) = connection.move_to(to, before, &mut self.state, now);
        let is_up = moved.is_up();
        self.connections.insert(from, idle);
        self.connections.insert(to, moved);
        self.with(to, |_, _| ());
        if is_up {
            self.state.report(ConnectionEvent::Up { key: to });
        }
    }

    /// Removes a broker. Its connection is closed, and its requests fail.
    pub fn remove(&mut self, key: BrokerKey, now: Instant) {
        self.force_close(key, now);
        self.connections.remove(&key);
        self.timers.disarm(key);
    }

    /// Keeps a connection until `until`: when it is lost, it is opened again after the ordinary reconnect backoff, also
    /// when no manager requests it. This excludes a connection that the client closes because of
    /// `connections.max.idle.ms`.
    pub fn keep(&mut self, key: BrokerKey, until: Instant) {
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.keep_until(until);
        }
    }

    /// Closes a connection whose peer broke the protocol or that is of no further use. Requests in flight fail with
    /// `error`.
    pub fn fail(&mut self, key: BrokerKey, error: Error, now: Instant) {
        self.with(key, |connection, table| connection.take_down(table, Some(error), now));
    }

    /// [Fails](Self::fail) a connection whose peer's response to a request of `api` cannot be decoded. Returns the error.
    pub fn fail_unreadable(&mut self, key: BrokerKey, api: impl Display, cause: impl Display, now: Instant) -> Error {
        let error = Error::new(ErrorCode::L_BAD_MSG, format!("{api} response cannot be read: {cause}"));
        self.fail(key, error.clone(), now);
        error
    }

    /// Closes a connection on which a request blocks more urgent ones. Requests in flight fail, and the next call of
    /// [`ready`](Self::ready) connects again without a backoff.
    pub fn force_close(&mut self, key: BrokerKey, now: Instant) {
        self.with(key, |connection, table| connection.take_down(table, None, now));
    }

    /// Closes every connection without an event.
    pub fn close_all(&mut self) {
        self.state.clear();
        for connection in self.connections.values_mut() {
            connection.close_silently(&mut self.state);
        }
        self.timers = Timers::default();
        self.throttles.clear();
    }

    /// Looks up the names of a name's addresses; [`ConnectionEvent::Names`] follows.
    pub fn look_up_names(&mut self, host: &str, port: u16) -> LookupId {
        let (lookup, host) = (self.state.new_free_lookup(), host.to_owned());
        self.state.act(NetAction::ResolveNames { lookup, host, port });
        lookup
    }

    // ---------------------------------------------------------------- for managers: credentials

    /// Sets the credentials of the authentications that begin from now on, also of those on open connections (KIP-368).
    /// With SASL, connections are opened only while there are credentials. New credentials end the backoff after a failed
    /// authentication.
    pub fn set_credentials(&mut self, credentials: Option<Credentials>, now: Instant) {
        let usable = credentials.is_some();
        self.state.credentials = credentials;
        let keys: Vec<BrokerKey> = self.connections.keys().copied().filter(|_| usable).collect();
        for key in keys {
            self.timers.disarm(key);
            self.with(key, |connection, table| connection.on_credentials(table, now));
        }
    }

    /// Returns the credentials of the next authentication.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.state.credentials.as_ref()
    }

    /// Has the driver carry out work of authentication; [`ConnectionEvent::SaslWorkDone`] follows.
    pub fn start_sasl_work(&mut self, job: SaslWork) -> WorkId {
        self.state.start_work(job)
    }

    // ---------------------------------------------------------------- for managers: queries

    /// Returns true when the connection is up. Does not request it.
    pub fn is_up(&self, key: BrokerKey) -> bool {
        self.connections.get(&key).is_some_and(BrokerConnection::is_up)
    }

    /// Returns true when the connection is up or an attempt to connect is in progress.
    pub fn is_active(&self, key: BrokerKey) -> bool {
        self.connections.get(&key).is_some_and(BrokerConnection::is_active)
    }

    /// Returns the end of the backoff before the connection's next attempt; `None` when it is in no backoff.
    pub fn backoff_until(&self, key: BrokerKey) -> Option<Instant> {
        self.connections.get(&key)?.backoff_until()
    }

    /// Returns true when an attempt to connect was made.
    pub fn was_tried(&self, key: BrokerKey) -> bool {
        self.connections.get(&key).is_some_and(|c| c.reconnect().was_tried())
    }

    /// Returns true when the last attempt to connect failed. A connection that broke does not count: the next attempt may
    /// succeed.
    pub fn is_unreachable(&self, key: BrokerKey) -> bool {
        let connection = self.connections.get(&key);
        connection.is_some_and(|c| c.reconnect().is_unreachable())
    }

    /// Returns every connection's key.
    pub fn keys(&self) -> impl Iterator<Item = BrokerKey> + '_ {
        self.connections.keys().copied()
    }

    /// Returns the versions that the broker supports, while the connection is up.
    pub fn versions(&self, key: BrokerKey) -> Option<Arc<BrokerVersions>> {
        self.connections.get(&key)?.versions().cloned()
    }

    /// Returns host and port of a connection.
    pub fn address(&self, key: BrokerKey) -> Option<(&str, u16)> {
        self.connections.get(&key).map(|c| (c.host(), c.port()))
    }

    /// Returns a connection's name in logs and errors: `host:port/id`.
    pub fn name(&self, key: BrokerKey) -> String {
        let connection = self.connections.get(&key);
        connection.map_or_else(|| key.node.to_string(), |c| c.name().to_string())
    }

    /// Returns the number of requests in flight on a connection.
    pub fn in_flight(&self, key: BrokerKey) -> usize {
        self.connections.get(&key).map_or(0, |c| c.requests().len())
    }

    /// Returns true while the kernel has not taken all of a request: the network may still read memory that it refers to.
    pub fn is_unwritten(&self, key: BrokerKey, tag: Tag) -> bool {
        self.connections
            .get(&key)
            .is_some_and(|c| c.requests().is_unwritten(tag))
    }

    /// Returns whether the network may be reading the memory of frames of connections that were closed before they were
    /// written in full. [`ConnectionEvent::Released`] follows.
    pub fn is_releasing(&self) -> bool {
        self.state.is_releasing()
    }

    // ---------------------------------------------------------------- for managers: requests

    /// Returns the readiness of `key` for a request. When the connection is not up, it is requested.
    pub fn ready(&mut self, key: BrokerKey, now: Instant) -> Ready {
        let Some(connection) = self.connections.get_mut(&key) else {
            return Ready::Unknown;
        };
        // Only an attempt that begins moves the deadline.
        if !connection.is_idle() {
            return connection.ready(&mut self.state, now);
        }
        let ready = self.with(key, |connection, table| connection.ready(table, now));
        ready.unwrap_or(Ready::Unknown)
    }

    /// Like [`ready`](Self::ready), but returns [`Ready::Busy`] as well while the kernel has not taken all of `max_unsent`
    /// requests: records that would wait behind a full socket can still join a larger batch.
    pub fn ready_for_bulk(&mut self, key: BrokerKey, now: Instant, max_unsent: u64) -> Ready {
        let connection = self.connections.get_mut(&key);
        match connection.is_some_and(|c| c.blocks_bulk(max_unsent)) {
            true => Ready::Busy,
            false => self.ready(key, now),
        }
    }

    /// Sends a request on a connection that is [`Ready::Yes`]. [`ConnectionEvent::Outcome`] with `tag` follows.
    ///
    /// # Errors
    /// Sends nothing when the connection is not up or the request cannot be encoded.
    pub fn send<R: Request>(
        &mut self,
        key: BrokerKey,
        now: Instant,
        tag: Tag,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<(), Error> {
        self.send_request(key, (tag, timeout, true), (request, version), now)
    }

    /// Like [`send`](Self::send) for a request without a response (Produce with acks=0): the outcome is
    /// [`Outcome::Sent`](super::Outcome::Sent).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_unanswered<R: Request>(
        &mut self,
        key: BrokerKey,
        now: Instant,
        tag: Tag,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<(), Error> {
        self.send_request(key, (tag, timeout, false), (request, version), now)
    }

    fn send_request<R: Request>(
        &mut self,
        key: BrokerKey,
        tag: (Tag, Duration, bool),
        request: (&R, i16),
        now: Instant,
    ) -> Result<(), Error> {
        let sent = self.with(key, |connection, table| connection.send(table, tag, request, now));
        sent.unwrap_or_else(|| Err(Error::new(ErrorCode::L_TRANSPORT, "not connected")))
    }

    // ---------------------------------------------------------------- quotas (KIP-13, KIP-219)

    /// Handles the `throttle_time_ms` of a response, 0 included: keeps the pause where the broker has not kept it already,
    /// and reports it.
    pub fn on_throttle_time(&mut self, key: BrokerKey, (api, version): (ApiKey, i16), throttle_ms: i32, now: Instant) {
        let throttle_ms = throttle_ms.max(0);
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.stats().on_throttle_time(throttle_ms);
        }
        let before = std::mem::replace(&mut self.throttled, throttle_ms > 0);
        if throttle_ms > 0 && version >= first_prompt_version(api) {
            let pause = Duration::from_millis(u64::from(throttle_ms.unsigned_abs()));
            self.throttle(key, pause, now);
        }
        if throttle_ms > 0 || before {
            self.state.report(ConnectionEvent::Throttled { key, throttle_ms });
        }
    }

    /// Sends no request on a connection for that time.
    pub(crate) fn throttle(&mut self, key: BrokerKey, pause: Duration, now: Instant) {
        let until = now + pause;
        let connection = self.connections.get_mut(&key);
        if let Some(before) = connection.and_then(|c| c.throttle_until(until)) {
            self.throttles.remove(&(before, key));
            self.throttles.insert((until, key));
        }
    }

    // ---------------------------------------------------------------- statistics

    /// Returns the counts of all connections.
    pub fn totals(&self) -> Totals {
        self.state.totals
    }

    /// Returns the statistics of each connection, with latencies since the last call. `messages` returns the number of
    /// messages in a request.
    pub fn statistics(
        &mut self,
        now: Instant,
        kind: ClientKind,
        messages: impl Fn(Tag) -> u64,
    ) -> BTreeMap<BrokerKey, stats::Broker> {
        let connections = self.connections.iter_mut();
        connections
            .map(|(key, connection)| (*key, broker_statistics(*key, connection, now, kind, &messages)))
            .collect()
    }

    // ---------------------------------------------------------------- for the driver

    /// Returns the next action for the network.
    pub fn next_action(&mut self) -> Option<NetAction> {
        self.state.next_action()
    }

    /// Returns the next event for the managers.
    pub fn next_event(&mut self) -> Option<ConnectionEvent> {
        self.state.next_event()
    }

    /// Returns true when [`next_event`](Self::next_event) returns an event.
    pub fn has_event(&self) -> bool {
        self.state.has_event()
    }

    /// Returns the time at which [`poll`](Self::poll) is due if nothing else happens.
    pub fn next_wake(&self) -> Option<Instant> {
        let throttle = self.throttles.first().map(|t| t.0);
        earliest(earliest(self.timers.next(), throttle), self.state.certificates_wake())
    }

    /// Handles the timers that are due at `now`.
    pub fn poll(&mut self, now: Instant) {
        while let Some(&(at, key)) = self.throttles.first().filter(|t| t.0 <= now) {
            self.throttles.remove(&(at, key));
            self.state.report(ConnectionEvent::SendReady { key });
        }
        if self.state.certificates_wake().is_some_and(|at| at <= now) {
            self.state.refresh_certificates(now);
        }
        while let Some(key) = self.timers.take_due(now) {
            self.with(key, |connection, table| connection.on_deadline(table, now));
        }
    }

    /// Handles an event from the network. Events of connections that the client has closed are ignored.
    pub fn on_net(&mut self, event: NetEvent, now: Instant) {
        match event {
            NetEvent::Resolved { lookup, result } => {
                if let Some(key) = self.state.take_lookup(lookup) {
                    self.with(key, |c, table| c.on_resolved(table, lookup, result, now));
                }
            }
            NetEvent::Names { lookup, result } => self.state.report(ConnectionEvent::Names { lookup, result }),
            NetEvent::Connected { conn, socket } => {
                self.with_conn(conn, |c, table| c.on_connected(table, conn, socket, now))
            }
            NetEvent::Secured { conn, session } => {
                self.with_conn(conn, |c, table| c.on_secured(table, conn, session, now))
            }
            NetEvent::TlsNotes(texts) => self.log_tls_notes(texts),
            NetEvent::CertificatesRefreshed(result) => self.on_certificates_refreshed(result, now),
            NetEvent::SaslWorkDone { work, result } => self.on_sasl_work_done(work, result, now),
            NetEvent::Written { conn, begun, done } => self.on_written(conn, begun, done, now),
            NetEvent::Received { conn, body } => self.with_conn(conn, |c, table| c.on_received(table, body, now)),
            NetEvent::Released { conn } => self.state.on_released(conn),
            NetEvent::Closed { conn, reason } => {
                self.with_conn(conn, |c, table| c.on_closed(table, conn, &reason, now))
            }
        }
    }

    fn on_sasl_work_done(&mut self, work: WorkId, result: SaslWorkResult, now: Instant) {
        match self.state.take_step(work) {
            Some(conn) => self.with_conn(conn, |c, table| {
                c.advance_authentication(table, |a| a.on_work_done(result), now);
            }),
            None => self.state.report(ConnectionEvent::SaslWorkDone { work, result }),
        }
    }

    /// Handles certificates that the application has replaced: connections that are opened from now on use them.
    pub fn on_certificates_replaced(&mut self, warnings: Vec<String>, now: Instant) {
        // An attempt of the same time may have begun before.
        self.on_renewed(warnings, now + Duration::from_micros(1), now);
    }

    fn on_certificates_refreshed(&mut self, result: CertificateRefresh, now: Instant) {
        let looked_at = self.state.on_certificates_refreshed(now);
        match result {
            CertificateRefresh::Unchanged => {}
            CertificateRefresh::Failed(text) => self.state.log.log(level::ERROR, "SSLRENEW", || {
                format!("changed certificates cannot be used, and those before stay in use: {text}")
            }),
            CertificateRefresh::Renewed(warnings) => self.on_renewed(warnings, looked_at, now),
        }
    }

    /// Logs the renewal of certificates, and schedules the replacement of connections whose attempts began before
    /// `renewed_at`, spread over the time for it.
    fn on_renewed(&mut self, warnings: Vec<String>, renewed_at: Instant, now: Instant) {
        self.state.log.log(level::INFO, "SSLRENEW", || {
            "certificates have changed: new connections use the changed ones".to_owned()
        });
        self.log_tls_notes(warnings);
        let Some(within) = self.state.config.security.renewal.reconnect_within else {
            return;
        };
        let keys: Vec<BrokerKey> = self.connections.keys().copied().collect();
        for key in keys {
            let at = now + self.state.rng.jitter(within, 1.0, 0.0);
            let replacement = Replacement { renewed_at, at };
            self.with(key, |connection, _| connection.replace(replacement));
        }
    }

    fn log_tls_notes(&self, texts: Vec<String>) {
        for text in texts {
            self.state.log.log(level::WARNING, "SSL", || text);
        }
    }

    fn with_conn(&mut self, conn: ConnId, f: impl FnOnce(&mut BrokerConnection, &mut TableState)) {
        if let Some(key) = self.state.owner(conn) {
            self.with(key, f);
        }
    }

    fn on_written(&mut self, conn: ConnId, begun: u64, done: u64, now: Instant) {
        let Some(key) = self.state.owner(conn) else { return };
        let connection = self.connections.get_mut(&key);
        // Most writes do not move the deadline.
        if connection.is_some_and(|c| c.on_written(&mut self.state, begun, done, now)) {
            self.with(key, |_, _| ());
        }
    }
}

/// Returns the first version of an API whose response comes at once, so that the client has to keep the pause that it
/// requests. In earlier versions the broker delays the response.
fn first_prompt_version(api: ApiKey) -> i16 {
    match api {
        ApiKey::PRODUCE => 6,
        ApiKey::FETCH => 8,
        ApiKey::LIST_OFFSETS => 3,
        _ => 0,
    }
}

fn broker_statistics(
    key: BrokerKey,
    connection: &mut BrokerConnection,
    now: Instant,
    kind: ClientKind,
    messages: impl Fn(Tag) -> u64,
) -> stats::Broker {
    let name = match (key.purpose, kind) {
        (Purpose::General, _) => connection.name().broker(),
        (Purpose::Coordinator, ClientKind::Consumer | ClientKind::ShareConsumer) => {
            format!("GroupCoordinator/{}", key.node)
        }
        (Purpose::Coordinator, ClientKind::Producer) => format!("TxnCoordinator/{}", key.node),
    };
    let mut broker = stats::Broker::named(name);
    broker.nodeid = key.node.0.max(-1);
    broker.nodename = format!("{}:{}", connection.host(), connection.port());
    broker.source = match (key.purpose, key.node.is_bootstrap()) {
        (Purpose::Coordinator, _) => "logical",
        (Purpose::General, true) => "configured",
        (Purpose::General, false) => "learned",
    };
    let (state, age) = connection.public_state(now);
    broker.state = state;
    broker.stateage_us = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
    for request in connection.requests().waiting() {
        let carried = messages(request.tag);
        match connection.requests().progress(request) {
            Progress::Whole => {
                broker.waitresp_cnt += 1;
                broker.waitresp_msg_cnt += carried;
            }
            Progress::Partial | Progress::Queued => {
                broker.outbuf_cnt += 1;
                broker.outbuf_msg_cnt += carried;
            }
        }
    }
    connection.stats().write_to(now, &mut broker);
    broker.req = request_counts(kind, &connection.stats().by_api);
    broker
}

#[cfg(test)]
mod tests;
