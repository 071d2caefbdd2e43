//! The way from idle to up: look-up, concurrent attempts at the addresses, TLS, ApiVersions, SASL.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::api::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::api::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::{ApiKey, ErrorCode as BrokerError, Frame, Message, Request, decode_response};

use super::{BrokerConnection, State};
use crate::connection::addresses::address_text;
use crate::connection::authentication::{Authentication, Output};
use crate::connection::events::{ConnectionEvent, Reply};
use crate::connection::key::{Owner, Tag};
use crate::connection::net::{CloseReason, ConnId, LookupId, NetAction, TlsPeer, TlsSession};
use crate::connection::race::{HEAD_START, Race, Runner};
use crate::connection::requests::RequestsInFlight;
use crate::connection::table_state::TableState;
use crate::connection::tls_error::{HANDSHAKE_FAILED, tls_error};
use crate::connection::versions::BrokerVersions;
use crate::error::{Error, ErrorCode};
use crate::sys::Instant;

/// The feature whose level is the version of transactions that a cluster uses.
const TRANSACTION_VERSION: &str = "transaction.version";
/// The ApiVersions version that every broker since 0.10 supports.
const API_VERSIONS_FIRST: i16 = 0;
/// The part of a session's lifetime after which the client authenticates again, with its jitter: 85 % to 95 %, as the Java
/// client does (KIP-368).
const REAUTHENTICATE_AFTER: (f64, f64) = (0.85, 0.10 / 0.85);
/// Minimum time between two authentications on a connection: brokers refuse another one within a second (KIP-368).
const REAUTHENTICATE_MIN: Duration = Duration::from_millis(1_050);

impl BrokerConnection {
    // ---------------------------------------------------------------- addresses

    pub(super) fn start_attempt(&mut self, table: &mut TableState, now: Instant) {
        let random = table.rng.next_u64() as usize;
        let first_turn = (!self.reconnect.was_tried()).then_some(random);
        self.addresses.begin_attempt(first_turn);
        self.reconnect.on_attempt();
        self.address_failure = None;
        self.stats.on_attempt(table.config.measures);
        match self.addresses.is_fresh(now) {
            true => self.start_race(table, now),
            false => self.look_up(table, now),
        }
    }

    fn look_up(&mut self, table: &mut TableState, now: Instant) {
        let lookup = table.new_lookup(self.key);
        let (host, port) = (self.host().to_owned(), self.port());
        table.act(NetAction::Resolve { lookup, host, port });
        let deadline = now + table.config.setup_timeout;
        self.enter(table, State::Resolving { lookup, deadline }, now);
    }

    /// Handles the result of a look-up.
    pub(in crate::connection) fn on_resolved(
        &mut self,
        table: &mut TableState,
        lookup: LookupId,
        result: Result<Vec<SocketAddr>, String>,
        now: Instant,
    ) {
        if !matches!(self.state, State::Resolving { lookup: l, .. } if l == lookup) {
            return;
        }
        match result {
            Ok(addrs) if !addrs.is_empty() => {
                self.addresses.set_resolved(addrs, now + table.config.address_ttl);
                self.start_race(table, now);
            }
            other => {
                let reason = other.err().unwrap_or_else(|| "no address".into());
                self.on_resolve_failed(table, &reason, now);
            }
        }
    }

    pub(super) fn on_resolve_timeout(&mut self, table: &mut TableState, now: Instant) {
        let ms = now.since(self.since).as_millis();
        self.on_resolve_failed(table, &format!("timed out after {ms}ms"), now);
    }

    fn on_resolve_failed(&mut self, table: &mut TableState, reason: &str, now: Instant) {
        let text = format!("Failed to resolve '{}:{}': {reason}", self.host(), self.port());
        self.take_down(table, Some(Error::new(ErrorCode::L_RESOLVE, text)), now);
    }

    /// Tries the addresses that the current attempt has not tried.
    fn start_race(&mut self, table: &mut TableState, now: Instant) {
        let race = Race::new(self.addresses.untried());
        self.enter(table, State::Connecting { race }, now);
        self.try_next_address(table, now);
    }

