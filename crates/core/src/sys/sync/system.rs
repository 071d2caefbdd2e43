//! The types of all builds besides the models'.

pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
pub use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
pub use std::thread;

use std::time::{Duration, Instant};

/// The deadline of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Creates a deadline after `timeout` from now; never for `None` or a time beyond the clock's range.
    pub fn after(timeout: Option<Duration>) -> Self {
        Deadline(timeout.and_then(|t| Instant::now().checked_add(t)))
    }
}

impl Deadline {
    /// Returns the time until the deadline, zero if it has passed; `None` if it never passes.
    pub(super) fn left(self) -> Option<Duration> {
        self.0.map(|at| at.saturating_duration_since(Instant::now()))
    }
}

/// Waits while `condition` returns true; it is called with the lock held. Returns false if it still does at the deadline.
pub fn wait_while<T>(
    condvar: &Condvar,
    guard: &mut MutexGuard<'_, T>,
    condition: impl FnMut(&mut T) -> bool,
    deadline: Deadline,
) -> bool {
    match deadline.0 {
        Some(at) => !condvar.wait_while_until(guard, condition, at).timed_out(),
        None => {
            condvar.wait_while(guard, condition);
            true
        }
    }
}
