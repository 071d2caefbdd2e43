//! One broker connection: its state, the requests on it, and its end.

mod setup;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{Request, encode_request, peek_correlation_id};

use super::addresses::{Addresses, address_text};
use super::authentication::Authentication;
use super::certificates::Replacement;
use super::config::ConnectionConfig;
use super::connection_stats::{ConnectionStats, PREFIX_BYTES};
use super::events::{ConnectionEvent, DisconnectKind, Failure, FailureKind, Outcome, Ready, Reply};
use super::key::{BrokerKey, Owner, Purpose, Tag};
use super::log::{ConnectionLog, Name, StateChange, TimedOutCounts};
use super::net::{CloseReason, ConnId, LookupId, NetAction, TlsSession};
use super::race::Race;
use super::reconnect::{Ended, Reconnect};
use super::requests::{InFlight, Mismatch, Progress, RequestsInFlight, Sent};
use super::table_state::TableState;
use super::tls_error::tls_error;
use super::versions::BrokerVersions;
use crate::error::{Error, ErrorCode};
use crate::interceptor::{BrokerState, RequestInfo};
use crate::sys::{Instant, earliest};

/// The public name of the first state of every connection.
const INIT: &str = "INIT";

/// The state of a broker connection.
///
/// ```text
/// Idle → Resolving → Connecting ─→ Securing ─→ Negotiating ─→ Authenticating ─→ Up ⇄ Reauthenticating
///   ↑                               (TLS)     (ApiVersions)       (SASL)       │
///   └── Backoff ←────────────────────── any failure ───────────────────────────┘
/// ```
///
/// `Securing` and `Authenticating` are left out where [`Security`](super::config::Security) does not require them,
/// `Negotiating` with `api.version.request=false` or a broker that is known not to answer it.
#[derive(Debug)]
enum State {
    /// Not connected, and no attempt in progress.
    Idle,
    /// Waiting before the next attempt.
    Backoff { until: Instant },
    /// Waiting for the name look-up.
    Resolving { lookup: LookupId, deadline: Instant },
    /// Waiting for a TCP connection to one of the addresses.
    Connecting { race: Race },
    /// Connected; the transport performs the TLS handshake.
    Securing { conn: ConnId },
    /// Waiting for the response to ApiVersions.
    Negotiating { conn: ConnId },
    /// Exchanging SASL tokens.
    Authenticating {
        conn: ConnId,
        versions: Arc<BrokerVersions>,
        authentication: Authentication,
    },
    /// Requests may be sent.
    Up {
        conn: ConnId,
        versions: Arc<BrokerVersions>,
    },
    /// Exchanging SASL tokens before the session ends (KIP-368). Earlier requests may be in flight; the broker rejects
    /// others until the exchange is complete, so none are sent.
    Reauthenticating {
        conn: ConnId,
        versions: Arc<BrokerVersions>,
        authentication: Authentication,
    },
}

impl State {
    /// Returns the connection that is open.
    fn conn(&self) -> Option<ConnId> {
        match self {
            State::Securing { conn }
            | State::Negotiating { conn }
            | State::Authenticating { conn, .. }
            | State::Up { conn, .. }
            | State::Reauthenticating { conn, .. } => Some(*conn),
            State::Idle | State::Backoff { .. } | State::Resolving { .. } | State::Connecting { .. } => None,
        }
    }

    /// Returns the connection that is open, and those that are being opened.
    fn conns(&self) -> Vec<ConnId> {
        match self {
            State::Connecting { race } => race.runners().iter().map(|r| r.conn).collect(),
            _ => self.conn().into_iter().collect(),
        }
    }

    /// Returns the state's name in logs.
    fn name(&self) -> &'static str {
        match self {
            State::Idle => INIT,
            State::Backoff { .. } => "BACKOFF",
            State::Resolving { .. } => "RESOLVE",
            State::Connecting { .. } => "CONNECT",
            State::Securing { .. } => "SSL_HANDSHAKE",
            State::Negotiating { .. } => "APIVERSION_QUERY",
            State::Authenticating { authentication, .. } => authentication.state_name(),
            State::Up { .. } => "UP",
            State::Reauthenticating { .. } => "REAUTH",
        }
    }

    /// Returns the state's name for interceptors and statistics. `tried`: an attempt to connect was made.
    fn public_name(&self, tried: bool) -> &'static str {
        match self {
            State::Idle if !tried => INIT,
            State::Idle | State::Backoff { .. } => "DOWN",
            State::Resolving { .. } => "TRY_CONNECT",
            _ => self.name(),
        }
    }

    /// Returns true when requests can be sent on the connection, or could before it began to authenticate again.
    fn is_up(&self) -> bool {
        matches!(self, State::Up { .. } | State::Reauthenticating { .. })
    }

    /// Returns the exchange in progress.
    fn authentication(&mut self) -> Option<&mut Authentication> {
        match self {
            State::Authenticating { authentication, .. } | State::Reauthenticating { authentication, .. } => {
                Some(authentication)
            }
            _ => None,
        }
    }

    /// Returns true when the next frame is a SASL token without a response header.
    fn expects_raw_token(&self) -> bool {
        matches!(self, State::Authenticating { authentication, .. } if authentication.expects_raw_token())
    }
}

