//! A topic of the accumulator: the queues of its partitions, and the records that wait until the partition count is known.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::append_only_table::AppendOnlyTable;
use super::counters::sum;
use super::partition_queue::{Limits, PartitionQueue};
use super::partitioner::Partitioner;
use super::sticky_partition::StickyPartition;
use crate::error::{Error, ErrorCode};
use crate::records::{BlockPool, NewRecord, ProducedRecords, RecordsBuilder};
use crate::sys::Instant;
use crate::sys::sync::{AtomicBool, AtomicI32, AtomicU64, Mutex};
use crate::types::{PARTITION_UA, Topic};

/// The minimum age of metadata at which a record for a partition beyond the known count waits for newer metadata: a
/// topic is requested once a second at most.
const COUNT_FRESH: Duration = Duration::from_secs(1);

/// Records whose partition cannot be chosen yet, at most as many as fit in a batch, with their requested partitions.
#[derive(Debug, Default)]
pub(super) struct UnassignedRecords {
    pub(super) records: ProducedRecords,
    pub(super) partitions: Vec<i32>,
    /// A full batch whose records may all go to any one partition.
    pub(super) is_batch: bool,
}

#[derive(Debug, Default)]
struct Unassigned {
    closed: Vec<UnassignedRecords>,
    open: Option<RecordsBuilder>,
    partitions: Vec<i32>,
    /// Some of the open records have a requested partition or one determined by the key.
    bound: bool,
    /// The client's thread was notified of the waiting records.
    listed: bool,
}

/// A thread-safe source of random numbers.
pub(super) type Draw<'a> = &'a dyn Fn() -> u64;

/// A topic of the accumulator, used by the application's threads and the client's thread.
pub(super) struct TopicQueue {
    topic: Arc<Topic>,
    partitions: AppendOnlyTable<PartitionQueue>,
    /// The number of partitions, 0 while unknown.
    count: AtomicI32,
    /// The time at which the metadata request that returned the count was sent, in microseconds on the clock.
    count_asked_at: AtomicU64,
    unassigned: Mutex<Unassigned>,
    partitioner: Partitioner,
    /// The partition of keyless records.
    sticky: StickyPartition,
    /// `sticky.partitioning.linger.ms` in microseconds.
    sticky_us: u64,
    /// The error with which the topic refuses records.
    failure: Mutex<Option<Error>>,
    has_failed: AtomicBool,
}

impl std::fmt::Debug for TopicQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TopicQueue")
            .field("topic", &self.topic.name())
            .finish_non_exhaustive()
    }
}

/// The result of [`TopicQueue::offer`].
pub(super) enum OfferOutcome {
    /// The record waits. True: the client's thread must be notified of the topic.
    Waits(bool),
    /// The partition count is known: the record belongs in a partition.
    Known,
}

impl TopicQueue {
    pub(super) fn new(topic: Arc<Topic>, sticky_us: u64) -> Self {
        let partitioner = Partitioner::from_name(&topic.conf().partitioner);
        TopicQueue {
            topic,
            partitions: AppendOnlyTable::new(),
            count: AtomicI32::new(0),
            count_asked_at: AtomicU64::new(0),
            unassigned: Mutex::new(Unassigned::default()),
            partitioner,
            sticky: StickyPartition::new(),
            sticky_us,
            failure: Mutex::new(None),
            has_failed: AtomicBool::new(false),
        }
    }

    pub(super) fn topic(&self) -> &Arc<Topic> {
        &self.topic
    }

    /// Returns a partition's queue, created on first use. The caller has checked the number.
    pub(super) fn partition(&self, partition: i32) -> Option<&PartitionQueue> {
        self.partitions
            .get_or_make(usize::try_from(partition).ok()?, PartitionQueue::default)
    }

    /// Returns all partitions that were used.
    pub(super) fn used_partitions(&self) -> impl Iterator<Item = (i32, &PartitionQueue)> {
        self.partitions
            .iter()
            .filter_map(|(i, p)| Some((i32::try_from(i).ok()?, p)))
    }

    /// Returns the number of partitions, 0 while unknown.
    pub(super) fn count(&self) -> i32 {
        self.count.load(Ordering::Acquire)
    }

    /// Returns the error with which the topic refuses records.
    pub(super) fn failure(&self) -> Option<Error> {
        if !self.has_failed.load(Ordering::Acquire) {
            return None;
        }
        self.failure.lock().clone()
    }

