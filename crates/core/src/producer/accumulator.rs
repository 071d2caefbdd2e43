//! The part of the producer that the application's threads call: collects records in batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::append_only_table::AppendOnlyTable;
use super::partition_queue::{Limits, RECORD_OVERHEAD_MAX};
use super::topic_queue::{OfferOutcome, TopicQueue};
use super::{PartitionId, Record};
use crate::config::ClientConfig;
use crate::error::{Error, ErrorCode};
use crate::event::DeliveryMode;
use crate::memory::BufferMemory;
use crate::records::{BlockPool, NewRecord, Payload, ProducedRecords, payload_len};
use crate::sys::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex};
use crate::sys::{Instant, Rng, SharedClock, Waker};
use crate::types::Topic;

/// The partitions that the client's thread has to handle.
#[derive(Debug)]
struct ReadyList {
    ids: Vec<PartitionId>,
    /// The time at which the client's thread reads the list without a wake-up; [`Instant::ORIGIN`] while it is awake or
    /// waking up.
    wakes_at: Instant,
}

/// Records are refused after a fatal error.
const FATAL: usize = 1;
/// Records are refused while a transactional producer has no transaction that can be committed.
const NO_TRANSACTION: usize = 2;

/// The maximum payload in bytes of a lone record that the producing thread sends itself.
const INLINE_BYTES_MAX: u64 = 64 * 1024;

/// Accepts records from any number of application threads and collects them in batches.
///
/// A call takes two short locks: of the calling thread's portion of the buffer memory, and of the record's partition. A
/// record costs no allocation and no wake-up of the client's
/// thread. Records count against `queue.buffering.max.messages` and `queue.buffering.max.kbytes` until their delivery
/// report was handled.
pub struct Accumulator {
    topics: AppendOnlyTable<TopicQueue>,
    ready: Mutex<ReadyList>,
    buffer_memory: Arc<BufferMemory>,
    limits: Limits,
    pool: Arc<BlockPool>,
    max_record: u64,
    sticky_us: u64,
    mode: DeliveryMode,
    clock: SharedClock,
    /// Derives wall time from the monotonic clock.
    wall: WallClock,
    waker: Arc<dyn Waker>,
    random: AtomicU64,
    flushing: AtomicUsize,
    /// A record was refused, and none accepted since: open batches are sent at once.
    full: AtomicBool,
    /// The reasons for which records are refused: [`FATAL`], [`NO_TRANSACTION`], both, or 0.
    refusing: AtomicUsize,
    closed: AtomicBool,
    unanswered_inits: AtomicUsize,
}

impl std::fmt::Debug for Accumulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accumulator")
            .field("quota", &self.buffer_memory)
            .finish_non_exhaustive()
    }
}

/// The validity of a reading of the wall clock in microseconds. After the wall clock is set, record timestamps lag
/// behind by this at most.
const WALL_VALID_US: u64 = 20_000;

/// Wall time in milliseconds, derived from the monotonic clock between readings.
#[derive(Debug, Default)]
struct WallClock {
    /// Monotonic microseconds of the last reading, plus one; 0 before the first.
    read_at: AtomicU64,
    /// Wall milliseconds times 1000 minus monotonic microseconds, as two's complement.
    offset_us: AtomicU64,
}

impl WallClock {
    fn ms_at(&self, now: Instant, clock: &SharedClock) -> i64 {
        let now_us = now.as_micros();
        let read_at = self.read_at.load(Ordering::Relaxed);
        if read_at == 0 || now_us.wrapping_sub(read_at - 1) > WALL_VALID_US {
            let wall_ms = clock.wall_ms();
            let offset = wall_ms.wrapping_mul(1000).wrapping_sub(now_us.cast_signed());
            // Two threads may mix their readings: either offset is right.
            self.offset_us.store(offset.cast_unsigned(), Ordering::Relaxed);
            self.read_at.store(now_us.saturating_add(1), Ordering::Relaxed);
            return wall_ms;
        }
        let offset = self.offset_us.load(Ordering::Relaxed).cast_signed();
        offset.wrapping_add(now_us.cast_signed()).div_euclid(1000)
    }
}

