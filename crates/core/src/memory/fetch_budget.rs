//! The limit on fetched records that wait for the application.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::sys::Waker;
use crate::sys::sync::{AtomicBool, AtomicU64, Mutex};

/// Counts fetched bytes and records that the application has not taken yet, over all partitions of a consumer
/// (`queued.max.messages.kbytes`, `queued.min.messages`). Thread-safe.
pub struct FetchBudget {
    bytes: AtomicU64,
    /// The fetcher waits for a release, which wakes it.
    starved: AtomicBool,
    /// Partitions whose queues fell below the threshold of [`PartitionState::arm`](crate::event::PartitionState::arm).
    drained: Mutex<Vec<u32>>,
    waker: Arc<dyn Waker>,
}

impl std::fmt::Debug for FetchBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FetchBudget")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl FetchBudget {
    /// Creates an empty budget; `waker` wakes the fetcher.
    pub fn new(waker: Arc<dyn Waker>) -> Self {
        FetchBudget {
            bytes: AtomicU64::new(0),
            starved: AtomicBool::new(false),
            drained: Mutex::new(Vec::new()),
            waker,
        }
    }

    /// Returns the bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Notes that the fetcher waits for a release. Set the flag only immediately before re-checking the counters: a
    /// release may have happened in between, and setting the flag without re-checking can mask it. An exchange, as in a
    /// release: the second of the two sees the counts of the first.
    pub fn set_starved(&self) {
        self.starved.swap(true, Ordering::AcqRel);
    }

    /// Returns whether memory was released since [`set_starved`](Self::set_starved), or the fetcher does not wait.
    pub fn is_relieved(&self) -> bool {
        !self.starved.load(Ordering::Acquire)
    }

    /// Returns the ids of the partitions whose queues ran low since the last call.
    pub fn take_drained(&self) -> Vec<u32> {
        std::mem::take(&mut self.drained.lock())
    }

    pub(crate) fn on_drained(&self, id: u32) {
        self.drained.lock().push(id);
        self.waker.wake();
    }

    pub(crate) fn take(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(crate) fn release(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        if self.starved.swap(false, Ordering::AcqRel) {
            self.waker.wake();
        }
    }
}
