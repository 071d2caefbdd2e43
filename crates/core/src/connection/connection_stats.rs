//! Counts and latencies of a connection, for statistics.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ApiKey;

use crate::stats::{self, Histogram, LATENCY_MAX_US, RTT_MAX_US, THROTTLE_MAX_MS};
use crate::sys::Instant;

/// The length prefix of a frame.
pub(super) const PREFIX_BYTES: usize = 4;

/// Counts of a broker connection since it was first opened, and latencies of the current interval.
#[derive(Debug, Default)]
pub(super) struct ConnectionStats {
    pub(super) requests: u64,
    pub(super) request_bytes: u64,
    pub(super) last_written: Option<Instant>,
    /// Requests that the kernel had not wholly taken when their connection ended.
    pub(super) unwritten: u64,
    pub(super) timeouts: u64,
    pub(super) responses: u64,
    pub(super) response_bytes: u64,
    pub(super) last_received: Option<Instant>,
    /// Connections that ended with an error while receiving.
    pub(super) receive_errors: u64,
    pub(super) unknown_responses: u64,
    pub(super) wakeups: u64,
    pub(super) connects: u64,
    pub(super) disconnects: u64,
    pub(super) by_api: BTreeMap<ApiKey, u64>,
    /// Present while statistics are requested.
    windows: Option<Windows>,
}

#[derive(Debug)]
struct Windows {
    outbuf: Box<Histogram>,
    rtt: Box<Histogram>,
    throttle: Box<Histogram>,
}

impl Windows {
    fn new() -> Option<Self> {
        Some(Windows {
            outbuf: Histogram::new(LATENCY_MAX_US)?,
            rtt: Histogram::new(RTT_MAX_US)?,
            throttle: Histogram::new(THROTTLE_MAX_MS)?,
        })
    }
}

impl ConnectionStats {
    /// Counts an attempt. With `measures`, latencies are measured from then on.
    pub(super) fn on_attempt(&mut self, measures: bool) {
        self.connects += 1;
        if measures && self.windows.is_none() {
            self.windows = Windows::new();
        }
    }

    /// Counts a request that was passed to the network.
    pub(super) fn on_request(&mut self, api: ApiKey) {
        *self.by_api.entry(api).or_default() += 1;
    }

    /// Counts a request that the kernel has taken whole, `took` after it was passed to the network.
    pub(super) fn on_written(&mut self, bytes: usize, took: Duration, now: Instant) {
        self.requests += 1;
        self.request_bytes += bytes as u64;
        self.last_written = Some(now);
        if let Some(windows) = &mut self.windows {
            windows.outbuf.record_us(took);
        }
    }

    /// Counts a response of `bytes` without its length prefix.
    pub(super) fn on_response(&mut self, bytes: usize, now: Instant) {
        self.responses += 1;
        self.response_bytes += (bytes + PREFIX_BYTES) as u64;
        self.last_received = Some(now);
        self.wakeups += 1;
    }

    /// Records the time from a request's last byte to its response.
    pub(super) fn on_round_trip(&mut self, took: Duration) {
        if let Some(windows) = &mut self.windows {
            windows.rtt.record_us(took);
        }
    }

    /// Records the `throttle_time_ms` of a response.
    pub(super) fn on_throttle_time(&mut self, throttle_ms: i32) {
        if let Some(windows) = &mut self.windows {
            windows.throttle.record(u64::try_from(throttle_ms).unwrap_or(0));
        }
    }

    /// Adds the counts of a connection that becomes part of this one.
    pub(super) fn absorb(&mut self, other: ConnectionStats) {
        self.requests += other.requests;
        self.request_bytes += other.request_bytes;
        self.last_written = self.last_written.max(other.last_written);
        self.unwritten += other.unwritten;
        self.timeouts += other.timeouts;
        self.responses += other.responses;
        self.response_bytes += other.response_bytes;
        self.last_received = self.last_received.max(other.last_received);
        self.receive_errors += other.receive_errors;
        self.unknown_responses += other.unknown_responses;
        self.wakeups += other.wakeups;
        self.connects += other.connects;
        self.disconnects += other.disconnects;
        for (api, count) in other.by_api {
            *self.by_api.entry(api).or_default() += count;
        }
        // The adopted connection's latencies are of this interval; those of one that ended earlier are nearly always empty.
        self.windows = other.windows.or(self.windows.take());
    }

    /// Writes the counts, and the latencies since the last call, into the statistics of a broker.
    pub(super) fn write_to(&mut self, now: Instant, to: &mut stats::Broker) {
        let idle =
            |last: Option<Instant>| last.map_or(-1, |at| i64::try_from(now.since(at).as_micros()).unwrap_or(i64::MAX));
        to.tx = self.requests;
        to.txbytes = self.request_bytes;
        to.txerrs = self.unwritten;
        to.txidle_us = idle(self.last_written);
        to.req_timeouts = self.timeouts;
        to.rx = self.responses;
        to.rxbytes = self.response_bytes;
        to.rxerrs = self.receive_errors;
        to.rxcorriderrs = self.unknown_responses;
        to.rxidle_us = idle(self.last_received);
        to.wakeups = self.wakeups;
        to.connects = self.connects;
        to.disconnects = self.disconnects;
        if let Some(windows) = &mut self.windows {
            to.outbuf_latency = windows.outbuf.take();
            to.rtt = windows.rtt.take();
            to.throttle = windows.throttle.take();
        }
    }
}

/// Counts of all connections of a client, closed ones included.
#[derive(Debug, Default, Clone, Copy)]
pub struct Totals {
    /// Connections that came up.
    pub connections: u64,
    /// Requests that were written.
    pub requests: u64,
    /// Their bytes.
    pub request_bytes: u64,
    /// Responses that arrived.
    pub responses: u64,
    /// Their bytes.
    pub response_bytes: u64,
}

impl Totals {
    pub(super) fn on_written(&mut self, bytes: usize) {
        self.requests += 1;
        self.request_bytes += bytes as u64;
    }

    pub(super) fn on_response(&mut self, bytes: usize) {
        self.responses += 1;
        self.response_bytes += (bytes + PREFIX_BYTES) as u64;
    }
}
