//! The state of one consumed partition that the application's threads and the consumer share.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::queue::Queue;
use crate::memory::FetchBudget;
use crate::sys::sync::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Mutex};
use crate::types::{Topic, TopicPartition, offset};

/// The offset to commit for a partition, with its leader epoch and metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOffset {
    /// The next offset to read, or [`offset::INVALID`].
    pub offset: i64,
    /// Leader epoch of the record before it, or -1.
    pub leader_epoch: i32,
    /// The application's commit metadata.
    pub metadata: Option<Vec<u8>>,
}

impl StoredOffset {
    fn nothing() -> Self {
        StoredOffset {
            offset: offset::INVALID,
            leader_epoch: -1,
            metadata: None,
        }
    }
}

/// The application's position in a partition between two seeks. Atomics, since they are written for every record.
///
/// A chunk writes to the tracker that the partition had when the chunk was fetched. A record that a thread takes while
/// another thread seeks is delivered, but no longer changes the position or the offset to commit.
#[derive(Debug)]
pub(super) struct PositionTracker {
    /// The next offset that the application will see, or `offset::INVALID` before the first record.
    position: AtomicI64,
    position_leader_epoch: AtomicI32,
    /// With `auto_store`: the offset after the last delivered record, and its leader epoch.
    taken: AtomicI64,
    taken_leader_epoch: AtomicI32,
}

impl PositionTracker {
    fn new(position: (i64, i32), taken: (i64, i32)) -> Arc<Self> {
        Arc::new(PositionTracker {
            position: AtomicI64::new(position.0),
            position_leader_epoch: AtomicI32::new(position.1),
            taken: AtomicI64::new(taken.0),
            taken_leader_epoch: AtomicI32::new(taken.1),
        })
    }

    /// Returns the offset and leader epoch of `taken`. The epoch is written first and read last, so that it is never
    /// older than the offset's: with an older epoch a broker would report a truncated log.
    fn taken(&self) -> (i64, i32) {
        let offset = self.taken.load(Ordering::Acquire);
        (offset, self.taken_leader_epoch.load(Ordering::Acquire))
    }

    fn set_taken(&self, offset: i64, leader_epoch: i32) {
        self.taken_leader_epoch.store(leader_epoch, Ordering::Release);
        self.taken.store(offset, Ordering::Release);
    }

    fn set_position(&self, offset: i64, leader_epoch: i32) {
        self.position_leader_epoch.store(leader_epoch, Ordering::Release);
        self.position.store(offset, Ordering::Release);
    }

    /// Notes that a record was delivered to the application.
    pub(super) fn on_taken(&self, record_offset: i64, leader_epoch: i32, auto_store: bool) {
        let next = record_offset.saturating_add(1);
        self.set_position(next, leader_epoch);
        if auto_store {
            self.set_taken(next, leader_epoch);
        }
    }
}

/// No record was delivered, no offset is to be committed.
const NOWHERE: (i64, i32) = (offset::INVALID, -1);

/// The state that the application's threads change together.
#[derive(Debug)]
struct Progress {
    /// The present position. Replaced by a seek or a restart.
    place: Arc<PositionTracker>,
    /// The offset that the application has stored.
    stored: StoredOffset,
    /// The partition is assigned or started: offsets can be stored.
    consumed: bool,
}

/// One consumed partition. The fetcher advances the fetch generation at every seek, pause, stop and revocation, so that
/// records fetched before are recognized as stale in any queue.
#[derive(Debug)]
pub struct PartitionState {
    /// The index in the consumer's table of partitions.
    id: u32,
    topic: Arc<Topic>,
    partition: i32,
    queue: Arc<Queue>,
    budget: Arc<FetchBudget>,
    fetch_generation: AtomicU32,
    /// The number of restarts: offsets from before a restart are not valid.
    restarts: AtomicU32,
    /// The number of records in queues.
    queued: AtomicU64,
    /// The number of records that were dropped as stale.
    dropped: AtomicU64,
    /// The fetcher is notified when fewer records than this are queued; 0 for no notification.
    drain_threshold: AtomicU64,
    progress: Mutex<Progress>,
    /// Delivering a record stores its offset (`enable.auto.offset.store`).
    auto_store: bool,
    low: AtomicI64,
    high: AtomicI64,
}

impl PartitionState {
    /// Creates the state of a partition whose records go to `queue`.
    pub fn new(
        id: u32,
        topic: Arc<Topic>,
        partition: i32,
        queue: Arc<Queue>,
        budget: Arc<FetchBudget>,
        auto_store: bool,
    ) -> Self {
        PartitionState {
            id,
            topic,
            partition,
            queue,
            budget,
            fetch_generation: AtomicU32::new(0),
            restarts: AtomicU32::new(0),
            queued: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            drain_threshold: AtomicU64::new(0),
            progress: Mutex::new(Progress {
                place: PositionTracker::new(NOWHERE, NOWHERE),
                stored: StoredOffset::nothing(),
                consumed: false,
            }),
            auto_store,
            low: AtomicI64::new(offset::INVALID),
            high: AtomicI64::new(offset::INVALID),
        }
    }

    /// The index in the consumer's table of partitions.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The topic.
    pub fn topic(&self) -> &Arc<Topic> {
        &self.topic
    }

    /// The partition's number.
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// Topic name and number.
    pub fn tp(&self) -> TopicPartition {
        TopicPartition::new(self.topic.shared_name(), self.partition)
    }

