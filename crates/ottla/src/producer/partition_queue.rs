//! A partition's open batch, filled by application threads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ottla_protocol::record::BATCH_HEADER_LEN;

use super::batch::Batch;
use super::statistics::sum;
use crate::records::{BlockPool, NewRecord, ProducedRecords, RecordsBuilder};
use crate::sys::Instant;
use crate::sys::sync::{AtomicBool, SpinMutex};

/// When batches are closed.
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
    /// Whether a batch has room for a record whose payload has `size` bytes.
    pub(super) fn admit(&self, open: &RecordsBuilder, size: usize) -> bool {
        let len = open.encoded_len() + BATCH_HEADER_LEN + size + RECORD_OVERHEAD_MAX;
        len <= self.bytes && open.len() < self.records
    }
}

/// What the addition of a record brings about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Added {
    /// A batch is full: what follows makes another one, and may do so in another partition.
    pub(super) closed: bool,
    /// When the client's thread must look at the partition, where it does not know yet.
    pub(super) look_by: Option<Instant>,
}

/// The record's bytes besides key, value and headers, at most: length, attributes, deltas, lengths, header count.
pub(super) const RECORD_OVERHEAD_MAX: usize = 5 + 1 + 10 + 5 + 5 + 5 + 5;

#[derive(Debug, Default)]
struct Inner {
    open: Option<RecordsBuilder>,
    /// Full batches that the client's thread has not taken yet.
    closed: VecDeque<Batch>,
    /// By when the client's thread was told to look at the partition, and has not yet.
    listed_by: Option<Instant>,
    /// The number of the next record.
    next_id: u64,
    /// Size of the last batch: the next one probably needs as much.
    last_bytes: usize,
    last_records: usize,
}

/// What waits in a [`PartitionQueue`].
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedCounts {
    pub(super) messages: u64,
    /// Of keys, values and headers.
    pub(super) bytes: u64,
    /// Messages that were ever put there.
    pub(super) ever: u64,
}

/// The application's end of a partition. Thread-safe.
#[derive(Debug, Default)]
pub(super) struct PartitionQueue {
    inner: SpinMutex<Inner>,
    /// Whether the partition has a leader, as far as metadata tells.
    available: AtomicBool,
    /// What the closed batches weigh that were not settled yet. Tells which of two partitions is better, no more: the thread
    /// models need not explore it.
    backlog: AtomicU64,
}

/// What records weigh in a backlog: their bytes, and something for each, so that empty ones count.
fn weight(records: &ProducedRecords) -> u64 {
    records.payload_bytes() + records.len() as u64
}

impl PartitionQueue {
    /// How much is on its way, not counting the open batch: where less is, a record leaves sooner.
    pub(super) fn backlog(&self) -> u64 {
        self.backlog.load(Ordering::Relaxed)
    }

    /// Records that were closed here are on their way no more.
    pub(super) fn on_settled(&self, records: &ProducedRecords) {
        self.backlog.fetch_sub(weight(records), Ordering::Relaxed);
    }

    /// Adds a record whose payload has `size` bytes.
    pub(super) fn append(&self, record: &NewRecord<'_>, size: usize, limits: &Limits, pool: &Arc<BlockPool>) -> Added {
        let mut inner = self.inner.lock();
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
        // Another one like this has no room any more.
        if !limits.admit(open, size) {
            inner.close(&self.backlog);
            closed = true;
        }
        let wanted = match (closed, opened) {
            (true, _) => Some(now),
            (false, true) => Some(due),
            (false, false) => None,
        };
        // Being listed for the end of linger does not serve a batch that can go now.
        let look_by = wanted.filter(|wanted| inner.listed_by.is_none_or(|by| by > *wanted));
        inner.listed_by = look_by.or(inner.listed_by);
        Added { closed, look_by }
    }

    /// Adds a batch that is full already. Says by when the client's thread must look at the partition, as
    /// [`append`](Self::append) does.
    pub(super) fn append_batch(&self, records: ProducedRecords, now: Instant) -> Option<Instant> {
        let mut inner = self.inner.lock();
        inner.close(&self.backlog);
        inner.next_id += records.len() as u64;
        inner.push(records, &self.backlog);
        let look_by = (inner.listed_by.is_none_or(|by| by > now)).then_some(now);
        inner.listed_by = look_by.or(inner.listed_by);
        look_by
    }

    /// Hands over what is closed, and with `open_too` the open batch. Gives the time at which the batch that stays open
    /// was opened. The next addition that matters is signalled again.
    pub(super) fn collect(&self, out: &mut VecDeque<Batch>, open_too: bool) -> Option<Instant> {
        let mut inner = self.inner.lock();
        if open_too {
            inner.close(&self.backlog);
        }
        inner.listed_by = None;
        out.append(&mut inner.closed);
        inner.open.as_ref().map(RecordsBuilder::opened_at)
    }

    /// Bytes of the open batch with its header, as it would be without compression.
    pub(super) fn open_len(&self) -> usize {
        let inner = self.inner.lock();
        inner
            .open
            .as_ref()
            .map_or(0, |open| BATCH_HEADER_LEN + open.encoded_len())
    }

    /// What waits here.
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

    /// Whether no record waits here.
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

    /// Puts a batch behind the closed ones; its records have their numbers.
    fn push(&mut self, records: ProducedRecords, backlog: &AtomicU64) {
        // A little more than the last time, so that batches of about one size do not grow by copying.
        self.last_bytes = records.encoded_len() + records.encoded_len() / 16;
        self.last_records = records.len() + records.len() / 16;
        let first_id = self.next_id - records.len() as u64;
        backlog.fetch_add(weight(&records), Ordering::Relaxed);
        self.closed.push_back(Batch::new(records, first_id));
    }
}
