//! The settings of connections.

use std::time::Duration;

use crate::config::ClientConfig;

/// The protection that a connection needs before it accepts requests (`security.protocol`).
#[derive(Clone, Debug, Default)]
pub struct Security {
    /// TLS: the transport secures the connection before anything else is sent on it.
    pub tls: bool,
    /// SASL authentication, after TLS, with the credentials of
    /// [`ConnectionTable::set_credentials`](super::ConnectionTable::set_credentials).
    pub sasl: bool,
    /// The renewal of certificates.
    pub renewal: CertificateRenewal,
}

/// The renewal of certificates while the client runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CertificateRenewal {
    /// `ssl.certificate.refresh.interval.ms`: minimum time between two looks at the files; `None` for none.
    pub interval: Option<Duration>,
    /// `ssl.certificate.refresh.reconnect.ms`: time within which open connections are replaced after a change; `None`
    /// leaves them open.
    pub reconnect_within: Option<Duration>,
}

impl Security {
    /// Returns true for `security.protocol=plaintext`.
    pub fn is_plaintext(&self) -> bool {
        !self.tls && !self.sasl
    }
}

/// The settings of connections.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// `client.id`.
    pub client_id: String,
    /// `client.software.name` reported to brokers (KIP-511).
    pub software_name: String,
    /// `client.software.version` reported to brokers (KIP-511).
    pub software_version: String,
    /// `reconnect.backoff.ms`.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`.
    pub reconnect_backoff_max: Duration,
    /// `socket.connection.setup.timeout.ms`.
    pub setup_timeout: Duration,
    /// `connections.max.idle.ms`; `None` keeps idle connections open.
    pub idle_after: Option<Duration>,
    /// `socket.timeout.ms`: a reset of a connection that was unused for this long counts as an idle disconnect.
    pub dropped_after: Duration,
    /// `max.in.flight.requests.per.connection`.
    pub max_in_flight: usize,
    /// `socket.max.fails`: requests that may time out before the connection is closed; 0 never closes.
    pub max_timeouts: u32,
    /// `broker.address.ttl`.
    pub address_ttl: Duration,
    /// The application connects sockets (`connect_cb`): addresses are tried one after another, each after another look-up,
    /// and never concurrently.
    pub one_by_one: bool,
    /// TLS and SASL.
    pub security: Security,
    /// `api.version.request`.
    pub ask_versions: bool,
    /// `api.version.request.timeout.ms`.
    pub versions_timeout: Duration,
    /// `api.version.fallback.ms`.
    pub fallback_for: Duration,
    /// `broker.version.fallback`.
    pub fallback_release: String,
    /// Statistics need latencies (`statistics.interval.ms`).
    pub measures: bool,
}

fn ms(value: u32) -> Duration {
    Duration::from_millis(value.into())
}

impl ConnectionConfig {
    /// Returns the settings of a client's connections.
    pub fn new(conf: &ClientConfig) -> Self {
        let idle = conf.connections_max_idle_ms;
        ConnectionConfig {
            client_id: conf.client_id.clone(),
            software_name: software_name(conf),
            software_version: software_version(conf),
            reconnect_backoff: ms(conf.reconnect_backoff_ms),
            reconnect_backoff_max: ms(conf.reconnect_backoff_max_ms),
            setup_timeout: ms(conf.socket_connection_setup_timeout_ms),
            idle_after: (idle > 0).then(|| ms(idle)),
            dropped_after: ms(conf.socket_timeout_ms),
            max_in_flight: usize::try_from(conf.max_in_flight_requests_per_connection).unwrap_or(usize::MAX),
            max_timeouts: conf.socket_max_fails,
            address_ttl: ms(conf.broker_address_ttl),
            one_by_one: false,
            security: security(conf),
            ask_versions: conf.api_version_request,
            versions_timeout: ms(conf.api_version_request_timeout_ms),
            fallback_for: ms(conf.api_version_fallback_ms),
            fallback_release: conf.broker_version_fallback.clone(),
            measures: conf.statistics_interval_ms > 0,
        }
    }
}

fn security(conf: &ClientConfig) -> Security {
    let not_zero = |value: u32| (value > 0).then(|| ms(value));
    Security {
        tls: conf.security_protocol.as_str().ends_with("ssl"),
        sasl: conf.security_protocol.as_str().starts_with("sasl"),
        renewal: CertificateRenewal {
            interval: not_zero(conf.ssl_certificate_refresh_interval_ms),
            reconnect_within: not_zero(conf.ssl_certificate_refresh_reconnect_ms),
        },
    }
}

/// Returns the text with `-` for each character that brokers refuse in a software name or version (KIP-511).
fn software_text(text: &str) -> String {
    let fit = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' || c == '-' {
            c
        } else {
            '-'
        }
    };
    text.chars()
        .map(fit)
        .collect::<String>()
        .trim_matches(['.', '-'])
        .to_owned()
}

fn software_name(conf: &ClientConfig) -> String {
    let name = software_text(&conf.client_software_name);
    if name.is_empty() { "librdkafka".into() } else { name }
}

fn software_version(conf: &ClientConfig) -> String {
    let version = software_text(&conf.client_software_version);
    if version.is_empty() {
        env!("CARGO_PKG_VERSION").to_owned()
    } else {
        version
    }
}