    /// Tries the next address, beside those in progress. Ends the attempt when no address is left and no connection is
    /// being opened.
    fn try_next_address(&mut self, table: &mut TableState, now: Instant) {
        let head_start = (!table.config.one_by_one).then_some(HEAD_START);
        let State::Connecting { race } = &mut self.state else {
            return;
        };
        let Some(addr) = race.next_addr() else {
            if race.is_empty() {
                // The addresses of the name may have changed: the next attempt looks it up again.
                self.addresses.forget();
                let unnamed = || Error::new(ErrorCode::L_TRANSPORT, "");
                let error = self.address_failure.take().unwrap_or_else(unnamed);
                self.take_down(table, Some(error), now);
            }
            return;
        };
        let conn = table.new_conn(self.key);
        let runner = Runner {
            conn,
            addr,
            since: now,
            deadline: now + table.config.setup_timeout,
        };
        race.begin(runner, head_start);
        self.addresses.on_try(addr);
        self.log(table).connecting(addr);
        let broker = self.name().broker();
        let tls = table.config.security.tls.then(|| TlsPeer {
            host: self.host().to_owned(),
            broker_id: self.key.node.0.max(-1),
        });
        table.refresh_certificates(now);
        table.act(NetAction::Connect {
            conn,
            addr,
            broker,
            tls,
        });
    }

    /// Gives up the attempts whose deadline has passed, and tries the next address when it is due.
    pub(super) fn on_race_deadline(&mut self, table: &mut TableState, now: Instant) {
        while let State::Connecting { race } = &mut self.state
            && let Some(runner) = race.take_expired(now)
        {
            table.close(runner.conn, false);
            let reason = CloseReason::Io("Connection setup timed out in state CONNECT".into());
            self.on_address_failed(table, connect_failure(&runner, &reason, now), now);
        }
        if matches!(&self.state, State::Connecting { race } if race.is_next_due(now)) {
            self.try_next_address(table, now);
        }
    }

    /// Handles the end of an attempt at one address.
    pub(super) fn on_attempt_closed(
        &mut self,
        table: &mut TableState,
        conn: ConnId,
        reason: &CloseReason,
        now: Instant,
    ) {
        let State::Connecting { race } = &mut self.state else {
            return;
        };
        let Some(runner) = race.end(conn) else { return };
        table.on_closed(conn);
        self.on_address_failed(table, connect_failure(&runner, reason, now), now);
    }

    /// Handles the failure of one address, whose attempt has left the race: others in progress continue, else the next
    /// address is tried at once.
    fn on_address_failed(&mut self, table: &mut TableState, error: Error, now: Instant) {
        self.log(table).address_failed(&error.message);
        self.address_failure = Some(error);
        let State::Connecting { race } = &self.state else {
            return;
        };
        // An application that connects by itself receives every address from another look-up.
        match table.config.one_by_one && !race.is_exhausted() {
            true => self.look_up(table, now),
            false => self.try_next_address(table, now),
        }
    }

    // ---------------------------------------------------------------- connected

    /// Handles the first TCP connection that opens: cancels the other attempts.
    pub(in crate::connection) fn on_connected(
        &mut self,
        table: &mut TableState,
        conn: ConnId,
        socket: i32,
        now: Instant,
    ) {
        let State::Connecting { race } = &mut self.state else {
            return;
        };
        let Some(winner) = race.end(conn) else { return };
        let (others, cancelled): (Vec<SocketAddr>, Vec<ConnId>) =
            race.runners().iter().map(|r| (r.addr, r.conn)).unzip();
        for other in cancelled {
            table.close(other, false);
        }
        self.addresses.on_connected(winner.addr, &others);
        self.attempted_at = winner.since;
        self.socket = socket;
        self.requests = RequestsInFlight::default();
        self.answered = false;
        let security = &table.config.security;
        // One limit for TCP, TLS, ApiVersions and SASL together.
        self.setup_deadline = (!security.is_plaintext()).then_some(winner.deadline);
        match security.tls {
            true => self.enter(table, State::Securing { conn }, now),
            false => self.negotiate(table, conn, now),
        }
    }

    /// Handles the end of the TLS handshake.
    pub(in crate::connection) fn on_secured(
        &mut self,
        table: &mut TableState,
        conn: ConnId,
        session: TlsSession,
        now: Instant,
    ) {
        if matches!(self.state, State::Securing { conn: c } if c == conn) {
            self.tls_session = Some(session);
            self.negotiate(table, conn, now);
        }
    }

