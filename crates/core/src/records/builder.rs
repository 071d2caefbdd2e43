//! The open batch: encodes records one after the other.
//!
//! A batch is a list of blocks, small ones while it is short. The memory that the partition's next record will be written to
//! is prefetched: with hundreds of partitions in turn, almost every record would wait for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::record::{Header, RecordEncoder};

use super::blocks::{BLOCK, BlockPool, SMALL_BLOCK};
use super::encoded::{ProducedRecords, Referenced};
use super::{HeadersIn, NewRecord, Payload, RecordMeta, payload_len};
use crate::sys::Instant;

/// Values longer than this are stored in separate memory, so that blocks are filled completely.
const VALUE_MAX: usize = BLOCK / 4;

/// The size of a large batch. Smaller ones use small blocks, of which less stays unused.
const LARGE: usize = 4 * BLOCK;

/// For records longer than this the memory after the next record is prefetched: that of the next one would arrive too
/// late.
const LONG: usize = 256;

/// The maximum memory that is prefetched for the next record; the processor prefetches the remainder of larger ones.
const EXPECTED_MAX: usize = 2048;

/// The maximum size of a record like the last one besides its payload, rounded up to a cache line.
const EXPECTED_MORE: usize = 64;

/// Records being collected for one batch.
#[derive(Debug)]
pub(crate) struct RecordsBuilder {
    /// Filled blocks of encoded records, without referenced values. Each record is in one block.
    filled: Vec<Bytes>,
    /// The block, or smaller memory for a small batch, that records are appended to.
    block: Vec<u8>,
    /// Bytes of the filled blocks and of the referenced values.
    elsewhere: usize,
    /// The number of these bytes from which the batch is large.
    large_from: usize,
    referenced: Vec<Referenced>,
    /// Some of the referenced values belong to the application.
    borrows: bool,
    meta: Vec<RecordMeta>,
    /// The application's addresses of lent values, by record; empty when no value was lent.
    lent: Vec<usize>,
    payload_bytes: u64,
    base_timestamp: i64,
    max_timestamp: i64,
    opened_at: Instant,
    pool: Arc<BlockPool>,
}

impl RecordsBuilder {
    /// Creates an empty batch with the expected size of `bytes` and `records`.
    pub(crate) fn new(opened_at: Instant, bytes: usize, records: usize, pool: &Arc<BlockPool>) -> Self {
        let block = if bytes > LARGE {
            pool.take()
        } else if bytes > SMALL_BLOCK / 2 {
            pool.take_small()
        } else {
            Vec::with_capacity(bytes)
        };
        RecordsBuilder {
            filled: Vec::new(),
            block,
            elsewhere: 0,
            large_from: LARGE,
            referenced: Vec::new(),
            borrows: false,
            meta: Vec::with_capacity(records),
            lent: Vec::new(),
            payload_bytes: 0,
            base_timestamp: 0,
            max_timestamp: 0,
            opened_at,
            pool: pool.clone(),
        }
    }

    /// Creates an empty batch whose records will be moved to other batches, which reuse its blocks.
    pub(crate) fn to_scatter(opened_at: Instant, pool: &Arc<BlockPool>) -> Self {
        RecordsBuilder {
            large_from: usize::MAX,
            ..RecordsBuilder::new(opened_at, 0, 0, pool)
        }
    }

    /// Returns the number of records so far.
    pub(crate) fn len(&self) -> usize {
        self.meta.len()
    }

    /// Returns the size of the encoded records so far.
    pub(crate) fn encoded_len(&self) -> usize {
        self.elsewhere + self.block.len()
    }

    /// Returns the bytes of keys, values and headers so far.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Returns the time at which the batch was opened.
    pub(crate) fn opened_at(&self) -> Instant {
        self.opened_at
    }

    /// Returns whether the age of a record that arrives at `now` exceeds the range of [`RecordMeta::age_us`].
    pub(crate) fn is_too_old(&self, now: Instant) -> bool {
        now.since(self.opened_at).as_micros() > u128::from(u32::MAX)
    }

