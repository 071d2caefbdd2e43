//! A closed batch: encoded records and their iterator.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::varint;

use super::blocks::BlockPool;
use super::{EncodedHeaders, HeadersIn, NewRecord, Payload, RecordMeta};
use crate::sys::Instant;

/// The number of records by which iteration prefetches memory: a record is processed in less time than a memory access
/// takes.
const AHEAD: usize = 4;

/// The maximum size of a record's head without a key. A record is read at its head and at its end, which is next to the
/// head of the following record.
const HEAD_MAX: usize = 12;

/// A value outside of the blocks.
#[derive(Debug)]
pub(super) struct Referenced {
    /// The block of its record, and its offset in the block.
    pub(super) block: usize,
    pub(super) at: usize,
    pub(super) value: Bytes,
}

/// The encoded records of one batch with their other data.
#[derive(Debug, Default)]
pub struct ProducedRecords {
    /// Encoded records without referenced values; each is in one block.
    pub(super) blocks: Vec<Bytes>,
    /// Ascending.
    pub(super) referenced: Vec<Referenced>,
    pub(super) borrows: bool,
    pub(super) encoded_len: usize,
    pub(super) meta: Vec<RecordMeta>,
    pub(super) lent: Vec<usize>,
    pub(super) payload_bytes: u64,
    pub(super) base_timestamp: i64,
    pub(super) max_timestamp: i64,
    pub(super) opened_at: Instant,
    pub(super) pool: Arc<BlockPool>,
}

impl ProducedRecords {
    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.meta.len()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.meta.is_empty()
    }

    /// Returns whether values are read from the application's memory.
    pub(crate) fn borrows(&self) -> bool {
        self.borrows
    }

    /// Returns the bytes of all keys, values and headers, as the buffer memory counts them.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Returns the size of the encoded records.
    pub fn encoded_len(&self) -> usize {
        self.encoded_len
    }

    /// Returns the base timestamp of the records, milliseconds since the epoch.
    pub fn base_timestamp(&self) -> i64 {
        self.base_timestamp
    }

    /// Returns the latest timestamp, milliseconds since the epoch.
    pub fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// Returns the data of each record besides its encoded form.
    pub fn meta(&self) -> &[RecordMeta] {
        &self.meta
    }

    /// Returns the time of production of the record with this index.
    pub fn produced_at(&self, index: usize) -> Option<Instant> {
        self.meta.get(index).map(|m| self.time_of(m))
    }

    /// Returns the age of each record in microseconds.
    pub(crate) fn ages_us(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        let since_opened = now.as_micros().saturating_sub(self.opened_at.as_micros());
        self.meta
            .iter()
            .map(move |m| since_opened.saturating_sub(m.age_us.into()))
    }

    fn time_of(&self, meta: &RecordMeta) -> Instant {
        Instant::from_micros(self.opened_at.as_micros().saturating_add(u64::from(meta.age_us)))
    }

    /// Returns the encoded records without a copy; their concatenation is the body of a record batch.
    pub fn parts(&self) -> Cow<'_, [Bytes]> {
        if self.referenced.is_empty() {
            return Cow::Borrowed(&self.blocks);
        }
        let mut parts = Vec::with_capacity(self.blocks.len() + 2 * self.referenced.len());
        let mut referenced = self.referenced.iter().peekable();
        for (index, block) in self.blocks.iter().enumerate() {
            let mut from = 0;
            while let Some(r) = referenced.next_if(|r| r.block == index) {
                if r.at > from {
                    parts.push(block.slice(from..r.at));
                    from = r.at;
                }
                parts.push(r.value.clone());
            }
            if from < block.len() {
                parts.push(block.slice(from..));
            }
        }
        Cow::Owned(parts)
    }

    /// Returns all records.
    pub(crate) fn iter(&self) -> RecordIter<'_> {
        RecordIter {
            records: self,
            cursor: Cursor::default(),
            next_block: 0,
            index: 0,
            next_referenced: 0,
        }
    }
}

/// A record decoded from its encoded form.
#[derive(Debug, Clone)]
pub(crate) struct EncodedRecord<'a> {
    pub(crate) key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    referenced: Option<&'a Bytes>,
    pub(crate) headers: EncodedHeaders<'a>,
    pub(crate) timestamp_ms: i64,
    pub(crate) opaque: usize,
    pub(crate) lent: usize,
    pub(crate) produced_at: Instant,
}

