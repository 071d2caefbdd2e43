//! The hard limit on the records that a producer holds: `queue.buffering.max.messages` and `queue.buffering.max.kbytes`.
//!
//! Each producing thread takes memory in portions, so that threads share no lock or counter that they write for every
//! record. The limit stays exact: near it there are no portions, and before a record is refused, the unused portions of
//! all threads are returned.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::sys::sync::{AtomicU64, Condvar, Deadline, Mutex, SpinMutex, wait_while};
use crate::sys::thread_number;

/// Notified when a [`BufferMemory`] holds no record any more.
pub trait EmptyListener: std::fmt::Debug + Send + Sync {
    /// Called on the thread that released the last record, with no lock held.
    fn on_empty(&self);
}

/// The number of shares. Threads beyond it use a share together.
const SHARES: usize = if cfg!(ottla_loom) { 4 } else { 32 };

/// The largest portion in records and in bytes.
const PORTION: Amount = if cfg!(ottla_loom) {
    Amount { records: 2, bytes: 100 }
} else {
    Amount {
        records: 256,
        bytes: 64 * 1024,
    }
};

/// A portion is at most the free memory divided by this and by the number of shares: near the limit there are none, so
/// that they need not be returned for every record.
const PORTION_PART: u64 = if cfg!(ottla_loom) { 1 } else { 8 };

/// A number of records and the bytes of their keys, values and headers.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    records: u64,
    bytes: u64,
}

/// The memory that is held by records or by portions.
#[derive(Debug, Default)]
struct Granted {
    sum: Amount,
    /// There may be unused portions.
    has_portions: bool,
}

/// The state that all threads write.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Common {
    granted: SpinMutex<Granted>,
    /// All records that were ever released.
    released: AtomicU64,
    released_bytes: AtomicU64,
    /// The number of threads that wait.
    waiting: Mutex<usize>,
}

/// The part of one thread, alone in its cache lines (the processor fetches them in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
struct Share {
    /// The unused rest of the portion.
    portion: SpinMutex<Amount>,
    /// All records that were ever acquired through this share. Changed under the portion's lock.
    acquired: AtomicU64,
    acquired_bytes: AtomicU64,
}

impl Share {
    /// Counts a record. The caller holds the portion's lock.
    fn count(&self, bytes: u64) {
        let add = |sum: &AtomicU64, n| sum.store(sum.load(Ordering::Relaxed).wrapping_add(n), Ordering::Release);
        add(&self.acquired, 1);
        add(&self.acquired_bytes, bytes);
    }
}

/// Counts records from `produce()` until their delivery reports were handled. Thread-safe.
///
/// Lock order: `waiting`, `granted`, a share's portion. Portions are taken and returned under the lock of `granted`;
/// under that of a portion alone, records take from it.
#[derive(Debug)]
pub struct BufferMemory {
    common: Common,
    shares: [OnceLock<Box<Share>>; SHARES],
    /// One more than the highest share in use. The shares themselves are published by `OnceLock`.
    shares_end: std::sync::atomic::AtomicUsize,
    max: Amount,
    freed: Condvar,
    /// Notified when the last record is released.
    flushing: Mutex<Vec<Arc<dyn EmptyListener>>>,
}

impl BufferMemory {
    /// Creates an empty buffer memory. 0 messages means no limit on their number.
    pub fn new(max_messages: u64, max_bytes: u64) -> Self {
        let shares = [const { OnceLock::new() }; SHARES];
        if cfg!(ottla_loom) {
            // Models do not see that `OnceLock` publishes a share to other threads.
            shares.iter().for_each(|share| drop(share.set(Box::default())));
        }
        BufferMemory {
            common: Common::default(),
            shares,
            shares_end: std::sync::atomic::AtomicUsize::new(0),
            max: Amount {
                records: if max_messages == 0 { u64::MAX } else { max_messages },
                bytes: max_bytes,
            },
            freed: Condvar::new(),
            flushing: Mutex::default(),
        }
    }

    /// Reserves memory for one record of `bytes`. Returns false if the limits do not allow it.
    #[inline]
    pub fn try_acquire(&self, bytes: u64) -> bool {
        let share = self.own_share();
        let mut portion = share.portion.lock();
        if portion.records == 0 || portion.bytes < bytes {
            drop(portion);
            return self.acquire_granted(share, bytes);
        }
        portion.records -= 1;
        portion.bytes -= bytes;
        share.count(bytes);
        true
    }

