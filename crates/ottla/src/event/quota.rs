//! The hard limit on what a producer holds: `queue.buffering.max.messages` and `queue.buffering.max.kbytes`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Counts records from `produce()` until their delivery reports were handled. Thread-safe.
#[derive(Debug)]
pub struct ProduceQuota {
    messages: AtomicU64,
    bytes: AtomicU64,
    max_messages: u64,
    max_bytes: u64,
    waiting: Mutex<usize>,
    freed: Condvar,
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

    /// Gives back the room of `messages` records of together `bytes`.
    pub fn release(&self, messages: u64, bytes: u64) {
        self.messages.fetch_sub(messages, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
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
