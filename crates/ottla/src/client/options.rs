//! What a client is created with besides its textual settings.

use std::sync::Arc;
use std::time::Duration;

use crate::config::ClientConfig;
use crate::event::DeliveryMode;
use crate::interceptor::Interceptor;
use crate::log::{DebugContexts, LogSink};
use crate::transport::{AddressFamily, SocketOptions, SystemHooks};

/// Told the client's name.
pub type NameHook = Arc<dyn Fn(&str) + Send + Sync>;

/// How the application listens.
#[derive(Clone, Default)]
pub struct ClientHooks {
    /// Called with the client's name while the client is being created, before its first log line.
    pub named: Option<NameHook>,
    /// Where log lines go; without it they are dropped.
    pub log: Option<LogSink>,
    /// Log lines go to the main queue instead (`log.queue`).
    pub log_to_queue: bool,
    /// Which delivery reports are wanted.
    pub delivery: DeliveryMode,
    /// The application carries out rebalances itself.
    pub rebalance_event: bool,
    /// The application hears of commit results.
    pub commit_event: bool,
    /// The application has a callback for commit results, which also reports those that a call waits for.
    pub commit_callback: bool,
    /// The application hears of errors; otherwise they are logged.
    pub error_event: bool,
    /// The application hears of throttling.
    pub throttle_event: bool,
    /// The application wants statistics, every `statistics.interval.ms`; otherwise nothing is measured.
    pub stats_event: bool,
    /// Told of what the client does. One that calls code of the application needs
    /// [`expect_callbacks`](crate::event::expect_callbacks) before.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// What the application does in place of the operating system. Code of the application needs
    /// [`expect_callbacks`](crate::event::expect_callbacks) before.
    pub system: SystemHooks,
}

/// `debug`.
pub(super) fn log_contexts(conf: &ClientConfig) -> DebugContexts {
    DebugContexts(conf.debug)
}

/// The part of the settings that sockets obey.
pub(super) fn socket_options(conf: &ClientConfig) -> SocketOptions {
    SocketOptions {
        send_buffer: usize::try_from(conf.socket_send_buffer_bytes).unwrap_or(0),
        receive_buffer: usize::try_from(conf.socket_receive_buffer_bytes).unwrap_or(0),
        keepalive: conf.socket_keepalive_enable,
        nodelay: conf.socket_nagle_disable,
        max_frame: usize::try_from(conf.receive_message_max_bytes).unwrap_or(100_000_000),
        unacknowledged: Some(unacknowledged(conf)),
    }
}

/// Shortest time after which unacknowledged data closes a connection: a few round trips and retransmissions on any network.
const UNACKNOWLEDGED_MIN: Duration = Duration::from_secs(5);

/// Half of `socket.timeout.ms`: a peer that vanished is noticed before requests to it time out, and a request that is sent
/// again on another connection still has its time.
fn unacknowledged(conf: &ClientConfig) -> Duration {
    let half = Duration::from_millis(u64::from(conf.socket_timeout_ms) / 2);
    half.max(UNACKNOWLEDGED_MIN)
}

/// `broker.address.family`.
pub(super) fn address_family(conf: &ClientConfig) -> AddressFamily {
    match conf.broker_address_family.as_str() {
        "v4" => AddressFamily::V4,
        "v6" => AddressFamily::V6,
        _ => AddressFamily::Any,
    }
}
