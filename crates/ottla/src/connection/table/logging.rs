//! What connections say in the log: states under `broker`, versions under `feature`, requests under `protocol`.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use ottla_protocol::ApiKey;

use super::super::broker_connection::{BrokerConnection, InFlight, State, address_text};
use super::super::versions::BrokerVersions;
use super::{BrokerKey, ConnectionTable, Purpose};
use crate::log::{DebugContexts, Logger, level};
use crate::sys::Instant;

/// A connection as it is called in logs and errors: by the broker, and what it is for where that is not everything.
pub(super) struct Name<'a>(pub(super) BrokerKey, pub(super) &'a BrokerConnection);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name(key, connection) = self;
        f.write_str(&connection.broker_name(*key))?;
        match key.purpose {
            Purpose::General => Ok(()),
            Purpose::Coordinator => f.write_str(" (GroupCoordinator)"),
        }
    }
}

/// Milliseconds with two decimals, as round trips are printed.
fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

impl ConnectionTable {
    /// Changes a connection's state.
    pub(super) fn enter(log: &Logger, key: BrokerKey, connection: &mut BrokerConnection, state: State, now: Instant) {
        log.debug(DebugContexts::BROKER, "STATE", || {
            let after = now.since(connection.since).as_millis();
            let (name, from, to) = (Name(key, connection), connection.state.name(), state.name());
            match (&state, connection.state.conn()) {
                (State::Backoff { until }, _) => {
                    let rest = until.since(now).as_millis();
                    format!(
                        "{name}: Broker changed state {from} -> {to} for {rest}ms, after {after}ms and {} failures",
                        connection.failures
                    )
                }
                _ => format!("{name}: Broker changed state {from} -> {to}, after {after}ms"),
            }
        });
        connection.state = state;
        connection.since = now;
    }

    /// Logs that an address is tried.
    pub(super) fn log_connecting(log: &Logger, key: BrokerKey, connection: &BrokerConnection, addr: SocketAddr) {
        log.debug(DebugContexts::BROKER, "CONNECT", || {
            format!("{}: Connecting to {}", Name(key, connection), address_text(addr))
        });
    }

    /// Logs why an address failed.
    pub(super) fn log_address_failed(log: &Logger, key: BrokerKey, connection: &BrokerConnection, text: &str) {
        log.debug(DebugContexts::BROKER, "CONNECT", || {
            format!("{}: {text}", Name(key, connection))
        });
    }

    /// Logs that a connection is closed because it was not used.
    pub(super) fn log_idle(log: &Logger, key: BrokerKey, connection: &BrokerConnection, now: Instant) {
        log.debug(DebugContexts::BROKER, "IDLE", || {
            let (name, ms) = (Name(key, connection), now.since(connection.last_used).as_millis());
            format!("{name}: Connection max idle time exceeded ({ms}ms since last activity)")
        });
    }

    /// A connection takes requests.
    pub(super) fn log_versions(log: &Logger, key: BrokerKey, connection: &BrokerConnection, versions: &BrokerVersions) {
        log.debug(DebugContexts::FEATURE, "APIVERSION", || {
            let mut rows: Vec<(i16, i16, i16)> = versions.rows().collect();
            rows.sort_unstable();
            let speaks: Vec<String> = rows
                .into_iter()
                .map(|(api, low, high)| format!("{} {low}-{high}", ApiKey(api)))
                .collect();
            let transactions = versions.transaction_version();
            format!(
                "{}: {} requests, transaction.version {transactions}: {}",
                Name(key, connection),
                speaks.len(),
                speaks.join(", ")
            )
        });
        log.debug(DebugContexts::SECURITY, "CONNECTED", || {
            format!(
                "{}: a connection in plain text, without authentication",
                Name(key, connection)
            )
        });
    }

    /// A request was handed to the network.
    pub(super) fn log_sent(
        log: &Logger,
        key: BrokerKey,
        connection: &BrokerConnection,
        request: &InFlight,
        bytes: usize,
    ) {
        log.debug(DebugContexts::PROTOCOL, "SEND", || {
            format!(
                "{}: Sent {}Request (v{}, {bytes} bytes, CorrId {}), {} in flight",
                Name(key, connection),
                request.api,
                request.version,
                request.correlation_id,
                connection.in_flight.len() + 1
            )
        });
    }

    /// A response came.
    pub(super) fn log_received(
        log: &Logger,
        key: BrokerKey,
        connection: &BrokerConnection,
        request: &InFlight,
        bytes: usize,
        now: Instant,
    ) {
        log.debug(DebugContexts::PROTOCOL, "RECV", || {
            let late = if request.abandoned { ", too late" } else { "" };
            format!(
                "{}: Received {}Response (v{}, {bytes} bytes, CorrId {}, rtt {:.2}ms){late}",
                Name(key, connection),
                request.api,
                request.version,
                request.correlation_id,
                ms(now.since(request.sent_at))
            )
        });
    }

    /// Logs how far the requests had come that have timed out: a warning where the connection stays, a detail where it ends,
    /// which has a line of its own.
    pub(super) fn log_timed_out(
        log: &Logger,
        key: BrokerKey,
        connection: &BrokerConnection,
        frames: impl Iterator<Item = u64>,
        stays: bool,
    ) {
        let (mut in_flight, mut unsent, mut partly) = (0, 0, 0);
        for frame in frames {
            match frame {
                frame if frame <= connection.frames_done => in_flight += 1,
                frame if frame <= connection.frames_begun => partly += 1,
                _ => unsent += 1,
            }
        }
        let text = || {
            format!(
                "{}: Timed out {in_flight} in-flight, 0 retry-queued, {unsent} out-queue, {partly} partially-sent requests",
                Name(key, connection)
            )
        };
        match stays {
            true => log.log(level::WARNING, "REQTMOUT", text),
            false => log.debug(DebugContexts::BROKER, "REQTMOUT", text),
        }
    }

    /// Logs that the broker has closed a connection on which nothing was in flight.
    pub(super) fn log_idle_disconnect(log: &Logger, key: BrokerKey, connection: &BrokerConnection, now: Instant) {
        log.debug(DebugContexts::BROKER, "DISCONNECT", || {
            let (name, ms, state) = (
                Name(key, connection),
                now.since(connection.since).as_millis(),
                connection.state.name(),
            );
            format!("{name}: Disconnected (after {ms}ms in state {state}): the connection was idle")
        });
    }

    /// A request will get no response.
    pub(super) fn log_failed(
        log: &Logger,
        key: BrokerKey,
        connection: &BrokerConnection,
        request: &InFlight,
        why: &str,
        now: Instant,
    ) {
        log.debug(DebugContexts::PROTOCOL, "REQERR", || {
            format!(
                "{}: {}Request (v{}, CorrId {}) failed after {:.2}ms: {why}",
                Name(key, connection),
                request.api,
                request.version,
                request.correlation_id,
                ms(now.since(request.sent_at))
            )
        });
    }
}
