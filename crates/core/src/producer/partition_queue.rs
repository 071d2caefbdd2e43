//! A partition's open batch, filled by application threads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ottla_protocol::record::BATCH_HEADER_LEN;

use super::batch::Batch;
use super::counters::sum;
use crate::records::{BlockPool, NewRecord, ProducedRecords, RecordsBuilder};
use crate::sys::Instant;
use crate::sys::sync::{AtomicBool, SpinMutex};

/// The limits at which batches are closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// `batch.num.messages`
    pub(super) records: usize,
    /// The smaller of `batch.size` and `message.max.bytes`: bytes of a batch with its header. A first record may
    /// exceed it.
    pub(super) bytes: usize,
    /// `message.copy.max.bytes`
    pub(super) copy_max: usize,
    /// `linger.ms`
    pub(super) linger: Duration,
}

impl Limits {
    /// Returns whether a batch has room for a record with a payload of `size` bytes.
    pub(super) fn admit(&self, open: &RecordsBuilder, size: usize) -> bool {
        let len = open.encoded_len() + BATCH_HEADER_LEN + size + RECORD_OVERHEAD_MAX;
        len <= self.bytes && open.len() < self.records
    }
}

/// The effects of an added record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Added {
    /// A batch was closed: the next record begins another one, perhaps in another partition.
    pub(super) closed: bool,
    /// The time by which the client's thread must handle the partition, if it was not notified yet.
    pub(super) look_by: Option<Instant>,
    /// Another thread held the partition's lock.
    pub(super) contended: bool,
}

/// The maximum size of a record besides key, value and headers: length, attributes, deltas, lengths, header count.
pub(super) const RECORD_OVERHEAD_MAX: usize = 5 + 1 + 10 + 5 + 5 + 5 + 5;

#[derive(Debug, Default)]
struct Inner {
    open: Option<RecordsBuilder>,
    /// Full batches that the client's thread has not taken yet.
    closed: VecDeque<Batch>,
    /// The time by which the client's thread was notified to handle the partition, until it does.
    listed_by: Option<Instant>,
    /// The number of the next record.
    next_id: u64,
    /// The size of the last batch, as an estimate for the next one.
    last_bytes: usize,
    last_records: usize,
}

/// The messages in a [`PartitionQueue`].
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedCounts {
    pub(super) messages: u64,
    /// Bytes of keys, values and headers.
    pub(super) bytes: u64,
    /// All messages that were ever added.
    pub(super) ever: u64,
}

/// The open batch and the closed batches of a partition on the application's side. Thread-safe.
#[derive(Debug, Default)]
pub(super) struct PartitionQueue {
    inner: SpinMutex<Inner>,
    /// The partition has a leader according to metadata.
    available: AtomicBool,
    /// The weight of the closed batches that are not settled. Only a hint for the choice of a partition: the thread
    /// models need not explore it.
    backlog: AtomicU64,
}

/// Returns the weight of records in a backlog: their bytes, plus one for each, so that empty ones count.
fn weight(records: &ProducedRecords) -> u64 {
    records.payload_bytes() + records.len() as u64
}

impl PartitionQueue {
    /// Returns the weight of the unsettled records, without the open batch.
    pub(super) fn backlog(&self) -> u64 {
        self.backlog.load(Ordering::Relaxed)
    }

    /// Subtracts settled records from the backlog.
    pub(super) fn on_settled(&self, records: &ProducedRecords) {
        self.backlog.fetch_sub(weight(records), Ordering::Relaxed);
    }

