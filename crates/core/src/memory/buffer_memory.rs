//! The hard limit on the records that a producer holds: `queue.buffering.max.messages` and `queue.buffering.max.kbytes`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::sys::sync::{AtomicU64, Condvar, Deadline, Mutex, wait_while};

/// Notified when a [`BufferMemory`] holds no record any more.
pub trait EmptyListener: std::fmt::Debug + Send + Sync {
    /// Called on the thread that released the last record, with no lock held.
    fn on_empty(&self);
}

/// Counts records from `produce()` until their delivery reports were handled. Thread-safe.
#[derive(Debug)]
pub struct BufferMemory {
    messages: AtomicU64,
    bytes: AtomicU64,
    max_messages: u64,
    max_bytes: u64,
    waiting: Mutex<usize>,
    freed: Condvar,
    /// Notified when the last record is released.
    flushing: Mutex<Vec<Arc<dyn EmptyListener>>>,
}

/// The result of an attempt to reserve memory.
enum Taken {
    Yes,
    No,
    /// No, but the bytes were reserved briefly.
    PutBack,
}

impl BufferMemory {
    /// Creates an empty buffer memory. 0 messages means no limit on their number.
    pub fn new(max_messages: u64, max_bytes: u64) -> Self {
        BufferMemory {
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            max_messages: if max_messages == 0 { u64::MAX } else { max_messages },
            max_bytes,
            waiting: Mutex::new(0),
            freed: Condvar::new(),
            flushing: Mutex::default(),
        }
    }

    /// Reserves memory for one record of `bytes`. Returns false if the limits do not allow it.
    pub fn try_acquire(&self, bytes: u64) -> bool {
        match self.take(bytes) {
            Taken::Yes => true,
            Taken::No => false,
            Taken::PutBack => {
                // Another thread may have failed because of these bytes and wait for a release.
                self.notify_waiting();
                false
            }
        }
    }

    /// Reserves memory for one record of `bytes`, and waits while the limits do not allow it. Returns false once `stop`
    /// returns true. `stop` must acquire no lock; after a change of its result [`wake_all`](Self::wake_all) must be
    /// called.
    pub fn acquire(&self, bytes: u64, stop: impl Fn() -> bool) -> bool {
        // The attempt is made under the lock that a release acquires after it has counted: the release either is seen
        // by this attempt, or sees the waiting thread.
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        let mut taken = false;
        let full = |_: &mut usize| {
            taken = matches!(self.take(bytes), Taken::Yes);
            !taken && !stop()
        };
        wait_while(&self.freed, &mut waiting, full, Deadline::after(None));
        *waiting -= 1;
        taken
    }

    /// Attempts the reservation. The count of records never includes a refused one: release and flush detect by it that
    /// none is left.
    fn take(&self, bytes: u64) -> Taken {
        // A record larger than the free memory is refused, except that an empty buffer accepts any record: its size has its own
        // limit, message.max.bytes.
        let fits = |held: u64| {
            let sum = held.saturating_add(bytes);
            (held == 0 || sum <= self.max_bytes).then_some(sum)
        };
        let one_more = |held: u64| (held < self.max_messages).then(|| held + 1);
        let relaxed = Ordering::Relaxed;
        if self.messages() >= self.max_messages || self.bytes.fetch_update(relaxed, relaxed, fits).is_err() {
            return Taken::No;
        }
        if self.messages.fetch_update(relaxed, relaxed, one_more).is_err() {
            self.bytes.fetch_sub(bytes, relaxed);
            return Taken::PutBack;
        }
        Taken::Yes
    }

    fn notify_waiting(&self) {
        if *self.waiting.lock() > 0 {
            self.freed.notify_all();
        }
    }

    /// Wakes all threads that wait for memory, which check their condition again; see [`acquire`](Self::acquire).
    pub fn wake_all(&self) {
        drop(self.waiting.lock());
        self.freed.notify_all();
    }

    /// Waits until no record is held or `timeout` has passed.
    pub fn wait_until_empty(&self, timeout: Duration) {
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        let held = |_: &mut usize| self.messages() > 0;
        wait_while(&self.freed, &mut waiting, held, Deadline::after(Some(timeout)));
        *waiting -= 1;
    }

    /// Wakes the threads that wait on `queue` whenever no record is held any more, until [`end_flush`](Self::end_flush)
    /// was called as often.
    pub fn begin_flush(&self, listener: Arc<dyn EmptyListener>) {
        self.flushing.lock().push(listener);
    }

    /// Ends one [`begin_flush`](Self::begin_flush) of that listener.
    pub fn end_flush<L: EmptyListener>(&self, listener: &Arc<L>) {
        let mut flushing = self.flushing.lock();
        if let Some(i) = flushing
            .iter()
            .position(|l| std::ptr::addr_eq(Arc::as_ptr(l), Arc::as_ptr(listener)))
        {
            flushing.swap_remove(i);
        }
    }

    /// Releases the memory of `messages` records with `bytes` in total.
    pub fn release(&self, messages: u64, bytes: u64) {
        let before = self.messages.fetch_sub(messages, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if before == messages {
            // The lock makes the count visible to flushes that begin later.
            let flushing = self.flushing.lock().clone();
            flushing.iter().for_each(|listener| listener.on_empty());
        }
        self.notify_waiting();
    }

    /// Returns the number of records held.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Returns the bytes held: keys, values and headers.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_messages_and_bytes_are_enforced() {
        let q = BufferMemory::new(2, 100);
        assert!(q.try_acquire(60));
        assert!(!q.try_acquire(60));
        assert!(q.try_acquire(40));
        assert!(!q.try_acquire(0));
        q.release(2, 100);
        assert_eq!((q.messages(), q.bytes()), (0, 0));
    }

    #[test]
    fn empty_buffer_accepts_any_record() {
        let q = BufferMemory::new(0, 10);
        assert!(q.try_acquire(1000));
        assert!(!q.try_acquire(1));
    }
}
