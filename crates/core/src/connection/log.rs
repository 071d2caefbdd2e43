//! Log lines of connections: states under `broker`, versions under `feature`, requests under `protocol`, TLS and SASL
//! under `security`.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use ottla_protocol::ApiKey;

use super::addresses::address_text;
use super::key::{BrokerKey, Purpose};
use super::net::TlsSession;
use super::requests::InFlight;
use super::versions::BrokerVersions;
use crate::log::{DebugContexts, Logger, level};

/// A connection's name in logs and errors: the broker's, with the purpose where it is not the general one.
#[derive(Clone, Copy)]
pub(super) struct Name<'a> {
    pub(super) key: BrokerKey,
    pub(super) host: &'a str,
    pub(super) port: u16,
}

impl Name<'_> {
    /// Returns `host:port/id`, where the id may be "bootstrap".
    pub(super) fn broker(&self) -> String {
        format!("{}:{}/{}", self.host, self.port, self.key.node)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.broker())?;
        match self.key.purpose {
            Purpose::General => Ok(()),
            Purpose::Coordinator => f.write_str(" (GroupCoordinator)"),
        }
    }
}

/// Converts to milliseconds with a fraction, as round trips are printed.
fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Writes the log lines of one connection.
#[derive(Clone, Copy)]
pub(super) struct ConnectionLog<'a> {
    pub(super) log: &'a Logger,
    pub(super) name: Name<'a>,
}

/// A state that is entered.
pub(super) struct StateChange {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    /// Time in the state that is left.
    pub(super) after: Duration,
    /// Duration of a backoff and the number of failures before it.
    pub(super) backoff: Option<(Duration, u32)>,
}

/// The requests that have timed out, by their progress.
#[derive(Default)]
pub(super) struct TimedOutCounts {
    pub(super) in_flight: usize,
    pub(super) queued: usize,
    pub(super) partial: usize,
}

