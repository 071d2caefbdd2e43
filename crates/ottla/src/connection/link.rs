//! One broker connection: its state, its addresses, the requests in flight.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, DecodeError, Request, decode_response};

use super::links::Tag;
use super::net::{ConnId, LookupId};
use super::traffic::Traffic;
use super::versions::BrokerVersions;
use crate::env::Instant;
use crate::error::Error;

/// The state that every link begins in.
pub(super) const INIT: &str = "INIT";

/// Where a link stands.
#[derive(Debug)]
pub(super) enum State {
    /// Not connected and not trying to be.
    Idle,
    /// Waiting before the next attempt.
    Backoff { until: Instant },
    /// Waiting for the name look-up.
    Resolving { lookup: LookupId, deadline: Instant },
    /// Waiting for the connection to open.
    Connecting { conn: ConnId, deadline: Instant },
    /// Waiting for the answer to ApiVersions.
    Negotiating { conn: ConnId },
    /// Requests may be sent.
    Up {
        conn: ConnId,
        versions: Arc<BrokerVersions>,
    },
}

impl State {
    pub(super) fn conn(&self) -> Option<ConnId> {
        match self {
            State::Connecting { conn, .. } | State::Negotiating { conn } | State::Up { conn, .. } => Some(*conn),
            State::Idle | State::Backoff { .. } | State::Resolving { .. } => None,
        }
    }

    /// The state's name for who watches. `tried`: whether an attempt to connect was ever made.
    pub(super) fn public_name(&self, tried: bool) -> &'static str {
        match self {
            State::Idle if !tried => INIT,
            State::Idle | State::Backoff { .. } => "DOWN",
            State::Resolving { .. } => "TRY_CONNECT",
            State::Connecting { .. } => "CONNECT",
            State::Negotiating { .. } => "APIVERSION_QUERY",
            State::Up { .. } => "UP",
        }
    }

    /// Whether the connection is open.
    pub(super) fn is_established(&self) -> bool {
        matches!(self, State::Negotiating { .. } | State::Up { .. })
    }

    /// The state's name as it stands in logs.
    pub(super) fn name(&self) -> &'static str {
        match self {
            State::Idle => "INIT",
            State::Backoff { .. } => "BACKOFF",
            State::Resolving { .. } => "RESOLVE",
            State::Connecting { .. } => "CONNECT",
            State::Negotiating { .. } => "APIVERSION_QUERY",
            State::Up { .. } => "UP",
        }
    }
}

/// A request that waits for its response, or, without one, for the kernel to take it.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) correlation_id: i32,
    pub(super) tag: Tag,
    pub(super) version: i16,
    pub(super) sent_at: Instant,
    pub(super) deadline: Instant,
    /// When the kernel had taken the whole of it; `sent_at` before.
    pub(super) written_at: Instant,
    /// The frame's number on this connection, from 1.
    pub(super) frame: u64,
    pub(super) expects_reply: bool,
    /// Timed out and reported: the late response is to be dropped.
    pub(super) abandoned: bool,
    pub(super) api: ApiKey,
    /// Bytes of the frame, its length prefix included.
    pub(super) size: usize,
}

/// A response as it came, not decoded yet.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Which request it answers.
    pub api: ApiKey,
    /// The version that the request was sent in.
    pub version: i16,
    /// The frame without its length prefix: header and body.
    pub body: Bytes,
    /// From handing the request to the network until the response was there.
    pub rtt: Duration,
}

impl Reply {
    /// Decodes the response to an `R`.
    pub fn decode<R: Request>(&self) -> Result<R::Response, DecodeError> {
        decode_response::<R>(self.body.clone(), self.version).map(|(_, response)| response)
    }
}

/// How a request failed without a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// No response in time.
    TimedOut,
    /// The connection went away first.
    Disconnected,
}

/// Why a request has no response.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Timed out or disconnected.
    pub kind: FailureKind,
    /// Whether any byte of the request had been taken by the kernel, or still may be, on a connection that stays after a
    /// timeout: when not, the broker never sees it.
    pub written: bool,
    /// What to tell the application.
    pub error: Error,
}

/// What became of a request.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The response came.
    Reply(Reply),
    /// A request that has no response (Produce with acks=0) was handed to the kernel whole.
    Sent,
    /// There will be no response.
    Failed(Failure),
}

