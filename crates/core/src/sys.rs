//! Time, randomness, wake-ups and locks: the crate's only access to these services of the operating system.
//!
//! Managers receive `now` and a [`Rng`] as arguments. A simulation replaces [`Clock`] and seeds the [`Rng`].

mod clock;
pub mod sync;
mod thread_number;

use std::ops::{Add, AddAssign, Sub};
use std::sync::Arc;
use std::time::Duration;

pub use self::clock::SystemClock;
pub(crate) use self::thread_number::thread_number;
pub use ottla_cpu_hints::forks;

/// A point on the client's monotonic clock, in microseconds since the clock's origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ORIGIN: Instant = Instant(0);
    /// A point in time that is never reached.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// Creates a point from microseconds since the origin.
    pub const fn from_micros(micros: u64) -> Self {
        Instant(micros)
    }

    /// Returns the microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`, zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Returns this point plus a number of milliseconds.
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

/// Returns the earlier of two optional points; `None` means "never".
pub fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// A source of time. Thread-safe.
pub trait Clock: Send + Sync + 'static {
    /// Returns the monotonic time.
    fn now(&self) -> Instant;
    /// Returns the wall-clock time in milliseconds since the Unix epoch, for record timestamps.
    fn wall_ms(&self) -> i64;
}

/// A clock shared by the threads of a client.
pub type SharedClock = Arc<dyn Clock>;

/// Seedable random numbers. Their sequence can be computed from a few of them, except for
/// [`fill_unpredictable`](Self::fill_unpredictable).
#[derive(Debug, Clone)]
pub struct Rng {
    fast: fastrand::Rng,
    /// The source of unpredictable bytes is the system, not the seed.
    system: bool,
}

/// The system's cryptographic random number generator has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomSourceFailed;

impl Rng {
    /// Creates a generator whose sequence is determined by `seed`, unpredictable bytes included: for simulations and tests.
    pub fn from_seed(seed: u64) -> Self {
        Rng {
            fast: fastrand::Rng::with_seed(seed),
            system: false,
        }
    }

    /// Creates a generator with a random seed, whose unpredictable bytes are the system's.
    pub fn from_entropy() -> Self {
        Rng {
            fast: fastrand::Rng::new(),
            system: true,
        }
    }

    /// Creates a generator from the next number of this one, with the same source of unpredictable bytes.
    pub fn fork(&mut self) -> Self {
        Rng {
            fast: fastrand::Rng::with_seed(self.next_u64()),
            system: self.system,
        }
    }

    /// Fills `out` with bytes that a peer cannot predict from other random numbers (nonces). A seeded generator fills it
    /// from its sequence.
    ///
    /// # Errors
    /// [`RandomSourceFailed`] when the system has no random bytes.
    pub fn fill_unpredictable(&mut self, out: &mut [u8]) -> Result<(), RandomSourceFailed> {
        if self.system {
            aws_lc_rs::rand::fill(out).map_err(|_| RandomSourceFailed)
        } else {
            self.fast.fill(out);
            Ok(())
        }
    }

    /// Returns a number in `0..n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { self.fast.usize(0..n) }
    }

    /// Returns a uniformly distributed 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        self.fast.u64(..)
    }

    /// Returns `duration` scaled by a random factor from `1 - down ..= 1 + up`.
    pub fn jitter(&mut self, duration: Duration, down: f64, up: f64) -> Duration {
        let factor = 1.0 - down + self.fast.f64() * (down + up);
        duration.mul_f64(factor.max(0.0))
    }
}

/// Wakes the thread that drives a client's core. May be called from any thread, any number of times; wake-ups merge until the
/// core is driven again.
pub trait Waker: Send + Sync + 'static {
    /// Causes the core to be driven soon.
    fn wake(&self);

    /// Drives the core on the calling thread if possible, otherwise wakes the thread that drives it: for threads that are
    /// about to wait for the core's work. The caller must hold no lock.
    fn drive_inline(&self) {
        self.wake();
    }

    /// Drives the core on the calling thread, which is about to wait until `done` returns true, in place of the thread that
    /// drives it otherwise. May return at any time, at the latest when `done` returns true or after `timeout`. `done` is
    /// called without a lock held. The caller must hold no lock.
    fn poll_inline(&self, timeout: Option<Duration>, done: &dyn Fn() -> bool) {
        let _ = (timeout, done);
    }

    /// Closes a forked child's copies of the connections, unless a thread of the parent used them at the fork. The core is
    /// not changed.
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
    fn earliest_ignores_none() {
        let t = Instant::from_micros(7);
        assert_eq!(earliest(None, Some(t)), Some(t));
        assert_eq!(
            earliest(Some(Instant::from_micros(3)), Some(t)),
            Some(Instant::from_micros(3))
        );
        assert_eq!(earliest(None, None), None);
    }

    fn unpredictable(rng: &mut Rng) -> [u8; 16] {
        let mut out = [0; 16];
        rng.fill_unpredictable(&mut out).unwrap();
        out
    }

    #[test]
    fn a_seed_determines_unpredictable_bytes_also_in_forks() {
        let (mut a, mut b) = (Rng::from_seed(5), Rng::from_seed(5));
        assert_eq!(unpredictable(&mut a), unpredictable(&mut b));
        assert_eq!(unpredictable(&mut a.fork()), unpredictable(&mut b.fork()));
        assert_ne!(unpredictable(&mut a), unpredictable(&mut Rng::from_seed(6)));
    }

    #[test]
    fn unpredictable_bytes_of_the_system_do_not_follow_from_the_sequence_also_in_forks() {
        let mut rng = Rng::from_entropy();
        let mut copy = rng.clone();
        assert_ne!(unpredictable(&mut rng), unpredictable(&mut copy));
        let (mut fork, mut same_fork) = (rng.fork(), copy.fork());
        assert_eq!(fork.clone().next_u64(), same_fork.clone().next_u64());
        assert_ne!(unpredictable(&mut fork), unpredictable(&mut same_fork));
    }

    #[test]
    fn jitter_is_within_its_range() {
        let mut rng = Rng::from_seed(1);
        for _ in 0..1000 {
            let d = rng.jitter(Duration::from_millis(100), 0.25, 0.5);
            assert!((Duration::from_millis(75)..=Duration::from_millis(150)).contains(&d));
        }
    }
}
