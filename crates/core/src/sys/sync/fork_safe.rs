//! Locks on which threads may be parked while the process forks.
//!
//! parking_lot has one table of parked threads for the process. A forked child inherits the entries of its parent's threads,
//! whose memory the C library reuses for the stacks of the child's threads. When such a thread parks, the table's lists are
//! damaged, and wake-ups are lost. The locks of the standard library have no state beside their own.

use std::sync::{self, MutexGuard, PoisonError};

use super::Deadline;

/// A mutex of the standard library, without poisoning.
#[derive(Debug, Default)]
pub struct ForkSafeMutex<T>(sync::Mutex<T>);

/// Holds a [`ForkSafeMutex`].
pub type ForkSafeGuard<'a, T> = MutexGuard<'a, T>;

impl<T> ForkSafeMutex<T> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        ForkSafeMutex(sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> ForkSafeGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable of the standard library.
#[derive(Debug, Default)]
pub struct ForkSafeCondvar(sync::Condvar);

impl ForkSafeCondvar {
    /// Wakes one waiting thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits while `condition` returns true, until the deadline at most; it is called with the lock held.
    pub fn wait_while<'a, T>(
        &self,
        mut guard: ForkSafeGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: Deadline,
    ) -> ForkSafeGuard<'a, T> {
        while condition(&mut guard) {
            let Some(left) = deadline.left() else {
                guard = self.0.wait(guard).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if left.is_zero() {
                break;
            }
            (guard, _) = self.0.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner);
        }
        guard
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn wait_ends_with_its_condition_or_at_its_deadline() {
        let (number, changed) = (ForkSafeMutex::new(0), ForkSafeCondvar::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..3 {
                    std::thread::sleep(Duration::from_millis(5));
                    *number.lock() += 1;
                    changed.notify_all();
                }
            });
            let guard = changed.wait_while(number.lock(), |n| *n < 2, Deadline::after(None));
            assert!(*guard >= 2);
        });
        let begin = Instant::now();
        let timeout = Duration::from_millis(20);
        let guard = changed.wait_while(number.lock(), |n| *n < 4, Deadline::after(Some(timeout)));
        assert_eq!(*guard, 3);
        assert!(begin.elapsed() >= timeout);
    }
}
