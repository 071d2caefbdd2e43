//! Durations in a row.

use std::time::Duration;

/// How many durations there were, what they come to, and the longest.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DurationSum {
    count: u64,
    sum: Duration,
    max: Duration,
}

impl DurationSum {
    /// Takes one in.
    pub fn record(&mut self, duration: Duration) {
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
        self.max = self.max.max(duration);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// The longest, zero without any.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The average; `None` without any.
    pub fn avg(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum.div_f64(self.count as f64))
    }

    /// The same among `count` durations, of which the others were zero.
    #[must_use]
    pub fn among(self, count: u64) -> Self {
        DurationSum {
            count: count.max(self.count),
            ..self
        }
    }
}
