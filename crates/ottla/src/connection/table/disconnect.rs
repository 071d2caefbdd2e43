//! Timeouts, closed connections, and what follows for requests in flight.

use super::*;

/// A request whose time is over.
struct TimedOut {
    tag: Tag,
    frame: u64,
    /// Whether any byte of it had been taken by the kernel.
    written: bool,
    text: String,
}

impl TimedOut {
    fn code(&self) -> ErrorCode {
        match self.written {
            true => ErrorCode::L_TIMED_OUT,
            false => ErrorCode::L_TIMED_OUT_QUEUE,
        }
    }
}

impl ConnectionTable {
    pub(super) fn on_closed(&mut self, conn: ConnId, reason: CloseReason, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        if let State::Connecting { race } = &mut connection.state {
            let Some(runner) = race.end(conn) else { return };
            self.by_conn.remove(&conn);
            return self.on_address_failed(key, connect_failure(&runner, &reason, now), now);
        }
        let peer = connection.peer();
        let ms = now.since(connection.since).as_millis();
        let state = connection.state.name();
        let established = connection.state.is_established();
        connection.connection_stats.receive_errors += u64::from(established && reason != CloseReason::PeerClosed);
        match (&connection.state, &reason) {
            (State::Negotiating { .. }, CloseReason::PeerClosed | CloseReason::Io(_)) => {
                // Brokers before 0.10.0 close the connection on a request that they do not know (KIP-35).
                let assumed = assume_old(&self.config, connection, now);
                let text = format!(
                    "{peer}: Disconnected while requesting ApiVersion (after {ms}ms in state {state}): the broker is \
                     older than 0.10, or this is not Kafka{assumed}"
                );
                self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
            }
            (_, CloseReason::NotKafka(what)) => {
                let text = format!("{peer}: {what} (after {ms}ms in state {state})");
                self.take_down(key, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
            }
            // Balancers between the client and the broker forget connections, and reset them when they hear of them.
            (State::Up { .. }, CloseReason::Io(_))
                if connection.is_idle() && now.since(connection.last_used) >= self.config.dropped_after =>
            {
                Self::log_idle_disconnect(&self.log, key, connection, now);
                self.take_down(key, None, now);
            }
            (_, CloseReason::PeerClosed) => {
                if connection.in_flight.is_empty() {
                    Self::log_idle_disconnect(&self.log, key, connection, now);
                }
                // Closing an idle connection is the broker's good right, and no failure.
                let error = connection.in_flight.front().map(|first| {
                    let (api, n) = (first.api, connection.in_flight.len());
                    let text = format!(
                        "{peer}: Disconnected (after {ms}ms in state {state}): the broker closed the connection with {n} \
                         requests in flight, first {api}"
                    );
                    Error::new(ErrorCode::L_TRANSPORT, text)
                });
                self.take_down(key, error, now);
            }
            (_, CloseReason::CutShort { got, of }) => {
                let of = of.map_or("an unknown number of".into(), |n| n.to_string());
                let text = format!(
                    "{peer}: Disconnected (after {ms}ms in state {state}): the peer closed the connection in the middle of \
                     a response, after {got} of {of} bytes: it failed, or it is not a Kafka broker"
                );
                self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
            }
            (_, CloseReason::Io(io)) => {
                let text = format!("{peer}: {io} (after {ms}ms in state {state})");
                self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
            }
        }
    }

    pub(super) fn on_deadline(&mut self, key: BrokerKey, now: Instant) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        match connection.state {
            State::Idle => {
                if connection.wanted || connection.renew_at.is_some_and(|at| at <= now) {
                    self.start_attempt(key, now);
                }
            }
            State::Backoff { until } if until <= now => {
                Self::enter(&self.log, key, connection, State::Idle, now);
                if connection.wanted || connection.renew_at.is_some_and(|at| at <= now) {
                    self.start_attempt(key, now);
                }
            }
            State::Resolving { deadline, .. } if deadline <= now => {
                let ms = now.since(connection.since).as_millis();
                let text = format!(
                    "Failed to resolve '{}:{}': timed out after {ms}ms",
                    connection.host, connection.port
                );
                self.take_down(key, Some(Error::new(ErrorCode::L_RESOLVE, text)), now);
            }
            State::Connecting { .. } => self.on_race_deadline(key, now),
            State::Negotiating { .. } | State::Up { .. } => self.on_request_deadline(key, now),
            State::Backoff { .. } | State::Resolving { .. } => {}
        }
    }