impl Accumulator {
    /// Creates the accumulator of a client. `mode` selects the records that get a delivery report.
    pub fn new(conf: &ClientConfig, mode: DeliveryMode, clock: SharedClock, waker: Arc<dyn Waker>) -> Self {
        let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let kbytes = u64::from(conf.queue_buffering_max_kbytes);
        let max_messages = u64::from(conf.queue_buffering_max_messages);
        Accumulator {
            topics: AppendOnlyTable::new(),
            ready: Mutex::new(ReadyList {
                ids: Vec::new(),
                wakes_at: Instant::ORIGIN,
            }),
            buffer_memory: Arc::new(BufferMemory::new(max_messages, kbytes.saturating_mul(1024))),
            limits: Limits {
                records: count(conf.batch_num_messages).max(1),
                bytes: count(conf.batch_size.min(conf.message_max_bytes)),
                copy_max: count(conf.message_copy_max_bytes),
                linger: Duration::try_from_secs_f64(conf.linger_ms / 1000.0).unwrap_or_default(),
            },
            pool: Arc::default(),
            max_record: u64::from(conf.message_max_bytes).saturating_sub(RECORD_OVERHEAD_MAX as u64),
            sticky_us: u64::from(conf.sticky_partitioning_linger_ms) * 1000,
            mode,
            clock,
            wall: WallClock::default(),
            waker,
            random: AtomicU64::new(Rng::from_entropy().next_u64()),
            flushing: AtomicUsize::new(0),
            full: AtomicBool::new(false),
            refusing: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            unanswered_inits: AtomicUsize::new(0),
        }
    }

    // ---------------------------------------------------------------- for the application's threads

    /// Adds a record to a partition; for [`PARTITION_UA`](crate::types::PARTITION_UA) the partitioner
    /// selects it.
    ///
    /// # Errors
    /// On failure nothing was added: [`L_QUEUE_FULL`](ErrorCode::L_QUEUE_FULL) when the producer holds as much as its
    /// limits allow, [`MSG_SIZE_TOO_LARGE`](ErrorCode::MSG_SIZE_TOO_LARGE) for more than `message.max.bytes`,
    /// [`L_UNKNOWN_PARTITION`](ErrorCode::L_UNKNOWN_PARTITION), [`L_UNKNOWN_TOPIC`](ErrorCode::L_UNKNOWN_TOPIC) or the
    /// topic's own error, [`L_FATAL`](ErrorCode::L_FATAL) after a fatal error, [`L_DESTROY`](ErrorCode::L_DESTROY) when
    /// the client is being closed.
    pub fn produce(&self, topic: &Arc<Topic>, partition: i32, record: Record<'_>) -> Result<(), Error> {
        let size = self.check(&record)?;
        if !self.buffer_memory.try_acquire(size) {
            self.on_full();
            return Err(Error::new(ErrorCode::L_QUEUE_FULL, "").into_retriable());
        }
        self.place_or_release(topic, partition, record, size)
    }

    /// Adds a record whose memory is reserved. Releases the memory on failure.
    #[inline]
    fn place_or_release(&self, topic: &Arc<Topic>, partition: i32, record: Record<'_>, size: u64) -> Result<(), Error> {
        let placed = self.place(topic, partition, record, size);
        // Looked at, not moved: a load of more bytes than were stored last waits until the processor has completed all
        // stores, also those that it would have to wait for another processor for.
        if placed.is_err() {
            self.buffer_memory.release(1, size);
        }
        placed
    }

