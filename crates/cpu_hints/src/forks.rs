//! Forks, counted. A thread, and what it holds, stays in the process that started it; who knows that must notice a fork
//! without a system call for each look.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How many forks lie between the process that was watched first and this one.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// Runs in a new child, which has one thread. Touches an atomic only.
extern "C" fn on_fork() {
    DEPTH.fetch_add(1, Relaxed);
}

/// Counts forks from now on. Without memory for it, forks go unnoticed.
pub fn watch() {
    static ONCE: Once = Once::new();
    // SAFETY: a function that may be called at any time, and stays.
    ONCE.call_once(|| unsafe {
        let _ = libc::pthread_atfork(None, None, Some(on_fork));
    });
}

/// Returns a number that distinguishes this process from its parents and children.
#[inline]
pub fn depth() -> u32 {
    DEPTH.load(Relaxed)
}