    /// Gives up the attempts whose time is over, and tries the next address when it is due.
    fn on_race_deadline(&mut self, key: BrokerKey, now: Instant) {
        while let Some(connection) = self.connections.get_mut(&key)
            && let State::Connecting { race } = &mut connection.state
            && let Some(runner) = race.take_expired(now)
        {
            self.by_conn.remove(&runner.conn);
            Self::close_connection(&mut self.actions, runner.conn);
            let reason = CloseReason::Io("Connection setup timed out in state CONNECT".into());
            self.on_address_failed(key, connect_failure(&runner, &reason, now), now);
        }
        let due = self
            .connections
            .get(&key)
            .is_some_and(|connection| match &connection.state {
                State::Connecting { race } => race.is_next_due(now),
                _ => false,
            });
        if due {
            self.try_next_address(key, now);
        }
    }

    pub(super) fn on_request_deadline(&mut self, key: BrokerKey, now: Instant) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let timed_out = Self::abandon_late(&self.log, key, connection, now);
        let Some(first) = timed_out.first() else {
            return self.close_if_idle(key, now);
        };
        let (peer, ms, state) = (
            connection.peer(),
            now.since(connection.since).as_millis(),
            connection.state.name(),
        );
        let n = timed_out.len();
        connection.connection_stats.timeouts += n as u64;
        connection.timeouts = connection.timeouts.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
        let negotiating = matches!(connection.state, State::Negotiating { .. });
        let too_many = self.config.max_timeouts > 0 && connection.timeouts >= self.config.max_timeouts;
        let ends = negotiating || too_many;
        Self::log_timed_out(&self.log, key, connection, timed_out.iter().map(|t| t.frame), !ends);
        let mut text = format!(
            "{peer}: {n} request(s) timed out: disconnect (after {ms}ms in state {state}): {}",
            first.text
        );
        if negotiating {
            // Brokers of 0.9 do not answer a request that they do not know (KAFKA-3547).
            text.push_str(&assume_old(&self.config, connection, now));
        }
        let last = Error::new(first.code(), text);
        for late in timed_out {
            if late.tag.owner != Owner::BrokerConnection {
                let error = Error::new(late.code(), format!("{peer}: {}", late.text));
                let kind = FailureKind::TimedOut;
                // What waits to be written on a connection that stays will be.
                let written = late.written || !ends;
                self.fail_request(key, late.tag, Failure { kind, written, error });
            }
        }
        if ends {
            self.take_down(key, Some(last), now);
        } else {
            // Requests that timed out hold nobody up any more.
            self.tell_room(key);
        }
    }

    /// Marks the requests whose time is over as abandoned; returns them.
    fn abandon_late(log: &Logger, key: BrokerKey, connection: &mut BrokerConnection, now: Instant) -> Vec<TimedOut> {
        let is_due = |r: &InFlight| !r.abandoned && r.deadline <= now;
        for r in connection.in_flight.iter().filter(|r| is_due(r)) {
            Self::log_failed(log, key, connection, r, "timed out", now);
        }
        let begun = connection.frames_begun;
        let abandon = |r: &mut InFlight| {
            r.abandoned = true;
            let written = r.frame <= begun;
            let (place, ms) = (
                if written { "flight" } else { "queue" },
                now.since(r.sent_at).as_millis(),
            );
            TimedOut {
                tag: r.tag,
                frame: r.frame,
                written,
                text: format!("Timed out {}Request in {place} (after {ms}ms)", r.api),
            }
        };
        connection
            .in_flight
            .iter_mut()
            .filter(|r| is_due(r))
            .map(abandon)
            .collect()
    }

    fn close_if_idle(&mut self, key: BrokerKey, now: Instant) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let limit = self.config.idle_after;
        if limit.is_some_and(|limit| connection.is_idle() && now.since(connection.last_used) >= limit) {
            Self::log_idle(&self.log, key, connection, now);
            connection.kept_until = Instant::ORIGIN;
            self.take_down(key, None, now);
        }
    }

    pub(super) fn fail_request(&mut self, key: BrokerKey, tag: Tag, failure: Failure) {
        self.events.push_back(ConnectionEvent::Outcome {
            key,
            tag,
            outcome: Outcome::Failed(failure),
        });
    }

    /// Ends the present connection or attempt: requests fail, the next attempt is put off.
    pub(super) fn take_down(&mut self, key: BrokerKey, error: Option<Error>, now: Instant) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        for conn in connection.state.conns() {
            self.by_conn.remove(&conn);
            Self::close_connection(&mut self.actions, conn);
        }
        if let State::Resolving { lookup, .. } = connection.state {
            self.by_lookup.remove(&lookup);
        }
        let loss = match connection.state {
            State::Up { .. } => DisconnectKind::Connection {
                in_flight: connection.in_flight.len(),
            },
            _ => DisconnectKind::Attempt,
        };
        connection.unreachable |= error.is_some() && loss == DisconnectKind::Attempt;
        if connection.state.is_established() {
            connection.connection_stats.disconnects += 1;
            connection.connection_stats.unwritten += connection.frames_sent - connection.frames_done;
        }
        let requests: Vec<InFlight> = connection.in_flight.drain(..).collect();
        for request in requests.iter().filter(|r| !r.abandoned) {
            Self::log_failed(&self.log, key, connection, request, "the connection is gone", now);
        }
        let begun = connection.frames_begun;
        let peer = connection.peer();
        connection.throttled_until = Instant::ORIGIN;
        let is_kept = connection.kept_until > now;
        if matches!(connection.state, State::Up { .. }) {
            let lasted = now.since(connection.since) >= self.config.reconnect_backoff_max;
            connection.short_lives = if lasted {
                0
            } else {
                connection.short_lives.saturating_add(1)
            };
        }
        connection.renew_at = is_kept.then(|| now + backoff(&self.config, &mut self.rng, connection.short_lives));
        match &error {
            // Closed on purpose: nothing speaks against connecting again when somebody wants to.
            None => Self::enter(&self.log, key, connection, State::Idle, now),
            Some(_) => {
                let until = now + backoff(&self.config, &mut self.rng, connection.failures);
                connection.failures = connection.failures.saturating_add(1);
                connection.renew_at = connection.renew_at.map(|at| at.max(until));
                Self::enter(&self.log, key, connection, State::Backoff { until }, now);
                // Whoever still needs the connection asks again on hearing of the failure.
                connection.wanted = false;
            }
        }
        for r in requests
            .into_iter()
            .filter(|r| !r.abandoned && r.tag.owner != Owner::BrokerConnection)
        {
            let error = error.clone().unwrap_or_else(|| {
                Error::new(
                    ErrorCode::L_TRANSPORT,
                    format!("{peer}: connection closed by the client"),
                )
            });
            let kind = FailureKind::Disconnected;
            let written = r.frame <= begun;
            self.fail_request(key, r.tag, Failure { kind, written, error });
        }
        self.events.push_back(ConnectionEvent::Down { key, error, loss });
        self.rearm(key);
    }
}

