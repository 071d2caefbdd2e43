//! Measurements between two pushes.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ApiKey;

use crate::stats::DurationSum;
use crate::sys::Instant;
use crate::types::NodeId;

/// The measurements of the current interval. They are switched off while there is no subscription.
#[derive(Debug, Default)]
pub struct Measures {
    on: bool,
    /// The start of the client, in nanoseconds of Unix time.
    origin_ns: u64,
    /// The start of the interval.
    since: Instant,
    since_ns: u64,
    spans: Spans,
    /// The totals at the start of the interval.
    before: Totals,
}

/// Durations measured in one interval.
#[derive(Debug, Default, Clone)]
pub(super) struct Spans {
    /// Round trips, by broker.
    pub(super) round_trips: BTreeMap<NodeId, DurationSum>,
    /// Round trips of Produce requests.
    pub(super) produce: DurationSum,
    /// Round trips of Fetch requests.
    pub(super) fetch: DurationSum,
    /// Round trips of OffsetCommit requests.
    pub(super) commit: DurationSum,
    /// Throttle times of responses.
    pub(super) throttle: DurationSum,
}

/// Counters.
#[derive(Debug, Default, Clone, Copy)]
pub struct Totals {
    /// Established connections.
    pub connections: u64,
    /// Milliseconds spent in rebalances.
    pub rebalance_ms: u64,
}

/// A finished interval.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    /// Its length.
    pub(super) length: Duration,
    /// The start of the client, in nanoseconds of Unix time.
    pub(super) origin_ns: u64,
    /// The start of the interval, likewise.
    pub(super) since_ns: u64,
    /// The end of the interval, likewise.
    pub(super) until_ns: u64,
    /// Its measurements.
    pub(super) spans: Spans,
    /// The totals at its start.
    pub(super) before: Totals,
}

fn nanoseconds(wall_ms: i64) -> u64 {
    u64::try_from(wall_ms).unwrap_or(0).saturating_mul(1_000_000)
}

impl Measures {
    /// Sets the start of the client. Later calls have no effect.
    pub(super) fn note_origin(&mut self, wall_ms: i64) {
        if self.origin_ns == 0 {
            self.origin_ns = nanoseconds(wall_ms);
        }
    }

    /// Starts to measure, unless it is started.
    pub(super) fn begin(&mut self, now: Instant, wall_ms: i64, connections: u64) {
        if !std::mem::replace(&mut self.on, true) {
            self.since_ns = nanoseconds(wall_ms);
            self.since = now;
            self.spans = Spans::default();
            self.before.connections = connections;
        }
    }

    /// Stops to measure.
    pub(super) fn stop(&mut self) {
        self.on = false;
        self.spans = Spans::default();
    }

    /// Records the round trip of a request.
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

    /// Records the throttle time of a response.
    pub fn on_throttle(&mut self, throttle_ms: i32) {
        if self.on && throttle_ms > 0 {
            self.spans
                .throttle
                .record(Duration::from_millis(throttle_ms.unsigned_abs().into()));
        }
    }

    /// Ends the interval and begins the next one. `totals` are the current ones.
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
