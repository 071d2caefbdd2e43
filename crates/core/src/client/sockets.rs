//! Socket options and address family of a client's settings.

use std::time::Duration;

use crate::config::ClientConfig;
use crate::transport::{AddressFamily, SocketOptions};

/// Returns the socket options of connections.
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

/// Minimum time after which unacknowledged data closes a connection: a few round trips and retransmissions on any network.
const UNACKNOWLEDGED_MIN: Duration = Duration::from_secs(5);

/// Returns the time after which unacknowledged data closes a connection, half of `socket.timeout.ms`: an unreachable peer is
/// detected before requests to it time out, so that they can be retried on another connection in time.
fn unacknowledged(conf: &ClientConfig) -> Duration {
    let half = Duration::from_millis(u64::from(conf.socket_timeout_ms) / 2);
    half.max(UNACKNOWLEDGED_MIN)
}

/// Returns the value of `broker.address.family`.
pub(super) fn address_family(conf: &ClientConfig) -> AddressFamily {
    match conf.broker_address_family.as_str() {
        "v4" => AddressFamily::V4,
        "v6" => AddressFamily::V6,
        _ => AddressFamily::Any,
    }
}
