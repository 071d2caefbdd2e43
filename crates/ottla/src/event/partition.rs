//! What the application's threads and the consumer share about one consumed partition.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::queue::Queue;
use crate::memory::FetchBudget;
use crate::sys::sync::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Mutex};
use crate::types::{Topic, TopicPartition, offset};

/// The offset to commit for a partition, with what goes along.
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

/// Where the application stands in a partition between two seeks. Atomics, since they are written for every record.
///
/// A chunk writes to the place that was the partition's when it was fetched. A record that a thread is taking while
/// another one seeks has been handed out, but no longer moves the position, nor what will be committed.
#[derive(Debug)]
pub(super) struct PositionTracker {
    /// The next offset that the application will see, or `offset::INVALID` before the first record.
    position: AtomicI64,
    position_leader_epoch: AtomicI32,
    /// With `auto_store`: behind the last record handed out, and its leader epoch.
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

    /// The epoch is written first and read last, so that it is never older than the offset's.
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

    /// A record is handed to the application.
    pub(super) fn on_taken(&self, record_offset: i64, leader_epoch: i32, auto_store: bool) {
        let next = record_offset.saturating_add(1);
        self.set_position(next, leader_epoch);
        if auto_store {
            self.set_taken(next, leader_epoch);
        }
    }
}

/// Nothing was handed out, nothing is to be committed.
const NOWHERE: (i64, i32) = (offset::INVALID, -1);

/// What the application's threads change together.
#[derive(Debug)]
struct Progress {
    /// Where the application stands. A seek or a new beginning puts another place here.
    place: Arc<PositionTracker>,
    /// What the application has stored itself.
    stored: StoredOffset,
    /// The partition is assigned or started: offsets can be stored.
    consumed: bool,
}

/// One consumed partition. The fetcher raises `fetch_generation` at every seek, pause, stop and revocation, so that what was
/// fetched before is recognised as stale wherever it waits.
#[derive(Debug)]
pub struct PartitionState {
    /// The place in the consumer's registry.
    id: u32,
    topic: Arc<Topic>,
    partition: i32,
    queue: Arc<Queue>,
    budget: Arc<FetchBudget>,
    fetch_generation: AtomicU32,
    /// How often consuming began anew: offsets from before mean nothing any more.
    restarts: AtomicU32,
    /// Records waiting in queues.
    queued: AtomicU64,
    /// Records that were dropped because they had become stale.
    dropped: AtomicU64,
    /// When fewer records than this wait, the fetcher wants to know; 0 when it does not.
    drain_threshold: AtomicU64,
    progress: Mutex<Progress>,
    /// Handing a record to the application stores its offset (`enable.auto.offset.store`).
    auto_store: bool,
    low: AtomicI64,
    high: AtomicI64,
}

impl PartitionState {
    /// State for a partition whose records go to `queue`.
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

    /// The place in the consumer's registry.
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

    /// The partition's own queue (it may be forwarded).
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// The present epoch.
    pub fn fetch_generation(&self) -> u32 {
        self.fetch_generation.load(Ordering::Acquire)
    }

    /// Makes everything fetched so far stale. A record that another thread is taking just now still moves the position.
    pub fn advance_fetch_generation(&self) -> u32 {
        self.fetch_generation.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    /// Makes everything fetched so far stale and moves the position; what is to be committed stays as it is.
    pub fn jump(&self, offset: i64) {
        self.advance_fetch_generation();
        let mut progress = self.progress.lock();
        progress.place = PositionTracker::new((offset, -1), progress.place.taken());
    }

    /// Makes everything fetched so far stale: consuming begins anew, nothing was handed out and nothing is to be committed.
    /// `leader_epoch` is that of the record before the one to begin with, or -1.
    pub fn restart(&self, leader_epoch: i32) {
        self.advance_fetch_generation();
        self.restarts.fetch_add(1, Ordering::AcqRel);
        *self.progress.lock() = Progress {
            place: PositionTracker::new((offset::INVALID, leader_epoch), NOWHERE),
            stored: StoredOffset::nothing(),
            consumed: true,
        };
    }

    /// Changes with every [`restart`](Self::restart).
    pub fn restarts(&self) -> u32 {
        self.restarts.load(Ordering::Acquire)
    }

    /// Makes everything fetched so far stale: consuming ends, and no offset can be stored any more.
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

    /// Records of this partition that wait for the application.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Acquire)
    }

    /// Records of this partition that were fetched and then dropped, after a seek, a pause or a revocation.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn on_dropped(&self, records: u64) {
        self.dropped.fetch_add(records, Ordering::Relaxed);
    }

    /// The next offset that the application will see, with the leader epoch of the record before it.
    pub fn position(&self) -> (i64, i32) {
        let place = self.place();
        // As in `taken`: an epoch older than the offset's would make a log look truncated that is whole.
        let offset = place.position.load(Ordering::Acquire);
        (offset, place.position_leader_epoch.load(Ordering::Acquire))
    }

    /// Sets the leader epoch of the record before the position.
    pub fn set_position_leader_epoch(&self, leader_epoch: i32) {
        self.place()
            .position_leader_epoch
            .store(leader_epoch, Ordering::Release);
    }

    /// The offset to commit.
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

    /// Replaces the offset to commit; false, without an effect, when the partition is not consumed.
    pub fn store(&self, stored: StoredOffset) -> bool {
        let mut progress = self.progress.lock();
        if !progress.consumed {
            return false;
        }
        progress.place.set_taken(stored.offset, stored.leader_epoch);
        progress.stored = stored;
        true
    }

    /// Asks to be told when fewer than `records` records wait. False when that is so already: then nothing is told.
    pub fn arm(&self, records: u64) -> bool {
        self.drain_threshold.swap(records, Ordering::AcqRel);
        // A record may have been taken between the caller's look at the count and the line above.
        self.queued.load(Ordering::Acquire) >= records || self.drain_threshold.swap(0, Ordering::AcqRel) == 0
    }

    /// Takes back [`arm`](Self::arm).
    pub fn disarm(&self) {
        self.drain_threshold.store(0, Ordering::Release);
    }

    /// Low and high watermark as last seen; [`offset::INVALID`] when never seen.
    pub fn watermarks(&self) -> (i64, i64) {
        (self.low.load(Ordering::Relaxed), self.high.load(Ordering::Relaxed))
    }

    /// Notes the watermarks of a Fetch or ListOffsets response; `None` leaves one as it is.
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
        // Read by a step that also writes, so that it and `arm` have an order: a plain load may miss an `arm` that has
        // itself missed what was counted above.
        let limit = self.drain_threshold.fetch_add(0, Ordering::AcqRel);
        if left < limit && self.drain_threshold.swap(0, Ordering::AcqRel) != 0 {
            self.budget.on_drained(self.id);
        }
    }
}