    /// Handles a TLS handshake that failed: the broker's other addresses may lead to another listener.
    pub(super) fn on_closed_securing(
        &mut self,
        table: &mut TableState,
        conn: ConnId,
        reason: &CloseReason,
        now: Instant,
    ) {
        let (peer, in_state) = (self.peer(), self.in_state(now));
        let (code, text) = match reason {
            CloseReason::Tls(failure) => tls_error(failure, HANDSHAKE_FAILED),
            CloseReason::Io(text) | CloseReason::NotKafka(text) => (ErrorCode::L_TRANSPORT, text.clone()),
            CloseReason::PeerClosed | CloseReason::CutShort { .. } => {
                (ErrorCode::L_TRANSPORT, "the peer closed the connection".to_owned())
            }
        };
        table.on_closed(conn);
        self.on_secure_failed(table, Error::new(code, format!("{peer}: {text} {in_state}")), now);
    }

    fn on_secure_failed(&mut self, table: &mut TableState, error: Error, now: Instant) {
        self.setup_deadline = None;
        self.replacement = None;
        let race = Race::new(self.addresses.untried());
        self.enter(table, State::Connecting { race }, now);
        self.on_address_failed(table, error, now);
    }

    /// Handles `socket.connection.setup.timeout.ms` in a state after TCP.
    pub(super) fn on_setup_timeout(&mut self, table: &mut TableState, now: Instant) {
        let (peer, state, in_state) = (self.peer(), self.state.name(), self.in_state(now));
        let text = format!("{peer}: Connection setup timed out in state {state} {in_state}");
        let error = Error::new(ErrorCode::L_TRANSPORT, text);
        match self.state {
            State::Securing { conn } => {
                table.close(conn, false);
                self.on_secure_failed(table, error, now);
            }
            _ => self.take_down(table, Some(error), now),
        }
    }

    // ---------------------------------------------------------------- ApiVersions

    fn negotiate(&mut self, table: &mut TableState, conn: ConnId, now: Instant) {
        let assumes_old = self.assume_old_until.is_some_and(|until| until > now);
        if table.config.ask_versions && !assumes_old {
            self.enter(table, State::Negotiating { conn }, now);
            self.request_versions(table, <ApiVersionsRequest as Message>::MAX_VERSION, now);
        } else {
            let versions = BrokerVersions::of_release(&table.config.fallback_release);
            self.on_versions(table, conn, versions, now);
        }
    }

    fn request_versions(&mut self, table: &mut TableState, version: i16, now: Instant) {
        let request = ApiVersionsRequest {
            client_software_name: table.config.software_name.clone(),
            client_software_version: table.config.software_version.clone(),
            ..Default::default()
        };
        let timeout = table.config.versions_timeout;
        self.send_own(table, &request, version, timeout, now);
    }

    /// Sends a request of the connection itself.
    fn send_own<R: Request>(
        &mut self,
        table: &mut TableState,
        request: &R,
        version: i16,
        timeout: Duration,
        now: Instant,
    ) {
        let Some(conn) = self.state.conn() else { return };
        let tag = Tag {
            owner: Owner::BrokerConnection,
            id: 0,
        };
        if let Err(error) = self.send_on(conn, table, (tag, timeout, true), (request, version), now) {
            self.take_down(table, Some(error), now);
        }
    }

    /// Handles the response to a request of the connection itself.
    pub(super) fn on_own_reply(&mut self, table: &mut TableState, reply: &Reply, now: Instant) {
        match reply.api {
            ApiKey::SASL_HANDSHAKE => self.advance_authentication(table, |a| a.on_handshake(reply), now),
            ApiKey::SASL_AUTHENTICATE => self.advance_authentication(table, |a| a.on_authenticate(reply), now),
            _ => self.on_versions_reply(table, reply, now),
        }
    }

