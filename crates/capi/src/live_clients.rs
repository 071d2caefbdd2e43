//! Clients of this process that were not destroyed yet, for `rd_kafka_wait_destroyed()`.

use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::ffi::Deadline;
use crate::fork_guard;

struct Count {
    clients: usize,
    /// The process that counted, see [`fork_guard::depth`].
    process: u32,
}

static COUNT: Mutex<Count> = Mutex::new(Count { clients: 0, process: 0 });
static CHANGED: Condvar = Condvar::new();

/// The count, without the clients of a process that this one was forked from.
fn count() -> MutexGuard<'static, Count> {
    let mut count = COUNT.lock();
    let process = fork_guard::depth();
    if count.process != process {
        *count = Count { clients: 0, process };
    }
    count
}

/// A client was created.
pub fn add() {
    count().clients += 1;
}

/// A client has ended.
pub fn remove() {
    let mut count = count();
    count.clients = count.clients.saturating_sub(1);
    drop(count);
    CHANGED.notify_all();
}

/// Waits until there is none; false when the time is up.
pub fn wait_for_none(deadline: &Deadline) -> bool {
    let mut count = count();
    while count.clients > 0 {
        let left = deadline.left_within(Duration::from_secs(60));
        if left.is_zero() {
            return false;
        }
        CHANGED.wait_for(&mut count, left);
    }
    true
}
