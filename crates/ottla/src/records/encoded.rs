//! A closed batch: its encoded records, and how they are read back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::varint;

use super::blocks::BlockPool;
use super::builder::RecordsBuilder;
use super::{EncodedHeaders, HeadersIn, NewRecord, Payload, RecordMeta};
use crate::sys::Instant;

/// How many records ahead a walk fetches memory: a record is handed to a callback in less time than memory needs to answer.
const AHEAD: usize = 4;

/// A record is read at its head, of which this is the end at most as long as it has no key, and at its end, which is right
/// before its neighbour's head.
const HEAD_MAX: usize = 12;

/// A value that stands outside of the blocks.
#[derive(Debug)]
pub(super) struct Referenced {
    /// The block of its record, and the place in it where it belongs.
    pub(super) block: usize,
    pub(super) at: usize,
    pub(super) value: Bytes,
}

/// Encoded records of one batch with what is kept of each.
#[derive(Debug, Default)]
pub struct ProducedRecords {
    /// Encoded records without the values that are referenced; each lies in one of the blocks.
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
    /// How many records.
    pub fn len(&self) -> usize {
        self.meta.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.meta.is_empty()
    }

    /// Whether values are read from the application's memory.
    pub(crate) fn borrows(&self) -> bool {
        self.borrows
    }

    /// Bytes of all keys, values and headers, as the quota counts them.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Bytes of the encoded records.
    pub fn encoded_len(&self) -> usize {
        self.encoded_len
    }

    /// The timestamp that the records' own ones are relative to, milliseconds since the epoch.
    pub fn base_timestamp(&self) -> i64 {
        self.base_timestamp
    }

    /// The latest timestamp, milliseconds since the epoch.
    pub fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// What is kept of each record.
    pub fn meta(&self) -> &[RecordMeta] {
        &self.meta
    }

    /// When the record of that place was produced.
    pub fn produced_at(&self, index: usize) -> Option<Instant> {
        self.meta.get(index).map(|m| self.time_of(m))
    }

    /// How long ago each record was produced, in microseconds.
    pub(crate) fn ages_us(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        let since_opened = now.as_micros().saturating_sub(self.opened_at.as_micros());
        self.meta
            .iter()
            .map(move |m| since_opened.saturating_sub(m.age_us.into()))
    }

    fn time_of(&self, meta: &RecordMeta) -> Instant {
        Instant::from_micros(self.opened_at.as_micros().saturating_add(u64::from(meta.age_us)))
    }

    /// The encoded records; their concatenation is the body of a record batch. Nothing is copied.
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

    /// Every record.
    pub(crate) fn iter(&self) -> RecordIter<'_> {
        RecordIter {
            records: self,
            cursor: Cursor::default(),
            next_block: 0,
            index: 0,
            next_referenced: 0,
        }
    }

    /// Takes the first `n` records away; they are encoded anew, as are those that stay.
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
            record.append_to(builder);
        }
        let borrows = self.borrows;
        *self = rest.finish();
        let mut front = front.finish();
        self.borrows &= borrows;
        front.borrows &= borrows;
        front
    }

    /// The records in groups, encoded anew, in one walk; `group_of` is given each record's place.
    pub(crate) fn grouped<G: Ord>(&self, mut group_of: impl FnMut(usize) -> Option<G>) -> BTreeMap<G, ProducedRecords> {
        let mut builders = BTreeMap::new();
        for (i, record) in self.iter().enumerate() {
            if let Some(group) = group_of(i) {
                let new = || RecordsBuilder::new(self.opened_at, 0, 0, &self.pool);
                record.append_to(builders.entry(group).or_insert_with(new));
            }
        }
        let finish = |builder: RecordsBuilder| {
            let mut records = builder.finish();
            records.borrows &= self.borrows;
            records
        };
        builders.into_iter().map(|(g, b)| (g, finish(b))).collect()
    }

    /// The records whose `wanted` is true, encoded anew.
    pub(crate) fn select(&self, mut wanted: impl FnMut(usize) -> bool) -> ProducedRecords {
        let mut builder = RecordsBuilder::new(self.opened_at, 0, 0, &self.pool);
        for (_, record) in self.iter().enumerate().filter(|(i, _)| wanted(*i)) {
            record.append_to(&mut builder);
        }
        let mut selected = builder.finish();
        selected.borrows &= self.borrows;
        selected
    }
}

/// A record as it is read back from its encoded form.
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

    /// The record as it was produced; referenced values stay referenced.
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

    fn append_to(&self, builder: &mut RecordsBuilder) {
        builder.append(&self.to_new(), 0);
    }

    /// The value in the form in which it was produced.
    pub(crate) fn payload(&self) -> Payload<'a> {
        match (self.referenced, self.value) {
            (Some(bytes), _) => Payload::Shared(bytes.clone()),
            (None, Some(v)) => Payload::Copy(v),
            (None, None) => Payload::Null,
        }
    }
}

/// Walks encoded records.
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
    /// Fetches what is read of a record that probably begins at this place of the block, or behind its end in the next one.
    /// When the batch has left the cache since it was written, each would be waited for. A wrong guess costs nothing that
    /// can be measured.
    #[inline]
    fn fetch_ahead(&self, place: usize) {
        let here = self.cursor.bytes;
        let (block, place) = match place.checked_sub(here.len()) {
            None => (here, place),
            Some(place) => match self.records.blocks.get(self.next_block) {
                Some(next) => (&**next, place),
                None => return,
            },
        };
        for byte in [place.saturating_sub(1), place + HEAD_MAX] {
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

/// Reads what the builder wrote.
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

    /// The outer `None` is the end of the data, the inner one a null.
    fn nullable(&mut self) -> Option<Option<&'a [u8]>> {
        match self.signed()? {
            n if n < 0 => Some(None),
            n => self.take(usize::try_from(n).ok()?).map(Some),
        }
    }
}