impl ConnectionLog<'_> {
    pub(super) fn state(&self, change: &StateChange) {
        self.log.debug(DebugContexts::BROKER, "STATE", || {
            let StateChange { from, to, after, backoff } = change;
            let (name, after) = (self.name, after.as_millis());
            match backoff {
                Some((rest, failures)) => {
                    let rest = rest.as_millis();
                    format!(
                        "{name}: Broker changed state {from} -> {to} for {rest}ms, after {after}ms and {failures} failures"
                    )
                }
                None => format!("{name}: Broker changed state {from} -> {to}, after {after}ms"),
            }
        });
    }

    pub(super) fn connecting(&self, addr: SocketAddr) {
        self.log.debug(DebugContexts::BROKER, "CONNECT", || {
            format!("{}: Connecting to {}", self.name, address_text(addr))
        });
    }

    pub(super) fn address_failed(&self, text: &str) {
        self.log
            .debug(DebugContexts::BROKER, "CONNECT", || format!("{}: {text}", self.name));
    }

    /// Logs that the client closes a connection because of `connections.max.idle.ms`.
    pub(super) fn idle_limit(&self, unused: Duration) {
        self.log.debug(DebugContexts::BROKER, "IDLE", || {
            let (name, ms) = (self.name, unused.as_millis());
            format!("{name}: Connection max idle time exceeded ({ms}ms since last activity)")
        });
    }

    /// Logs that the peer has closed a connection on which nothing was in flight.
    pub(super) fn idle_disconnect(&self, state: &'static str, after: Duration) {
        self.log.debug(DebugContexts::BROKER, "DISCONNECT", || {
            let (name, ms) = (self.name, after.as_millis());
            format!("{name}: Disconnected (after {ms}ms in state {state}): the connection was idle")
        });
    }

    pub(super) fn versions(&self, versions: &BrokerVersions) {
        self.log.debug(DebugContexts::FEATURE, "APIVERSION", || {
            let mut rows: Vec<(i16, i16, i16)> = versions.rows().collect();
            rows.sort_unstable();
            let ranges: Vec<String> = rows
                .into_iter()
                .map(|(api, low, high)| format!("{} {low}-{high}", ApiKey(api)))
                .collect();
            let transactions = versions.transaction_version();
            format!(
                "{}: {} requests, transaction.version {transactions}: {}",
                self.name,
                ranges.len(),
                ranges.join(", ")
            )
        });
    }

    /// Logs how a connection is protected. `mechanism` is the SASL mechanism.
    pub(super) fn security(&self, tls: Option<&TlsSession>, mechanism: Option<&str>) {
        self.log.debug(DebugContexts::SECURITY, "CONNECTED", || {
            let tls = tls.map_or("in plain text".into(), |tls| {
                let resumed = if tls.resumed { ", session resumed" } else { "" };
                let peer = tls.peer.as_ref().map_or(String::new(), |peer| format!(", peer {peer}"));
                format!("over {} with {}{resumed}{peer}", tls.version, tls.cipher_suite)
            });
            let mechanism = mechanism.map_or("without authentication".into(), |m| format!("authenticated with {m}"));
            format!("{}: a connection {tls}, {mechanism}", self.name)
        });
    }

    /// Logs that a connection is replaced because certificates were renewed.
    pub(super) fn replaced(&self, age: Duration) {
        self.log.debug(DebugContexts::SECURITY, "SSLRENEW", || {
            let (name, ms) = (self.name, age.as_millis());
            format!("{name}: connection of {ms}ms is replaced: certificates were renewed")
        });
    }

    /// Logs when the client authenticates again (KIP-368).
    pub(super) fn session_lifetime(&self, lifetime: Duration, renewal: Duration) {
        self.log.debug(DebugContexts::SECURITY, "SASLREAUTH", || {
            let (name, lifetime, renewal) = (self.name, lifetime.as_millis(), renewal.as_millis());
            format!("{name}: session lifetime is {lifetime}ms, authenticating again in {renewal}ms")
        });
    }

    /// Logs that a request was passed to the network. `in_flight` includes it.
    pub(super) fn sent(&self, request: &InFlight, in_flight: usize) {
        self.log.debug(DebugContexts::PROTOCOL, "SEND", || {
            format!(
                "{}: Sent {}Request (v{}, {} bytes, CorrId {}), {in_flight} in flight",
                self.name, request.api, request.version, request.size, request.correlation_id,
            )
        });
    }

    pub(super) fn received(&self, request: &InFlight, bytes: usize, rtt: Duration) {
        self.log.debug(DebugContexts::PROTOCOL, "RECV", || {
            let late = if request.abandoned { ", too late" } else { "" };
            format!(
                "{}: Received {}Response (v{}, {bytes} bytes, CorrId {}, rtt {:.2}ms){late}",
                self.name,
                request.api,
                request.version,
                request.correlation_id,
                ms(rtt)
            )
        });
    }

    /// Logs the counts of requests that have timed out: a warning where the connection stays; a debug line where it ends,
    /// which is logged on its own.
    pub(super) fn timed_out(&self, counts: &TimedOutCounts, stays: bool) {
        let text = || {
            let TimedOutCounts {
                in_flight,
                queued,
                partial,
            } = counts;
            format!(
                "{}: Timed out {in_flight} in-flight, 0 retry-queued, {queued} out-queue, {partial} partially-sent requests",
                self.name
            )
        };
        match stays {
            true => self.log.log(level::WARNING, "REQTMOUT", text),
            false => self.log.debug(DebugContexts::BROKER, "REQTMOUT", text),
        }
    }

    /// Logs that a request ends without a response.
    pub(super) fn request_failed(&self, request: &InFlight, why: &str, after: Duration) {
        self.log.debug(DebugContexts::PROTOCOL, "REQERR", || {
            format!(
                "{}: {}Request (v{}, CorrId {}) failed after {:.2}ms: {why}",
                self.name,
                request.api,
                request.version,
                request.correlation_id,
                ms(after)
            )
        });
    }
}
