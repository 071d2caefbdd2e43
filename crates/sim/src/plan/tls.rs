//! Worlds in which clients use TLS.

use super::seeds::has_tls;
use super::settings::Settings;
use crate::rng::SeededRng;

/// With a shorter interval, looks at certificates would dominate a client's turns, which tests of quiet clients count.
const INTERVAL_MIN_MS: u64 = 200;
/// Certificates change less often than connections are set up; otherwise, each connection would be replaced as soon as it
/// is up.
const CHANGE_MIN_US: u64 = 5_000_000;

/// TLS in a world: handshakes, and the certificates of clients.
#[derive(Debug, Clone)]
pub(crate) struct TlsPlan {
    /// Probability that a client uses TLS.
    share: f64,
    /// The longest time that a broker takes for a handshake.
    pub(crate) handshake_us: u64,
    /// Probability that a handshake fails.
    pub(crate) fails: f64,
    /// `ssl.certificate.refresh.interval.ms`.
    interval_ms: u64,
    /// `ssl.certificate.refresh.reconnect.ms`.
    reconnect_ms: u64,
    /// The longest time that a look at certificate files takes.
    pub(crate) look_us: u64,
    /// The longest time between two changes of a client's certificate files.
    pub(crate) change_us: u64,
    /// Probability that changed files cannot be used.
    pub(crate) unusable: f64,
}

impl TlsPlan {
    /// Draws the TLS of some worlds. `round_trip_us` is the longest time of a round trip without faults.
    pub(crate) fn draw(seed: u64, round_trip_us: u64) -> Option<Self> {
        if !has_tls(seed) {
            return None;
        }
        let mut c = SeededRng::of(seed, 60);
        Some(TlsPlan {
            share: c.pick(&[1.0, 1.0, 0.5]),
            handshake_us: c.spread(100, 500_000),
            fails: c.rate(0.2, 0.01, 0.5),
            interval_ms: if c.hit(0.2) {
                0
            } else {
                c.spread(INTERVAL_MIN_MS, 20_000)
            },
            reconnect_ms: if c.hit(0.3) { 0 } else { c.spread(50, 10_000) },
            look_us: c.spread(100, 2_000_000),
            change_us: c.spread(CHANGE_MIN_US, 60_000_000).max(40 * round_trip_us),
            unusable: c.rate(0.5, 0.1, 0.5),
        })
    }

    /// Draws whether a client uses TLS.
    pub(crate) fn draw_use(&self, c: &mut SeededRng) -> bool {
        c.hit(self.share)
    }

    /// Returns the settings of clients with TLS.
    pub(crate) fn settings(&self) -> Settings {
        let number = |name: &str, value: u64| (name.to_owned(), value.to_string());
        vec![
            ("security.protocol".into(), "ssl".into()),
            number("ssl.certificate.refresh.interval.ms", self.interval_ms),
            number("ssl.certificate.refresh.reconnect.ms", self.reconnect_ms),
        ]
    }

    /// Returns the time within which connections are replaced after a renewal of certificates; `None` where they are not.
    pub(crate) fn reconnect_us(&self) -> Option<u64> {
        (self.reconnect_ms > 0).then_some(self.reconnect_ms * 1000)
    }
}
