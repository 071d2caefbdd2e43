//! Forks. A client's threads stay in the process that created it, and what they hold stays held in a child for ever: so
//! every call that a child makes with it is refused before any lock is taken, and destroying it there frees nothing
//! but its copies of the connections. A child may have clients of its own.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ottla::client::Client;
use ottla::sys;
pub use ottla::sys::forks::depth;

use crate::background;

/// Threads that the parent had when this process began.
static INHERITED_THREADS: AtomicUsize = AtomicUsize::new(0);

/// What a child's calls are told.
pub const REFUSAL: &str = "The client belongs to the process that created it; a child cannot use it after a fork";

/// Runs in a new child, which has one thread. Touches atomics only.
unsafe extern "C" fn on_fork() {
    INHERITED_THREADS.store(all_threads(), Relaxed);
}

fn all_threads() -> usize {
    Client::live_threads() + background::threads()
}

/// Notices forks from now on.
pub fn watch() {
    sys::forks::watch();
    static ONCE: Once = Once::new();
    // SAFETY: a function that may be called at any time, and stays.
    ONCE.call_once(|| unsafe {
        // Without memory for it, forks go unnoticed.
        let _ = libc::pthread_atfork(None, None, Some(on_fork));
    });
}

/// Threads that clients of this process run.
pub fn threads() -> usize {
    all_threads().saturating_sub(INHERITED_THREADS.load(Relaxed))
}