    /// Adds a record whose payload has `size` bytes.
    pub(super) fn append(&self, record: &NewRecord<'_>, size: usize, limits: &Limits, pool: &Arc<BlockPool>) -> Added {
        let (mut inner, contended) = self.inner.lock_noting();
        let inner = &mut *inner;
        let mut closed = false;
        let now = record.produced_at;
        let has_room = |open: &RecordsBuilder| limits.admit(open, size) && !open.is_too_old(now);
        if inner.open.as_ref().is_some_and(|open| !has_room(open)) {
            inner.close(&self.backlog);
            closed = true;
        }
        let opened = inner.open.is_none();
        let (bytes, records) = (inner.last_bytes, inner.last_records);
        let open = inner
            .open
            .get_or_insert_with(|| RecordsBuilder::new(now, bytes.max(size + 64), records, pool));
        open.append(record, limits.copy_max);
        inner.next_id += 1;
        let due = open.opened_at() + limits.linger;
        // A record of the same size would not fit.
        if !limits.admit(open, size) {
            inner.close(&self.backlog);
            closed = true;
        }
        let wanted = match (closed, opened) {
            (true, _) => Some(now),
            (false, true) => Some(due),
            (false, false) => None,
        };
        // A notification for the end of linger is too late for a full batch.
        let look_by = wanted.filter(|wanted| inner.listed_by.is_none_or(|by| by > *wanted));
        inner.listed_by = look_by.or(inner.listed_by);
        Added {
            closed,
            look_by,
            contended,
        }
    }

    /// Adds a full batch. Returns the time by which the client's thread must handle the partition, like
    /// [`append`](Self::append).
    pub(super) fn append_batch(&self, records: ProducedRecords, now: Instant) -> Option<Instant> {
        let mut inner = self.inner.lock();
        inner.close(&self.backlog);
        inner.next_id += records.len() as u64;
        inner.push(records, &self.backlog);
        let look_by = (inner.listed_by.is_none_or(|by| by > now)).then_some(now);
        inner.listed_by = look_by.or(inner.listed_by);
        look_by
    }

    /// Moves the closed batches, and with `open_too` the open batch, to `out`. Returns the time at which the remaining
    /// open batch was opened. The next relevant addition is notified again.
    pub(super) fn collect(&self, out: &mut VecDeque<Batch>, open_too: bool) -> Option<Instant> {
        let mut inner = self.inner.lock();
        if open_too {
            inner.close(&self.backlog);
        }
        inner.listed_by = None;
        out.append(&mut inner.closed);
        inner.open.as_ref().map(RecordsBuilder::opened_at)
    }

    /// Returns the uncompressed size in bytes of the open batch with its header.
    pub(super) fn open_len(&self) -> usize {
        let inner = self.inner.lock();
        inner
            .open
            .as_ref()
            .map_or(0, |open| BATCH_HEADER_LEN + open.encoded_len())
    }

    /// Returns the messages in the queue.
    pub(super) fn holds(&self) -> QueuedCounts {
        let inner = self.inner.lock();
        let (mut messages, mut bytes) = sum(inner.closed.iter().map(|b| &b.records));
        if let Some(open) = &inner.open {
            messages += open.len() as u64;
            bytes += open.payload_bytes();
        }
        QueuedCounts {
            messages,
            bytes,
            ever: inner.next_id,
        }
    }

    /// Returns whether no record is in the queue.
    pub(super) fn is_empty(&self) -> bool {
        let inner = self.inner.lock();
        inner.open.is_none() && inner.closed.is_empty()
    }

    pub(super) fn is_available(&self) -> bool {
        self.available.load(Ordering::Relaxed)
    }

    pub(super) fn set_available(&self, available: bool) {
        self.available.store(available, Ordering::Relaxed);
    }
}

impl Inner {
    fn close(&mut self, backlog: &AtomicU64) {
        if let Some(open) = self.open.take() {
            self.push(open.finish(), backlog);
        }
    }

    /// Appends a closed batch, whose records are counted in `next_id` already.
    fn push(&mut self, records: ProducedRecords, backlog: &AtomicU64) {
        // A little more than the last size, so that batches of about the same size do not grow by copying.
        self.last_bytes = records.encoded_len() + records.encoded_len() / 16;
        self.last_records = records.len() + records.len() / 16;
        let first_id = self.next_id - records.len() as u64;
        backlog.fetch_add(weight(&records), Ordering::Relaxed);
        self.closed.push_back(Batch::new(records, first_id));
    }
}
