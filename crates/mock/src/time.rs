//! Time as the cluster sees it: given by the caller, never read from a clock.

use std::ops::Add;
use std::time::Duration;

/// Microseconds since the cluster was made. The caller owns the clock; the cluster never goes back in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The moment at which the cluster was made.
    pub const ZERO: Self = Self(0);

    /// The moment `millis` milliseconds after the cluster was made.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// Whole milliseconds since the cluster was made.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1000
    }

    /// This moment plus a number of milliseconds as it came over the wire; a negative number counts as zero.
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