    /// Returns the partition's own queue, which may be forwarded.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Returns the present fetch generation.
    pub fn fetch_generation(&self) -> u32 {
        self.fetch_generation.load(Ordering::Acquire)
    }

    /// Makes all records fetched so far stale. A record that another thread is taking at the same time still changes the
    /// position.
    pub fn advance_fetch_generation(&self) -> u32 {
        self.fetch_generation.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    /// Makes all records fetched so far stale and changes the position, but not the offset to commit.
    pub fn jump(&self, offset: i64) {
        self.advance_fetch_generation();
        let mut progress = self.progress.lock();
        progress.place = PositionTracker::new((offset, -1), progress.place.taken());
    }

    /// Makes all records fetched so far stale and restarts consumption: no record was delivered, and no offset is to be
    /// committed. `leader_epoch` is that of the record before the first one, or -1.
    pub fn restart(&self, leader_epoch: i32) {
        self.advance_fetch_generation();
        self.restarts.fetch_add(1, Ordering::AcqRel);
        *self.progress.lock() = Progress {
            place: PositionTracker::new((offset::INVALID, leader_epoch), NOWHERE),
            stored: StoredOffset::nothing(),
            consumed: true,
        };
    }

    /// Returns the number of calls of [`restart`](Self::restart).
    pub fn restarts(&self) -> u32 {
        self.restarts.load(Ordering::Acquire)
    }

    /// Makes all records fetched so far stale and ends consumption: no offset can be stored any more.
    pub fn end(&self) {
        self.advance_fetch_generation();
        self.progress.lock().consumed = false;
    }

    pub(super) fn place(&self) -> Arc<PositionTracker> {
        self.progress.lock().place.clone()
    }

    pub(super) fn auto_store(&self) -> bool {
        self.auto_store
    }

    /// Returns the number of records that wait for the application.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Acquire)
    }

    /// Returns the number of records that were fetched and dropped after a seek, a pause or a revocation.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn on_dropped(&self, records: u64) {
        self.dropped.fetch_add(records, Ordering::Relaxed);
    }

    /// Returns the next offset that the application will see, with the leader epoch of the record before it.
    pub fn position(&self) -> (i64, i32) {
        let tracker = self.place();
        // In this order, as in `taken`: with an epoch older than the offset's, an intact log would appear truncated.
        let offset = tracker.position.load(Ordering::Acquire);
        (offset, tracker.position_leader_epoch.load(Ordering::Acquire))
    }

    /// Sets the leader epoch of the record before the position.
    pub fn set_position_leader_epoch(&self, leader_epoch: i32) {
        self.place()
            .position_leader_epoch
            .store(leader_epoch, Ordering::Release);
    }

    /// Returns the offset to commit.
    pub fn stored(&self) -> StoredOffset {
        if self.auto_store {
            let (offset, leader_epoch) = self.place().taken();
            return StoredOffset {
                offset,
                leader_epoch,
                metadata: None,
            };
        }
        self.progress.lock().stored.clone()
    }

    /// Replaces the offset to commit. Returns false, without an effect, when the partition is not consumed.
    pub fn store(&self, stored: StoredOffset) -> bool {
        let mut progress = self.progress.lock();
        if !progress.consumed {
            return false;
        }
        progress.place.set_taken(stored.offset, stored.leader_epoch);
        progress.stored = stored;
        true
    }

    /// Requests a notification when fewer than `records` records are queued. Returns false, without a request, if that
    /// is so already.
    pub fn arm(&self, records: u64) -> bool {
        self.drain_threshold.swap(records, Ordering::AcqRel);
        // A record may have been taken between the caller's check of the count and the line above.
        self.queued.load(Ordering::Acquire) >= records || self.drain_threshold.swap(0, Ordering::AcqRel) == 0
    }

    /// Cancels [`arm`](Self::arm).
    pub fn disarm(&self) {
        self.drain_threshold.store(0, Ordering::Release);
    }

    /// Returns the last known low and high watermark; [`offset::INVALID`] if unknown.
    pub fn watermarks(&self) -> (i64, i64) {
        (self.low.load(Ordering::Relaxed), self.high.load(Ordering::Relaxed))
    }

    /// Sets the watermarks of a Fetch or ListOffsets response; `None` leaves one unchanged.
    pub fn set_watermarks(&self, low: Option<i64>, high: Option<i64>) {
        if let Some(low) = low {
            self.low.store(low, Ordering::Relaxed);
        }
        if let Some(high) = high {
            self.high.store(high, Ordering::Relaxed);
        }
    }

    pub(super) fn on_queued(&self, records: u64, bytes: u64) {
        self.queued.fetch_add(records, Ordering::AcqRel);
        self.budget.take(bytes);
    }

    pub(super) fn on_unqueued(&self, records: u64, bytes: u64) {
        let left = self.queued.fetch_sub(records, Ordering::AcqRel).saturating_sub(records);
        self.budget.release(bytes);
        // A read-modify-write, so that it is ordered with `arm`: a plain load may miss an `arm` that has itself missed
        // the count above.
        let limit = self.drain_threshold.fetch_add(0, Ordering::AcqRel);
        if left < limit && self.drain_threshold.swap(0, Ordering::AcqRel) != 0 {
            self.budget.on_drained(self.id);
        }
    }
}
