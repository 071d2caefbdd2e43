//! Virtual time for the production code.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use ottla_core::sys::{Clock, Instant, Waker};

/// The wall clock at the start of a world, in milliseconds since 1970, for a client without skew.
pub(crate) const WALL_START_MS: i64 = 1_700_000_000_000;

/// Virtual microseconds since the start of the world. All clients share it: monotonic clocks of different clients are
/// never compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Time(Arc<AtomicU64>);

impl Time {
    pub(crate) fn set(&self, now_us: u64) {
        self.0.store(now_us, Ordering::Relaxed);
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A client's clocks.
#[derive(Debug)]
pub(crate) struct ClientClock {
    time: Time,
    /// The error of the wall clock.
    skew_ms: AtomicI64,
    /// The time at which the wall clock was last set.
    set_at_us: AtomicU64,
}

/// Time during which messages may have a timestamp of the old wall clock after it was set.
const OLD_TIME_US: u64 = 21_000;

impl ClientClock {
    pub(crate) fn new(time: Time, skew_ms: i64) -> Self {
        ClientClock {
            time,
            skew_ms: AtomicI64::new(skew_ms),
            set_at_us: AtomicU64::new(0),
        }
    }

    /// Sets the wall clock, as NTP or an administrator does.
    pub(crate) fn set_skew_ms(&self, skew_ms: i64) {
        self.skew_ms.store(skew_ms, Ordering::Relaxed);
        self.set_at_us.store(self.time.now_us(), Ordering::Relaxed);
    }

    /// Returns true shortly after the wall clock was set.
    pub(crate) fn was_set_lately(&self) -> bool {
        self.time.now_us() < self.set_at_us.load(Ordering::Relaxed) + OLD_TIME_US
    }
}

impl Clock for ClientClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.time.now_us())
    }

    fn wall_ms(&self) -> i64 {
        let passed = i64::try_from(self.time.now_us() / 1000).unwrap_or(i64::MAX);
        WALL_START_MS + passed + self.skew_ms.load(Ordering::Relaxed)
    }
}

/// Records wake-ups of a core.
#[derive(Debug, Default)]
pub(crate) struct WakeFlag(AtomicBool);

impl WakeFlag {
    /// Returns true when the core was woken since the last call.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Waker for WakeFlag {
    fn wake(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
