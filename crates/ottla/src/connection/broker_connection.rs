//! One broker connection: its state, its addresses, the requests in flight.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, DecodeError, Request, decode_response};

use super::connection_stats::ConnectionStats;
use super::net::{ConnId, LookupId};
use super::race::Race;
use super::table::Tag;
use super::versions::BrokerVersions;
use crate::error::Error;
use crate::sys::Instant;

/// The state that every connection begins in.
pub(super) const INIT: &str = "INIT";

/// Where a connection stands.
#[derive(Debug)]
pub(super) enum State {
    /// Not connected and not trying to be.
    Idle,
    /// Waiting before the next attempt.
    Backoff { until: Instant },
    /// Waiting for the name look-up.
    Resolving { lookup: LookupId, deadline: Instant },
    /// Waiting for a connection to open.
    Connecting { race: Race },
    /// Waiting for the answer to ApiVersions.
    Negotiating { conn: ConnId },
    /// Requests may be sent.
    Up {
        conn: ConnId,
        versions: Arc<BrokerVersions>,
    },
}

impl State {
    /// The connection that is open.
    pub(super) fn conn(&self) -> Option<ConnId> {
        match self {
            State::Negotiating { conn } | State::Up { conn, .. } => Some(*conn),
            State::Idle | State::Backoff { .. } | State::Resolving { .. } | State::Connecting { .. } => None,
        }
    }

    /// The connection that is open, and those that are being opened.
    pub(super) fn conns(&self) -> Vec<ConnId> {
        match self {
            State::Connecting { race } => race.conns().collect(),
            _ => self.conn().into_iter().collect(),
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
pub enum DisconnectKind {
    /// Nothing but the attempt: there was no connection.
    Attempt,
    /// A connection that was up.
    Connection {
        /// Requests that were in flight on it.
        in_flight: usize,
    },
}

/// An address as messages write it.
pub(super) fn address_text(addr: SocketAddr) -> String {
    let family = if addr.is_ipv4() { "ipv4" } else { "ipv6" };
    format!("{family}#{addr}")
}

/// One broker connection and what is remembered between its attempts.
#[derive(Debug)]
pub(super) struct BrokerConnection {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) state: State,
    /// When the present state was entered.
    pub(super) since: Instant,
    /// Somebody waits for this connection to come up.
    pub(super) wanted: bool,
    /// Somebody was turned away because too many requests were under way.
    pub(super) send_blocked: bool,
    /// Attempts that failed since the last success, a connection that broke included.
    pub(super) failures: u32,
    /// The last attempt to connect failed.
    pub(super) unreachable: bool,
    /// Until then a connection that is lost is made again without being wanted.
    pub(super) kept_until: Instant,
    /// When that is due while the connection is idle.
    pub(super) renew_at: Option<Instant>,
    /// Connections in a row that were lost soon after they came up.
    pub(super) short_lives: u32,
    /// Whether any attempt was ever made.
    pub(super) tried: bool,
    /// The addresses of the name, which an attempt may use before `addrs_expire`; none after an attempt failed.
    pub(super) addrs: Vec<SocketAddr>,
    pub(super) addrs_expire: Instant,
    /// Number of the address to begin with, within its family; counts attempts from a random number.
    pub(super) turn: usize,
    /// The addresses that the present attempt has tried.
    pub(super) tried_addrs: Vec<SocketAddr>,
    /// Why the last address of the present attempt failed.
    pub(super) address_failure: String,
    /// The address of the connection, or the one that was tried last.
    pub(super) addr: Option<SocketAddr>,
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
    /// When the timer goes off that the table has for the connection: at its deadline, or before.
    pub(super) armed: Option<Instant>,
    pub(super) connection_stats: ConnectionStats,
}

impl BrokerConnection {
    pub(super) fn new(host: String, port: u16, now: Instant) -> Self {
        BrokerConnection {
            host,
            port,
            state: State::Idle,
            since: now,
            wanted: false,
            send_blocked: false,
            failures: 0,
            unreachable: false,
            kept_until: Instant::ORIGIN,
            renew_at: None,
            short_lives: 0,
            tried: false,
            addrs: Vec::new(),
            addrs_expire: Instant::ORIGIN,
            turn: 0,
            tried_addrs: Vec::new(),
            address_failure: String::new(),
            addr: None,
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
            connection_stats: ConnectionStats::default(),
        }
    }

    /// The address of the connection, or the name, for messages.
    pub(super) fn peer(&self) -> String {
        match (self.state.conn(), self.addr) {
            (Some(_), Some(addr)) => address_text(addr),
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

    /// When this connection next needs attention without anything happening on the network.
    pub(super) fn deadline(&self, idle_after: Option<Duration>, unused: Instant) -> Option<Instant> {
        match &self.state {
            State::Idle if self.wanted => Some(unused),
            State::Idle => self.renew_at,
            State::Backoff { until } => Some(*until),
            State::Resolving { deadline, .. } => Some(*deadline),
            State::Connecting { race } => race.deadline(),
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
