//! The open batch: records are encoded one behind the other.

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::record::{Header, RecordEncoder};

use super::blocks::{BLOCK, BlockPool, SMALL_BLOCK};
use super::encoded::{ProducedRecords, Referenced};
use super::{HeadersIn, NewRecord, Payload, RecordMeta, payload_len};
use crate::sys::Instant;

/// Values longer than this get memory of their own, so that blocks are filled to the brim.
const VALUE_MAX: usize = BLOCK / 4;

/// A batch is large from this size on. Smaller ones are many, and of a large block they would leave much empty.
const LARGE: usize = 4 * BLOCK;

/// Of records that are longer than this the one after the next is fetched: the next one's memory would come too late.
const LONG: usize = 256;

/// So much of a coming record's memory is fetched before it is written: of larger ones the processor foresees the rest.
const EXPECTED_MAX: usize = 2048;

/// Beside its payload a record that is like the last one needs so much at most, and ends in the middle of a cache line.
const EXPECTED_MORE: usize = 64;

/// Records being collected for one batch.
#[derive(Debug)]
pub(crate) struct RecordsBuilder {
    /// Filled blocks of encoded records, without the values that are referenced. Each record lies in one of them.
    filled: Vec<Bytes>,
    /// The block, or less memory while little is needed, that records are being appended to.
    block: Vec<u8>,
    /// Bytes of the filled blocks and of the referenced values.
    elsewhere: usize,
    /// So many of them make a batch large.
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
    /// An empty batch that will probably hold `bytes` and `records`.
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

    /// An empty batch whose records will be put into others: what they leave is memory for those.
    pub(crate) fn to_scatter(opened_at: Instant, pool: &Arc<BlockPool>) -> Self {
        RecordsBuilder {
            large_from: usize::MAX,
            ..RecordsBuilder::new(opened_at, 0, 0, pool)
        }
    }

    /// Records so far.
    pub(crate) fn len(&self) -> usize {
        self.meta.len()
    }

    /// Bytes of the encoded records so far.
    pub(crate) fn encoded_len(&self) -> usize {
        self.elsewhere + self.block.len()
    }

    /// Bytes of keys, values and headers so far.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// When the batch was opened.
    pub(crate) fn opened_at(&self) -> Instant {
        self.opened_at
    }

    /// Whether a record that arrives at `now` can still say how long after the opening that was.
    pub(crate) fn is_too_old(&self, now: Instant) -> bool {
        now.since(self.opened_at).as_micros() > u128::from(u32::MAX)
    }

    /// Encodes a record behind the others. Values longer than `copy_max` that are shared are referenced.
    pub(crate) fn append(&mut self, record: &NewRecord<'_>, copy_max: usize) {
        match record.headers {
            // Most records have none, and then nothing is to be walked.
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

    /// Fetches the memory of records like the last one. While its writing waits for memory, the partition's lock cannot be
    /// given back, and where records go to many partitions in turn the processor foresees none of it.
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

    /// Makes the block take `need` more bytes. It grows until it is a small one; then the next is begun.
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

    /// No more records.
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
