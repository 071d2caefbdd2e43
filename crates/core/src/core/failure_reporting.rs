//! Logs and reports brokers that cannot be reached: once per cause, then in summaries at increasing intervals.
//!
//! All connections to one address are one outage, since a broker that goes down closes all of them. This is the only module
//! that decides about log lines and `error_cb` for failed connections; [`connection`](crate::connection) logs their states.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::connection::{BrokerKey, DisconnectKind};
use crate::error::{Error, ErrorCode};
use crate::log::level;
use crate::sys::Instant;

/// Time to the first summary; the intervals double from then on.
const FIRST_SUMMARY: Duration = Duration::from_secs(30);
/// Maximum interval between summaries.
const RAREST_SUMMARY: Duration = Duration::from_secs(600);
/// Time after which a broker that is up again counts as recovered; an earlier failure continues the outage.
const STEADY_AFTER: Duration = Duration::from_secs(10);

/// Time after which the outage of a broker that left the cluster is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The kind of a failure: its error code, and whether it was an attempt to connect.
type Kind = (ErrorCode, bool);

#[derive(Debug)]
struct Outage {
    /// The connections that failed, for forgetting brokers that are gone.
    connections: Vec<BrokerKey>,
    since: Instant,
    last: Instant,
    /// The time of the last successful connection, unless a failure followed.
    up_since: Option<Instant>,
    failures: u64,
    /// Failures since the last log line.
    unreported: u64,
    reported_at: Instant,
    next_summary: Instant,
    /// The last log line reports the broker as down.
    logged_down: bool,
    seen: Vec<Kind>,
}

/// The report of a failure.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FailureReport {
    /// An error event for the application is due.
    pub(super) notify: bool,
    /// The level and text of a log line.
    pub(super) line: Option<(i32, String)>,
}

/// Outages by the broker's address.
#[derive(Debug, Default)]
pub(super) struct FailureReporter {
    by_address: BTreeMap<String, Outage>,
}

/// Formats a duration in seconds.
fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

impl FailureReporter {
    /// Handles a failed connection or attempt. `is_known` returns true for connections that still exist.
    pub(super) fn on_down(
        &mut self,
        (key, address): (BrokerKey, &str),
        error: &Error,
        loss: DisconnectKind,
        now: Instant,
        is_known: impl Fn(BrokerKey) -> bool,
    ) -> FailureReport {
        self.by_address.retain(|_, outage| {
            let recovered = outage.up_since.is_some_and(|up| now.since(up) >= STEADY_AFTER);
            // The connection may just have been replaced by one under another broker id.
            let recent = now.since(outage.last) < FORGET_AFTER;
            !recovered && (recent || outage.connections.iter().any(|connection| is_known(*connection)))
        });
        let outage = self.by_address.entry(address.to_owned()).or_insert_with(|| Outage {
            connections: Vec::new(),
            since: now,
            last: now,
            up_since: None,
            failures: 0,
            unreported: 0,
            reported_at: now,
            next_summary: now + FIRST_SUMMARY,
            logged_down: false,
            seen: Vec::new(),
        });
        if !outage.connections.contains(&key) {
            outage.connections.push(key);
        }
        outage.up_since = None;
        outage.last = now;
        outage.failures += 1;
        let kind = (error.code, loss == DisconnectKind::Attempt);
        let notify = !outage.seen.iter().any(|(code, _)| *code == error.code);
        if !outage.seen.contains(&kind) {
            outage.seen.push(kind);
            outage.logged_down = true;
            let level = match loss {
                DisconnectKind::Attempt => level::ERROR,
                DisconnectKind::Connection { in_flight: 0 } => level::INFO,
                DisconnectKind::Connection { .. } => level::WARNING,
            };
            let line = Some((level, error.message.clone()));
            return FailureReport { notify, line };
        }
        outage.unreported += 1;
        if now < outage.next_summary {
            return FailureReport { notify, line: None };
        }
        let (unreported, past) = (outage.unreported, now.since(outage.reported_at));
        let text = format!(
            "{unreported} more failures in {}, down since {}; the last: {}",
            seconds(past),
            seconds(now.since(outage.since)),
            error.message
        );
        outage.unreported = 0;
        outage.reported_at = now;
        outage.next_summary = now + (past * 2).clamp(FIRST_SUMMARY, RAREST_SUMMARY);
        outage.logged_down = true;
        FailureReport {
            notify,
            line: Some((level::WARNING, text)),
        }
    }

