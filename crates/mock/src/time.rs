//! The cluster's time. The caller passes it; no clock is read.

use std::ops::Add;
use std::time::Duration;

/// Microseconds since the creation of the cluster. The caller owns the clock; the cluster ignores a step backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The creation of the cluster.
    pub const ZERO: Self = Self(0);

    /// Returns the time `millis` milliseconds after the creation of the cluster.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// Returns the whole milliseconds since the creation of the cluster.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1000
    }

    /// Adds milliseconds from a request; a negative number counts as zero.
    pub(crate) fn plus_ms(self, millis: i32) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(millis).unwrap_or(0).saturating_mul(1000)),
        )
    }

    /// This moment plus `micros` microseconds.
    pub(crate) fn plus_us(self, micros: u64) -> Self {
        Self(self.0.saturating_add(micros))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        self.plus_us(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }
}