/// A connection to one broker for one purpose, across its attempts. The owner calls [`deadline`](Self::deadline) and
/// [`announce_state`](Self::announce_state) after each change.
#[derive(Debug)]
pub(super) struct BrokerConnection {
    key: BrokerKey,
    state: State,
    /// Time at which the current state was entered.
    since: Instant,
    /// Time at which the current connection came up.
    up_since: Instant,
    addresses: Addresses,
    reconnect: Reconnect,
    requests: RequestsInFlight,
    stats: ConnectionStats,
    /// A manager waits for this connection to come up.
    wanted: bool,
    /// A manager received [`Ready::Busy`] because the connection accepts no request.
    send_blocked: bool,
    /// The cause for which the last address of the current attempt failed.
    address_failure: Option<Error>,
    /// Time by which TLS, ApiVersions and SASL must be complete (`socket.connection.setup.timeout.ms`); `None` for
    /// plaintext, where only the states before have limits of their own.
    setup_deadline: Option<Instant>,
    tls_session: Option<TlsSession>,
    /// A manager's request was answered on the current connection.
    answered: bool,
    /// The last attempt or connection ended because the authentication failed.
    refused: bool,
    /// Time at which to authenticate again (KIP-368).
    reauthenticate_at: Option<Instant>,
    /// End of the session. Brokers close the connection on any later request that does not begin a renewal, so none are
    /// sent until there are credentials for one.
    session_ends_at: Option<Instant>,
    /// Time at which the attempt began from which the current connection results.
    attempted_at: Instant,
    /// The replacement after the last renewal of certificates. It concerns connections of earlier attempts only.
    replacement: Option<Replacement>,
    /// Time at which a request was last sent or a response last arrived, those of the connection itself excepted.
    last_used: Instant,
    /// End of a pause that the broker requested (KIP-219).
    throttled_until: Instant,
    /// Until then ApiVersions is not sent, because the broker did not answer it.
    assume_old_until: Option<Instant>,
    /// The descriptor of the current or the last connection.
    socket: i32,
    /// The state of which the interceptor was last notified.
    announced: &'static str,
}

impl BrokerConnection {
    /// Returns a connection that is idle.
    pub(super) fn new(key: BrokerKey, host: &str, port: u16, now: Instant) -> Self {
        BrokerConnection {
            key,
            state: State::Idle,
            since: now,
            up_since: now,
            addresses: Addresses::new(host, port),
            reconnect: Reconnect::default(),
            requests: RequestsInFlight::default(),
            stats: ConnectionStats::default(),
            wanted: false,
            send_blocked: false,
            address_failure: None,
            setup_deadline: None,
            tls_session: None,
            answered: false,
            refused: false,
            reauthenticate_at: None,
            session_ends_at: None,
            attempted_at: now,
            replacement: None,
            last_used: now,
            throttled_until: Instant::ORIGIN,
            assume_old_until: None,
            socket: -1,
            announced: INIT,
        }
    }

    /// Converts into the connection of `to`, which replaces `before`, and the remaining idle connection. `before` must
    /// be idle.
    pub(super) fn move_to(
        self,
        to: BrokerKey,
        before: Option<Self>,
        table: &mut TableState,
        now: Instant,
    ) -> (Self, Self) {
        let mut idle = BrokerConnection::new(self.key, self.addresses.host(), self.addresses.port(), now);
        idle.reconnect.set_tried();
        let mut moved = BrokerConnection {
            key: to,
            // The interceptor is notified again, with the broker's id.
            announced: INIT,
            ..self
        };
        if let Some(before) = before {
            moved.reconnect.keep_until(before.reconnect.kept_until());
            let mut stats = before.stats;
            stats.absorb(moved.stats);
            moved.stats = stats;
        }
        if let Some(conn) = moved.state.conn() {
            table.set_owner(conn, to);
        }
        (moved, idle)
    }

