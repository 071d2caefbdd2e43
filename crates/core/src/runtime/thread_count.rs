//! The number of I/O threads.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of running I/O threads in this process, those of the pool included.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Counts a thread that is about to start.
pub(super) fn add() {
    THREADS.fetch_add(1, Relaxed);
}

/// Counts the end of a thread, or one that could not be started.
pub(super) fn subtract() {
    THREADS.fetch_sub(1, Relaxed);
}

pub(super) fn get() -> usize {
    THREADS.load(Relaxed)
}
