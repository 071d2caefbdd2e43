//! The only doors to time and chance.
//!
//! Managers receive `now` and a [`Rng`]; nothing else in the crate asks the operating system for the time or
//! for random numbers. A simulation replaces [`Clock`] and seeds the [`Rng`].

mod clock;
pub mod sync;

use std::ops::{Add, AddAssign, Sub};
use std::sync::Arc;
use std::time::Duration;

pub use self::clock::SystemClock;
pub use ottla_cpu_hints::forks;

/// A point on the client's monotonic clock, in microseconds since the clock's origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ORIGIN: Instant = Instant(0);
    /// A point that is never reached.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// From microseconds since the origin.
    pub const fn from_micros(micros: u64) -> Self {
        Instant(micros)
    }

    /// Microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`, zero when `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// This point plus a number of milliseconds.
    pub fn plus_ms(self, ms: u64) -> Self {
        Instant(self.0.saturating_add(ms.saturating_mul(1000)))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, rhs: Duration) -> Instant {
        let micros = u64::try_from(rhs.as_micros()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(micros))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, rhs: Instant) -> Duration {
        self.since(rhs)
    }
}

/// The earlier of two optional points; `None` means "never".
pub fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Where the time comes from. Thread-safe.
pub trait Clock: Send + Sync + 'static {
    /// Monotonic time.
    fn now(&self) -> Instant;
    /// Wall-clock time in milliseconds since the Unix epoch, for record timestamps.
    fn wall_ms(&self) -> i64;
}

/// A clock shared by the threads of a client.
pub type SharedClock = Arc<dyn Clock>;

/// Seedable random numbers.
#[derive(Debug, Clone)]
pub struct Rng(fastrand::Rng);

impl Rng {
    /// A generator whose sequence is fixed by `seed`.
    pub fn from_seed(seed: u64) -> Self {
        Rng(fastrand::Rng::with_seed(seed))
    }

    /// A generator seeded by the operating system.
    pub fn from_entropy() -> Self {
        Rng(fastrand::Rng::new())
    }

    /// A number in `0..n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { self.0.usize(0..n) }
    }

    /// A uniformly random 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// `duration` scaled by a factor drawn from `1 - down ..= 1 + up`.
    pub fn jitter(&mut self, duration: Duration, down: f64, up: f64) -> Duration {
        let factor = 1.0 - down + self.0.f64() * (down + up);
        duration.mul_f64(factor.max(0.0))
    }
}

/// Wakes the thread that drives a client's core. May be called from any thread, any number of times; a wake-up that
/// comes before the core was driven again merges with it.
pub trait Waker: Send + Sync + 'static {
    /// Has the core driven again soon.
    fn wake(&self);

    /// Has the core driven again soon, if possible on the caller's own thread and before this returns: for threads that
    /// wait for what the core will do. No lock may be held.
    fn drive_inline(&self) {
        self.wake();
    }

    /// For a thread that is about to wait until `done` says yes: may drive the core meanwhile, in the place of the thread
    /// that does so otherwise. Returns when `done`, when the time is up, and at any earlier time; `done` is called without
    /// a lock held. No lock may be held.
    fn poll_inline(&self, timeout: Option<Duration>, done: &dyn Fn() -> bool) {
        let _ = (timeout, done);
    }

    /// For a process that was forked from the core's: lets go of its copies of the connections, if nobody was at them at
    /// that moment. The core is left as it is.
    fn abandon(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_saturate() {
        assert_eq!(Instant::NEVER.plus_ms(5), Instant::NEVER);
        assert_eq!(Instant::from_micros(3) - Instant::from_micros(5), Duration::ZERO);
    }

    #[test]
    fn earliest_prefers_what_is_there() {
        let t = Instant::from_micros(7);
        assert_eq!(earliest(None, Some(t)), Some(t));
        assert_eq!(
            earliest(Some(Instant::from_micros(3)), Some(t)),
            Some(Instant::from_micros(3))
        );
        assert_eq!(earliest(None, None), None);
    }

    #[test]
    fn jitter_stays_in_its_range() {
        let mut rng = Rng::from_seed(1);
        for _ in 0..1000 {
            let d = rng.jitter(Duration::from_millis(100), 0.25, 0.5);
            assert!((Duration::from_millis(75)..=Duration::from_millis(150)).contains(&d));
        }
    }
}
