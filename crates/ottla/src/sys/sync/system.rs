//! The types of every build but the models'.

pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
pub use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
pub use std::thread;

use std::time::{Duration, Instant};

/// When a wait ends at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// That long from now; `None`, or a time beyond what the clock can tell, is never.
    pub fn after(timeout: Option<Duration>) -> Self {
        Deadline(timeout.and_then(|t| Instant::now().checked_add(t)))
    }
}

/// Waits while `condition` holds, which is called with the lock held. False when the deadline has passed and it still
/// holds.
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