    /// Wakes the client's thread to send the open batches, as no record can be added to them.
    fn on_full(&self) {
        if !self.full.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    /// Like [`produce`](Self::produce), but waits while the producer holds as much as its limits allow. Another thread
    /// must handle delivery reports meanwhile.
    ///
    /// # Errors
    /// Those of [`produce`](Self::produce) except [`L_QUEUE_FULL`](ErrorCode::L_QUEUE_FULL).
    pub fn produce_blocking(&self, topic: &Arc<Topic>, partition: i32, record: Record<'_>) -> Result<(), Error> {
        let size = self.check(&record)?;
        let ended = || self.check_open().is_err();
        while !self.buffer_memory.try_acquire(size) {
            self.on_full();
            if self.buffer_memory.acquire(size, ended) {
                break;
            }
            self.check_open()?;
        }
        // The transaction or the client may have ended meanwhile.
        if let Err(ended) = self.check_open() {
            self.buffer_memory.release(1, size);
            return Err(ended);
        }
        self.place_or_release(topic, partition, record, size)
    }

    /// Returns whether a partition has a leader according to metadata.
    pub fn is_partition_available(&self, topic: &Topic, partition: i32) -> bool {
        self.topics
            .get(topic.index())
            .is_some_and(|t| t.is_available(partition))
    }

    /// Returns whether a topic has a partition, or its partition count is not known yet.
    pub fn may_have(&self, topic: &Arc<Topic>, partition: i32) -> bool {
        let count = self.queue_of(topic).map_or(0, TopicQueue::count);
        partition >= 0 && (count == 0 || partition < count)
    }

    /// Requests the topic's metadata now, so that the first record need not wait for it.
    pub fn announce(&self, topic: &Arc<Topic>) {
        if self.queue_of(topic).is_some_and(|t| t.count() == 0) {
            self.add_ready(PartitionId::topic_itself(index_of(topic)), Instant::ORIGIN);
        }
    }

    /// Returns the number of records whose delivery reports were not handled yet.
    pub fn outstanding(&self) -> usize {
        usize::try_from(self.buffer_memory.messages()).unwrap_or(usize::MAX)
    }

    /// Disables linger until [`flush_end`](Self::flush_end) was called as often.
    pub fn flush_begin(&self) {
        self.flushing.fetch_add(1, Ordering::AcqRel);
        self.ready.lock().wakes_at = Instant::ORIGIN;
        self.waker.drive_inline();
    }

    /// Ends one [`flush_begin`](Self::flush_begin).
    pub fn flush_end(&self) {
        let _ = self
            .flushing
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| n.checked_sub(1));
    }

    /// Refuses all later records with [`L_FATAL`](ErrorCode::L_FATAL).
    pub fn set_fatal(&self) {
        self.set_refusal(FATAL, true);
        self.buffer_memory.wake_all();
    }

    /// Returns whether [`set_fatal`](Self::set_fatal) was called.
    pub(super) fn is_fatal(&self) -> bool {
        self.refusing.load(Ordering::Relaxed) & FATAL != 0
    }

    /// Lets a transactional producer accept records, or refuse them with [`L_STATE`](ErrorCode::L_STATE).
    pub(super) fn set_in_transaction(&self, open: bool) {
        self.set_refusal(NO_TRANSACTION, !open);
        self.buffer_memory.wake_all();
    }