/// What a failure has cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Nothing but the attempt: there was no connection.
    Attempt,
    /// A connection that was up.
    Connection {
        /// Requests that were in flight on it.
        in_flight: usize,
    },
}

/// One broker connection and what is remembered between its attempts.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) state: State,
    /// When the present state was entered.
    pub(super) since: Instant,
    /// Somebody waits for this link to come up.
    pub(super) wanted: bool,
    /// Somebody was turned away because too many requests were under way.
    pub(super) turned_away: bool,
    /// Attempts that failed since the last success, a connection that broke included.
    pub(super) failures: u32,
    /// The last attempt to connect failed.
    pub(super) unreachable: bool,
    /// Whether any attempt was ever made.
    pub(super) tried: bool,
    pub(super) addrs: Vec<SocketAddr>,
    /// Index into `addrs` of the next address to try.
    pub(super) next_addr: usize,
    /// Addresses still to try before this attempt counts as failed.
    pub(super) addrs_left: usize,
    pub(super) addrs_expire: Instant,
    pub(super) in_flight: VecDeque<InFlight>,
    pub(super) next_correlation_id: i32,
    pub(super) frames_sent: u64,
    pub(super) frames_begun: u64,
    pub(super) frames_done: u64,
    /// When a request was last sent or a response last came.
    pub(super) last_used: Instant,
    /// The broker asked for a pause until then (KIP-219).
    pub(super) throttled_until: Instant,
    /// Until then, ApiVersions is not asked, since the broker did not answer it.
    pub(super) assume_old_until: Option<Instant>,
    /// Requests that timed out on this connection.
    pub(super) timeouts: u32,
    /// The connection's descriptor, of the present or the last one.
    pub(super) socket: i32,
    /// The state that a watcher was last told of.
    pub(super) announced: &'static str,
    /// When the timer goes off that the table has for the link: at its deadline, or before.
    pub(super) armed: Option<Instant>,
    pub(super) traffic: Traffic,
}

impl Link {
    pub(super) fn new(host: String, port: u16, now: Instant) -> Self {
        Link {
            host,
            port,
            state: State::Idle,
            since: now,
            wanted: false,
            turned_away: false,
            failures: 0,
            unreachable: false,
            tried: false,
            addrs: Vec::new(),
            next_addr: 0,
            addrs_left: 0,
            addrs_expire: Instant::ORIGIN,
            in_flight: VecDeque::new(),
            next_correlation_id: 1,
            frames_sent: 0,
            frames_begun: 0,
            frames_done: 0,
            last_used: now,
            throttled_until: Instant::ORIGIN,
            assume_old_until: None,
            timeouts: 0,
            socket: -1,
            announced: INIT,
            armed: None,
            traffic: Traffic::default(),
        }
    }

    /// The address now being tried, or the name, for messages.
    pub(super) fn peer(&self) -> String {
        let index = self.next_addr.checked_sub(1);
        match (self.state.conn(), index.and_then(|i| self.addrs.get(i))) {
            (Some(_), Some(SocketAddr::V4(a))) => format!("ipv4#{a}"),
            (Some(_), Some(SocketAddr::V6(a))) => format!("ipv6#{a}"),
            _ => format!("{}:{}", self.host, self.port),
        }
    }

    /// Whether `max` requests wait for their responses. One that timed out does not count: its connection may be kept
    /// (`socket.max.fails`), and must not be held up for ever by a response that never comes.
    pub(super) fn is_full(&self, max: usize) -> bool {
        self.in_flight.len() >= max && self.in_flight.iter().filter(|r| !r.abandoned).count() >= max
    }

    /// Whether nobody waits for a response.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.iter().all(|r| r.abandoned)
    }

    /// When this link next needs attention without anything happening on the network.
    pub(super) fn deadline(&self, idle_after: Option<Duration>, unused: Instant) -> Option<Instant> {
        match &self.state {
            State::Idle => self.wanted.then_some(unused),
            State::Backoff { until } => Some(*until),
            State::Resolving { deadline, .. } | State::Connecting { deadline, .. } => Some(*deadline),
            State::Negotiating { .. } | State::Up { .. } => {
                let first = self.in_flight.iter().filter(|r| !r.abandoned).map(|r| r.deadline).min();
                match (first, idle_after) {
                    (Some(d), _) => Some(d),
                    (None, Some(idle)) => Some(self.last_used + idle),
                    (None, None) => None,
                }
            }
        }
    }
}
