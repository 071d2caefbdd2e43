//! Results that the connection layer reports to the managers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, DecodeError, Request, decode_response};

use super::key::{BrokerKey, Tag};
use super::net::{LookupId, WorkId};
use super::versions::BrokerVersions;
use crate::error::Error;
use crate::sasl::SaslWorkResult;

/// The readiness of a connection for a request.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A request can be sent now, in any version that the broker supports.
    Yes(Arc<BrokerVersions>),
    /// Connected, but `max.in.flight.requests.per.connection` requests are in flight, the broker has requested a pause
    /// (KIP-219), the connection is authenticating again (KIP-368), or it is replaced because certificates were renewed. An
    /// outcome, [`ConnectionEvent::SendReady`] or [`ConnectionEvent::Down`] follows.
    Busy,
    /// Not connected. The connection is now wanted: [`ConnectionEvent::Up`] or [`ConnectionEvent::Down`] follows.
    Connecting,
    /// The table has no such broker.
    Unknown,
}

/// An event for the managers.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// The connection accepts requests.
    Up {
        /// The connection.
        key: BrokerKey,
    },
    /// An attempt failed or a connection ended. The outcomes of all requests in flight precede this event.
    Down {
        /// The connection.
        key: BrokerKey,
        /// The cause, with address and state; `None` when the client closed the connection or it was idle.
        error: Option<Error>,
        /// The kind of loss.
        loss: DisconnectKind,
    },
    /// A response requested a pause, or is the first one afterwards that requests none.
    Throttled {
        /// The connection.
        key: BrokerKey,
        /// The pause in milliseconds, 0 when the broker requests none any more.
        throttle_ms: i32,
    },
    /// The connection accepts requests again, after [`Ready::Busy`].
    SendReady {
        /// The connection.
        key: BrokerKey,
    },
    /// The canonical names of a host name were looked up.
    Names {
        /// The id that [`ConnectionTable::look_up_names`](super::ConnectionTable::look_up_names) returned.
        lookup: LookupId,
        /// At least one name, or the cause of the failure.
        result: Result<Vec<String>, String>,
    },
    /// Work that [`ConnectionTable::start_sasl_work`](super::ConnectionTable::start_sasl_work) requested has ended.
    SaslWorkDone {
        /// The id that it returned.
        work: WorkId,
        /// The result.
        result: SaslWorkResult,
    },
    /// The network reads no memory of any closed connection's frames any more
    /// ([`ConnectionTable::is_releasing`](super::ConnectionTable::is_releasing)).
    Released,
    /// A request has ended.
    Outcome {
        /// The connection.
        key: BrokerKey,
        /// The request's tag.
        tag: Tag,
        /// The result.
        outcome: Outcome,
    },
}

/// A response that is not decoded yet.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The API of the request.
    pub api: ApiKey,
    /// The version in which the request was sent.
    pub version: i16,
    /// Header and body: the frame without its length prefix.
    pub body: Bytes,
    /// Time from handing the request to the network until the response was complete.
    pub rtt: Duration,
}

impl Reply {
    /// Decodes the response to an `R`.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are no such response in the request's version.
    pub fn decode<R: Request>(&self) -> Result<R::Response, DecodeError> {
        decode_response::<R>(self.body.clone(), self.version).map(|(_, response)| response)
    }
}

/// The kind of a failure without a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// No response arrived in time.
    TimedOut,
    /// The connection ended first.
    Disconnected,
}

/// The failure of a request without a response.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Timed out or disconnected.
    pub kind: FailureKind,
    /// True when the kernel has taken a byte of the request, or may still do so on a connection that stays open after a
    /// timeout. When false, the broker never receives the request.
    pub written: bool,
    /// The error for the application.
    pub error: Error,
}

/// The result of a request.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The response arrived.
    Reply(Reply),
    /// The kernel has taken all of a request that has no response (Produce with acks=0).
    Sent,
    /// No response will arrive.
    Failed(Failure),
}

/// The loss that a failure has caused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DisconnectKind {
    /// An attempt to connect: no connection was up.
    Attempt,
    /// A connection that was up.
    Connection {
        /// Requests that were in flight on it.
        in_flight: usize,
    },
}