    /// Reserves memory for one record of `bytes`, and waits while the limits do not allow it. Returns false once `stop`
    /// returns true. `stop` must acquire no lock; after a change of its result [`wake_all`](Self::wake_all) must be
    /// called.
    pub fn acquire(&self, bytes: u64, stop: impl Fn() -> bool) -> bool {
        // The attempt is made under the lock that a release acquires after it has counted: the release either is seen
        // by this attempt, or sees the waiting thread.
        let mut waiting = self.common.waiting.lock();
        *waiting += 1;
        let mut taken = false;
        let full = |_: &mut usize| {
            taken = self.try_acquire(bytes);
            !taken && !stop()
        };
        wait_while(&self.freed, &mut waiting, full, Deadline::after(None));
        *waiting -= 1;
        taken
    }

    /// Returns the share of the calling thread.
    #[inline]
    fn own_share(&self) -> &Share {
        let number = thread_number() % SHARES;
        if cfg!(ottla_loom) {
            self.shares_end.fetch_max(number + 1, Ordering::Relaxed);
        }
        self.shares[number].get_or_init(|| {
            self.shares_end.fetch_max(number + 1, Ordering::Relaxed);
            Box::default()
        })
    }

    /// Returns the shares in use.
    fn shares(&self) -> impl Iterator<Item = &Share> {
        let end = self.shares_end.load(Ordering::Relaxed);
        self.shares.iter().take(end).filter_map(|s| s.get().map(Box::as_ref))
    }

    /// Reserves memory for one record and a new portion. Before it refuses the record, it returns the unused portions of
    /// all threads; none is taken meanwhile, as that needs the same lock.
    #[cold]
    fn acquire_granted(&self, share: &Share, bytes: u64) -> bool {
        let mut granted = self.common.granted.lock();
        if !self.fits(granted.sum, bytes) {
            if !std::mem::take(&mut granted.has_portions) {
                return false;
            }
            self.return_portions(&mut granted.sum);
            if !self.fits(granted.sum, bytes) {
                return false;
            }
        }
        granted.sum.records += 1;
        granted.sum.bytes += bytes;
        let mut portion = share.portion.lock();
        share.count(bytes);
        let size = self.portion_size(granted.sum);
        if size.records > 0 && size.bytes > 0 {
            let more = Amount {
                records: size.records.saturating_sub(portion.records),
                bytes: size.bytes.saturating_sub(portion.bytes),
            };
            granted.sum.records += more.records;
            granted.sum.bytes += more.bytes;
            portion.records += more.records;
            portion.bytes += more.bytes;
            granted.has_portions = true;
        }
        true
    }

    /// Returns whether a record may be added to what was granted. A record larger than the free memory is refused, except
    /// that an empty buffer accepts any record: its size has its own limit, message.max.bytes.
    fn fits(&self, granted: Amount, bytes: u64) -> bool {
        let sum = granted.bytes.saturating_add(bytes);
        granted.records < self.max.records && (granted.bytes == 0 || sum <= self.max.bytes)
    }

    /// Returns the size of a portion.
    fn portion_size(&self, granted: Amount) -> Amount {
        let parts = PORTION_PART * (self.shares_end.load(Ordering::Relaxed) as u64);
        Amount {
            records: PORTION
                .records
                .min(self.max.records.saturating_sub(granted.records) / parts),
            bytes: PORTION.bytes.min(self.max.bytes.saturating_sub(granted.bytes) / parts),
        }
    }

    /// Returns the unused portions of all threads. The caller holds the lock of what was granted.
    fn return_portions(&self, granted: &mut Amount) {
        for share in self.shares() {
            let unused = std::mem::take(&mut *share.portion.lock());
            granted.records -= unused.records;
            granted.bytes -= unused.bytes;
        }
    }

    fn notify_waiting(&self) {
        if *self.common.waiting.lock() > 0 {
            self.freed.notify_all();
        }
    }

    /// Wakes all threads that wait for memory, which check their condition again; see [`acquire`](Self::acquire).
    pub fn wake_all(&self) {
        drop(self.common.waiting.lock());
        self.freed.notify_all();
    }

