//! Interceptors of a client's requests and responses, connections, outcomes of records and commits, and threads. A client
//! without an interceptor executes one branch for each.

use std::fmt::Debug;
use std::time::Duration;

use crate::error::ErrorCode;
use crate::event::Delivery;
use crate::types::PartitionOffset;

/// A request that was sent, or a response that was received.
#[derive(Clone, Copy, Debug)]
pub struct RequestInfo<'a> {
    /// The connection's file descriptor, -1 if there is none.
    pub socket: i32,
    /// `host:port/id`.
    pub broker_name: &'a str,
    /// The broker's id, negative while it is unknown.
    pub broker_id: i32,
    /// The API key, -1 for a response without a request.
    pub api_key: i16,
    /// The API version, -1 for a response without a request.
    pub version: i16,
    /// The correlation id of request and response on their connection.
    pub correlation_id: i32,
    /// Bytes on the wire, the length prefix included.
    pub size: usize,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug)]
pub struct BrokerState<'a> {
    /// The broker's id, negative while it is unknown.
    pub broker_id: i32,
    /// Its host name.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// `DOWN`, `TRY_CONNECT`, `CONNECT`, `APIVERSION_QUERY` or `UP`.
    pub state: &'static str,
}

/// Callbacks for a client's activity. They block the client's thread: an interceptor must return soon, and must not
/// wait for the same client. All methods do nothing by default.
pub trait Interceptor: Debug + Send + Sync {
    /// A whole request was written to the socket.
    fn on_request_sent(&self, request: &RequestInfo<'_>) {
        let _ = request;
    }

    /// A whole response was received, but not decoded. `rtt` is the time since the request was passed to the connection,
    /// `None` for a response without a request.
    fn on_response_received(&self, response: &RequestInfo<'_>, rtt: Option<Duration>) {
        let _ = (response, rtt);
    }

    /// A connection has changed its state.
    fn on_broker_state(&self, broker: &BrokerState<'_>) {
        let _ = broker;
    }

    /// Records have an outcome, whether or not the application receives their reports.
    fn on_settled(&self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// A group's offset commit has ended: each offset has its own error, or all failed with `error`.
    fn on_committed(&self, offsets: &[PartitionOffset], error: ErrorCode) {
        let _ = (offsets, error);
    }

    /// Returns whether [`on_thread_start`](Self::on_thread_start) or [`on_thread_exit`](Self::on_thread_exit) has an effect.
    /// The client then has an I/O thread of its own, also with `io.threads.shared`. True by default.
    fn watches_threads(&self) -> bool {
        true
    }

    /// The client's thread starts; called on it.
    fn on_thread_start(&self) {}

    /// The client's thread ends; the last call on it.
    fn on_thread_exit(&self) {}
}
