//! Refusal of handles in forked child processes.
//!
//! A client's threads exist only in the process that created it, and the locks that they hold are never released in a
//! child. Every call of a child with such a client is therefore refused before it takes a lock, and destroying the
//! client there frees only its copies of the connections. A child can create clients of its own.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ottla_core::client::Client;
use ottla_core::sys;
pub use ottla_core::sys::forks::depth;

use crate::background_thread;

/// Number of threads that the parent had when this process was forked.
static INHERITED_THREADS: AtomicUsize = AtomicUsize::new(0);

/// The error text of a child's calls.
pub const REFUSAL: &str = "The client belongs to the process that created it; a child cannot use it after a fork";

/// Runs in a new child, which has one thread. Touches atomics only.
unsafe extern "C" fn on_fork() {
    INHERITED_THREADS.store(all_threads(), Relaxed);
}

fn all_threads() -> usize {
    Client::live_threads() + background_thread::threads()
}

/// Starts to detect forks.
pub fn watch() {
    sys::forks::watch();
    static ONCE: Once = Once::new();
    // SAFETY: the function may be called at any time and is never unloaded.
    ONCE.call_once(|| unsafe {
        // If the C library lacks memory for the handler, forks are not detected.
        let _ = libc::pthread_atfork(None, None, Some(on_fork));
    });
}

/// Returns the number of threads of this process's clients.
pub fn threads() -> usize {
    all_threads().saturating_sub(INHERITED_THREADS.load(Relaxed))
}
