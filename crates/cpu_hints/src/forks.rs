//! A counter of forks. Threads, and the locks that they hold, exist only in the process that started them; code that
//! depends on them detects a fork with this counter, without a system call.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of forks between the process that called [`watch`] first and this one.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// Runs in a new child process before fork(2) returns there. Uses only an atomic: locks may be held by threads that do
/// not exist in the child.
extern "C" fn on_fork() {
    DEPTH.fetch_add(1, Relaxed);
}

/// Starts to count forks. If the C library has no memory for the handler, forks are not counted.
pub fn watch() {
    static ONCE: Once = Once::new();
    // SAFETY: the handler may be called at any time and is never unloaded.
    ONCE.call_once(|| unsafe {
        let _ = libc::pthread_atfork(None, None, Some(on_fork));
    });
}

/// Returns a number that distinguishes this process from its ancestors and descendants.
#[inline]
pub fn depth() -> u32 {
    DEPTH.load(Relaxed)
}
