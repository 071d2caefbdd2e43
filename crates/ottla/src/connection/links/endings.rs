//! Timeouts, closed connections, and what follows for requests in flight.

use super::*;

impl Links {
    pub(super) fn on_closed(&mut self, conn: ConnId, reason: CloseReason, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let Some(link) = self.links.get_mut(&key) else { return };
        let peer = link.peer();
        let ms = now.since(link.since).as_millis();
        let state = link.state.name();
        let established = link.state.is_established();
        link.traffic.receive_errors += u64::from(established && reason != CloseReason::PeerClosed);
        match (&link.state, &reason) {
            (State::Connecting { .. }, CloseReason::Io(text)) => {
                let text = format!("Connect to {peer} failed: {text} (after {ms}ms in state {state})");
                self.by_conn.remove(&conn);
                self.next_address_or_down(key, text, now);
            }
            (State::Negotiating { .. }, CloseReason::PeerClosed | CloseReason::Io(_)) => {
                // Brokers before 0.10.0 close the connection on a request that they do not know (KIP-35).
                link.assume_old_until = Some(now + self.config.fallback_for);
                let mut text = format!(
                    "{peer}: Disconnected during the ApiVersions request (after {ms}ms in state {state}): the broker \
                     is older than 0.10, or this is not Kafka"
                );
                if !self.config.fallback_for.is_zero() {
                    let (release, s) = (&self.config.fallback_release, self.config.fallback_for.as_secs());
                    text.push_str(&format!("; assuming broker version {release} for {s} s"));
                }
                self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
            }
            (_, CloseReason::NotKafka(what)) => {
                let text = format!("{peer}: {what} (after {ms}ms in state {state})");
                self.take_down(key, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
            }
            // Balancers between the client and the broker forget connections, and reset them when they hear of them.
            (State::Up { .. }, CloseReason::Io(_))
                if link.is_idle() && now.since(link.last_used) >= self.config.dropped_after =>
            {
                self.take_down(key, None, now);
            }
            (_, CloseReason::PeerClosed) => {
                // Closing an idle connection is the broker's good right, and no failure.
                let error = link.in_flight.front().map(|first| {
                    let (api, n) = (first.api, link.in_flight.len());
                    let text = format!(
                        "{peer}: Disconnected: the broker closed the connection with {n} requests in flight, first \
                         {api} (after {ms}ms in state {state})"
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

    pub(super) fn next_address_or_down(&mut self, key: LinkKey, text: String, now: Instant) {
        let left = self.links.get(&key).map_or(0, |l| l.addrs_left);
        if left > 0 {
            self.try_next_address(key, now);
        } else {
            self.take_down(key, Some(Error::new(ErrorCode::L_TRANSPORT, text)), now);
        }
    }

    pub(super) fn on_deadline(&mut self, key: LinkKey, now: Instant) {
        let Some(link) = self.links.get_mut(&key) else { return };
        match link.state {
            State::Idle => {
                if link.wanted {
                    self.start_attempt(key, now);
                }
            }
            State::Backoff { until } if until <= now => {
                Self::enter(&self.log, key, link, State::Idle, now);
                if link.wanted {
                    self.start_attempt(key, now);
                }
            }
            State::Resolving { deadline, .. } if deadline <= now => {
                let ms = now.since(link.since).as_millis();
                let text = format!(
                    "Failed to resolve '{}:{}': timed out after {ms}ms",
                    link.host, link.port
                );
                self.take_down(key, Some(Error::new(ErrorCode::L_RESOLVE, text)), now);
            }
            State::Connecting { conn, deadline } if deadline <= now => {
                let ms = now.since(link.since).as_millis();
                let text = format!(
                    "Connect to {} failed: timed out (after {ms}ms in state {})",
                    link.peer(),
                    link.state.name()
                );
                Self::close_connection(&mut self.actions, conn);
                self.by_conn.remove(&conn);
                self.next_address_or_down(key, text, now);
            }
            State::Negotiating { .. } | State::Up { .. } => self.on_request_deadline(key, now),
            State::Backoff { .. } | State::Resolving { .. } | State::Connecting { .. } => {}
        }
    }

    pub(super) fn on_request_deadline(&mut self, key: LinkKey, now: Instant) {
        let Some(link) = self.links.get_mut(&key) else { return };
        let peer = link.peer();
        let begun = link.frames_begun;
        let mut timed_out = Vec::new();
        let due = |r: &&InFlight| !r.abandoned && r.deadline <= now;
        for r in link.in_flight.iter().filter(due) {
            Self::log_failed(&self.log, key, link, r, "timed out", now);
        }
        for r in link.in_flight.iter_mut().filter(|r| !r.abandoned && r.deadline <= now) {
            r.abandoned = true;
            let ms = now.since(r.sent_at).as_millis();
            let text = format!("{peer}: {} request timed out after {ms}ms", r.api);
            let written = r.frame <= begun;
            let code = if written {
                ErrorCode::L_TIMED_OUT
            } else {
                ErrorCode::L_TIMED_OUT_QUEUE
            };
            timed_out.push((r.tag, written, Error::new(code, text)));
        }
        if timed_out.is_empty() {
            let idle = self
                .config
                .idle_after
                .is_some_and(|i| link.is_idle() && now.since(link.last_used) >= i);
            if idle {
                self.take_down(key, None, now);
            }
            return;
        }
        link.traffic.timeouts += timed_out.len() as u64;
        link.timeouts = link
            .timeouts
            .saturating_add(u32::try_from(timed_out.len()).unwrap_or(u32::MAX));
        let negotiating = matches!(link.state, State::Negotiating { .. });
        let too_many = self.config.max_timeouts > 0 && link.timeouts >= self.config.max_timeouts;
        let first = timed_out.first().map(|t| t.2.clone());
        let ends = negotiating || too_many;
        for (tag, written, error) in timed_out {
            if tag.owner != Owner::Link {
                let kind = FailureKind::TimedOut;
                // What waits to be written on a connection that stays will be.
                let written = written || !ends;
                self.fail_request(key, tag, Failure { kind, written, error });
            }
        }
        if ends {
            self.take_down(key, first, now);
        } else {
            // Requests that timed out hold nobody up any more.
            self.tell_room(key);
        }
    }

    pub(super) fn fail_request(&mut self, key: LinkKey, tag: Tag, failure: Failure) {
        self.events.push_back(LinkEvent::Outcome {
            key,
            tag,
            outcome: Outcome::Failed(failure),
        });
    }

    /// Ends the present connection or attempt: requests fail, the next attempt is put off.
    pub(super) fn take_down(&mut self, key: LinkKey, error: Option<Error>, now: Instant) {
        let Some(link) = self.links.get_mut(&key) else { return };
        if let Some(conn) = link.state.conn() {
            self.by_conn.remove(&conn);
            Self::close_connection(&mut self.actions, conn);
        }
        if let State::Resolving { lookup, .. } = link.state {
            self.by_lookup.remove(&lookup);
        }
        let loss = match link.state {
            State::Up { .. } => Loss::Connection {
                in_flight: link.in_flight.len(),
            },
            _ => Loss::Attempt,
        };
        link.unreachable |= error.is_some() && loss == Loss::Attempt;
        if link.state.is_established() {
            link.traffic.disconnects += 1;
            link.traffic.unwritten += link.frames_sent - link.frames_done;
        }
        let requests: Vec<InFlight> = link.in_flight.drain(..).collect();
        for request in requests.iter().filter(|r| !r.abandoned) {
            Self::log_failed(&self.log, key, link, request, "the connection is gone", now);
        }
        let begun = link.frames_begun;
        let peer = link.peer();
        link.throttled_until = Instant::ORIGIN;
        match &error {
            // Closed on purpose: nothing speaks against connecting again when somebody wants to.
            None => Self::enter(&self.log, key, link, State::Idle, now),
            Some(_) => {
                let base = self.config.reconnect_backoff;
                let max = self.config.reconnect_backoff_max.max(base);
                let doubled = base.saturating_mul(1 << link.failures.min(20));
                let delay = self.rng.jitter(doubled.min(max), 0.25, 0.5).min(max);
                link.failures = link.failures.saturating_add(1);
                let until = now + delay;
                Self::enter(&self.log, key, link, State::Backoff { until }, now);
                // Whoever still needs the link asks again on hearing of the failure.
                link.wanted = false;
            }
        }
        for r in requests
            .into_iter()
            .filter(|r| !r.abandoned && r.tag.owner != Owner::Link)
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
        self.events.push_back(LinkEvent::Down { key, error, loss });
        self.rearm(key);
    }
}
