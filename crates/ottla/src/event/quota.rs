//! The hard limit on what a producer holds: `queue.buffering.max.messages` and `queue.buffering.max.kbytes`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::Queue;

/// Counts records from `produce()` until their delivery reports were handled. Thread-safe.
#[derive(Debug)]
pub struct ProduceQuota {
    messages: AtomicU64,
    bytes: AtomicU64,
    max_messages: u64,
    max_bytes: u64,
    waiting: Mutex<usize>,
    freed: Condvar,
    /// Stirred when the last record is gone.
    flushing: Mutex<Vec<Arc<Queue>>>,
}

impl ProduceQuota {
    /// A quota with its limits; 0 messages means no limit on their number.
    pub fn new(max_messages: u64, max_bytes: u64) -> Self {
        ProduceQuota {
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
    pub fn try_take(&self, bytes: u64) -> bool {
        if self.messages.fetch_add(1, Ordering::Relaxed) >= self.max_messages {
            self.messages.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        // A record larger than what is left is refused, except that an empty queue takes any record: its size has
        // its own limit, message.max.bytes.
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before > 0 && before.saturating_add(bytes) > self.max_bytes {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.messages.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Waits until room was freed or `timeout` passed. May return early.
    pub fn wait_for_room(&self, timeout: Duration) {
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        let _ = self.freed.wait_for(&mut waiting, timeout);
        *waiting -= 1;
    }

    /// Waits until no record is held or `timeout` passed. May return early.
    pub fn wait_until_empty(&self, timeout: Duration) {
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        if self.messages() > 0 {
            let _ = self.freed.wait_for(&mut waiting, timeout);
        }
        *waiting -= 1;
    }

    /// Stirs `queue` whenever no record is held any more, until [`end_flush`](Self::end_flush) was called as often.
    pub fn begin_flush(&self, queue: Arc<Queue>) {
        self.flushing.lock().push(queue);
    }

    /// Ends one [`begin_flush`](Self::begin_flush) of that queue.
    pub fn end_flush(&self, queue: &Arc<Queue>) {
        let mut flushing = self.flushing.lock();
        if let Some(i) = flushing.iter().position(|q| Arc::ptr_eq(q, queue)) {
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
            flushing.iter().for_each(Queue::stir);
        }
        if *self.waiting.lock() > 0 {
            self.freed.notify_all();
        }
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
        let q = ProduceQuota::new(2, 100);
        assert!(q.try_take(60));
        assert!(!q.try_take(60));
        assert!(q.try_take(40));
        assert!(!q.try_take(0));
        q.release(2, 100);
        assert_eq!((q.messages(), q.bytes()), (0, 0));
    }

    #[test]
    fn an_empty_queue_takes_any_record() {
        let q = ProduceQuota::new(0, 10);
        assert!(q.try_take(1000));
        assert!(!q.try_take(1));
    }
}
