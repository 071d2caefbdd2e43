//! The hard limit on what a producer holds: `queue.buffering.max.messages` and `queue.buffering.max.kbytes`.

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
    /// Stirred when the last record is gone.
    flushing: Mutex<Vec<Arc<dyn EmptyListener>>>,
}

/// What came of an attempt to take room.
enum Taken {
    Yes,
    No,
    /// No, but for a moment the bytes were taken.
    PutBack,
}

impl BufferMemory {
    /// A quota with its limits; 0 messages means no limit on their number.
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

    /// Takes room for one record of `bytes`; false when there is none.
    pub fn try_acquire(&self, bytes: u64) -> bool {
        match self.take(bytes) {
            Taken::Yes => true,
            Taken::No => false,
            Taken::PutBack => {
                // Another thread may have found these bytes taken and wait for a release.
                self.notify_waiting();
                false
            }
        }
    }

    /// Takes room for one record of `bytes`, and waits for a release while there is none; false once `stop` says yes.
    /// `stop` must take no lock; whoever changes what it says calls [`wake_all`](Self::wake_all) afterwards.
    pub fn acquire(&self, bytes: u64, stop: impl Fn() -> bool) -> bool {
        // The look stands under the lock that a release takes after it has counted: it either is seen by this look, or
        // finds that somebody waits.
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

    /// The count of records never includes one that is refused: release and flush tell from it that none is left.
    fn take(&self, bytes: u64) -> Taken {
        // A record larger than what is left is refused, except that an empty queue takes any record: its size has
        // its own limit, message.max.bytes.
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

    /// Lets every thread that waits for room look again whether it is to wait; see [`acquire`](Self::acquire).
    pub fn wake_all(&self) {
        drop(self.waiting.lock());
        self.freed.notify_all();
    }

    /// Waits until no record is held or `timeout` passed.
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

    /// Gives back the room of `messages` records of together `bytes`.
    pub fn release(&self, messages: u64, bytes: u64) {
        let before = self.messages.fetch_sub(messages, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if before == messages {
            // The lock makes the count known to whoever starts to flush from here on.
            let flushing = self.flushing.lock().clone();
            flushing.iter().for_each(|listener| listener.on_empty());
        }
        self.notify_waiting();
    }

    /// Records held now.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Bytes held now: keys, values and headers.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_limits_hold() {
        let q = BufferMemory::new(2, 100);
        assert!(q.try_acquire(60));
        assert!(!q.try_acquire(60));
        assert!(q.try_acquire(40));
        assert!(!q.try_acquire(0));
        q.release(2, 100);
        assert_eq!((q.messages(), q.bytes()), (0, 0));
    }

    #[test]
    fn an_empty_queue_takes_any_record() {
        let q = BufferMemory::new(0, 10);
        assert!(q.try_acquire(1000));
        assert!(!q.try_acquire(1));
    }
}
