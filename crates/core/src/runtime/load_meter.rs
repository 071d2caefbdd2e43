//! Decides whether a loop hands out work: when it has more of it than it does in time.

use std::time::Duration;

use crate::sys::Instant;

/// The minimum time over which the load is measured.
const WINDOW: Duration = Duration::from_millis(50);
/// The share of the time in percent that the loop is busy, from which on it hands out work.
const HIGH_PERCENT: u32 = 70;
/// The share of the time in percent that the loop and its jobs take together, below which the loop can do it alone.
const LOW_PERCENT: u32 = 40;
/// The time below [`LOW_PERCENT`] after which the loop does its work itself again.
const CALM: Duration = Duration::from_secs(1);

/// Measures the time that a loop works, and that its jobs take.
#[derive(Debug, Default)]
pub(super) struct LoadMeter {
    window_began: Instant,
    /// The time worked in this window, by the loop and by its jobs.
    busy: Duration,
    is_high: bool,
    /// The end of the last window that was not below [`LOW_PERCENT`].
    calm_since: Instant,
}

impl LoadMeter {
    /// Counts a step of the loop.
    pub(super) fn on_step(&mut self, began: Instant, ended: Instant) {
        self.busy += ended.since(began);
        let window = ended.since(self.window_began);
        if window >= WINDOW {
            self.end_window(window, ended);
        }
    }

    /// Counts a job.
    pub(super) fn on_job(&mut self, took: Duration) {
        self.busy += took;
    }

    fn end_window(&mut self, window: Duration, now: Instant) {
        if self.busy * 100 >= window * HIGH_PERCENT {
            self.is_high = true;
        }
        if self.busy * 100 >= window * LOW_PERCENT {
            self.calm_since = now;
        } else if now.since(self.calm_since) >= CALM {
            self.is_high = false;
        }
        self.busy = Duration::ZERO;
        self.window_began = now;
    }

    /// Returns whether the loop hands out work.
    pub(super) fn is_high(&self) -> bool {
        self.is_high
    }
}

#[cfg(all(test, not(ottla_loom)))]
mod tests {
    use super::*;

    /// Steps of so many milliseconds in each 10 ms, for that time.
    fn run(meter: &mut LoadMeter, now_ms: &mut u64, busy_ms: u64, job_ms: u64, for_ms: u64) {
        let at = |ms: u64| Instant::ORIGIN.plus_ms(ms);
        let end = *now_ms + for_ms;
        while *now_ms < end {
            meter.on_job(Duration::from_millis(job_ms));
            meter.on_step(at(*now_ms), at(*now_ms + busy_ms));
            *now_ms += 10;
        }
    }

    #[test]
    fn busy_loop_hands_out_work_until_it_is_calm_for_a_while() {
        let (mut meter, mut now) = (LoadMeter::default(), 1000);
        run(&mut meter, &mut now, 5, 0, 1000);
        assert!(!meter.is_high());
        run(&mut meter, &mut now, 9, 0, 200);
        assert!(meter.is_high());
        // The loop has time, because the jobs have the work.
        run(&mut meter, &mut now, 1, 9, 5000);
        assert!(meter.is_high());
        run(&mut meter, &mut now, 1, 1, 900);
        assert!(meter.is_high());
        run(&mut meter, &mut now, 1, 1, 300);
        assert!(!meter.is_high());
    }

    #[test]
    fn short_burst_of_a_light_client_stays_on_the_loop() {
        let (mut meter, mut now) = (LoadMeter::default(), 1000);
        for _ in 0..5 {
            run(&mut meter, &mut now, 0, 0, 100);
            run(&mut meter, &mut now, 10, 0, 30);
            assert!(!meter.is_high());
        }
    }
}