    /// Waits until no record is held or `timeout` has passed.
    pub fn wait_until_empty(&self, timeout: Duration) {
        let mut waiting = self.common.waiting.lock();
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
        // Counted before the memory is free: a thread that sees a record in it sees the release, too.
        self.common.released_bytes.fetch_add(bytes, Ordering::AcqRel);
        let before = self.common.released.fetch_add(messages, Ordering::AcqRel);
        let mut granted = self.common.granted.lock();
        granted.sum.records -= messages;
        granted.sum.bytes -= bytes;
        drop(granted);
        // Of several threads that release the last records, the last one has seen all acquisitions of the others.
        if self.sum_of(|share| &share.acquired) == before.wrapping_add(messages) {
            // The lock makes the count visible to flushes that begin later.
            let flushing = self.flushing.lock().clone();
            flushing.iter().for_each(|listener| listener.on_empty());
        }
        self.notify_waiting();
    }

    /// Returns the number of records held.
    pub fn messages(&self) -> u64 {
        self.held(&self.common.released, |share| &share.acquired)
    }

    /// Returns the bytes held: keys, values and headers.
    pub fn bytes(&self) -> u64 {
        self.held(&self.common.released_bytes, |share| &share.acquired_bytes)
    }

    /// Returns what was acquired and is not released. While nothing is released, the sum only grows, so that the result
    /// was right at some moment of the call.
    fn held(&self, released: &AtomicU64, acquired: impl Fn(&Share) -> &AtomicU64) -> u64 {
        let mut before = released.load(Ordering::Acquire);
        loop {
            let sum = self.sum_of(&acquired);
            let after = released.load(Ordering::Acquire);
            if before == after {
                return sum.wrapping_sub(before);
            }
            before = after;
        }
    }

    /// Returns the sum of a counter of all shares.
    fn sum_of(&self, counter: impl Fn(&Share) -> &AtomicU64) -> u64 {
        let add = |sum: u64, share: &Share| sum.wrapping_add(counter(share).load(Ordering::Acquire));
        self.shares().fold(0, add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_other_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(f).join().unwrap())
    }

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
        // Also one that has unused portions.
        let q = BufferMemory::new(0, 1_000_000);
        assert!(on_other_thread(|| q.try_acquire(10)));
        q.release(1, 10);
        assert!(q.try_acquire(2_000_000));
        assert!(
            !on_other_thread(|| q.try_acquire(0) || q.try_acquire(1)),
            "not even from a portion"
        );
    }

    #[test]
    fn unused_portions_are_not_held() {
        let q = BufferMemory::new(100_000, 1 << 30);
        assert!(q.try_acquire(100));
        assert!(on_other_thread(|| q.try_acquire(50)));
        assert_eq!((q.messages(), q.bytes()), (2, 150));
        let granted = q.common.granted.lock().sum;
        assert!(
            granted.records > 2 && granted.bytes > 150,
            "{granted:?}: portions were taken"
        );
        q.release(2, 150);
        assert_eq!((q.messages(), q.bytes()), (0, 0));
    }

    #[test]
    fn portions_of_idle_threads_are_used_before_a_record_is_refused() {
        for (max_messages, max_bytes, size) in [(5_000, 1 << 30, 100), (0, 500_000, 100), (100, 1 << 20, 7)] {
            let q = BufferMemory::new(max_messages, max_bytes);
            let idle = 10;
            for _ in 0..idle {
                assert!(on_other_thread(|| q.try_acquire(size)));
            }
            let fit = if max_messages == 0 {
                max_bytes / size
            } else {
                max_messages
            };
            let taken = (0..fit * 2).filter(|_| q.try_acquire(size)).count() as u64;
            assert_eq!(taken, fit - idle);
            assert_eq!((q.messages(), q.bytes()), (fit, fit * size));
            q.release(1, size);
            assert!(on_other_thread(|| q.try_acquire(size) && !q.try_acquire(size)));
        }
    }

    #[test]
    fn many_threads_stay_within_the_limits() {
        const MAX: u64 = 300;
        let q = BufferMemory::new(MAX, 1 << 30);
        let refused = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let (q, refused) = (&q, &refused);
                scope.spawn(move || {
                    let mut own = 0;
                    for i in 0..20_000u64 {
                        let taken = q.try_acquire(thread);
                        own += u64::from(taken);
                        refused.fetch_add(u64::from(!taken), Ordering::Relaxed);
                        assert!((own..=MAX).contains(&q.messages()));
                        if !taken || own >= 250 + i % 100 {
                            q.release(own, own * thread);
                            own = 0;
                        }
                    }
                    q.release(own, own * thread);
                });
            }
        });
        assert!(refused.load(Ordering::Relaxed) > 0, "the limit was reached");
        assert_eq!((q.messages(), q.bytes()), (0, 0));
        assert_eq!((0..MAX + 1).filter(|_| q.try_acquire(1)).count() as u64, MAX);
    }
}