    /// Appends a record. Shared values longer than `copy_max` are referenced.
    pub(crate) fn append(&mut self, record: &NewRecord<'_>, copy_max: usize) {
        match record.headers {
            // Most records have no headers.
            HeadersIn::List([]) => self.append_with(record, copy_max, std::iter::empty()),
            headers => self.append_with(record, copy_max, headers.iter()),
        }
    }

    #[inline]
    fn append_with<'h>(
        &mut self,
        record: &NewRecord<'_>,
        copy_max: usize,
        headers: impl Iterator<Item = Header<'h>> + Clone,
    ) {
        let NewRecord { key, value, .. } = record;
        if self.meta.is_empty() {
            self.base_timestamp = record.timestamp_ms;
            self.max_timestamp = record.timestamp_ms;
        } else {
            self.max_timestamp = self.max_timestamp.max(record.timestamp_ms);
        }
        let timestamp_delta = record.timestamp_ms.wrapping_sub(self.base_timestamp);
        let offset_delta = i32::try_from(self.meta.len()).unwrap_or(i32::MAX);
        let slice = value.as_slice();
        let apart = slice.filter(|v| v.len() > VALUE_MAX || value.is_shared_beyond(copy_max));
        let payload = payload_len(*key, value, &record.headers);
        let here = usize::try_from(payload).unwrap_or(usize::MAX) - apart.map_or(0, <[u8]>::len);
        let overhead = RecordEncoder::OVERHEAD_MAX + headers.clone().count() * RecordEncoder::HEADER_OVERHEAD_MAX;
        self.make_room(here + overhead);
        let value_len = slice.map(<[u8]>::len);
        RecordEncoder::append_before_value(
            &mut self.block,
            offset_delta,
            timestamp_delta,
            *key,
            value_len,
            headers.clone(),
        );
        match apart {
            Some(bytes) => self.refer_to(value, bytes, copy_max),
            None => self.block.extend_from_slice(slice.unwrap_or_default()),
        }
        RecordEncoder::append_after_value(&mut self.block, headers);
        let lent = match value {
            Payload::Lent(v) => v.as_ptr().expose_provenance(),
            _ => record.lent,
        };
        if lent != 0 || !self.lent.is_empty() {
            if self.lent.capacity() == 0 {
                self.lent.reserve_exact(self.meta.capacity());
            }
            self.lent.resize(self.meta.len(), 0);
            self.lent.push(lent);
        }
        self.payload_bytes += payload;
        let age = record.produced_at.since(self.opened_at).as_micros();
        self.meta.push(RecordMeta {
            opaque: record.opaque,
            age_us: u32::try_from(age).unwrap_or(u32::MAX),
        });
        self.expect_another(here);
    }

    /// Prefetches the memory of the next record, whose length is estimated as that of the last one. A cache miss while the
    /// record is written would delay the release of the partition's lock, and the processor's own prefetching fails where
    /// consecutive records go to many partitions. The measured gain is in the description of `ottla_cpu_hints`.
    #[inline]
    fn expect_another(&mut self, len: usize) {
        let room = self.block.spare_capacity_mut();
        let from = if len < LONG { 0 } else { len };
        let to = (from + (len + EXPECTED_MORE).min(EXPECTED_MAX)).min(room.len());
        if let Some(next) = room.get_mut(from..to) {
            ottla_cpu_hints::will_write(next);
        }
        // Entries are smaller than a cache line: the one after the next lies in the same or in the next one.
        if let Some(next) = self.meta.spare_capacity_mut().get_mut(1..2) {
            ottla_cpu_hints::will_write(next);
        }
    }

    fn refer_to(&mut self, value: &Payload<'_>, bytes: &[u8], copy_max: usize) {
        let value = match value {
            Payload::Shared(v) if value.is_shared_beyond(copy_max) => {
                self.borrows = true;
                v.clone()
            }
            _ => Bytes::copy_from_slice(bytes),
        };
        self.elsewhere += value.len();
        self.referenced.push(Referenced {
            block: self.filled.len(),
            at: self.block.len(),
            value,
        });
    }

    /// Makes room for `need` more bytes. The block grows up to the size of a small one; then the next one is begun.
    #[inline]
    fn make_room(&mut self, need: usize) {
        if self.block.capacity() - self.block.len() < need {
            self.find_room(need);
        }
    }

    #[cold]
    fn find_room(&mut self, need: usize) {
        let wanted = self.block.len() + need;
        if wanted <= SMALL_BLOCK && self.block.capacity() < SMALL_BLOCK {
            let twice = (self.block.capacity() * 2).max(wanted);
            if twice <= SMALL_BLOCK / 2 {
                return self.block.reserve_exact(twice - self.block.len());
            }
            let mut block = self.pool.take_small();
            block.extend_from_slice(&self.block);
            self.block = block;
            return;
        }
        let block = std::mem::take(&mut self.block);
        self.keep(block);
        self.block = if need > BLOCK {
            Vec::with_capacity(need)
        } else if need > SMALL_BLOCK / 4 || self.elsewhere >= self.large_from {
            self.pool.take()
        } else {
            self.pool.take_small()
        };
    }

    fn keep(&mut self, block: Vec<u8>) {
        let block = self.pool.freeze(block);
        if !block.is_empty() {
            self.elsewhere += block.len();
            self.filled.push(block);
        }
    }

    /// Closes the batch.
    pub(crate) fn finish(mut self) -> ProducedRecords {
        let block = std::mem::take(&mut self.block);
        self.keep(block);
        ProducedRecords {
            blocks: self.filled,
            referenced: self.referenced,
            borrows: self.borrows,
            encoded_len: self.elsewhere,
            meta: self.meta,
            lent: self.lent,
            payload_bytes: self.payload_bytes,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            opened_at: self.opened_at,
            pool: self.pool,
        }
    }
}

