//! The behaviour of the virtual network: drawn apart from the rest of the plan.

use crate::rng::SeededRng;

/// The behaviour of the network in a world.
#[derive(Debug, Clone)]
pub(crate) struct NetPlan {
    /// The least delay, one way.
    pub(crate) latency_us: u64,
    /// The longest additional delay.
    pub(crate) jitter_us: u64,
    /// Bytes per millisecond.
    pub(crate) bytes_per_ms: u64,
    /// The size of the send buffer.
    pub(crate) socket_buffer: usize,
    /// Probability that a transmission arrives in pieces.
    pub(crate) split: f64,
    /// Probability that a transmission is late, and the longest delay then.
    pub(crate) late: f64,
    pub(crate) late_us: u64,
    /// Probability that the connection breaks during a client's transmission.
    pub(crate) cut_up: f64,
    /// Probability that the connection breaks during a response.
    pub(crate) cut_down: f64,
    /// Probabilities that a response is lost on a connection that stays open, or is repeated.
    pub(crate) lost: f64,
    pub(crate) repeated: f64,
    /// Probability that a connection becomes dead, undetected by both sides.
    pub(crate) half_open: f64,
    /// Probability that an attempt to connect is refused.
    pub(crate) refuse: f64,
    /// Probability that an attempt to connect gets no response.
    pub(crate) silence: f64,
    /// Probability that a name look-up fails.
    pub(crate) lookup_fails: f64,
    /// The longest delay of a client's thread after a wake-up.
    pub(crate) thread_delay_us: u64,
}

impl NetPlan {
    /// `late` is the generator of properties that were added later, which keeps the draws of worlds that are kept as
    /// regressions.
    pub(crate) fn draw(c: &mut SeededRng, late: &mut SeededRng) -> Self {
        let latency_us = c.spread(20, 30_000);
        NetPlan {
            latency_us,
            jitter_us: c.spread(1, latency_us * 3),
            bytes_per_ms: c.spread(1000, 1_000_000),
            socket_buffer: c.spread(200, 4_000_000) as usize,
            split: c.rate(0.3, 0.01, 1.0),
            late: c.rate(0.5, 0.001, 0.1),
            late_us: c.spread(10_000, 90_000_000),
            cut_up: c.rate(0.5, 0.0005, 0.1),
            cut_down: c.rate(0.5, 0.0005, 0.1),
            lost: late.rate(0.8, 0.0005, 0.03),
            repeated: late.rate(0.9, 0.0005, 0.03),
            half_open: c.rate(0.6, 0.0005, 0.03),
            refuse: c.rate(0.7, 0.01, 0.5),
            silence: c.rate(0.8, 0.01, 0.3),
            lookup_fails: c.rate(0.8, 0.01, 0.5),
            thread_delay_us: if c.hit(0.5) { 0 } else { c.spread(1, 20_000) },
        }
    }

    /// Returns the longest time of a round trip without faults.
    pub(crate) fn round_trip_us(&self) -> u64 {
        2 * (self.latency_us + self.jitter_us)
    }

    /// Enlarges the send buffer so that `bytes` are transferred within `within_us`.
    pub(crate) fn ensure_socket_buffer(&mut self, bytes: u64, within_us: u64) {
        let least = bytes.min(4_000_000) * self.round_trip_us() / within_us;
        self.socket_buffer = self.socket_buffer.max(least as usize);
    }
}
