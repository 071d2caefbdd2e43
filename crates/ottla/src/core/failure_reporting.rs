//! Tells of brokers that cannot be reached, once for each cause, and in few words however long it lasts.
//!
//! All connections to one address count as one: a broker that goes away takes several along.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::connection::{BrokerKey, DisconnectKind};
use crate::error::{Error, ErrorCode};
use crate::event::level;
use crate::sys::Instant;

/// When what has happened since is summed up first; the times in between double from then on.
const FIRST_SUMMARY: Duration = Duration::from_secs(30);
/// How far apart sums are at most.
const RAREST_SUMMARY: Duration = Duration::from_secs(600);
/// A broker that fails again sooner than this after it came up has not recovered.
const STEADY_AFTER: Duration = Duration::from_secs(10);

/// How long the outage of a broker that left the cluster is remembered.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// What one failure is like.
type Kind = (ErrorCode, bool);

#[derive(Debug)]
struct Outage {
    /// The connections that failed, for forgetting brokers that are gone.
    connections: Vec<BrokerKey>,
    since: Instant,
    last: Instant,
    /// When it ended, perhaps.
    up_since: Option<Instant>,
    failures: u64,
    /// Of these, those that no line tells of yet.
    unreported: u64,
    reported_at: Instant,
    next_summary: Instant,
    /// The last line said that the broker is down.
    logged_down: bool,
    seen: Vec<Kind>,
}

/// What is to be told of a failure.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FailureReport {
    /// The application hears of it.
    pub(super) notify: bool,
    /// The level and the text of a line for the log.
    pub(super) line: Option<(i32, String)>,
}

/// Brokers that fail, by their address.
#[derive(Debug, Default)]
pub(super) struct FailureReporter {
    by_address: BTreeMap<String, Outage>,
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

impl FailureReporter {
    /// A connection or an attempt failed. `is_known` says which connections are still there.
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
            // A broker that was forgotten may be about to be tried under another id.
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

    /// A connection came up; gives the line that ends what was told before.
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
    fn an_outage_is_reported_once_and_told_in_few_lines() {
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
        // What it turned into, and sums: after 30 s, then 1, 2, 4, 8 and 10 minutes after the one before.
        assert_eq!(lines.len(), 10, "{lines:#?}");
        assert_eq!(lines[0].0, level::ERROR);
        assert_eq!(
            lines[1].1,
            "29 more failures in 30.0 s, down since 30.0 s; the last: why"
        );
        w.pass(1);
        let end = w.up().expect("the end is told");
        assert_eq!(end, "up again, 3601.0 s and 3601 failures after it went away");
        assert_eq!(w.up(), None);
    }

    #[test]
    fn all_connections_to_an_address_are_one_cause() {
        let mut w = World::new();
        assert!(w.down(LOST).notify);
        for key in [BrokerKey::coordinator(NodeId(1)), BrokerKey::general(NodeId(-1))] {
            assert_eq!(w.down_of(key, ErrorCode::L_TRANSPORT, LOST), FailureReport::default());
        }
        let other = w.down_of(BrokerKey::general(NodeId(1)), ErrorCode::L_RESOLVE, REFUSED);
        assert!(other.notify && other.line.is_some(), "another cause");
    }

    #[test]
    fn a_broker_that_comes_and_goes_does_not_fill_the_log() {
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
    fn brokers_that_are_gone_are_forgotten() {
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