    /// Sets or clears the error with which the topic refuses records. An error resets the partition count to unknown.
    pub(super) fn set_failure(&self, error: Option<Error>) {
        let failed = error.is_some();
        let mut slot = self.failure.lock();
        *slot = error;
        if failed {
            self.count.store(0, Ordering::Release);
        }
        self.has_failed.store(failed, Ordering::Release);
    }

    /// Returns the partition of a record, while the partition count is known: the requested one, or the partitioner's
    /// choice.
    pub(super) fn choose(
        &self,
        requested: i32,
        key: Option<&[u8]>,
        opaque: usize,
        count: i32,
        now: Instant,
        draw: Draw<'_>,
    ) -> Result<i32, Error> {
        let chosen = if self.goes_anywhere(requested, key) {
            self.stick(count, now, draw)
        } else if requested != PARTITION_UA {
            requested
        } else if let Some(custom) = &self.topic.hooks().partitioner {
            custom(&self.topic, key, count, opaque)
        } else {
            match self.partitioner.by_key(key, count.unsigned_abs()) {
                Some(p) => p.cast_signed(),
                None => self.random(count, draw),
            }
        };
        if (0..count).contains(&chosen) {
            return Ok(chosen);
        }
        let name = self.topic.name();
        Err(Error::new(
            ErrorCode::L_UNKNOWN_PARTITION,
            format!("topic \"{name}\" has {count} partitions, there is no partition {chosen}"),
        ))
    }

    /// Returns whether sticky partitioning applies to a record.
    fn goes_anywhere(&self, requested: i32, key: Option<&[u8]>) -> bool {
        let built_in = requested == PARTITION_UA && self.topic.hooks().partitioner.is_none();
        built_in && self.sticky_us > 0 && self.partitioner.sticks(key)
    }

    /// Returns the sticky partition; chooses another one when its time is over or its leader is lost.
    pub(super) fn stick(&self, count: i32, now: Instant, draw: Draw<'_>) -> i32 {
        let current = self.sticky.get(now);
        if let Some(current) = current.filter(|p| *p < count && self.is_available(*p)) {
            return current;
        }
        let next = self.draw_two(count, draw);
        self.sticky.set(next, now, self.sticky_us);
        next
    }

    /// Ends the use of a partition as the sticky one, because its batch is full.
    pub(super) fn unstick(&self, partition: i32) {
        self.sticky.end(partition);
    }

    /// Notes that a record waited for another thread that used its partition. A thread that often waits for the sticky
    /// partition gets another one.
    #[cold]
    pub(super) fn on_contention(
        &self,
        partition: i32,
        requested: i32,
        key: Option<&[u8]>,
        now: Instant,
        draw: Draw<'_>,
    ) {
        let count = self.count();
        if count < 2 || !self.goes_anywhere(requested, key) || !self.sticky.note_contention(now, self.sticky_us) {
            return;
        }
        let other = match self.draw_two(count, draw) {
            // All others with the same probability.
            same if same == partition => (same + 1 + (draw() % u64::from(count.unsigned_abs() - 1)) as i32) % count,
            other => other,
        };
        self.sticky.set_own(other, now, self.sticky_us);
    }

    /// Returns a random partition; one without a leader only if a second draw returns one, too.
    fn random(&self, count: i32, draw: Draw<'_>) -> i32 {
        let any = || (draw() % u64::from(count.unsigned_abs().max(1))) as i32;
        let first = any();
        if self.is_available(first) { first } else { any() }
    }

    /// Draws two partitions and returns the one with the smaller backlog, so that a slow broker gets fewer records; one
    /// without a leader only if the other has none, too. Two are drawn instead of comparing all, because many threads
    /// and clients with the same view must not all choose the same partition.
    fn draw_two(&self, count: i32, draw: Draw<'_>) -> i32 {
        let count = u64::from(count.unsigned_abs().max(1));
        let first = draw() % count;
        let second = (first + 1 + draw() % (count - 1).max(1)) % count;
        let (first, second) = (first as i32, second as i32);
        let cost = |p: i32| {
            let backlog = self.partition(p).map_or(0, PartitionQueue::backlog);
            (!self.is_available(p), backlog)
        };
        if cost(second) < cost(first) { second } else { first }
    }

    /// Returns whether the partition has a leader according to metadata.
    pub(super) fn is_available(&self, partition: i32) -> bool {
        usize::try_from(partition).is_ok_and(|i| self.partitions.get(i).is_some_and(PartitionQueue::is_available))
    }

