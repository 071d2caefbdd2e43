//! The way of a request into the cluster and of its answer out of it.

use std::fmt;

use bytes::Bytes;
use ottla_protocol::{
    ApiKey, DecodeError, EncodeError, ErrorCode, Frame, Message, Reader, RequestHeader, encode_response,
};

use crate::Time;
use crate::cluster::{BrokerId, Cluster, ConnectionId};
use crate::connection::ConnectionKey;
use crate::faults::FaultAction;
use crate::groups::ClassicGroup;
use crate::handlers::{self, k18_api_versions};
use crate::purgatory::{DelayedId, DelayedOperation};
use crate::recorder::ClientAction;
use crate::timers::Timer;

/// What becomes of a request.
#[derive(Debug)]
pub enum Reply {
    /// The whole response, length prefix included, to be sent now.
    Now(Frame),
    /// The answer comes out of [`Cluster::poll`]: the request waits for an event, for an earlier request of its
    /// connection, or for the simulated round trip to end.
    Later,
    /// There is no answer, and there will be none (`acks=0`).
    None,
    /// The broker closes the connection. Call [`Cluster::disconnected`].
    Close(CloseReason),
}

/// Why a broker closes a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The header or the body is not what its API and version say.
    Malformed(DecodeError),
    /// The request's API or version is not served. (An ApiVersions request is answered whatever its version.)
    Unsupported {
        /// The API asked for.
        api: ApiKey,
        /// The version asked for.
        version: i16,
    },
    /// A produce request with `acks=0` failed, which Kafka can tell in no other way.
    UnacknowledgedFailure,
    /// The broker went down or out of reach.
    BrokerDown,
    /// A fault that was put on the request.
    Fault,
    /// The response could not be written.
    Response(EncodeError),
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "malformed request: {error}"),
            Self::Unsupported { api, version } => write!(f, "{api} version {version} is not served"),
            Self::UnacknowledgedFailure => f.write_str("a produce request with acks=0 failed"),
            Self::BrokerDown => f.write_str("the broker is down"),
            Self::Fault => f.write_str("an injected fault"),
            Self::Response(error) => write!(f, "the response cannot be written: {error}"),
        }
    }
}

/// What leaves the cluster on a connection.
#[derive(Debug)]
pub enum Delivery {
    /// A whole response, length prefix included.
    Frame(Frame),
    /// The broker closes the connection, after what it sent before. Call [`Cluster::disconnected`].
    Close(CloseReason),
}

/// Something for the caller to send.
#[derive(Debug)]
pub struct Outgoing {
    /// The broker that sends.
    pub broker: BrokerId,
    /// The connection to send on.
    pub connection: ConnectionId,
    /// What to send.
    pub delivery: Delivery,
}

/// What handlers know of a request besides its body.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) broker: BrokerId,
    pub(crate) connection: ConnectionId,
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    pub(crate) client_id: String,
    pub(crate) throttle_time_ms: i32,
    /// Microseconds by which a fault holds the answer back.
    pub(crate) delay_us: u64,
    /// A fault loses the answer.
    pub(crate) lose_response: bool,
    /// A fault keeps the answer for ever, and all that comes after it on the connection.
    pub(crate) hang: bool,
    /// A fault answers what was done with this error.
    pub(crate) error_after: Option<ErrorCode>,
    /// A refusal concerns the request as a whole where its response can say so.
    pub(crate) refuse_whole: bool,
    /// A refusal blames one record in so many.
    pub(crate) bad_records: Option<u32>,
}

impl Context {
    pub(crate) fn key(&self) -> ConnectionKey {
        (self.broker, self.connection)
    }

    /// The request and what was done with it, for who observes.
    fn summary(&self, served: &Served) -> String {
        let done = match served {
            Served::Frame(frame) => format!("answered with {} bytes", frame.len()),
            Served::Delayed => "answered later".to_owned(),
            Served::Nothing => "not answered".to_owned(),
            Served::Close(reason) => format!("the connection is closed: {reason:?}"),
        };
        format!(
            "broker {}: {}Request (v{}, CorrId {}) of {} on connection {}: {done}",
            self.broker, self.api, self.version, self.correlation_id, self.client_id, self.connection.0
        )
    }

