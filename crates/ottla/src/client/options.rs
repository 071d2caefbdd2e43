//! What a client is created with besides its textual settings.

use crate::config::ClientConfig;
use crate::connection::LinkConfig;
use crate::event::{DebugContexts, DeliveryMode, LogSink};
use crate::transport::{AddressFamily, SocketOptions};

/// How the application listens.
#[derive(Clone, Default)]
pub struct ClientHooks {
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
    /// The application hears of errors; otherwise they are logged.
    pub error_event: bool,
    /// The application hears of throttling.
    pub throttle_event: bool,
}

/// What brokers accept in a software name or version (KIP-511); other characters become `-`.
fn software_text(text: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '-' };
    text.chars().map(fit).collect::<String>().trim_matches(['.', '-']).to_owned()
}

fn software_name(conf: &ClientConfig) -> String {
    let name = software_text(&conf.client_software_name);
    if name.is_empty() { "librdkafka".into() } else { name }
}

fn software_version(conf: &ClientConfig) -> String {
    let version = software_text(&conf.client_software_version);
    if version.is_empty() { env!("CARGO_PKG_VERSION").to_owned() } else { version }
}

/// `debug`.
pub(super) fn log_contexts(conf: &ClientConfig) -> DebugContexts {
    DebugContexts(conf.debug)
}

fn ms(value: i64) -> std::time::Duration {
    std::time::Duration::from_millis(u64::try_from(value).unwrap_or(0))
}

/// The part of the settings that connections obey.
pub(crate) fn link_config(conf: &ClientConfig) -> LinkConfig {
    let positive = |n: i64| usize::try_from(n).unwrap_or(0);
    let idle = i64::from(conf.connections_max_idle_ms);
    LinkConfig {
        client_id: conf.client_id.clone(),
        software_name: software_name(conf),
        software_version: software_version(conf),
        reconnect_backoff: ms(i64::from(conf.reconnect_backoff_ms)),
        reconnect_backoff_max: ms(i64::from(conf.reconnect_backoff_max_ms)),
        setup_timeout: ms(i64::from(conf.socket_connection_setup_timeout_ms)),
        idle_after: (idle > 0).then(|| ms(idle)),
        max_in_flight: positive(i64::from(conf.max_in_flight_requests_per_connection)).max(1),
        max_timeouts: u32::try_from(conf.socket_max_fails).unwrap_or(0),
        address_ttl: ms(i64::from(conf.broker_address_ttl)),
        ask_versions: conf.api_version_request,
        versions_timeout: ms(i64::from(conf.api_version_request_timeout_ms)),
        fallback_for: ms(i64::from(conf.api_version_fallback_ms)),
        fallback_release: conf.broker_version_fallback.clone(),
    }
}

/// The part of the settings that sockets obey.
pub(super) fn socket_options(conf: &ClientConfig) -> SocketOptions {
    SocketOptions {
        send_buffer: usize::try_from(conf.socket_send_buffer_bytes).unwrap_or(0),
        receive_buffer: usize::try_from(conf.socket_receive_buffer_bytes).unwrap_or(0),
        keepalive: conf.socket_keepalive_enable,
        nodelay: conf.socket_nagle_disable,
        max_frame: usize::try_from(conf.receive_message_max_bytes).unwrap_or(100_000_000),
    }
}

/// `broker.address.family`.
pub(super) fn address_family(conf: &ClientConfig) -> AddressFamily {
    match conf.broker_address_family.as_str() {
        "v4" => AddressFamily::V4,
        "v6" => AddressFamily::V6,
        _ => AddressFamily::Any,
    }
}
