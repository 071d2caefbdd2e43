//! A lock for what takes some dozens of nanoseconds, so often that the lock itself is a good part of it.

use std::hint::spin_loop;
use std::thread;
use std::time::Duration;

use spin::mutex::{self, SpinMutexGuard};

/// Looks before the first time that the processor is given away: some half a microsecond, several times what a holder needs
/// that runs.
const SPINS_END: u32 = 40;

/// Looks before the first pause. A holder that does not run may have waited for this very processor.
const YIELDS_END: u32 = SPINS_END + 20;

/// A holder that still does not run waits for memory, or for threads of a higher priority: perhaps for this one.
const PAUSE: Duration = Duration::from_micros(50);

/// A mutex that is given back with a plain store.
///
/// Other mutexes must learn at that moment whether somebody waits, and the processor then has all stores before it reach the
/// cache first. Where they write to memory that has left the cache that takes longer than all else. Here who waits
/// tries, gives the processor away and then tries every 50 µs, however long it takes: never hold it while waiting for
/// anything but a lock as brief, and use it where waiting is rare.
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

    #[cold]
    fn wait(&self) -> SpinMutexGuard<'_, T> {
        let mut tries = 0;
        loop {
            // Only to look leaves the holder its cache line.
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
    fn one_thread_at_a_time() {
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
                        // Who holds it may lose the processor.
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
    fn who_waits_long_gives_the_processor_away() {
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

    /// Of this thread.
    fn cpu_time() -> Duration {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
    }
}
