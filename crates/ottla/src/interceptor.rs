//! Watching what a client does, as it does it: requests and responses, connections, what becomes of records and commits,
//! threads. A client without a watcher pays a branch for each of them.

use std::fmt::Debug;
use std::time::Duration;

use crate::error::ErrorCode;
use crate::event::Delivery;
use crate::types::PartitionOffset;

/// A request that went out, or a response that came.
#[derive(Clone, Copy, Debug)]
pub struct RequestInfo<'a> {
    /// The connection's descriptor, -1 where there is none.
    pub socket: i32,
    /// `host:port/id`.
    pub broker_name: &'a str,
    /// The broker's id, negative as long as it is not known.
    pub broker_id: i32,
    /// The API's key, -1 for a response that no request waited for.
    pub api_key: i16,
    /// The version of the API, -1 for a response that no request waited for.
    pub version: i16,
    /// What request and response have in common on their connection.
    pub correlation_id: i32,
    /// Bytes on the wire, the length prefix included.
    pub size: usize,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug)]
pub struct BrokerState<'a> {
    /// The broker's id, negative as long as it is not known.
    pub broker_id: i32,
    /// Its host name.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// `DOWN`, `TRY_CONNECT`, `CONNECT`, `APIVERSION_QUERY` or `UP`.
    pub state: &'static str,
}

/// Told of what a client does. Called on the client's thread while the client decides nothing, so a watcher must return
/// soon, and must not wait for anything of the same client. What it does not want to hear of it need not define.
pub trait Interceptor: Debug + Send + Sync {
    /// The kernel has taken a whole request.
    fn on_request_sent(&self, request: &RequestInfo<'_>) {
        let _ = request;
    }

    /// A whole response is there; it was not read yet. `rtt` is the time since the request was handed to the network,
    /// `None` for a response that no request waited for.
    fn on_response_received(&self, response: &RequestInfo<'_>, rtt: Option<Duration>) {
        let _ = (response, rtt);
    }

    /// A connection has changed its state.
    fn on_broker_state(&self, broker: &BrokerState<'_>) {
        let _ = broker;
    }

    /// It is known what became of records, whether or not the application wants their reports.
    fn on_settled(&self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// A group's offsets were committed, each with its own error, or not, for `error`.
    fn on_committed(&self, offsets: &[PartitionOffset], error: ErrorCode) {
        let _ = (offsets, error);
    }

    /// The client's thread begins; called on it.
    fn on_thread_start(&self) {}

    /// The client's thread ends; called on it, and nothing else afterwards.
    fn on_thread_exit(&self) {}
}