impl ProducedRecords {
    /// Removes and returns the first `n` records; both parts are encoded again.
    pub(crate) fn split_front(&mut self, n: usize) -> ProducedRecords {
        if n == 0 {
            return ProducedRecords::default();
        }
        if n >= self.len() {
            return std::mem::take(self);
        }
        let mut front = RecordsBuilder::new(self.opened_at, 0, n, &self.pool);
        let mut rest = RecordsBuilder::new(self.opened_at, 0, self.len() - n, &self.pool);
        for (i, record) in self.iter().enumerate() {
            let builder = if i < n { &mut front } else { &mut rest };
            builder.append(&record.to_new(), 0);
        }
        let borrows = self.borrows;
        *self = rest.finish();
        let mut front = front.finish();
        self.borrows &= borrows;
        front.borrows &= borrows;
        front
    }

    /// Returns the records in groups, encoded again, in one pass; `group_of` is called with each record's index.
    pub(crate) fn grouped<G: Ord>(&self, mut group_of: impl FnMut(usize) -> Option<G>) -> BTreeMap<G, ProducedRecords> {
        let mut builders = BTreeMap::new();
        for (i, record) in self.iter().enumerate() {
            if let Some(group) = group_of(i) {
                let new = || RecordsBuilder::new(self.opened_at, 0, 0, &self.pool);
                builders.entry(group).or_insert_with(new).append(&record.to_new(), 0);
            }
        }
        let finish = |builder: RecordsBuilder| {
            let mut records = builder.finish();
            records.borrows &= self.borrows;
            records
        };
        builders.into_iter().map(|(g, b)| (g, finish(b))).collect()
    }

    /// Returns the records for whose index `wanted` returns true, encoded again.
    pub(crate) fn select(&self, mut wanted: impl FnMut(usize) -> bool) -> ProducedRecords {
        let mut builder = RecordsBuilder::new(self.opened_at, 0, 0, &self.pool);
        for (_, record) in self.iter().enumerate().filter(|(i, _)| wanted(*i)) {
            builder.append(&record.to_new(), 0);
        }
        let mut selected = builder.finish();
        selected.borrows &= self.borrows;
        selected
    }
}
