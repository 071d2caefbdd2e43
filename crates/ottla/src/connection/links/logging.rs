//! What links say in the log: states under `broker`, versions under `feature`, requests under `protocol`.

use std::fmt;
use std::time::Duration;

use ottla_protocol::ApiKey;

use super::super::link::{InFlight, Link, State};
use super::super::versions::BrokerVersions;
use super::{LinkKey, Links, Purpose};
use crate::env::Instant;
use crate::event::{DebugContexts, Logger};

/// A link as it is called in logs and errors: by the broker, and what it is for where that is not everything.
pub(super) struct Name<'a>(pub(super) LinkKey, pub(super) &'a Link);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name(key, link) = self;
        f.write_str(&link.broker_name(*key))?;
        match key.purpose {
            Purpose::General => Ok(()),
            Purpose::Coordinator => f.write_str(" (coordinator)"),
        }
    }
}

/// Milliseconds with two decimals, as round trips are printed.
fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

impl Links {
    /// Changes a link's state.
    pub(super) fn enter(log: &Logger, key: LinkKey, link: &mut Link, state: State, now: Instant) {
        log.debug(DebugContexts::BROKER, "STATE", || {
            let after = now.since(link.since).as_millis();
            let (name, from, to) = (Name(key, link), link.state.name(), state.name());
            match (&state, link.state.conn()) {
                (State::Backoff { until }, _) => {
                    let rest = until.since(now).as_millis();
                    format!(
                        "{name}: {from} -> {to} for {rest}ms, after {after}ms and {} failures",
                        link.failures
                    )
                }
                (State::Connecting { .. }, _) => {
                    let addr = link.next_addr.checked_sub(1).and_then(|i| link.addrs.get(i));
                    let addr = addr.map_or_else(String::new, ToString::to_string);
                    format!("{name}: {from} -> {to} to {addr}, after {after}ms")
                }
                _ => format!("{name}: {from} -> {to}, after {after}ms"),
            }
        });
        link.state = state;
        link.since = now;
    }

    /// A connection takes requests.
    pub(super) fn log_versions(log: &Logger, key: LinkKey, link: &Link, versions: &BrokerVersions) {
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
                Name(key, link),
                speaks.len(),
                speaks.join(", ")
            )
        });
        log.debug(DebugContexts::SECURITY, "CONNECTED", || {
            format!(
                "{}: a connection in plain text, without authentication",
                Name(key, link)
            )
        });
    }

    /// A request was handed to the network.
    pub(super) fn log_sent(log: &Logger, key: LinkKey, link: &Link, request: &InFlight, bytes: usize) {
        log.debug(DebugContexts::PROTOCOL, "SEND", || {
            format!(
                "{}: Sent {}Request (v{}, {bytes} bytes, CorrId {}), {} in flight",
                Name(key, link),
                request.api,
                request.version,
                request.correlation_id,
                link.in_flight.len() + 1
            )
        });
    }

    /// A response came.
    pub(super) fn log_received(
        log: &Logger,
        key: LinkKey,
        link: &Link,
        request: &InFlight,
        bytes: usize,
        now: Instant,
    ) {
        log.debug(DebugContexts::PROTOCOL, "RECV", || {
            let late = if request.abandoned { ", too late" } else { "" };
            format!(
                "{}: Received {}Response (v{}, {bytes} bytes, CorrId {}, rtt {:.2}ms){late}",
                Name(key, link),
                request.api,
                request.version,
                request.correlation_id,
                ms(now.since(request.sent_at))
            )
        });
    }

    /// A request will get no response.
    pub(super) fn log_failed(log: &Logger, key: LinkKey, link: &Link, request: &InFlight, why: &str, now: Instant) {
        log.debug(DebugContexts::PROTOCOL, "REQERR", || {
            format!(
                "{}: {}Request (v{}, CorrId {}) failed after {:.2}ms: {why}",
                Name(key, link),
                request.api,
                request.version,
                request.correlation_id,
                ms(now.since(request.sent_at))
            )
        });
    }
}
