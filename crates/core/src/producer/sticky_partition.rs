//! The sticky partition of a topic (KIP-480), and those of threads that would wait for each other.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::append_only_table::AppendOnlyTable;
use crate::sys::{Instant, thread_number};
use crate::types::PARTITION_UA;

/// The number of waits for the lock of the sticky partition, within the time for which a partition is used, after which a
/// thread gets another one.
const CONTENTIONS_MAX: u32 = 8;

/// The number of threads with partitions of their own. Threads beyond it share theirs.
const OWN_MAX: usize = 64;

/// The partition to which records without a key go for `sticky.partitioning.linger.ms` or until its batch is full.
///
/// All threads use the same one, so that batches fill soon. A thread that repeatedly had to wait for another one gets one of
/// its own for a while, as records then come so fast that the batches of several partitions fill. When its time is over or
/// its batch is full, the thread uses the common one again.
///
/// All values are hints, and every combination of them is right: the thread models need not explore them.
pub(super) struct StickyPartition {
    common: Use,
    own: AppendOnlyTable<Own>,
    /// Microseconds on the clock until which any thread may have a partition of its own.
    own_until: AtomicU64,
}

/// A partition that is used for some time.
#[derive(Debug)]
struct Use {
    partition: AtomicI32,
    /// Microseconds on the clock.
    until: AtomicU64,
}

/// The state of one thread, alone in its cache lines.
#[derive(Debug)]
#[repr(align(128))]
struct Own {
    used: Use,
    /// The number of times that the thread waited since `contended_since`.
    contentions: AtomicU32,
    /// Microseconds on the clock.
    contended_since: AtomicU64,
}

impl Use {
    fn new() -> Self {
        Use {
            partition: AtomicI32::new(PARTITION_UA),
            until: AtomicU64::new(0),
        }
    }

    fn get(&self, now: Instant) -> Option<i32> {
        let fresh = self.until.load(Relaxed) > now.as_micros();
        fresh.then(|| self.partition.load(Relaxed))
    }

    fn set(&self, partition: i32, until: u64) {
        self.partition.store(partition, Relaxed);
        self.until.store(until, Relaxed);
    }

    fn end(&self, partition: i32) {
        if self.partition.load(Relaxed) == partition {
            self.until.store(0, Relaxed);
        }
    }
}

impl StickyPartition {
    pub(super) fn new() -> Self {
        StickyPartition {
            common: Use::new(),
            own: AppendOnlyTable::new(),
            own_until: AtomicU64::new(0),
        }
    }

    /// Returns the partition of the calling thread, unless its time is over.
    #[inline]
    pub(super) fn get(&self, now: Instant) -> Option<i32> {
        let own = self.own_now(now).and_then(|own| own.used.get(now));
        own.or_else(|| self.common.get(now))
    }

    /// Sets the partition of the calling thread for `sticky_us` microseconds: its own one if it has one, otherwise the common
    /// one.
    pub(super) fn set(&self, partition: i32, now: Instant, sticky_us: u64) {
        if self.own_now(now).is_some_and(|own| own.used.get(now).is_some()) {
            return self.set_own(partition, now, sticky_us);
        }
        self.common.set(partition, now.as_micros().saturating_add(sticky_us));
    }

    /// Sets a partition for the calling thread alone.
    pub(super) fn set_own(&self, partition: i32, now: Instant, sticky_us: u64) {
        let until = now.as_micros().saturating_add(sticky_us);
        if let Some(own) = self.own_or_make() {
            own.used.set(partition, until);
            self.own_until.fetch_max(until, Relaxed);
        }
    }

    /// Ends the use of a partition by the calling thread and as the common one.
    pub(super) fn end(&self, partition: i32) {
        self.common.end(partition);
        if let Some(own) = self.own.get(thread_number() % OWN_MAX) {
            own.used.end(partition);
        }
    }

    /// Notes that the calling thread waited for another one. Returns true when it did so too often.
    pub(super) fn note_contention(&self, now: Instant, sticky_us: u64) -> bool {
        let Some(own) = self.own_or_make() else {
            return false;
        };
        let now_us = now.as_micros();
        if now_us.saturating_sub(own.contended_since.load(Relaxed)) > sticky_us {
            own.contended_since.store(now_us, Relaxed);
            own.contentions.store(1, Relaxed);
            return false;
        }
        let contentions = own.contentions.load(Relaxed) + 1;
        let often = contentions >= CONTENTIONS_MAX;
        own.contentions.store(if often { 0 } else { contentions }, Relaxed);
        often
    }

    /// Returns the state of the calling thread if any thread may have a partition of its own.
    #[inline]
    fn own_now(&self, now: Instant) -> Option<&Own> {
        if self.own_until.load(Relaxed) <= now.as_micros() {
            return None;
        }
        self.own.get(thread_number() % OWN_MAX)
    }

    fn own_or_make(&self) -> Option<&Own> {
        self.own.get_or_make(thread_number() % OWN_MAX, || Own {
            used: Use::new(),
            contentions: AtomicU32::new(0),
            contended_since: AtomicU64::new(0),
        })
    }
}

#[cfg(not(ottla_loom))]
#[cfg(test)]
mod tests {
    use super::*;

    const STICKY_US: u64 = 10_000;

    fn at(us: u64) -> Instant {
        Instant::from_micros(1_000_000 + us)
    }

    #[allow(clippy::unwrap_used)] // clippy takes only the test functions themselves for tests
    fn on_other_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(f).join().unwrap())
    }

    #[test]
    fn threads_share_a_partition() {
        let sticky = StickyPartition::new();
        assert_eq!(sticky.get(at(0)), None);
        sticky.set(3, at(0), STICKY_US);
        assert_eq!(sticky.get(at(9_999)), Some(3));
        assert_eq!(on_other_thread(|| sticky.get(at(9_999))), Some(3));
        assert_eq!(sticky.get(at(10_000)), None);
    }

    #[test]
    fn a_thread_has_its_own_partition_for_a_while() {
        let sticky = StickyPartition::new();
        sticky.set(3, at(0), STICKY_US);
        sticky.set_own(5, at(5_000), STICKY_US);
        sticky.set(4, at(6_000), STICKY_US);
        on_other_thread(|| sticky.set(6, at(7_000), STICKY_US));
        assert_eq!(sticky.get(at(15_999)), Some(4), "its time begins again");
        assert_eq!(on_other_thread(|| sticky.get(at(15_999))), Some(6));
        assert_eq!(sticky.get(at(16_000)), Some(6), "the common one");
        // A full batch ends it at once.
        sticky.set_own(5, at(16_000), STICKY_US);
        sticky.end(5);
        assert_eq!(sticky.get(at(16_001)), Some(6));
        sticky.end(6);
        assert_eq!(sticky.get(at(16_001)), None);
    }

    #[test]
    fn only_frequent_waits_count() {
        let sticky = StickyPartition::new();
        let waits = |step_us: u64, count: u64| {
            (0..count)
                .filter(|i| sticky.note_contention(at(i * step_us), STICKY_US))
                .count()
        };
        assert_eq!(waits(2_000, 1_000), 0);
        let sticky = StickyPartition::new();
        let often = (0..80)
            .filter(|i| sticky.note_contention(at(i * 10), STICKY_US))
            .count();
        assert_eq!(often, 10);
    }
}
