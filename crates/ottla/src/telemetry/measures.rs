//! What is measured between two pushes.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ApiKey;

use crate::stats::DurationSum;
use crate::sys::Instant;
use crate::types::NodeId;

/// Measures of the present interval. They cost nothing while nobody wants them.
#[derive(Debug, Default)]
pub struct Measures {
    on: bool,
    /// When the client began, in nanoseconds of Unix time.
    origin_ns: u64,
    /// When the interval began.
    since: Instant,
    since_ns: u64,
    spans: Spans,
    /// What the totals were when the interval began.
    before: Totals,
}

/// Times of one interval.
#[derive(Debug, Default, Clone)]
pub(super) struct Spans {
    /// Round trips, by broker.
    pub(super) round_trips: BTreeMap<NodeId, DurationSum>,
    /// Those of Produce requests.
    pub(super) produce: DurationSum,
    /// Those of Fetch requests.
    pub(super) fetch: DurationSum,
    /// Those of OffsetCommit requests.
    pub(super) commit: DurationSum,
    /// Pauses that brokers asked for.
    pub(super) throttle: DurationSum,
}

/// Counts that only grow.
#[derive(Debug, Default, Clone, Copy)]
pub struct Totals {
    /// Connections that were made.
    pub connections: u64,
    /// Milliseconds spent in rebalances.
    pub rebalance_ms: u64,
}

/// One interval.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    /// How long it was.
    pub(super) length: Duration,
    /// When the client began, in nanoseconds of Unix time.
    pub(super) origin_ns: u64,
    /// When the interval began.
    pub(super) since_ns: u64,
    /// When it ended.
    pub(super) until_ns: u64,
    /// What was measured in it.
    pub(super) spans: Spans,
    /// The totals when it began.
    pub(super) before: Totals,
}

fn nanoseconds(wall_ms: i64) -> u64 {
    u64::try_from(wall_ms).unwrap_or(0).saturating_mul(1_000_000)
}

impl Measures {
    /// The client begins; later calls change nothing.
    pub(super) fn note_origin(&mut self, wall_ms: i64) {
        if self.origin_ns == 0 {
            self.origin_ns = nanoseconds(wall_ms);
        }
    }

    /// Measures from now on, if it does not already.
    pub(super) fn begin(&mut self, now: Instant, wall_ms: i64, connections: u64) {
        if !std::mem::replace(&mut self.on, true) {
            self.since_ns = nanoseconds(wall_ms);
            self.since = now;
            self.spans = Spans::default();
            self.before.connections = connections;
        }
    }

    /// Measures nothing any more.
    pub(super) fn stop(&mut self) {
        self.on = false;
        self.spans = Spans::default();
    }

    /// A broker has answered.
    pub fn on_reply(&mut self, node: NodeId, api: ApiKey, took: Duration) {
        if !self.on {
            return;
        }
        self.spans.round_trips.entry(node).or_default().record(took);
        match api {
            ApiKey::PRODUCE => self.spans.produce.record(took),
            ApiKey::FETCH => self.spans.fetch.record(took),
            ApiKey::OFFSET_COMMIT => self.spans.commit.record(took),
            _ => {}
        }
    }

    /// A response asked for a pause.
    pub fn on_throttle(&mut self, throttle_ms: i32) {
        if self.on && throttle_ms > 0 {
            self.spans
                .throttle
                .record(Duration::from_millis(throttle_ms.unsigned_abs().into()));
        }
    }

    /// Ends the interval and begins the next one. `totals` are those of now.
    pub(super) fn take(&mut self, now: Instant, wall_ms: i64, totals: Totals) -> Interval {
        let until_ns = nanoseconds(wall_ms);
        let interval = Interval {
            length: now.since(self.since),
            origin_ns: self.origin_ns,
            since_ns: self.since_ns,
            until_ns,
            spans: std::mem::take(&mut self.spans),
            before: std::mem::replace(&mut self.before, totals),
        };
        self.since = now;
        self.since_ns = until_ns;
        interval
    }
}
