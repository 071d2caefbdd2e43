//! Count, sum and maximum of durations.

use std::time::Duration;

/// The count, sum and maximum of durations.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DurationSum {
    count: u64,
    sum: Duration,
    max: Duration,
}

impl DurationSum {
    /// Adds a duration.
    pub fn record(&mut self, duration: Duration) {
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
        self.max = self.max.max(duration);
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns their sum.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns the maximum, zero without any.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// Returns the average; `None` without any.
    pub fn avg(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum.div_f64(self.count as f64))
    }

    /// Returns the same durations extended by zeros to `count`.
    #[must_use]
    pub fn among(self, count: u64) -> Self {
        DurationSum {
            count: count.max(self.count),
            ..self
        }
    }
}
