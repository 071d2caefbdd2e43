//! Virtual time, as the production code sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use ottla::sys::{Clock, Instant, Waker};

/// The wall clock when a world begins, in milliseconds since 1970, as a client without skew reads it.
pub(crate) const WALL_START_MS: i64 = 1_700_000_000_000;

/// Virtual microseconds since the world began. One for all: monotonic clocks of different clients are never compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Time(Arc<AtomicU64>);

impl Time {
    pub(crate) fn set(&self, now_us: u64) {
        self.0.store(now_us, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A client's clocks.
#[derive(Debug)]
pub(crate) struct ClientClock {
    time: Time,
    /// By how much the wall clock is wrong.
    skew_ms: AtomicI64,
    /// When it was last set.
    set_at_us: AtomicU64,
}

/// After the wall clock was set, messages may bear the old time for so long.
const OLD_TIME_US: u64 = 21_000;

impl ClientClock {
    pub(crate) fn new(time: Time, skew_ms: i64) -> Self {
        ClientClock {
            time,
            skew_ms: AtomicI64::new(skew_ms),
            set_at_us: AtomicU64::new(0),
        }
    }

    /// Sets the wall clock, as NTP or an administrator would.
    pub(crate) fn set_skew_ms(&self, skew_ms: i64) {
        self.skew_ms.store(skew_ms, Ordering::Relaxed);
        self.set_at_us.store(self.time.get(), Ordering::Relaxed);
    }

    /// Whether the wall clock was set a moment ago.
    pub(crate) fn was_set_lately(&self) -> bool {
        self.time.get() < self.set_at_us.load(Ordering::Relaxed) + OLD_TIME_US
    }
}

impl Clock for ClientClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.time.get())
    }

    fn wall_ms(&self) -> i64 {
        let passed = i64::try_from(self.time.get() / 1000).unwrap_or(i64::MAX);
        WALL_START_MS + passed + self.skew_ms.load(Ordering::Relaxed)
    }
}

/// Notes that a core wants to be driven.
#[derive(Debug, Default)]
pub(crate) struct WakeFlag(AtomicBool);

impl WakeFlag {
    /// Whether it was called since the last time.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Waker for WakeFlag {
    fn wake(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