    /// The response as a frame, or why the connection has to be closed instead.
    pub(crate) fn encode<M: Message>(&self, response: &M) -> Result<Frame, CloseReason> {
        if self.lose_response {
            return Err(CloseReason::Fault);
        }
        encode_response(self.correlation_id, response, self.version).map_err(CloseReason::Response)
    }
}

/// What a handler did with a request, once its response is written.
#[derive(Debug)]
pub(crate) enum Served {
    Frame(Frame),
    /// Parked; it may have been completed already.
    Delayed,
    Nothing,
    Close(CloseReason),
}

impl Cluster {
    /// Serves one request: `frame` is what followed the length prefix. Never panics, whatever the bytes.
    pub fn handle(&mut self, broker: BrokerId, connection: ConnectionId, frame: Bytes, now: Time) -> Reply {
        self.advance_clock(now);
        if !self.is_accepting(broker) {
            return Reply::Close(CloseReason::BrokerDown);
        }
        let key = (broker, connection);
        self.record_request(key, &frame);
        let state = self.connections.entry(key).or_default();
        if state.closing {
            return Reply::None;
        }
        if state.is_muted(self.now) {
            state.waiting.push_back(frame);
            return Reply::Later;
        }
        self.serve_one(key, frame, true)
    }

    /// A client has connected. [`Cluster::handle`] finds out by itself; told earlier, the broker also closes connections
    /// that have not sent anything. False when the broker takes none.
    pub fn connected(&mut self, broker: BrokerId, connection: ConnectionId) -> bool {
        let accepting = self.is_accepting(broker);
        if accepting {
            self.connections.entry((broker, connection)).or_default();
            self.record_connection((broker, connection), ClientAction::Connected);
        }
        accepting
    }

    /// Ends a connection: requests that wait on it are forgotten, as is what was not yet taken for it.
    pub fn disconnected(&mut self, broker: BrokerId, connection: ConnectionId) {
        let key = (broker, connection);
        let Some(state) = self.connections.remove(&key) else {
            return;
        };
        let by_broker = state.closing;
        self.record_connection(key, ClientAction::Disconnected { by_broker });
        if let Some(token) = state.delayed {
            self.forget(token);
        }
        if state.untaken > 0 {
            self.ready.retain(|out| (out.broker, out.connection) != key);
        }
    }

    /// How many requests and answers of a connection are held here: a caller that reads from a socket stops reading
    /// while there are many.
    pub fn backlog(&self, broker: BrokerId, connection: ConnectionId) -> usize {
        let state = self.connections.get(&(broker, connection));
        state.map_or(0, |s| s.waiting.len() + s.outbox.len() + s.untaken)
    }

    /// Takes what is to be sent now, and lets everything happen whose time has come.
    pub fn poll(&mut self, now: Time) -> Vec<Outgoing> {
        self.advance_clock(now);
        loop {
            if let Some(timer) = self.timers.pop_due(self.now) {
                self.fire(timer);
            } else if let Some(key) = self.resumable.pop_front() {
                self.resume(key);
            } else {
                break;
            }
        }
        let out: Vec<_> = self.ready.drain(..).collect();
        for sent in &out {
            if let Some(state) = self.connections.get_mut(&(sent.broker, sent.connection)) {
                state.untaken = 0;
            }
        }
        out
    }

    /// When [`Cluster::poll`] has to be called at the latest. The time may be in the past, which means at once.
    pub fn next_wake(&self) -> Option<Time> {
        if !self.ready.is_empty() || !self.resumable.is_empty() {
            return Some(self.now);
        }
        self.timers.next()
    }