    /// Returns whether metadata is recent enough to reject partitions beyond its count.
    fn is_count_fresh(&self, now: Instant) -> bool {
        let asked_at = Instant::from_micros(self.count_asked_at.load(Ordering::Relaxed));
        now.since(asked_at) < COUNT_FRESH
    }

    /// Keeps a record with a payload of `size` bytes until the partition count is known, or until newer metadata if the
    /// requested partition is beyond the count.
    pub(super) fn offer(
        &self,
        record: &NewRecord<'_>,
        size: usize,
        requested: i32,
        limits: &Limits,
        pool: &Arc<BlockPool>,
    ) -> Result<OfferOutcome, Error> {
        let mut guard = self.unassigned.lock();
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let (count, now) = (self.count(), record.produced_at);
        if count > 0 && (requested < count || self.is_count_fresh(now)) {
            return Ok(OfferOutcome::Known);
        }
        let waiting = &mut *guard;
        if waiting
            .open
            .as_ref()
            .is_some_and(|o| !limits.admit(o, size) || o.is_too_old(now))
        {
            waiting.close(true);
        }
        let bound = !self.goes_anywhere(requested, record.key);
        let open = waiting.open.get_or_insert_with(|| match bound {
            true => RecordsBuilder::to_scatter(now, pool),
            false => RecordsBuilder::new(now, 0, 0, pool),
        });
        open.append(record, limits.copy_max);
        waiting.partitions.push(requested);
        waiting.bound |= bound;
        Ok(OfferOutcome::Waits(!std::mem::replace(&mut waiting.listed, true)))
    }

    /// Removes and returns all waiting records. The next record notifies the client's thread again.
    pub(super) fn take_unassigned(&self) -> Vec<UnassignedRecords> {
        let mut waiting = self.unassigned.lock();
        waiting.listed = false;
        waiting.close(false);
        std::mem::take(&mut waiting.closed)
    }

    /// Returns whether no record waits for the partition count or in a partition's queue.
    pub(super) fn is_empty(&self) -> bool {
        self.oldest_unassigned().is_none() && self.used_partitions().all(|(_, partition)| partition.is_empty())
    }

    /// Returns the number of messages that wait for the partition count, and the bytes of their keys, values and headers.
    pub(super) fn unassigned(&self) -> (u64, u64) {
        let waiting = self.unassigned.lock();
        let (messages, bytes) = sum(waiting.closed.iter().map(|w| &w.records));
        let open = waiting.open.as_ref();
        let open = open.map_or((0, 0), |o| (o.len() as u64, o.payload_bytes()));
        (messages + open.0, bytes + open.1)
    }

    /// Returns the time of production of the oldest waiting record.
    pub(super) fn oldest_unassigned(&self) -> Option<Instant> {
        let waiting = self.unassigned.lock();
        let first = waiting.closed.first().and_then(|w| w.records.produced_at(0));
        first.or_else(|| waiting.open.as_ref().map(RecordsBuilder::opened_at))
    }

    /// Puts records back before all other waiting ones.
    pub(super) fn put_back_unassigned(&self, mut earlier: Vec<UnassignedRecords>) {
        let mut waiting = self.unassigned.lock();
        waiting.close(false);
        earlier.append(&mut waiting.closed);
        waiting.closed = earlier;
    }

    /// Sets the partition count from metadata requested at `asked_at`. While records wait for it, returns them instead;
    /// the caller puts them into their partitions and calls again, so that no record overtakes them.
    ///
    /// If the count has not changed, the first call already stores `asked_at`: the caller fails waiting records of partitions
    /// that do not exist, and after their delivery reports the application may produce to such a partition again before the
    /// second call.
    pub(super) fn set_count(&self, count: i32, asked_at: Instant) -> Vec<UnassignedRecords> {
        let mut waiting = self.unassigned.lock();
        waiting.close(false);
        waiting.listed = false;
        let closed = std::mem::take(&mut waiting.closed);
        if closed.is_empty() || self.count() == count {
            self.count_asked_at.store(asked_at.as_micros(), Ordering::Relaxed);
        }
        if closed.is_empty() {
            self.count.store(count, Ordering::Release);
        }
        closed
    }
}

impl Unassigned {
    /// Moves the open records to the closed ones; `full`: they are a full batch.
    fn close(&mut self, full: bool) {
        let bound = std::mem::take(&mut self.bound);
        if let Some(open) = self.open.take() {
            self.closed.push(UnassignedRecords {
                records: open.finish(),
                partitions: std::mem::take(&mut self.partitions),
                is_batch: full && !bound,
            });
        }
    }
}