    /// Handles a successful connection. Returns the log line that ends the outage, if it was logged.
    pub(super) fn on_up(&mut self, address: &str, now: Instant) -> Option<String> {
        let outage = self.by_address.get_mut(address)?;
        outage.up_since.get_or_insert(now);
        std::mem::take(&mut outage.logged_down).then(|| {
            let (n, past) = (outage.failures, seconds(now.since(outage.since)));
            format!("up again, {past} and {n} failures after it went away")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::NodeId;

    const REFUSED: DisconnectKind = DisconnectKind::Attempt;
    const LOST: DisconnectKind = DisconnectKind::Connection { in_flight: 2 };

    struct World {
        failure_reporter: FailureReporter,
        now: Instant,
    }

    impl World {
        fn new() -> Self {
            World {
                failure_reporter: FailureReporter::default(),
                now: Instant::ORIGIN,
            }
        }

        fn down_of(&mut self, key: BrokerKey, code: ErrorCode, loss: DisconnectKind) -> FailureReport {
            let error = Error::new(code, "why");
            self.failure_reporter
                .on_down((key, "a:1"), &error, loss, self.now, |_| true)
        }

        fn down(&mut self, loss: DisconnectKind) -> FailureReport {
            self.down_of(BrokerKey::general(NodeId(1)), ErrorCode::L_TRANSPORT, loss)
        }

        fn up(&mut self) -> Option<String> {
            self.failure_reporter.on_up("a:1", self.now)
        }

        fn pass(&mut self, seconds: u64) {
            self.now += Duration::from_secs(seconds);
        }
    }

    #[test]
    fn outage_is_reported_once_and_logged_at_increasing_intervals() {
        let mut w = World::new();
        let first = w.down(LOST);
        assert_eq!(first.line, Some((level::WARNING, "why".into())));
        assert!(first.notify);
        let mut lines = Vec::new();
        for _ in 0..3600 {
            w.pass(1);
            let report = w.down(REFUSED);
            assert!(!report.notify);
            lines.extend(report.line);
        }
        // The refused attempt, then summaries after 30 s and at intervals of 1, 2, 4, 8 and 10 minutes.
        assert_eq!(lines.len(), 10, "{lines:#?}");
        assert_eq!(lines[0].0, level::ERROR);
        assert_eq!(
            lines[1].1,
            "29 more failures in 30.0 s, down since 30.0 s; the last: why"
        );
        w.pass(1);
        let end = w.up().expect("the end is logged");
        assert_eq!(end, "up again, 3601.0 s and 3601 failures after it went away");
        assert_eq!(w.up(), None);
    }

    #[test]
    fn connections_to_one_address_are_one_outage() {
        let mut w = World::new();
        assert!(w.down(LOST).notify);
        for key in [BrokerKey::coordinator(NodeId(1)), BrokerKey::general(NodeId(-1))] {
            assert_eq!(w.down_of(key, ErrorCode::L_TRANSPORT, LOST), FailureReport::default());
        }
        let other = w.down_of(BrokerKey::general(NodeId(1)), ErrorCode::L_RESOLVE, REFUSED);
        assert!(other.notify && other.line.is_some(), "another cause");
    }

    #[test]
    fn flapping_broker_is_one_outage() {
        let mut w = World::new();
        let mut lines = 0;
        let mut reports = 0;
        for _ in 0..600 {
            let report = w.down(LOST);
            lines += usize::from(report.line.is_some());
            reports += usize::from(report.notify);
            lines += usize::from(w.up().is_some());
            w.pass(1);
        }
        assert_eq!((lines, reports), (10, 1));
        w.pass(60);
        assert!(w.down(LOST).notify, "it was up for long: another outage");
    }

    #[test]
    fn outages_of_removed_brokers_are_forgotten() {
        let mut w = World::new();
        w.down(REFUSED);
        let error = Error::new(ErrorCode::L_TRANSPORT, "why");
        let other = BrokerKey::general(NodeId(2));
        let known = |key| key == other;
        for (seconds, remembered) in [(59, 2), (60, 1)] {
            w.now = Instant::ORIGIN + Duration::from_secs(seconds);
            w.failure_reporter
                .on_down((other, "b:1"), &error, REFUSED, w.now, known);
            assert_eq!(w.failure_reporter.by_address.len(), remembered);
        }
    }
}