/// Has the next connections assume `broker.version.fallback` for `api.version.fallback.ms`, since the broker did not answer
/// ApiVersions; returns what messages say of it.
pub(super) fn assume_old(config: &ConnectionConfig, connection: &mut BrokerConnection, now: Instant) -> String {
    if config.fallback_for.is_zero() {
        return String::new();
    }
    connection.assume_old_until = Some(now + config.fallback_for);
    let (release, s) = (&config.fallback_release, config.fallback_for.as_secs_f64());
    format!("; assuming broker version {release} for {s} s")
}

/// Returns the pause before the next attempt after `failures` failures in a row before the last: `reconnect.backoff.ms`,
/// doubled for each of them up to `reconnect.backoff.max.ms`, with jitter.
fn backoff(config: &ConnectionConfig, rng: &mut Rng, failures: u32) -> Duration {
    let base = config.reconnect_backoff;
    let max = config.reconnect_backoff_max.max(base);
    let doubled = base.saturating_mul(1 << failures.min(20));
    rng.jitter(doubled.min(max), 0.25, 0.5).min(max)
}

/// The text of an attempt at one address that failed.
fn connect_failure(runner: &Runner, reason: &CloseReason, now: Instant) -> String {
    let (peer, ms) = (address_text(runner.addr), now.since(runner.since).as_millis());
    let why = match reason {
        CloseReason::Io(text) | CloseReason::NotKafka(text) => text,
        CloseReason::PeerClosed | CloseReason::CutShort { .. } => "the peer closed the connection",
    };
    format!("Connect to {peer} failed: {why} (after {ms}ms in state CONNECT)")
}
