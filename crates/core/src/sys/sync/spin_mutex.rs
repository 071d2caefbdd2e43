//! A lock for critical sections of some dozens of nanoseconds, of which the lock itself is a considerable part.

use std::hint::spin_loop;
use std::thread;
use std::time::Duration;

use spin::mutex::{self, SpinMutexGuard};

/// Number of tries before the first yield: about half a microsecond, several times the critical section of a running holder.
const SPINS_END: u32 = 40;

/// Number of tries before the first sleep; those after [`SPINS_END`] yield, since a preempted holder may wait for this
/// processor.
const YIELDS_END: u32 = SPINS_END + 20;

/// Duration of a sleep: a holder that still does not run waits for memory or for threads of a higher priority, which may be
/// this one.
const PAUSE: Duration = Duration::from_micros(50);

/// A mutex that is released by a plain store.
///
/// Other mutexes release by an atomic read-modify-write, to find out whether a thread waits, and the processor completes all
/// earlier stores first. With stores to memory outside of the cache, that takes longer than the rest of the critical section.
/// Here a waiting thread spins, yields, and then tries every 50 µs without a limit: never hold the lock while waiting for
/// anything but another lock of this kind, and use it only where contention is rare.
///
/// With parking_lot's mutex in its place the benchmark's row `copied payload` costs 2 % more CPU (more in 13 of 16 rounds),
/// and `500 partitions, keyed` 4 % (more in 12 of 17 rounds: `bench/compare.py --only "500 partitions, keyed" --build
/// without=FOLDER`).
#[derive(Debug, Default)]
pub struct SpinMutex<T>(mutex::SpinMutex<T>);

impl<T> SpinMutex<T> {
    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> SpinMutexGuard<'_, T> {
        match self.0.try_lock() {
            Some(guard) => guard,
            None => self.wait(),
        }
    }

    /// Waits for the lock. Returns true with it if another thread held it.
    #[inline]
    pub fn lock_noting(&self) -> (SpinMutexGuard<'_, T>, bool) {
        match self.0.try_lock() {
            Some(guard) => (guard, false),
            None => (self.wait(), true),
        }
    }

    #[cold]
    fn wait(&self) -> SpinMutexGuard<'_, T> {
        let mut tries = 0;
        loop {
            // A load leaves the cache line with the holder.
            let free = !self.0.is_locked();
            if let Some(guard) = free.then(|| self.0.try_lock()).flatten() {
                return guard;
            }
            match tries {
                0..SPINS_END => spin_loop(),
                SPINS_END..YIELDS_END => thread::yield_now(),
                _ => thread::sleep(PAUSE),
            }
            tries = YIELDS_END.min(tries + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn lock_excludes_other_threads() {
        let sum = Arc::new(SpinMutex::<[u64; 2]>::default());
        let add = |times: u64| {
            let sum = sum.clone();
            thread::spawn(move || {
                for n in 0..times {
                    let mut sum = sum.lock();
                    let [a, b] = *sum;
                    assert_eq!(a, b, "half of a change was seen");
                    sum[0] = a + 1;
                    if n % 1000 == 0 {
                        // The holder may be preempted.
                        thread::yield_now();
                    }
                    sum[1] = b + 1;
                }
            })
        };
        for thread in [add(20_000), add(20_000), add(20_000)] {
            thread.join().unwrap();
        }
        assert_eq!(*sum.lock(), [60_000; 2]);
    }

    #[test]
    fn long_wait_sleeps() {
        let lock = Arc::new(SpinMutex::<u32>::default());
        let held = lock.lock();
        let waiting = thread::spawn({
            let lock = lock.clone();
            move || {
                *lock.lock() += 1;
                cpu_time()
            }
        });
        thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished());
        drop(held);
        let used = waiting.join().unwrap();
        assert_eq!(*lock.lock(), 1);
        assert!(used < Duration::from_millis(150), "waiting took {used:?} of 300 ms");
    }

    /// Returns the CPU time of this thread.
    fn cpu_time() -> Duration {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
    }
}
