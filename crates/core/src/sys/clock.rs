//! The operating system's clocks.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Clock, Instant};

/// The number of processor ticks for which a reading of the clock is reused: less than a microsecond at more than two billion
/// ticks per second.
///
/// Without it the benchmark's row `copied payload` costs 4 % more CPU (more in 14 of 16 rounds:
/// `bench/compare.py --only "copied payload" --rounds 16 --build without=FOLDER`).
const REUSE_TICKS: u64 = 2048;

/// A thread's last reading of a clock.
#[derive(Clone, Copy)]
struct Reading {
    clock: u64,
    ticks: u64,
    seen: Instant,
}

thread_local! {
    static LAST: Cell<Reading> = const {
        Cell::new(Reading {
            clock: 0,
            ticks: 0,
            seen: Instant::ORIGIN,
        })
    };
}

/// The operating system's clocks. Monotonic within one thread; readings of two threads may differ by one or two
/// microseconds.
#[derive(Debug)]
pub struct SystemClock {
    /// Identifies the clock among those of the process; never 0.
    id: u64,
    origin: std::time::Instant,
}

impl SystemClock {
    /// Creates a clock whose origin is now.
    pub fn new() -> Self {
        static IDS: AtomicU64 = AtomicU64::new(1);
        SystemClock {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            origin: std::time::Instant::now(),
        }
    }

    fn read(&self) -> Instant {
        let micros = self.origin.elapsed().as_micros();
        Instant(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        let Some(ticks) = ottla_cpu_hints::ticks() else {
            return self.read();
        };
        let last = LAST.get();
        // A lower count, of another processor, wraps around to a large difference.
        if last.clock == self.id && ticks.wrapping_sub(last.ticks) < REUSE_TICKS {
            return last.seen;
        }
        let seen = self.read();
        LAST.set(Reading {
            clock: self.id,
            ticks,
            seen,
        });
        seen
    }

    fn wall_ms(&self) -> i64 {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn now_advances_with_the_system_clock() {
        let clock = SystemClock::new();
        // The first reading also examines the processor.
        clock.now();
        let (begin, seen) = (std::time::Instant::now(), clock.now());
        let mut last = seen;
        while begin.elapsed() < Duration::from_millis(20) {
            let now = clock.now();
            assert!(now >= last, "{last:?} before {now:?}");
            last = now;
        }
        let (passed, measured) = (begin.elapsed(), clock.now() - seen);
        assert!(
            measured <= passed + Duration::from_micros(5),
            "{measured:?} of {passed:?}"
        );
        assert!(
            measured >= Duration::from_millis(20) - Duration::from_micros(5),
            "{measured:?}"
        );
    }

    #[test]
    fn readings_are_not_reused_across_clocks() {
        let early = SystemClock::new();
        std::thread::sleep(Duration::from_millis(5));
        let late = SystemClock::new();
        for _ in 0..100 {
            let (a, b) = (early.now(), late.now());
            assert!(a - b >= Duration::from_millis(4), "{a:?} and {b:?}");
        }
    }
}