    /// Counts an InitProducerId request with the transactional id whose outcome will never be known.
    pub fn count_unanswered_init(&self) {
        self.unanswered_inits.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of InitProducerId requests with the transactional id whose outcome is not known. If the
    /// coordinator has executed or will execute one of them besides the answered one, it fences this producer as an
    /// older instance. It detects a repeated request with an epoch (KIP-360), but not one without, nor after it has
    /// lost the producer's state.
    pub fn unanswered_inits(&self) -> usize {
        self.unanswered_inits.load(Ordering::Acquire)
    }

    fn set_refusal(&self, why: usize, yes: bool) {
        let set = |before: usize| Some(if yes { before | why } else { before & !why });
        let _ = self.refusing.fetch_update(Ordering::AcqRel, Ordering::Relaxed, set);
    }

    /// Seeds the choice of random partitions, for simulations.
    pub fn seed(&self, seed: u64) {
        self.random.store(seed, Ordering::Relaxed);
    }

    fn check(&self, record: &Record<'_>) -> Result<u64, Error> {
        self.check_open()?;
        let size = payload_len(record.key, &record.value, &record.headers);
        if size > self.max_record {
            let (max, limit) = (self.max_record, self.max_record + RECORD_OVERHEAD_MAX as u64);
            return Err(Error::new(
                ErrorCode::MSG_SIZE_TOO_LARGE,
                format!(
                    "the record has {size} bytes of key, value and headers, message.max.bytes={limit} allows {max}"
                ),
            ));
        }
        Ok(size)
    }

    fn check_open(&self) -> Result<(), Error> {
        match self.refusing.load(Ordering::Relaxed) {
            0 => {}
            NO_TRANSACTION => {
                let text = "a transactional producer takes records only while a transaction is open and has not failed";
                return Err(Error::new(ErrorCode::L_STATE, text));
            }
            _ => return Err(Error::from(ErrorCode::L_FATAL)),
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorCode::L_DESTROY, "the client is being destroyed"));
        }
        Ok(())
    }

    fn place(&self, topic: &Arc<Topic>, requested: i32, record: Record<'_>, size: u64) -> Result<(), Error> {
        let unknown = || Error::new(ErrorCode::L_UNKNOWN_TOPIC, "");
        if self.full.load(Ordering::Relaxed) {
            self.full.store(false, Ordering::Relaxed);
        }
        let queue = self.queue_of(topic).ok_or_else(unknown)?;
        prefetch(&record.value);
        let now = self.clock.now();
        let record = NewRecord {
            key: record.key,
            value: record.value,
            headers: record.headers,
            timestamp_ms: if record.timestamp_ms == 0 {
                self.wall.ms_at(now, &self.clock)
            } else {
                record.timestamp_ms
            },
            opaque: record.opaque,
            lent: 0,
            produced_at: now,
        };
        let mut count = queue.count();
        if count == 0 || requested >= count {
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            match queue.offer(&record, size, requested, &self.limits, &self.pool)? {
                OfferOutcome::Waits(listing) => {
                    if listing {
                        self.add_ready(PartitionId::topic_itself(index_of(topic)), now);
                    }
                    return Ok(());
                }
                OfferOutcome::Known => {}
            }
            count = queue.count();
        }
        let partition = queue.choose(requested, record.key, record.opaque, count, now, &|| self.draw())?;
        if self.append(queue, partition, &record, size)? {
            queue.on_contention(partition, requested, record.key, now, &|| self.draw());
        }
        Ok(())
    }

    /// Adds a record to its partition. Returns whether it waited for another thread that used the partition.
    pub(super) fn append(
        &self,
        queue: &TopicQueue,
        partition: i32,
        record: &NewRecord<'_>,
        size: u64,
    ) -> Result<bool, Error> {
        let unknown = || Error::new(ErrorCode::L_UNKNOWN_PARTITION, "");
        let target = queue.partition(partition).ok_or_else(unknown)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let now = record.produced_at;
        let added = target.append(record, size, &self.limits, &self.pool);
        if added.closed {
            queue.unstick(partition);
        }
        if let Some(due) = added.look_by {
            let topic = index_of(queue.topic());
            let id = PartitionId { topic, partition };
            // A thread that produces one record at a time would wait for its report anyway.
            let lone =
                due <= now && self.buffer_memory.messages() == 1 && self.buffer_memory.bytes() <= INLINE_BYTES_MAX;
            if self.needs_wake(id, due) {
                if lone {
                    self.waker.drive_inline();
                } else {
                    self.waker.wake();
                }
            }
        }
        Ok(added.contended)
    }

    /// Adds a full batch of records for any partition to one of `count` partitions.
    pub(super) fn append_batch(&self, queue: &TopicQueue, count: i32, records: ProducedRecords, now: Instant) {
        let partition = queue.stick(count, now, &|| self.draw());
        let Some(target) = queue.partition(partition) else {
            return;
        };
        if let Some(due) = target.append_batch(records, now) {
            let topic = index_of(queue.topic());
            self.add_ready(PartitionId { topic, partition }, due);
        }
        queue.unstick(partition);
    }

    fn queue_of(&self, topic: &Arc<Topic>) -> Option<&TopicQueue> {
        self.topics
            .get_or_make(topic.index(), || TopicQueue::new(topic.clone(), self.sticky_us))
    }

    /// Puts a partition into the ready list; wakes the client's thread if it would read the list later than `due`.
    fn add_ready(&self, id: PartitionId, due: Instant) {
        if self.needs_wake(id, due) {
            self.waker.wake();
        }
    }

    /// Puts a partition into the ready list. Returns whether the client's thread would read the list later than `due`.
    fn needs_wake(&self, id: PartitionId, due: Instant) -> bool {
        let mut ready = self.ready.lock();
        ready.ids.push(id);
        // Nothing lingers during a flush. A flush that begins after this wakes the client's thread, which finds the
        // partition.
        let due = if self.is_flushing() { Instant::ORIGIN } else { due };
        let wake = ready.wakes_at > due;
        if wake {
            ready.wakes_at = Instant::ORIGIN;
        }
        drop(ready);
        wake
    }

    /// Returns a random number (SplitMix64).
    pub(super) fn draw(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    // ---------------------------------------------------------------- for the client's thread

    /// Exchanges the ready list for `empty`. The client's thread needs no wake-up until it has called
    /// [`set_wake_time`](Self::set_wake_time).
    pub(super) fn take_ready(&self, empty: &mut Vec<PartitionId>) {
        let mut ready = self.ready.lock();
        std::mem::swap(&mut ready.ids, empty);
        ready.wakes_at = Instant::ORIGIN;
    }

    /// Sets the time at which the client's thread will read the ready list without a wake-up. Returns false, without an
    /// effect, when the list is not empty.
    pub(super) fn set_wake_time(&self, wake: Option<Instant>) -> bool {
        let mut ready = self.ready.lock();
        if !ready.ids.is_empty() {
            return false;
        }
        ready.wakes_at = wake.unwrap_or(Instant::NEVER);
        true
    }

    pub(super) fn topic(&self, index: u32) -> Option<&TopicQueue> {
        self.topics.get(index as usize)
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = (u32, &TopicQueue)> {
        self.topics
            .iter()
            .filter_map(|(i, t)| Some((u32::try_from(i).ok()?, t)))
    }

    /// Like [`flush_begin`](Self::flush_begin) and [`flush_end`](Self::flush_end), for the client's own thread, which
    /// reads the ready list right after.
    pub(super) fn cut_linger(&self, cut: bool) {
        match cut {
            true => {
                self.flushing.fetch_add(1, Ordering::AcqRel);
            }
            false => self.flush_end(),
        }
    }

    /// Returns whether linger is disabled: by a flush, or because the queue is full.
    pub(super) fn is_flushing(&self) -> bool {
        self.flushing.load(Ordering::Acquire) > 0 || self.full.load(Ordering::Acquire)
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn mode(&self) -> DeliveryMode {
        self.mode
    }

    /// Returns the memory that records are encoded into.
    pub(super) fn pool(&self) -> &Arc<BlockPool> {
        &self.pool
    }

    /// Returns the limit on the records held.
    pub(crate) fn buffer_memory(&self) -> &Arc<BufferMemory> {
        &self.buffer_memory
    }

    /// Refuses all later records with [`L_DESTROY`](ErrorCode::L_DESTROY).
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.buffer_memory.wake_all();
    }
}

/// The maximum number of bytes of a value that are prefetched; the processor prefetches the remainder of longer values.
const PREFETCH_MAX: usize = 2048;

/// Prefetches a value that will be copied, so that cache misses do not prolong the hold of the partition's lock.
#[inline]
fn prefetch(value: &Payload<'_>) {
    let bytes = value.as_slice().unwrap_or_default();
    ottla_cpu_hints::will_read_all(bytes.get(..PREFETCH_MAX).unwrap_or(bytes));
}

fn index_of(topic: &Topic) -> u32 {
    u32::try_from(topic.index()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