    // ---------------------------------------------------------------- queries

    pub(super) fn host(&self) -> &str {
        self.addresses.host()
    }

    pub(super) fn port(&self) -> u16 {
        self.addresses.port()
    }

    /// Returns the connection's name in logs and errors.
    pub(super) fn name(&self) -> Name<'_> {
        Name {
            key: self.key,
            host: self.addresses.host(),
            port: self.addresses.port(),
        }
    }

    fn log<'a>(&'a self, table: &'a TableState) -> ConnectionLog<'a> {
        ConnectionLog {
            log: &table.log,
            name: self.name(),
        }
    }

    /// Returns the address of the connection, or host and port while there is none, for messages.
    pub(super) fn peer(&self) -> String {
        match (self.state.conn(), self.addresses.current()) {
            (Some(_), Some(addr)) => address_text(addr),
            _ => format!("{}:{}", self.host(), self.port()),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    pub(super) fn is_open(&self) -> bool {
        self.state.conn().is_some()
    }

    pub(super) fn is_up(&self) -> bool {
        self.state.is_up()
    }

    /// Returns true when the connection is up or an attempt is in progress.
    pub(super) fn is_active(&self) -> bool {
        !matches!(self.state, State::Idle | State::Backoff { .. })
    }

    pub(super) fn backoff_until(&self) -> Option<Instant> {
        match self.state {
            State::Backoff { until } => Some(until),
            _ => None,
        }
    }

    pub(super) fn reconnect(&self) -> &Reconnect {
        &self.reconnect
    }

    pub(super) fn requests(&self) -> &RequestsInFlight {
        &self.requests
    }

    pub(super) fn stats(&mut self) -> &mut ConnectionStats {
        &mut self.stats
    }

    /// Returns the state's name for statistics, and the time since it was entered.
    pub(super) fn public_state(&self, now: Instant) -> (&'static str, Duration) {
        let name = self.state.public_name(self.reconnect.was_tried());
        (name, now.since(self.since))
    }

    /// Returns the versions that the broker supports, while the connection is up.
    pub(super) fn versions(&self) -> Option<&Arc<BrokerVersions>> {
        match &self.state {
            State::Up { versions, .. } | State::Reauthenticating { versions, .. } => Some(versions),
            _ => None,
        }
    }

    /// Returns the time at which [`on_deadline`](Self::on_deadline) is due if nothing happens on the network.
    pub(super) fn deadline(&self, table: &TableState) -> Option<Instant> {
        match &self.state {
            State::Idle if !table.may_connect() => None,
            State::Idle if self.wanted => Some(Instant::ORIGIN),
            State::Idle => self.reconnect.renew_at(),
            State::Backoff { until } => Some(*until),
            State::Resolving { deadline, .. } => Some(*deadline),
            State::Connecting { race } => race.deadline(),
            State::Securing { .. }
            | State::Negotiating { .. }
            | State::Authenticating { .. }
            | State::Reauthenticating { .. } => earliest(self.requests.deadline(), self.setup_deadline),
            State::Up { .. } => {
                let idle = || table.config.idle_after.map(|idle| self.last_used + idle);
                // Without credentials the connection stays open, for a renewal even after the session's end.
                let reauthenticate_at = self.reauthenticate_at.filter(|_| table.credentials.is_some());
                let own = earliest(reauthenticate_at, self.replacement_due());
                earliest(self.requests.deadline().or_else(idle), own)
            }
        }
    }

    // ---------------------------------------------------------------- state

    fn enter(&mut self, table: &TableState, state: State, now: Instant) {
        let from = self.state.name();
        let backoff = match state {
            State::Backoff { until } => Some((until.since(now), self.reconnect.failures())),
            _ => None,
        };
        self.state = state;
        self.on_state_changed(table, from, backoff, now);
    }

    fn on_state_changed(
        &mut self,
        table: &TableState,
        from: &'static str,
        backoff: Option<(Duration, u32)>,
        now: Instant,
    ) {
        self.log(table).state(&StateChange {
            from,
            to: self.state.name(),
            after: now.since(self.since),
            backoff,
        });
        self.since = now;
    }

    /// Notifies the interceptor of the state when it has changed since the last call.
    pub(super) fn announce_state(&mut self, table: &TableState) {
        let Some(interceptor) = &table.interceptor else { return };
        let state = self.state.public_name(self.reconnect.was_tried());
        if std::mem::replace(&mut self.announced, state) != state {
            interceptor.on_broker_state(&BrokerState {
                broker_id: self.key.node.0,
                host: self.host(),
                port: self.port(),
                state,
            });
        }
    }

    // ---------------------------------------------------------------- for managers

    /// Replaces host and port. A connection to the old address is closed.
    pub(super) fn set_address(&mut self, table: &mut TableState, host: &str, port: u16, now: Instant) {
        if self.addresses.replace(host, port) {
            self.reconnect.on_address_changed();
            if !self.is_idle() {
                self.take_down(table, None, now);
            }
        }
    }

    /// Returns the readiness for a request. A connection that is idle begins to connect.
    pub(super) fn ready(&mut self, table: &mut TableState, now: Instant) -> Ready {
        match &self.state {
            State::Up { versions, .. } => {
                if self.requests.is_full(table.config.max_in_flight)
                    || self.throttled_until > now
                    || self.session_ends_at.is_some_and(|at| at <= now)
                    || self.is_being_replaced(now)
                {
                    self.send_blocked = true;
                    return Ready::Busy;
                }
                Ready::Yes(versions.clone())
            }
            State::Reauthenticating { .. } => {
                self.send_blocked = true;
                Ready::Busy
            }
            _ => {
                self.wanted = true;
                if self.is_idle() && table.may_connect() {
                    self.start_attempt(table, now);
                }
                Ready::Connecting
            }
        }
    }

    /// Marks the connection as blocked while `max_unsent` frames are not wholly taken by the kernel. Returns true then.
    pub(super) fn blocks_bulk(&mut self, max_unsent: u64) -> bool {
        let blocks = matches!(self.state, State::Up { .. }) && self.requests.unwritten() >= max_unsent;
        self.send_blocked |= blocks;
        blocks
    }

    /// Extends the time for which the connection is opened again after it was lost.
    pub(super) fn keep_until(&mut self, until: Instant) {
        self.reconnect.keep_until(until);
    }

    /// Stores the end of a pause. Returns the end of the one that it replaces, `None` when that is later.
    pub(super) fn throttle_until(&mut self, until: Instant) -> Option<Instant> {
        (until > self.throttled_until).then(|| std::mem::replace(&mut self.throttled_until, until))
    }

    /// Ends everything without an event.
    pub(super) fn close_silently(&mut self, table: &mut TableState) {
        for conn in self.state.conns() {
            table.act(NetAction::Close {
                conn,
                acknowledge: false,
            });
        }
        self.state = State::Idle;
        self.wanted = false;
        self.reconnect.cancel();
        self.requests = RequestsInFlight::default();
    }

    // ---------------------------------------------------------------- requests

    /// Sends a manager's request.
    pub(super) fn send<R: Request>(
        &mut self,
        table: &mut TableState,
        (tag, timeout, expects_reply): (Tag, Duration, bool),
        (request, version): (&R, i16),
        now: Instant,
    ) -> Result<(), Error> {
        let State::Up { conn, .. } = self.state else {
            return Err(Error::new(ErrorCode::L_TRANSPORT, "not connected"));
        };
        self.last_used = now;
        self.send_on(conn, table, (tag, timeout, expects_reply), (request, version), now)
    }

    fn send_on<R: Request>(
        &mut self,
        conn: ConnId,
        table: &mut TableState,
        (tag, timeout, expects_reply): (Tag, Duration, bool),
        (request, version): (&R, i16),
        now: Instant,
    ) -> Result<(), Error> {
        let (correlation_id, client_id) = (self.requests.next_correlation_id(), Some(&*table.config.client_id));
        let frame = encode_request(correlation_id, client_id, request, version)
            .map_err(|e| Error::new(ErrorCode::L_INVALID_ARG, format!("request cannot be encoded: {e}")))?;
        let sent = Sent {
            tag,
            api: R::KEY,
            version,
            timeout,
            expects_reply,
            size: frame.len(),
        };
        let request = self.requests.push(sent, now);
        self.log(table).sent(&request, self.requests.len());
        self.stats.on_request(R::KEY);
        table.act(NetAction::Send { conn, frame });
        Ok(())
    }

    /// Handles [`NetEvent::Written`](super::NetEvent::Written). Returns true when the deadline may have changed.
    pub(super) fn on_written(&mut self, table: &mut TableState, begun: u64, done: u64, now: Instant) -> bool {
        self.stats.wakeups += 1;
        let name = Name {
            key: self.key,
            host: self.addresses.host(),
            port: self.addresses.port(),
        };
        let stats = &mut self.stats;
        let written = self.requests.on_written((begun, done), now, |request| {
            if let Some(interceptor) = &table.interceptor {
                interceptor.on_request_sent(&RequestInfo {
                    socket: self.socket,
                    broker_name: &name.broker(),
                    broker_id: self.key.node.0,
                    api_key: request.api.0,
                    version: request.version,
                    correlation_id: request.correlation_id,
                    size: request.size,
                });
            }
            stats.on_written(request.size, now.since(request.sent_at), now);
            table.totals.on_written(request.size);
        });
        for tag in written.sent {
            self.report_outcome(table, tag, Outcome::Sent);
        }
        self.report_room(table, now);
        written.any_ended
    }

    fn report_outcome(&self, table: &mut TableState, tag: Tag, outcome: Outcome) {
        let key = self.key;
        table.report(ConnectionEvent::Outcome { key, tag, outcome });
    }

    /// Reports that requests are accepted again. The manager that was refused need not own the request that has ended.
    fn report_room(&mut self, table: &mut TableState, now: Instant) {
        let is_full = self.requests.is_full(table.config.max_in_flight);
        let accepts = matches!(self.state, State::Up { .. }) && !is_full && !self.is_being_replaced(now);
        if self.send_blocked && accepts {
            self.send_blocked = false;
            table.report(ConnectionEvent::SendReady { key: self.key });
        }
    }

    /// Handles a frame from the broker.
    pub(super) fn on_received(&mut self, table: &mut TableState, body: Bytes, now: Instant) {
        if self.state.expects_raw_token() {
            // Neither this nor the client's token is a response or a request in statistics.
            return self.advance_authentication(table, |a| a.on_raw_token(body), now);
        }
        self.stats.on_response(body.len(), now);
        table.totals.on_response(body.len());
        let correlation_id = peek_correlation_id(&body).ok();
        let request = match self.requests.take_answered(correlation_id) {
            Ok(request) => request,
            Err(mismatch) => return self.on_mismatch(table, (correlation_id, body.len()), mismatch, now),
        };
        let rtt = now.since(request.sent_at);
        self.stats.on_round_trip(now.since(request.written_at));
        self.notify_received(table, (request.correlation_id, body.len()), Some((&request, rtt)));
        self.log(table).received(&request, body.len(), rtt);
        let reply = Reply {
            api: request.api,
            version: request.version,
            body,
            rtt,
        };
        let is_own = request.tag.owner == Owner::BrokerConnection;
        if !is_own {
            self.last_used = now;
            self.answered = true;
        }
        self.report_room(table, now);
        match (request.abandoned, is_own) {
            (true, _) => {}
            (false, true) => self.on_own_reply(table, &reply, now),
            (false, false) => self.report_outcome(table, request.tag, Outcome::Reply(reply)),
        }
    }

    fn on_mismatch(
        &mut self,
        table: &mut TableState,
        (correlation_id, body_len): (Option<i32>, usize),
        mismatch: Mismatch,
        now: Instant,
    ) {
        let peer = self.peer();
        let text = match mismatch {
            Mismatch::Unexpected { expected } => {
                self.stats.unknown_responses += 1;
                self.notify_received(table, (correlation_id.unwrap_or(-1), body_len), None);
                format!(
                    "{peer}: response with correlation id {} where {} was expected: the peer broke the protocol",
                    correlation_id.map_or("(none)".into(), |id| id.to_string()),
                    expected.map_or("none".into(), |id| id.to_string()),
                )
            }
            Mismatch::BeforeWritten => format!("{peer}: a request was answered before it was written"),
        };
        self.take_down(table, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
    }

    /// Notifies the interceptor of a response, and of the request that it answers with the round-trip time.
    fn notify_received(
        &self,
        table: &TableState,
        (correlation_id, body_len): (i32, usize),
        request: Option<(&InFlight, Duration)>,
    ) {
        let Some(interceptor) = &table.interceptor else { return };
        let (api_key, version) = request.map_or((-1, -1), |(r, _)| (r.api.0, r.version));
        let response = RequestInfo {
            socket: self.socket,
            broker_name: &self.name().broker(),
            broker_id: self.key.node.0,
            api_key,
            version,
            correlation_id,
            size: body_len + PREFIX_BYTES,
        };
        interceptor.on_response_received(&response, request.map(|(_, rtt)| rtt));
    }

    // ---------------------------------------------------------------- timeouts

    /// Handles a deadline that has passed.
    pub(super) fn on_deadline(&mut self, table: &mut TableState, now: Instant) {
        match self.state {
            State::Idle => self.start_attempt_if_due(table, now),
            State::Backoff { until } if until <= now => {
                self.enter(table, State::Idle, now);
                self.start_attempt_if_due(table, now);
            }
            State::Resolving { deadline, .. } if deadline <= now => self.on_resolve_timeout(table, now),
            State::Connecting { .. } => self.on_race_deadline(table, now),
            State::Securing { .. }
            | State::Negotiating { .. }
            | State::Authenticating { .. }
            | State::Reauthenticating { .. } => match self.setup_deadline.is_some_and(|at| at <= now) {
                true => self.on_setup_timeout(table, now),
                false => self.on_request_deadline(table, now),
            },
            State::Up { .. } => {
                self.on_request_deadline(table, now);
                if self.reauthenticate_at.is_some_and(|at| at <= now) {
                    self.reauthenticate(table, now);
                }
                self.replace_if_due(table, now);
            }
            State::Backoff { .. } | State::Resolving { .. } => {}
        }
    }

    fn start_attempt_if_due(&mut self, table: &mut TableState, now: Instant) {
        if table.may_connect() && (self.wanted || self.reconnect.is_renewal_due(now)) {
            self.start_attempt(table, now);
        }
    }

    /// Handles credentials that may differ from those before: after a failed authentication the next attempt follows at
    /// once.
    pub(super) fn on_credentials(&mut self, table: &mut TableState, now: Instant) {
        if matches!(self.state, State::Backoff { .. }) && self.refused {
            self.enter(table, State::Idle, now);
        }
        if self.is_idle() {
            self.start_attempt_if_due(table, now);
        }
    }

    fn on_request_deadline(&mut self, table: &mut TableState, now: Instant) {
        let late = self.requests.expire(now);
        let Some(first) = late.first() else {
            return self.close_if_unused(table, now);
        };
        for request in &late {
            let after = now.since(request.sent_at);
            self.log(table).request_failed(request, "timed out", after);
        }
        let (peer, n) = (self.peer(), late.len());
        self.stats.timeouts += n as u64;
        let negotiating = matches!(self.state, State::Negotiating { .. });
        let too_many = table.config.max_timeouts > 0 && self.requests.timeouts() >= table.config.max_timeouts;
        let ends = negotiating || too_many;
        self.log(table).timed_out(&self.timed_out_counts(&late), !ends);
        let (code, first_text) = self.timeout_error(first, now);
        let mut text = format!(
            "{peer}: {n} request(s) timed out: disconnect {}: {first_text}",
            self.in_state(now)
        );
        if negotiating {
            // Brokers of 0.9 do not answer a request that they do not support (KAFKA-3547).
            text.push_str(&self.assume_old(&table.config, now));
        }
        for request in late.iter().filter(|r| r.tag.owner != Owner::BrokerConnection) {
            let (code, text) = self.timeout_error(request, now);
            let failure = Failure {
                kind: FailureKind::TimedOut,
                // On a connection that stays, the transport writes the rest.
                written: self.requests.progress(request) != Progress::Queued || !ends,
                error: Error::new(code, format!("{peer}: {text}")),
            };
            self.report_outcome(table, request.tag, Outcome::Failed(failure));
        }
        if ends {
            self.take_down(table, Some(Error::new(code, text)), now);
        } else {
            // A request that timed out no longer counts against max.in.flight.
            self.report_room(table, now);
        }
    }

    fn timed_out_counts(&self, late: &[InFlight]) -> TimedOutCounts {
        let mut counts = TimedOutCounts::default();
        for request in late {
            match self.requests.progress(request) {
                Progress::Whole => counts.in_flight += 1,
                Progress::Partial => counts.partial += 1,
                Progress::Queued => counts.queued += 1,
            }
        }
        counts
    }

    fn timeout_error(&self, request: &InFlight, now: Instant) -> (ErrorCode, String) {
        let (code, stage) = match self.requests.progress(request) {
            Progress::Queued => (ErrorCode::L_TIMED_OUT_QUEUE, "queue"),
            Progress::Partial | Progress::Whole => (ErrorCode::L_TIMED_OUT, "flight"),
        };
        let ms = now.since(request.sent_at).as_millis();
        (
            code,
            format!("Timed out {}Request in {stage} (after {ms}ms)", request.api),
        )
    }

    /// Closes the connection when it was unused for `connections.max.idle.ms`.
    fn close_if_unused(&mut self, table: &mut TableState, now: Instant) {
        let unused = now.since(self.last_used);
        let is_due = table.config.idle_after.is_some_and(|limit| unused >= limit);
        if is_due && self.requests.is_idle() && matches!(self.state, State::Up { .. }) {
            self.log(table).idle_limit(unused);
            self.reconnect.stop_keeping();
            self.take_down(table, None, now);
        }
    }

    // ---------------------------------------------------------------- renewed certificates

    /// Schedules the replacement of the connection. One that is not up yet completes its setup first.
    pub(super) fn replace(&mut self, replacement: Replacement) {
        if self.state.conns().is_empty() {
            return;
        }
        let before = self.replacement.filter(|_| self.replace_at().is_some());
        self.replacement = Some(replacement.after(before));
    }

    /// Returns the time from which the connection accepts no further request; `None` where its certificates are current.
    fn replace_at(&self) -> Option<Instant> {
        let replacement = self.replacement.filter(|r| self.attempted_at < r.renewed_at)?;
        Some(replacement.at)
    }

    /// Returns true when the connection accepts no further request because it is replaced. A coordinator connection always
    /// accepts requests, since commits must not wait for a JoinGroup that the coordinator holds back; it is idle often enough
    /// to be replaced.
    fn is_being_replaced(&self, now: Instant) -> bool {
        self.key.purpose == Purpose::General && self.replace_at().is_some_and(|at| at <= now)
    }

    /// Returns the time at which [`replace_if_due`](Self::replace_if_due) has something to do. Requests in flight are
    /// waited for; their responses and deadlines lead to a further look.
    fn replacement_due(&self) -> Option<Instant> {
        self.replace_at().filter(|_| self.requests.is_idle())
    }

    fn replace_if_due(&mut self, table: &mut TableState, now: Instant) {
        let due = self.replacement_due().is_some_and(|at| at <= now);
        if due && matches!(self.state, State::Up { .. }) {
            self.log(table).replaced(now.since(self.up_since));
            self.take_down(table, None, now);
        }
    }

    // ---------------------------------------------------------------- the end of a connection

    /// Returns the time in the current state as messages have it: `(after 12ms in state UP)`.
    fn in_state(&self, now: Instant) -> String {
        let (ms, state) = (now.since(self.since).as_millis(), self.state.name());
        format!("(after {ms}ms in state {state})")
    }

    /// Handles [`NetEvent::Closed`](super::NetEvent::Closed).
    pub(super) fn on_closed(&mut self, table: &mut TableState, conn: ConnId, reason: &CloseReason, now: Instant) {
        match self.state {
            State::Connecting { .. } => return self.on_attempt_closed(table, conn, reason, now),
            State::Securing { .. } => return self.on_closed_securing(table, conn, reason, now),
            _ => {}
        }
        let is_error = self.state.conn().is_some() && *reason != CloseReason::PeerClosed;
        self.stats.receive_errors += u64::from(is_error);
        let error = self.close_error(table, reason, now);
        self.take_down(table, error, now);
    }

    /// Returns the error of a connection that the network has closed; `None` where that is no failure.
    fn close_error(&mut self, table: &TableState, reason: &CloseReason, now: Instant) -> Option<Error> {
        let (peer, in_state) = (self.peer(), self.in_state(now));
        let transport = |text| Some(Error::new(ErrorCode::L_TRANSPORT, text));
        match (&self.state, reason) {
            (State::Negotiating { .. }, CloseReason::PeerClosed | CloseReason::Io(_)) => {
                // Brokers before 0.10.0 close the connection on a request that they do not support (KIP-35).
                let assumed = self.assume_old(&table.config, now);
                transport(format!(
                    "{peer}: Disconnected while requesting ApiVersion {in_state}: the broker is older than 0.10, or this is \
                     not Kafka{assumed}"
                ))
            }
            // A broker before 1.0 reports a failure by closing the connection.
            (
                State::Authenticating { authentication, .. } | State::Reauthenticating { authentication, .. },
                CloseReason::PeerClosed | CloseReason::Io(_),
            ) if authentication.expects_raw_token() || authentication.refusal().is_some() => {
                let name = authentication.mechanism_name();
                let cause = authentication.refusal().unwrap_or("the broker closed the connection");
                let text = format!("{peer}: SASL {name} authentication failed: {cause} {in_state}");
                Some(Error::new(ErrorCode::L_AUTHENTICATION, text))
            }
            (_, CloseReason::NotKafka(what)) => {
                Some(Error::new(ErrorCode::L_BAD_MSG, format!("{peer}: {what} {in_state}")))
            }
            // Load balancers forget unused connections, and reset them at the next packet.
            (State::Up { .. }, CloseReason::Io(_))
                if self.requests.is_idle() && now.since(self.last_used) >= table.config.dropped_after =>
            {
                self.log_idle_disconnect(table, now);
                None
            }
            // A broker may close an idle connection: that is no failure.
            (_, CloseReason::PeerClosed) => match self.requests.first() {
                Some(first) => {
                    let (api, n) = (first.api, self.requests.len());
                    // Kafka closes the connection of a client that does not authenticate, at its first request.
                    let hint = match self.answered || table.config.security.sasl || !self.state.is_up() {
                        true => "",
                        false => ": the listener may require SASL (security.protocol)",
                    };
                    transport(format!(
                        "{peer}: Disconnected {in_state}: the broker closed the connection with {n} requests in flight, \
                         first {api}{hint}"
                    ))
                }
                None => {
                    self.log_idle_disconnect(table, now);
                    None
                }
            },
            (_, CloseReason::CutShort { got, of }) => {
                let of = of.map_or("an unknown number of".into(), |n| n.to_string());
                transport(format!(
                    "{peer}: Disconnected {in_state}: the peer closed the connection in the middle of a response, after {got} \
                     of {of} bytes: it failed, or it is not a Kafka broker"
                ))
            }
            (_, CloseReason::Io(io)) => transport(format!("{peer}: {io} {in_state}")),
            (_, CloseReason::Tls(failure)) => {
                let (code, text) = tls_error(failure, "");
                Some(Error::new(code, format!("{peer}: {text} {in_state}")))
            }
        }
    }

    fn log_idle_disconnect(&self, table: &TableState, now: Instant) {
        let after = now.since(self.since);
        self.log(table).idle_disconnect(self.state.name(), after);
    }

    /// Makes the next connections assume `broker.version.fallback` for `api.version.fallback.ms`, because the broker did
    /// not answer ApiVersions. Returns the text about it for messages.
    fn assume_old(&mut self, config: &ConnectionConfig, now: Instant) -> String {
        if config.fallback_for.is_zero() {
            return String::new();
        }
        self.assume_old_until = Some(now + config.fallback_for);
        let (release, s) = (&config.fallback_release, config.fallback_for.as_secs_f64());
        format!("; assuming broker version {release} for {s} s")
    }

    /// Ends the connection or the attempt. Requests in flight fail with `error`, and the next attempt is delayed; without
    /// one, the client closes the connection, and the next attempt may follow at once.
    pub(super) fn take_down(&mut self, table: &mut TableState, error: Option<Error>, now: Instant) {
        let peer = self.peer();
        let unwritten = self.requests.unwritten() > 0;
        for conn in self.state.conns() {
            table.close(conn, unwritten);
        }
        if let State::Resolving { lookup, .. } = self.state {
            table.take_lookup(lookup);
        }
        let up_for = self.state.is_up().then(|| now.since(self.up_since));
        let loss = match up_for {
            Some(_) => DisconnectKind::Connection {
                in_flight: self.requests.len(),
            },
            None => DisconnectKind::Attempt,
        };
        if self.is_open() {
            self.stats.disconnects += 1;
            self.stats.unwritten += self.requests.unwritten();
        }
        let requests = self.requests.drain();
        for request in &requests {
            let after = now.since(request.sent_at);
            self.log(table).request_failed(request, "the connection is gone", after);
        }
        self.throttled_until = Instant::ORIGIN;
        self.setup_deadline = None;
        self.reauthenticate_at = None;
        self.session_ends_at = None;
        self.replacement = None;
        self.tls_session = None;
        self.refused = error.as_ref().is_some_and(|e| e.code == ErrorCode::L_AUTHENTICATION);
        let ended = Ended {
            up_for,
            failed: error.is_some(),
        };
        match self.reconnect.on_down(ended, &table.config, &mut table.rng, now) {
            None => self.enter(table, State::Idle, now),
            Some(until) => {
                self.enter(table, State::Backoff { until }, now);
                // A manager that still needs the connection requests it again when it handles the failure.
                self.wanted = false;
            }
        }
        for request in requests.iter().filter(|r| r.tag.owner != Owner::BrokerConnection) {
            let closed = || {
                Error::new(
                    ErrorCode::L_TRANSPORT,
                    format!("{peer}: connection closed by the client"),
                )
            };
            let failure = Failure {
                kind: FailureKind::Disconnected,
                written: self.requests.progress(request) != Progress::Queued,
                error: error.clone().unwrap_or_else(closed),
            };
            self.report_outcome(table, request.tag, Outcome::Failed(failure));
        }
        let key = self.key;
        table.report(ConnectionEvent::Down { key, error, loss });
    }
}
