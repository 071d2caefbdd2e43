//! The path of requests into the cluster and of responses out of it.

use bytes::Bytes;
use ottla_protocol::{ApiKey, ErrorCode, Frame, Reader, RequestHeader};

use crate::cluster::Cluster;
use crate::connections::{Arrival, Delivery, Outgoing};
use crate::faults::FaultAction;
use crate::groups::ClassicGroup;
use crate::handlers::{self, Api, Served, k18_api_versions};
use crate::ids::{BrokerId, ConnectionId, ConnectionKey};
use crate::reassignments;
use crate::recorder::ClientAction;
use crate::replication;
use crate::request::{CloseReason, Context};
use crate::sasl::{Admission, Intake, Token};
use crate::state::ClusterState;
use crate::time::Time;
use crate::timers::Timer;

/// The immediate result of a request.
#[derive(Debug)]
pub enum Reply {
    /// The whole response, length prefix included, to be sent now.
    Now(Frame),
    /// The response comes out of [`Cluster::poll`]: the request waits for an event, for an earlier request of its
    /// connection, or for the simulated round trip.
    Later,
    /// The request has no response (`acks=0`).
    None,
    /// The broker closes the connection. Call [`Cluster::disconnected`].
    Close(CloseReason),
}

impl Cluster {
    /// Serves one request. `frame` is the request without its length prefix. Never panics, whatever the bytes.
    pub fn handle(&mut self, broker: BrokerId, connection: ConnectionId, frame: Bytes, now: Time) -> Reply {
        self.advance_clock(now);
        if !self.is_accepting(broker) {
            return Reply::Close(CloseReason::BrokerDown);
        }
        let key = (broker, connection);
        let now = self.state.now;
        if !self.sasl.expects_raw_token(key) {
            self.recorder.push_request(&self.state.topics, key, &frame, now);
        }
        match self.state.connections.receive(key, frame, now) {
            Arrival::Serve(frame) => self.serve_one(key, frame, true),
            Arrival::Queued => Reply::Later,
            Arrival::Dropped => Reply::None,
        }
    }

    /// Opens a connection. [`Cluster::handle`] opens one, too; with this call the broker also closes connections that
    /// have not sent anything. Returns false when the broker accepts no connections.
    pub fn connected(&mut self, broker: BrokerId, connection: ConnectionId) -> bool {
        let accepting = self.is_accepting(broker);
        if accepting {
            let key = (broker, connection);
            self.state.connections.open(key);
            self.recorder.push(key, ClientAction::Connected, self.state.now);
        }
        accepting
    }

    /// Returns the maximum size of the next request of a connection, without its length prefix. A caller that reads from a
    /// socket should close it when a larger one is announced; [`Cluster::handle`] checks only the limit of connections
    /// that are not authenticated.
    pub fn max_request_bytes(&self, broker: BrokerId, connection: ConnectionId) -> usize {
        let max = self.state.config.socket_request_max_bytes;
        let during_authentication = self.sasl.max_receive_bytes((broker, connection));
        during_authentication.map_or(max, |bytes| bytes.min(max))
    }

    /// Removes a connection, with its delayed requests and its output that was not yet fetched.
    pub fn disconnected(&mut self, broker: BrokerId, connection: ConnectionId) {
        let key = (broker, connection);
        self.sasl.disconnected(key);
        let Some(removed) = self.state.connections.remove(key) else {
            return;
        };
        let by_broker = removed.closed_by_broker;
        let action = ClientAction::Disconnected { by_broker };
        self.recorder.push(key, action, self.state.now);
        if let Some(id) = removed.delayed {
            replication::forget(&mut self.state, id);
        }
    }

    /// Returns the number of queued requests and responses of a connection. A caller that reads from a socket should
    /// stop reading while there are many.
    pub fn backlog(&self, broker: BrokerId, connection: ConnectionId) -> usize {
        self.state.connections.backlog((broker, connection))
    }

    /// Fires the timers that are due, and returns the output to be sent now.
    pub fn poll(&mut self, now: Time) -> Vec<Outgoing> {
        self.advance_clock(now);
        loop {
            if let Some(timer) = self.state.timers.pop_due(self.state.now) {
                self.fire(timer);
            } else if let Some(key) = self.state.connections.next_resumable() {
                self.resume(key);
            } else {
                break;
            }
        }
        self.state.connections.take_ready()
    }

    /// Returns the latest time for the next call of [`Cluster::poll`]. A time in the past means at once.
    pub fn next_wake(&self) -> Option<Time> {
        match self.state.connections.has_work() {
            true => Some(self.state.now),
            false => self.state.timers.next(),
        }
    }

    /// Advances the cluster's clock only. Callers that change the cluster from outside do this first, so that the
    /// resulting timers start now.
    pub fn advance_clock(&mut self, now: Time) {
        self.state.now = self.state.now.max(now);
    }

    /// Serves the queued requests of a connection until it is muted again.
    fn resume(&mut self, key: ConnectionKey) {
        while let Some(frame) = self.state.connections.next_waiting(key, self.state.now) {
            self.serve_one(key, frame, false);
        }
    }