    /// Tells the cluster the time without doing anything else. Callers that change the cluster from outside do this
    /// first, so that what they set off counts from now.
    pub fn advance_clock(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Serves what arrived while the connection was muted, until it is muted again.
    fn resume(&mut self, key: ConnectionKey) {
        while let Some(state) = self.connections.get_mut(&key) {
            if state.hung || state.delayed.is_some() || state.muted_until > self.now || state.closing {
                return;
            }
            let Some(frame) = state.waiting.pop_front() else {
                return;
            };
            self.serve_one(key, frame, false);
        }
    }

    /// Serves one request. `direct` says that the caller can take the answer with this call.
    fn serve_one(&mut self, key: ConnectionKey, frame: Bytes, direct: bool) -> Reply {
        let (served, context) = self.serve(key, frame);
        if let Some(context) = &context {
            self.observer.emit(|| context.summary(&served));
        }
        if let Some(context) = context.as_ref().filter(|c| c.hang) {
            self.hang(context.key());
            return match served {
                Served::Nothing => Reply::None,
                _ => Reply::Later,
            };
        }
        let delay_us = context.as_ref().map_or(0, |c| c.delay_us);
        if let Some(context) = &context
            && matches!(served, Served::Frame(_))
        {
            self.throttle(context);
        }
        let delivery = match served {
            Served::Frame(frame) => Delivery::Frame(frame),
            Served::Close(reason) => Delivery::Close(reason),
            Served::Delayed => return Reply::Later,
            Served::Nothing => return Reply::None,
        };
        if direct && delay_us == 0 && self.faults.round_trip_us(key.0) == 0 && self.is_drained(key) {
            return match delivery {
                Delivery::Frame(frame) => Reply::Now(frame),
                Delivery::Close(reason) => {
                    self.mark_closing(key);
                    Reply::Close(reason)
                }
            };
        }
        self.deliver(key, delivery, delay_us);
        Reply::Later
    }

    /// True when nothing that was answered earlier on the connection is still here.
    fn is_drained(&self, key: ConnectionKey) -> bool {
        self.connections
            .get(&key)
            .is_some_and(|s| s.outbox.is_empty() && s.untaken == 0)
    }

    fn mark_closing(&mut self, key: ConnectionKey) {
        if let Some(state) = self.connections.get_mut(&key) {
            state.closing = true;
            state.waiting.clear();
        }
    }

    /// Parses the header, meets faults, and hands the body to the handler of its API.
    fn serve(&mut self, key: ConnectionKey, frame: Bytes) -> (Served, Option<Context>) {
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
            throttle_time_ms: self.faults.throttle_ms(api),
            delay_us: 0,
            lose_response: false,
            hang: false,
            error_after: None,
            refuse_whole: false,
            bad_records: None,
        };
        let Some(handler) = self.served_api(api, version) else {
            let served = match api {
                ApiKey::API_VERSIONS => k18_api_versions::unsupported_version(self, &context),
                _ => Served::Close(CloseReason::Unsupported { api, version }),
            };
            return (served, Some(context));
        };
        let mut refusal = None;
        let queued = self.faults.next(key.0, api);
        if let Some(fault) = queued.or_else(|| self.fault_by_rule(key.0, api, version, &reader)) {
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

    /// The handler for this version of an API, if the brokers serve it.
    fn served_api(&self, api: ApiKey, version: i16) -> Option<&'static handlers::Api> {
        let handler = handlers::find(api)?;
        let (min, max) = match self.faults.versions(api) {
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

    /// Sends on a connection, after all that was sent on it before, held back by the broker's round trip time and by
    /// `delay_us`.
    pub(crate) fn deliver(&mut self, key: ConnectionKey, delivery: Delivery, delay_us: u64) {
        let delay_us = delay_us.saturating_add(self.faults.round_trip_us(key.0));
        let Some(state) = self.connections.get_mut(&key) else {
            return;
        };
        if matches!(delivery, Delivery::Close(_)) {
            state.closing = true;
            state.waiting.clear();
        }
        let previous = state.outbox.back().map_or(Time::ZERO, |(at, _)| *at);
        let at = self.now.plus_us(delay_us).max(previous);
        if at <= self.now && state.outbox.is_empty() {
            state.untaken += 1;
            self.ready.push_back(Outgoing {
                broker: key.0,
                connection: key.1,
                delivery,
            });
        } else {
            state.outbox.push_back((at, delivery));
            self.timers.set(at, Timer::Release(key));
        }
    }

    /// Sends on a connection at once, overtaking what is held back.
    pub(crate) fn deliver_now(&mut self, key: ConnectionKey, delivery: Delivery) {
        if let Some(state) = self.connections.get_mut(&key) {
            state.closing |= matches!(delivery, Delivery::Close(_));
            state.untaken += 1;
            self.ready.push_back(Outgoing {
                broker: key.0,
                connection: key.1,
                delivery,
            });
        }
    }

    /// Nothing leaves on a connection any more, and nothing that it brings is served.
    pub(crate) fn hang(&mut self, key: ConnectionKey) {
        if let Some(state) = self.connections.get_mut(&key) {
            state.hung = true;
        }
    }

    /// Moves what has been held back long enough to the caller's side.
    fn release(&mut self, key: ConnectionKey) {
        let Some(state) = self.connections.get_mut(&key) else {
            return;
        };
        while state.outbox.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((_, delivery)) = state.outbox.pop_front() {
                state.untaken += 1;
                self.ready.push_back(Outgoing {
                    broker: key.0,
                    connection: key.1,
                    delivery,
                });
            }
        }
    }

    /// Mutes a connection whose response said that it is throttled.
    pub(crate) fn throttle(&mut self, context: &Context) {
        if context.throttle_time_ms <= 0 {
            return;
        }
        let key = context.key();
        let until = self.now.plus_ms(context.throttle_time_ms);
        if let Some(state) = self.connections.get_mut(&key) {
            state.muted_until = until;
            self.timers.set(until, Timer::Unmute(key));
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::RequestExpired(token) => self.request_expired(token),
            Timer::Release(key) => self.release(key),
            Timer::Unmute(key) => self.resumable.push_back(key),
            Timer::Replicated {
                topic,
                partition,
                leader_epoch,
                offset,
            } => {
                self.replicated(topic, partition, leader_epoch, offset);
            }
            Timer::MemberSession { group, member } => {
                self.classic_group_due(&group, |group, cluster| group.session_due(cluster, &member));
            }
            Timer::JoinPhase { group } => self.classic_group_due(&group, ClassicGroup::join_phase_due),
            Timer::SyncPhase { group } => self.classic_group_due(&group, ClassicGroup::sync_phase_due),
            Timer::ConsumerMember { group, member, timer } => self.consumer_member_due(&group, &member, timer),
            Timer::TransactionTimeout { id } => self.transaction_timed_out(&id),
            Timer::TransactionMarkers { id } => self.markers_due(&id),
        }
    }

    fn request_expired(&mut self, token: DelayedId) {
        match self.purgatory.get(&token).map(|p| &p.waiting) {
            Some(DelayedOperation::Fetch(_)) => self.complete_fetch(token),
            Some(DelayedOperation::Produce(_)) => self.expire_produce(token),
            // Groups arrange their own timers.
            Some(DelayedOperation::JoinGroup | DelayedOperation::SyncGroup) | None => {}
        }
    }

    /// Drops a parked request that nobody waits for any more.
    fn forget(&mut self, token: DelayedId) {
        let Some(parked) = self.unpark(token) else {
            return;
        };
        match parked.waiting {
            DelayedOperation::Fetch(fetch) => self.stop_waiting_for_records(token, &fetch),
            DelayedOperation::Produce(produce) => self.stop_waiting_for_replication(token, &produce),
            // The group keeps the member; completing its token will find nobody.
            DelayedOperation::JoinGroup | DelayedOperation::SyncGroup => {}
        }
    }
}
