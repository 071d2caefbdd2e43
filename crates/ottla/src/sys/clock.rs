//! The operating system's clocks.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Clock, Instant};

/// So many ticks of the processor a look at the clock holds: less than a microsecond where it counts more than two billions a
/// second. A thread that produces one record after the other would otherwise spend a tenth of its time on looks.
const REUSE_TICKS: u64 = 2048;

/// A thread's last look at a clock.
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

/// The operating system's clocks. To one thread its time never goes back; to two threads it may differ by a microsecond
/// or two.
#[derive(Debug)]
pub struct SystemClock {
    /// Tells it from the process's others; never 0.
    id: u64,
    origin: std::time::Instant,
}

impl SystemClock {
    /// A clock whose origin is now.
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
        // A count of another processor that is behind looks like one that is far ahead.
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
    fn goes_as_fast_as_time_itself() {
        let clock = SystemClock::new();
        let (begin, seen) = (std::time::Instant::now(), clock.now());
        let mut last = seen;
        while begin.elapsed() < Duration::from_millis(20) {
            let now = clock.now();
            assert!(now >= last, "{last:?} before {now:?}");
            last = now;
        }
        let (passed, told) = (begin.elapsed(), clock.now() - seen);
        assert!(told <= passed + Duration::from_micros(5), "{told:?} of {passed:?}");
        assert!(told >= Duration::from_millis(20) - Duration::from_micros(5), "{told:?}");
    }

    #[test]
    fn two_clocks_do_not_mix() {
        let early = SystemClock::new();
        std::thread::sleep(Duration::from_millis(5));
        let late = SystemClock::new();
        for _ in 0..100 {
            let (a, b) = (early.now(), late.now());
            assert!(a - b >= Duration::from_millis(4), "{a:?} and {b:?}");
        }
    }
}