    /// Serves one request. With `direct` the caller can receive the response from this call.
    fn serve_one(&mut self, key: ConnectionKey, frame: Bytes, direct: bool) -> Reply {
        let (served, context) = self.serve(key, frame);
        if let Some(context) = &context {
            self.observer.emit(|| summary(context, &served));
        }
        if let Some(context) = context.as_ref().filter(|c| c.hang) {
            self.state.connections.hang(context.key());
            return match served {
                Served::Nothing => Reply::None,
                _ => Reply::Later,
            };
        }
        let delay_us = context
            .as_ref()
            .map_or(0, |c| c.delay_us)
            .saturating_add(self.refusal_delay_us(&served));
        if let Some(context) = &context
            && matches!(served, Served::Frame(_))
        {
            self.state.throttle(context);
        }
        let delivery = match served {
            Served::Frame(frame) => Delivery::Frame(frame),
            Served::FrameThenClose(frame, reason) => {
                self.state.deliver(key, Delivery::Frame(frame), delay_us);
                self.state.deliver(key, Delivery::Close(reason), delay_us);
                return Reply::Later;
            }
            Served::Close(reason) => Delivery::Close(reason),
            Served::Delayed => return Reply::Later,
            Served::Nothing => return Reply::None,
        };
        if direct
            && delay_us == 0
            && self.state.faults.round_trip_us(key.0) == 0
            && self.state.connections.is_drained(key)
        {
            return match delivery {
                Delivery::Frame(frame) => Reply::Now(frame),
                Delivery::Close(reason) => {
                    self.state.connections.close(key);
                    Reply::Close(reason)
                }
            };
        }
        self.state.deliver(key, delivery, delay_us);
        Reply::Later
    }

    /// Returns the delay of an outcome that refuses a client.
    fn refusal_delay_us(&self, served: &Served) -> u64 {
        match served {
            Served::FrameThenClose(..) | Served::Close(CloseReason::AuthenticationFailed(_)) => {
                self.sasl.refusal_delay_us()
            }
            _ => 0,
        }
    }

    /// Parses the header, meets faults, and hands the body to the handler of its API.
    fn serve(&mut self, key: ConnectionKey, frame: Bytes) -> (Served, Option<Context>) {
        match self.sasl.intake(key, frame.len(), self.state.now) {
            Intake::Request => {}
            Intake::RawToken => return (self.serve_raw_token(key, &frame), None),
            Intake::Refused(cause) => return (Served::Close(CloseReason::AuthenticationFailed(cause)), None),
        }
        let mut reader = Reader::new(frame);
        let header = match RequestHeader::decode(&mut reader) {
            Ok(header) => header,
            Err(error) => return (Served::Close(CloseReason::Malformed(error)), None),
        };
        let (api, version) = (header.api_key, header.api_version);
        let mut context = Context {
            broker: key.0,
            connection: key.1,
            api,
            version,
            correlation_id: header.correlation_id,
            client_id: header.client_id.unwrap_or_default(),
            throttle_time_ms: self.state.faults.throttle_ms(api),
            delay_us: 0,
            lose_response: false,
            hang: false,
            error_after: None,
            refuse_whole: false,
            bad_records: None,
        };
        let admission = self.sasl.admit(key, api, self.state.now);
        if admission != Admission::Serve {
            return (self.turn_away(admission, &context, &mut reader), Some(context));
        }
        let Some(handler) = self.served_api(api, version) else {
            let served = match api {
                ApiKey::API_VERSIONS => k18_api_versions::unsupported_version(self, &context),
                _ => Served::Close(CloseReason::Unsupported { api, version }),
            };
            return (served, Some(context));
        };
        let mut refusal = None;
        let queued = self.state.faults.next(key.0, api);
        if let Some(fault) = queued.or_else(|| self.rules.apply(&self.state.topics, key.0, api, version, &reader)) {
            context.delay_us = fault.delay_us;
            match fault.action {
                FaultAction::Serve => {}
                FaultAction::Error(error) => refusal = Some(error),
                FaultAction::DisconnectBefore => {
                    return (Served::Close(CloseReason::Fault), Some(context));
                }
                FaultAction::DisconnectAfter => context.lose_response = true,
                FaultAction::Hang => context.hang = true,
                FaultAction::Ignore => {
                    context.hang = true;
                    return (Served::Nothing, Some(context));
                }
                FaultAction::WholeError(error) => {
                    context.refuse_whole = true;
                    refusal = Some(error);
                }
                FaultAction::ErrorAfter(error) => context.error_after = Some(error),
                FaultAction::BadRecords(every) => {
                    context.bad_records = Some(every);
                    refusal = Some(ErrorCode::INVALID_RECORD);
                }
            }
        }
        ((handler.serve)(self, &context, &mut reader, refusal), Some(context))
    }

