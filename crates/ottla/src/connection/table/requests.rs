//! Requests out, responses in.

use super::*;

impl ConnectionTable {
    #[allow(clippy::too_many_arguments)] // one private function behind two public ones
    pub(super) fn send_frame<R: Request>(
        &mut self,
        key: BrokerKey,
        now: Instant,
        tag: Tag,
        request: &R,
        version: i16,
        timeout: Duration,
        expects_reply: bool,
    ) -> Result<(), Error> {
        let not_up = || Error::new(ErrorCode::L_TRANSPORT, "not connected");
        let connection = self.connections.get_mut(&key).ok_or_else(not_up)?;
        let conn = match connection.state {
            State::Up { conn, .. } | State::Negotiating { conn } => conn,
            _ => return Err(not_up()),
        };
        let correlation_id = connection.next_correlation_id;
        let frame = encode_request(correlation_id, Some(&self.config.client_id), request, version)
            .map_err(|e| Error::new(ErrorCode::L_INVALID_ARG, format!("request cannot be encoded: {e}")))?;
        connection.next_correlation_id = correlation_id.checked_add(1).unwrap_or(1);
        connection.frames_sent += 1;
        let in_flight = InFlight {
            correlation_id,
            tag,
            version,
            sent_at: now,
            written_at: now,
            deadline: now + timeout,
            frame: connection.frames_sent,
            expects_reply,
            abandoned: false,
            api: R::KEY,
            size: frame.len(),
        };
        Self::log_sent(&self.log, key, connection, &in_flight, frame.len());
        connection.in_flight.push_back(in_flight);
        connection.last_used = now;
        connection.connection_stats.on_request(R::KEY);
        self.actions.push_back(NetAction::Send { conn, frame });
        self.rearm(key);
        Ok(())
    }

    pub(super) fn on_written(&mut self, conn: ConnId, begun: u64, done: u64, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        connection.frames_begun = begun;
        let before = std::mem::replace(&mut connection.frames_done, done.min(connection.frames_sent));
        connection.connection_stats.wakeups += 1;
        self.tell_sent(key, before);
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let (mut i, mut ended) = (0, false);
        while let Some(r) = connection.in_flight.get_mut(i) {
            if r.frame > done {
                break;
            }
            if r.frame > before {
                r.written_at = now;
                connection
                    .connection_stats
                    .on_written(r.size, now.since(r.sent_at), now);
                self.totals.on_written(r.size);
            }
            if r.expects_reply {
                i += 1;
                continue;
            }
            let tag = r.tag;
            let reported = r.abandoned;
            connection.in_flight.remove(i);
            ended = true;
            if !reported {
                self.events.push_back(ConnectionEvent::Outcome {
                    key,
                    tag,
                    outcome: Outcome::Sent,
                });
            }
        }
        self.tell_room(key);
        // Nothing else moves the connection's deadline.
        if ended {
            self.rearm(key);
        }
    }

    /// Whoever was turned away need not own the request whose end has made room.
    pub(super) fn tell_room(&mut self, key: BrokerKey) {
        let max_in_flight = self.config.max_in_flight;
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        if connection.send_blocked && !connection.is_full(max_in_flight) {
            connection.send_blocked = false;
            self.events.push_back(ConnectionEvent::SendReady { key });
        }
    }

    pub(super) fn on_received(&mut self, conn: ConnId, body: Bytes, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        connection.last_used = now;
        connection.connection_stats.on_response(body.len(), now);
        self.totals.on_response(body.len());
        // Requests without a response stand in the queue only until the kernel took them.
        let position = connection.in_flight.iter().position(|r| r.expects_reply);
        let expected = position
            .and_then(|i| connection.in_flight.get(i))
            .map(|r| r.correlation_id);
        let got = peek_correlation_id(&body).ok();
        if got.is_none() || got != expected {
            connection.connection_stats.unknown_responses += 1;
            self.tell_received(key, got.unwrap_or(-1), body.len(), None);
            let Some(connection) = self.connections.get(&key) else {
                return;
            };
            let text = format!(
                "{}: response with correlation id {} where {} was expected: the peer broke the protocol",
                connection.peer(),
                got.map_or("(none)".into(), |g| g.to_string()),
                expected.map_or("none".into(), |e| e.to_string()),
            );
            return self.take_down(key, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
        }
        let Some(request) = position.and_then(|i| connection.in_flight.remove(i)) else {
            return;
        };
        if request.frame > connection.frames_done {
            // Whoever gets this answer may free what the network still has to write.
            let text = format!("{}: a request was answered before it was written", connection.peer());
            connection.in_flight.push_front(request);
            return self.take_down(key, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
        }
        let rtt = now.since(request.sent_at);
        connection.connection_stats.on_round_trip(now.since(request.written_at));
        self.tell_received(key, request.correlation_id, body.len(), Some((&request, rtt)));
        if let Some(connection) = self.connections.get(&key) {
            Self::log_received(&self.log, key, connection, &request, body.len(), now);
        }
        let reply = Reply {
            api: request.api,
            version: request.version,
            body,
            rtt,
        };
        self.tell_room(key);
        self.rearm(key);
        if request.abandoned {
            return;
        }
        if request.tag.owner == Owner::BrokerConnection {
            return self.on_versions(key, &reply, now);
        }
        self.events.push_back(ConnectionEvent::Outcome {
            key,
            tag: request.tag,
            outcome: Outcome::Reply(reply),
        });
    }
}