impl<'a> EncodedRecord<'a> {
    pub(crate) fn value(&self) -> Option<&'a [u8]> {
        match self.referenced {
            Some(bytes) => Some(bytes),
            None => self.value,
        }
    }

    /// Returns the record as it was produced; referenced values stay referenced.
    pub(crate) fn to_new(&self) -> NewRecord<'a> {
        NewRecord {
            key: self.key,
            value: self.payload(),
            headers: HeadersIn::Encoded(self.headers),
            timestamp_ms: self.timestamp_ms,
            opaque: self.opaque,
            lent: self.lent,
            produced_at: self.produced_at,
        }
    }

    /// Returns the value in the form in which it was produced.
    pub(crate) fn payload(&self) -> Payload<'a> {
        match (self.referenced, self.value) {
            (Some(bytes), _) => Payload::Shared(bytes.clone()),
            (None, Some(v)) => Payload::Copy(v),
            (None, None) => Payload::Null,
        }
    }
}

/// An iterator over encoded records.
#[derive(Debug)]
pub(crate) struct RecordIter<'a> {
    records: &'a ProducedRecords,
    cursor: Cursor<'a>,
    next_block: usize,
    index: usize,
    next_referenced: usize,
}

impl<'a> RecordIter<'a> {
    fn read(&mut self) -> Option<EncodedRecord<'a>> {
        let meta = self.records.meta.get(self.index)?;
        let at = &mut self.cursor;
        if at.pos == at.bytes.len() {
            *at = Cursor {
                bytes: self.records.blocks.get(self.next_block)?,
                pos: 0,
            };
            self.next_block += 1;
        }
        let start = at.pos;
        at.signed()?;
        at.take(1)?;
        let timestamp_delta = at.signed()?;
        at.signed()?;
        let key = at.nullable()?;
        let value_len = at.signed()?;
        let mut referenced = None;
        let mut value = None;
        match self.records.referenced.get(self.next_referenced) {
            Some(r) if r.block + 1 == self.next_block && r.at == at.pos => {
                self.next_referenced += 1;
                referenced = Some(&r.value);
            }
            _ if value_len >= 0 => value = Some(at.take(usize::try_from(value_len).ok()?)?),
            _ => {}
        }
        let count = usize::try_from(at.signed()?).ok()?;
        let headers_at = at.pos;
        for _ in 0..count {
            at.nullable()?;
            at.nullable()?;
        }
        let (end, len) = (at.pos, at.pos - start);
        let headers = at.bytes.get(headers_at..end)?;
        self.fetch_ahead(end + (AHEAD - 1) * len);
        Some(EncodedRecord {
            key,
            value,
            referenced,
            headers: EncodedHeaders::from_encoded(headers, count),
            timestamp_ms: self.records.base_timestamp.wrapping_add(timestamp_delta),
            opaque: meta.opaque,
            lent: self.records.lent.get(self.index).copied().unwrap_or(0),
            produced_at: self.records.time_of(meta),
        })
    }
}

impl RecordIter<'_> {
    /// Prefetches the memory of a record that probably begins at this offset of the block, or after its end in the next
    /// one. Without it each access would wait for memory once the batch has left the cache. A wrong guess costs nothing
    /// measurable.
    #[inline]
    fn fetch_ahead(&self, offset: usize) {
        let here = self.cursor.bytes;
        let (block, offset) = match offset.checked_sub(here.len()) {
            None => (here, offset),
            Some(offset) => match self.records.blocks.get(self.next_block) {
                Some(next) => (&**next, offset),
                None => return,
            },
        };
        for byte in [offset.saturating_sub(1), offset + HEAD_MAX] {
            if let Some(byte) = block.get(byte) {
                ottla_cpu_hints::will_read(byte);
            }
        }
    }
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = EncodedRecord<'a>;

    fn next(&mut self) -> Option<EncodedRecord<'a>> {
        let record = self.read()?;
        self.index += 1;
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.records.len() - self.index;
        (left, Some(left))
    }
}

/// Reads the builder's encoding.
#[derive(Debug, Default)]
struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    fn signed(&mut self) -> Option<i64> {
        let (value, used) = varint::get_signed_64(self.bytes.get(self.pos..)?)?;
        self.pos += used;
        Some(value)
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let end = self.pos.checked_add(n)?;
        let bytes = self.bytes.get(self.pos..end)?;
        self.pos = end;
        Some(bytes)
    }

    /// Reads a nullable field. The outer `None` is the end of the data, the inner one a null.
    fn nullable(&mut self) -> Option<Option<&'a [u8]>> {
        match self.signed()? {
            n if n < 0 => Some(None),
            n => self.take(usize::try_from(n).ok()?).map(Some),
        }
    }
}
