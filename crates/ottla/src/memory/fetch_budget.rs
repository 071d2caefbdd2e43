//! The limit on fetched records that wait for the application.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::sys::Waker;
use crate::sys::sync::{AtomicBool, AtomicU64, Mutex};

/// Counts fetched bytes and records that the application has not taken yet, over all partitions of a consumer
/// (`queued.max.messages.kbytes`, `queued.min.messages`). Thread-safe.
pub struct FetchBudget {
    bytes: AtomicU64,
    /// The fetcher waits for room: the next release wakes it.
    starved: AtomicBool,
    /// Partitions whose queues fell below what [`PartitionState::arm`](crate::event::PartitionState::arm) said.
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
    /// An empty budget; `waker` wakes the fetcher.
    pub fn new(waker: Arc<dyn Waker>) -> Self {
        FetchBudget {
            bytes: AtomicU64::new(0),
            starved: AtomicBool::new(false),
            drained: Mutex::new(Vec::new()),
            waker,
        }
    }

    /// Bytes held now.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Says that the fetcher stopped for lack of room. After setting this it must look at the counts once more: a
    /// release may have come in between. An exchange, as in a release: whichever of the two comes second knows what was
    /// counted before the first.
    pub fn set_starved(&self) {
        self.starved.swap(true, Ordering::AcqRel);
    }

    /// Whether room was freed, or nobody had said that it was lacking, since [`set_starved`](Self::set_starved).
    pub fn is_relieved(&self) -> bool {
        !self.starved.load(Ordering::Acquire)
    }

    /// The ids of the partitions that ran low since the last call.
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
