//! A clock that keeps its time until a test sets it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::sys::{Clock, Instant, Waker};

/// The wall clock at the monotonic clock's origin, in milliseconds since 1970; that of the brokers is the same.
pub(crate) const EPOCH_MS: i64 = 1_700_000_000_000;

/// Virtual time, and a counter of wake-ups.
#[derive(Debug, Default)]
pub(crate) struct VirtualClock {
    now_us: AtomicU64,
    wakes: AtomicUsize,
}

impl VirtualClock {
    pub(crate) fn set(&self, now: Instant) {
        self.now_us.store(now.as_micros(), Ordering::Relaxed);
    }

    /// Returns the number of times that the client's thread was woken.
    pub(crate) fn wakes(&self) -> usize {
        self.wakes.load(Ordering::Relaxed)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.now_us.load(Ordering::Relaxed))
    }

    fn wall_ms(&self) -> i64 {
        EPOCH_MS + i64::try_from(self.now_us.load(Ordering::Relaxed) / 1000).unwrap()
    }
}

impl Waker for VirtualClock {
    fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }
}