    /// Serves a token without a header (SaslHandshake version 0).
    fn serve_raw_token(&mut self, key: ConnectionKey, token: &Bytes) -> Served {
        let now_ms = self.state.broker_clock_ms(key.0);
        let served = match self.sasl.token(key, token, self.state.now, now_ms) {
            Token::Answer { token, .. } => Served::Frame(raw_token(token)),
            Token::Refused(cause) => Served::Close(CloseReason::AuthenticationFailed(cause)),
            Token::Invalid(_) | Token::Illegal => {
                Served::Close(CloseReason::IllegalSaslState(ApiKey::SASL_AUTHENTICATE))
            }
        };
        self.observer.emit(|| {
            let done = outcome(&served);
            format!("broker {}: SASL token on connection {}: {done}", key.0, key.1.0)
        });
        served
    }

    /// Ends the connection of a request that its authentication does not allow.
    fn turn_away(&mut self, admission: Admission, context: &Context, reader: &mut Reader) -> Served {
        let close = Served::Close(CloseReason::IllegalSaslState(context.api));
        match admission {
            Admission::Serve | Admission::Close => close,
            Admission::Expired => Served::Close(CloseReason::SessionExpired),
            Admission::Refuse(error, cause) => {
                let Some(handler) = self.served_api(context.api, context.version) else {
                    return close;
                };
                match (handler.serve)(self, context, reader, Some(error)) {
                    Served::Frame(frame) | Served::FrameThenClose(frame, _) => {
                        Served::FrameThenClose(frame, CloseReason::AuthenticationFailed(cause))
                    }
                    Served::Close(reason) => Served::Close(reason),
                    Served::Delayed | Served::Nothing => close,
                }
            }
        }
    }

    /// Returns the handler of an API if the brokers serve this version.
    fn served_api(&self, api: ApiKey, version: i16) -> Option<&'static Api> {
        let handler = handlers::find(api)?;
        let (min, max) = match self.state.faults.versions(api) {
            None => (handler.min_version, handler.max_version),
            Some(None) => return None,
            Some(Some((min, max))) => {
                // Brokers that old have no newer format to insist on.
                let oldest = match max < handler.min_version {
                    true => handler.oldest_version,
                    false => handler.min_version,
                };
                (min.max(oldest), max.min(handler.max_version))
            }
        };
        (min..=max).contains(&version).then_some(handler)
    }

    fn fire(&mut self, timer: Timer) {
        let state = &mut self.state;
        match timer {
            Timer::RequestExpired(id) => replication::expire(state, id),
            Timer::Release(key) => state.connections.release(key, state.now),
            Timer::Unmute(key) => state.connections.resume(key),
            Timer::Replicated {
                topic,
                partition,
                leader_epoch,
                offset,
            } => replication::replicated(state, topic, partition, leader_epoch, offset),
            Timer::Reassigned { topic, partition } => reassignments::complete(state, topic, partition),
            Timer::ReplicaCopied {
                broker,
                topic,
                partition,
            } => reassignments::replica_copied(state, broker, topic, partition),
            Timer::MemberSession { group, member } => {
                self.fire_classic(&group, |group, state| group.session_due(state, &member));
            }
            Timer::JoinPhase { group } => self.fire_classic(&group, ClassicGroup::join_phase_due),
            Timer::SyncPhase { group } => self.fire_classic(&group, ClassicGroup::sync_phase_due),
            Timer::ConsumerMember { group, member, timer } => {
                if let Some(group) = self.groups.get_mut(&group) {
                    group.consumer_timer_fired(state, &member, timer);
                }
            }
            Timer::TransactionTimeout { id } => self.transaction_coordinator().timed_out(&id),
            Timer::TransactionMarkers { id } => self.transaction_coordinator().markers_due(&id),
        }
    }

    fn fire_classic(&mut self, group: &str, fire: impl FnOnce(&mut ClassicGroup, &mut ClusterState)) {
        if let Some(group) = self.groups.get_mut(group) {
            group.classic_timer_fired(&mut self.state, fire);
        }
    }
}

/// Formats a request and its outcome for [`Cluster::observe`].
fn summary(context: &Context, served: &Served) -> String {
    let done = outcome(served);
    format!(
        "broker {}: {}Request (v{}, CorrId {}) of {} on connection {}: {done}",
        context.broker, context.api, context.version, context.correlation_id, context.client_id, context.connection.0
    )
}

fn outcome(served: &Served) -> String {
    match served {
        Served::Frame(frame) => format!("answered with {} bytes", frame.len()),
        Served::FrameThenClose(frame, reason) => {
            format!(
                "answered with {} bytes, and the connection is closed: {reason:?}",
                frame.len()
            )
        }
        Served::Delayed => "answered later".to_owned(),
        Served::Nothing => "not answered".to_owned(),
        Served::Close(reason) => format!("the connection is closed: {reason:?}"),
    }
}

/// Returns a token with its length before it.
fn raw_token(token: Vec<u8>) -> Frame {
    let length = u32::try_from(token.len()).unwrap_or(u32::MAX);
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(token);
    Frame {
        parts: vec![bytes.into()],
    }
}
