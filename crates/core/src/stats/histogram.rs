//! The histogram of one interval's values.

use std::time::Duration;

use super::Summary;

/// Upper bound of latencies inside the client, in microseconds.
pub(crate) const LATENCY_MAX_US: u64 = 100_000;
/// Upper bound of round trip times, in microseconds.
pub(crate) const RTT_MAX_US: u64 = 500_000;
/// Upper bound of throttle times, in milliseconds.
pub(crate) const THROTTLE_MAX_MS: u64 = 5_000_000;

/// Returns the windows' names, upper bounds and units, for the manual.
pub(super) fn ranges() -> [(&'static str, String, &'static str); 6] {
    [
        ("int_latency", LATENCY_MAX_US.to_string(), "us"),
        ("outbuf_latency", LATENCY_MAX_US.to_string(), "us"),
        ("rtt", RTT_MAX_US.to_string(), "us"),
        ("throttle", THROTTLE_MAX_MS.to_string(), "ms"),
        ("batchsize", "`message.max.bytes`".to_owned(), "bytes"),
        ("batchcnt", "`batch.num.messages`".to_owned(), "messages"),
    ]
}

/// Precision of percentiles: an error of at most one percent.
const SIGNIFICANT_FIGURES: u8 = 2;

/// Values recorded since the last [`take`](Self::take). Its memory does not depend on their number.
#[derive(Debug)]
pub struct Histogram {
    values: hdrhistogram::Histogram<u64>,
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    out_of_range: u64,
}

impl Histogram {
    /// Creates a histogram of values up to `max`. Larger values are counted, but excluded from percentiles.
    pub fn new(max: u64) -> Option<Box<Self>> {
        // The lowest value distinct from 0 is 1; hdrhistogram accepts no upper bound below 2.
        let values = hdrhistogram::Histogram::new_with_bounds(1, max.max(2), SIGNIFICANT_FIGURES).ok()?;
        Some(Box::new(Histogram {
            values,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            out_of_range: 0,
        }))
    }

    /// Records a value.
    pub fn record(&mut self, value: u64) {
        self.record_times(value, 1);
    }

    /// Records many values. A run of equal values, as ages of messages often are, costs as much as one value.
    pub fn record_all(&mut self, values: impl IntoIterator<Item = u64>) {
        let mut run = (0, 0);
        for value in values {
            if value != run.0 {
                self.record_times(run.0, run.1);
                run = (value, 0);
            }
            run.1 += 1;
        }
        self.record_times(run.0, run.1);
    }

    fn record_times(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.count += times;
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if self.values.record_n(value, times).is_err() {
            self.out_of_range += times;
        }
    }

    /// Records a duration in microseconds.
    pub fn record_us(&mut self, time: Duration) {
        self.record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// Returns a summary of the values recorded since the last call.
    pub fn take(&mut self) -> Summary {
        let int = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let hdrsize = int((self.values.distinct_values() * size_of::<u64>()) as u64);
        if self.count == 0 {
            return Summary {
                hdrsize,
                ..Default::default()
            };
        }
        // The histogram rounds values up to its precision: limit percentiles to the largest recorded value.
        let at = |percentile: f64| int(self.values.value_at_percentile(percentile).min(self.max));
        let summary = Summary {
            min: int(self.min),
            max: int(self.max),
            avg: int(self.sum / self.count),
            sum: int(self.sum),
            stddev: self.values.stdev() as i64,
            p50: at(50.0),
            p75: at(75.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            p99_99: at(99.99),
            outofrange: int(self.out_of_range),
            hdrsize,
            cnt: int(self.count),
        };
        self.values.reset();
        (self.count, self.sum, self.min, self.max, self.out_of_range) = (0, 0, u64::MAX, 0, 0);
        summary
    }
}