    fn on_versions_reply(&mut self, table: &mut TableState, reply: &Reply, now: Instant) {
        // A broker answers an unsupported version in version 0.
        let decoded = match reply.decode::<ApiVersionsRequest>() {
            Ok(r) if r.error_code != BrokerError::UNSUPPORTED_VERSION.0 => Ok(r),
            _ => decode_response::<ApiVersionsRequest>(reply.body.clone(), API_VERSIONS_FIRST).map(|(_, r)| r),
        };
        let response: ApiVersionsResponse = match decoded {
            Ok(r) => r,
            Err(e) => {
                let text = format!("ApiVersions response cannot be read: {e}");
                return self.take_down(table, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
            }
        };
        if response.error_code == BrokerError::UNSUPPORTED_VERSION.0 && reply.version > API_VERSIONS_FIRST {
            let best = response
                .api_keys
                .iter()
                .find(|k| k.api_key == ApiKey::API_VERSIONS.0)
                .map_or(API_VERSIONS_FIRST, |k| k.max_version);
            let version = best.clamp(API_VERSIONS_FIRST, reply.version - 1);
            return self.request_versions(table, version, now);
        }
        if response.error_code != 0 {
            let code = BrokerError(response.error_code);
            let assumed = self.assume_old(&table.config, now);
            let name = code.name().unwrap_or("unknown error");
            let text = format!("ApiVersions request was refused: {name}{assumed}");
            return self.take_down(table, Some(Error::new(code.into(), text)), now);
        }
        let rows = response.api_keys.iter();
        let rows = rows.map(|k| (k.api_key, k.min_version, k.max_version));
        let mut features = response.finalized_features.iter();
        let level = features
            .find(|f| f.name == TRANSACTION_VERSION)
            .map_or(0, |f| f.max_version_level);
        let versions = BrokerVersions::new(rows).with_transaction_version(level);
        if let Some(conn) = self.state.conn() {
            self.on_versions(table, conn, versions, now);
        }
    }

    /// Handles the broker's versions: authenticates, or is up.
    fn on_versions(&mut self, table: &mut TableState, conn: ConnId, versions: BrokerVersions, now: Instant) {
        let versions = Arc::new(versions);
        self.log(table).versions(&versions);
        if !table.config.security.sasl {
            return self.come_up(table, (conn, versions), None, now);
        }
        let Some(credentials) = &table.credentials else {
            // They have ended since the attempt began. The connection is opened again when there are others.
            return self.take_down(table, None, now);
        };
        match Authentication::begin(credentials, self.addresses.host(), &versions, &mut table.rng) {
            Ok((authentication, output)) => {
                let state = State::Authenticating {
                    conn,
                    versions,
                    authentication,
                };
                self.enter(table, state, now);
                self.on_authentication(table, Ok(output), now);
            }
            Err(error) => self.on_authentication(table, Err(error), now),
        }
    }

    // ---------------------------------------------------------------- SASL

    /// Begins to authenticate again on a connection that is up (KIP-368).
    pub(super) fn reauthenticate(&mut self, table: &mut TableState, now: Instant) {
        let (State::Up { conn, versions }, Some(credentials)) = (&self.state, &table.credentials) else {
            return;
        };
        let (conn, versions) = (*conn, versions.clone());
        self.reauthenticate_at = None;
        self.setup_deadline = Some(now + table.config.setup_timeout);
        match Authentication::begin(credentials, self.addresses.host(), &versions, &mut table.rng) {
            Ok((authentication, output)) => {
                let state = State::Reauthenticating {
                    conn,
                    versions,
                    authentication,
                };
                self.enter(table, state, now);
                self.on_authentication(table, Ok(output), now);
            }
            Err(error) => self.on_authentication(table, Err(error), now),
        }
    }

    /// Passes the broker's answer to the authentication in progress.
    pub(in crate::connection) fn advance_authentication(
        &mut self,
        table: &mut TableState,
        step: impl FnOnce(&mut Authentication) -> Result<Output, Error>,
        now: Instant,
    ) {
        let from = self.state.name();
        let Some(output) = self.state.authentication().map(step) else {
            return;
        };
        if self.state.name() != from {
            self.on_state_changed(table, from, None, now);
        }
        self.on_authentication(table, output, now);
    }

    /// Carries out what the authentication requires next.
    fn on_authentication(&mut self, table: &mut TableState, output: Result<Output, Error>, now: Instant) {
        let rest = self
            .setup_deadline
            .map_or(table.config.setup_timeout, |at| at.since(now));
        match output {
            Ok(Output::Handshake { mechanism, version }) => {
                let request = SaslHandshakeRequest {
                    mechanism: mechanism.to_owned(),
                    ..Default::default()
                };
                self.send_own(table, &request, version, rest, now);
            }
            Ok(Output::Authenticate { token, version }) => {
                let request = SaslAuthenticateRequest {
                    auth_bytes: Bytes::from(token),
                    ..Default::default()
                };
                self.send_own(table, &request, version, rest, now);
            }
            Ok(Output::Work(step)) => {
                if let Some(conn) = self.state.conn() {
                    table.start_step(conn, step);
                }
            }
            Ok(Output::RawToken(token)) => {
                self.send_raw_token(table, token, now);
            }
            Ok(Output::LastRawToken(token)) => {
                if self.send_raw_token(table, token, now) {
                    self.on_authenticated(table, None, now);
                }
            }
            Ok(Output::Done { session_lifetime }) => self.on_authenticated(table, session_lifetime, now),
            Err(error) => {
                let text = format!("{}: {} {}", self.peer(), error.message, self.in_state(now));
                self.take_down(table, Some(Error::new(error.code, text)), now);
            }
        }
    }

    /// Sends a token without framing. Returns false if that failed and the connection has ended.
    fn send_raw_token(&mut self, table: &mut TableState, token: Vec<u8>, now: Instant) -> bool {
        let (Some(conn), Ok(len)) = (self.state.conn(), i32::try_from(token.len())) else {
            let error = Error::new(ErrorCode::L_AUTHENTICATION, "the SASL token is too long");
            self.take_down(table, Some(error), now);
            return false;
        };
        let bytes = [&len.to_be_bytes()[..], &token].concat();
        self.requests.push_frame();
        let frame = Frame {
            parts: vec![Bytes::from(bytes)],
        };
        table.act(NetAction::Send { conn, frame });
        true
    }

    fn on_authenticated(&mut self, table: &mut TableState, session_lifetime: Option<Duration>, now: Instant) {
        self.session_ends_at = session_lifetime.map(|lifetime| now + lifetime);
        self.reauthenticate_at = session_lifetime.map(|lifetime| {
            let renewal = lifetime.mul_f64(REAUTHENTICATE_AFTER.0);
            let renewal = table
                .rng
                .jitter(renewal, 0.0, REAUTHENTICATE_AFTER.1)
                .max(REAUTHENTICATE_MIN);
            self.log(table).session_lifetime(lifetime, renewal);
            now + renewal
        });
        match &self.state {
            State::Authenticating {
                conn,
                versions,
                authentication,
            } => {
                let (up, mechanism) = ((*conn, versions.clone()), authentication.mechanism_name());
                self.come_up(table, up, Some(mechanism), now);
            }
            State::Reauthenticating { conn, versions, .. } => {
                let (conn, versions) = (*conn, versions.clone());
                self.setup_deadline = None;
                self.enter(table, State::Up { conn, versions }, now);
                self.report_room(table, now);
            }
            _ => {}
        }
    }

    fn come_up(
        &mut self,
        table: &mut TableState,
        (conn, versions): (ConnId, Arc<BrokerVersions>),
        mechanism: Option<&str>,
        now: Instant,
    ) {
        self.log(table).security(self.tls_session.as_ref(), mechanism);
        self.enter(table, State::Up { conn, versions }, now);
        self.reconnect.on_up();
        table.totals.connections += 1;
        self.setup_deadline = None;
        self.wanted = false;
        self.send_blocked = false;
        self.up_since = now;
        self.last_used = now;
        table.report(ConnectionEvent::Up { key: self.key });
    }
}

/// Returns the error of an attempt at one address.
fn connect_failure(runner: &Runner, reason: &CloseReason, now: Instant) -> Error {
    let (peer, ms) = (address_text(runner.addr), now.since(runner.since).as_millis());
    let (code, why) = match reason {
        CloseReason::Io(text) | CloseReason::NotKafka(text) => (ErrorCode::L_TRANSPORT, text.clone()),
        CloseReason::PeerClosed | CloseReason::CutShort { .. } => {
            (ErrorCode::L_TRANSPORT, "the peer closed the connection".to_owned())
        }
        CloseReason::Tls(failure) => tls_error(failure, HANDSHAKE_FAILED),
    };
    let text = format!("Connect to {peer} failed: {why} (after {ms}ms in state CONNECT)");
    Error::new(code, text)
}
