//! Produced records in their encoded form.
//!
//! A record is encoded once, when it is produced, in the form of record batches of magic 2 (KIP-98). The same bytes are
//! sent, kept for a retry and, in the end, read by whoever handles the delivery report.

use bytes::Bytes;
use ottla_protocol::record::{Header, HeadersIter, RecordEncoder};
use ottla_protocol::varint;

use crate::env::Instant;

/// The value of a record that is to be produced.
#[derive(Clone, Debug, Default)]
pub enum Payload<'a> {
    /// No value: a tombstone.
    #[default]
    Null,
    /// Copied.
    Copy(&'a [u8]),
    /// Copied, but the application wants its own address back in the delivery report
    /// ([`DeliveredRecord::lent_address`]): it lent the value and frees it then.
    Lent(&'a [u8]),
    /// Referenced when longer than `message.copy.max.bytes`, otherwise copied and let go at once. What is referenced is
    /// not read any more once the delivery report was made.
    Shared(Bytes),
}

impl Payload<'_> {
    /// Bytes of the value, 0 for none.
    pub fn len(&self) -> usize {
        self.as_slice().map_or(0, <[u8]>::len)
    }

    /// Whether there is no value or an empty one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value's bytes.
    pub fn as_slice(&self) -> Option<&[u8]> {
        match self {
            Payload::Null => None,
            Payload::Copy(v) | Payload::Lent(v) => Some(v),
            Payload::Shared(v) => Some(v),
        }
    }
}

/// Headers of a record to be produced: an ordered list of names and values in which names may repeat.
#[derive(Clone, Copy, Debug)]
pub enum HeadersIn<'a> {
    /// Names with their values.
    List(&'a [(&'a [u8], Option<&'a [u8]>)]),
    /// As they stand in an encoded record.
    Encoded(EncodedHeaders<'a>),
}

/// Headers in their encoded form.
pub type EncodedHeaders<'a> = ottla_protocol::record::Headers<&'a [u8]>;

impl Default for HeadersIn<'_> {
    fn default() -> Self {
        HeadersIn::List(&[])
    }
}

impl HeadersIn<'_> {
    /// Names with their values, in order.
    pub fn iter(&self) -> HeadersInIter<'_> {
        match self {
            HeadersIn::List(list) => HeadersInIter::List(list.iter()),
            HeadersIn::Encoded(encoded) => HeadersInIter::Encoded(encoded.iter()),
        }
    }
}

/// Iterator over [`HeadersIn`].
#[derive(Clone, Debug)]
pub enum HeadersInIter<'a> {
    #[doc(hidden)]
    List(std::slice::Iter<'a, (&'a [u8], Option<&'a [u8]>)>),
    #[doc(hidden)]
    Encoded(HeadersIter<'a>),
}

impl<'a> Iterator for HeadersInIter<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        match self {
            HeadersInIter::List(list) => list.next().map(|&(key, value)| Header { key, value }),
            HeadersInIter::Encoded(encoded) => encoded.next()?.ok(),
        }
    }
}

/// What is kept of a record besides its encoded form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordMeta {
    /// The application's pointer given with the record.
    pub opaque: usize,
    /// Microseconds from the opening of the batch to the record's arrival.
    pub age_us: u32,
}

/// One record, about to be encoded.
#[derive(Clone, Debug)]
pub(crate) struct NewRecord<'a> {
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Payload<'a>,
    pub(crate) headers: HeadersIn<'a>,
    pub(crate) timestamp_ms: i64,
    pub(crate) opaque: usize,
    /// The address that goes back to the application where the value itself was already copied, else 0.
    pub(crate) lent: usize,
    pub(crate) produced_at: Instant,
}

/// Records being collected for one batch.
#[derive(Debug, Default)]
pub(crate) struct RecordsBuilder {
    /// Encoded records without the values that are referenced.
    buf: Vec<u8>,
    /// Referenced values, each with the place in `buf` where it belongs, ascending.
    shared: Vec<(usize, Bytes)>,
    shared_len: usize,
    meta: Vec<RecordMeta>,
    /// The application's addresses of lent values, by record; empty when no value was lent.
    lent: Vec<usize>,
    payload_bytes: u64,
    base_timestamp: i64,
    max_timestamp: i64,
    opened_at: Instant,
}

impl RecordsBuilder {
    /// An empty batch that will probably hold `bytes` and `records`.
    pub(crate) fn new(opened_at: Instant, bytes: usize, records: usize) -> Self {
        RecordsBuilder {
            buf: Vec::with_capacity(bytes),
            meta: Vec::with_capacity(records),
            opened_at,
            ..Default::default()
        }
    }

    /// Records so far.
    pub(crate) fn len(&self) -> usize {
        self.meta.len()
    }

    /// Bytes of the encoded records so far.
    pub(crate) fn encoded_len(&self) -> usize {
        self.buf.len() + self.shared_len
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
    pub(crate) fn append(&mut self, record: NewRecord<'_>, copy_max: usize) {
        match record.headers {
            // Most records have none, and then nothing is to be walked.
            HeadersIn::List([]) => self.append_with(record, copy_max, std::iter::empty()),
            headers => self.append_with(record, copy_max, headers.iter()),
        }
    }

    #[inline]
    fn append_with<'h>(
        &mut self,
        record: NewRecord<'_>,
        copy_max: usize,
        headers: impl Iterator<Item = Header<'h>> + Clone,
    ) {
        let NewRecord { key, value, .. } = &record;
        if self.meta.is_empty() {
            self.base_timestamp = record.timestamp_ms;
            self.max_timestamp = record.timestamp_ms;
        } else {
            self.max_timestamp = self.max_timestamp.max(record.timestamp_ms);
        }
        let timestamp_delta = record.timestamp_ms.wrapping_sub(self.base_timestamp);
        let offset_delta = i32::try_from(self.meta.len()).unwrap_or(i32::MAX);
        let slice = value.as_slice();
        let value_len = slice.map(<[u8]>::len);
        RecordEncoder::append_before_value(
            &mut self.buf,
            offset_delta,
            timestamp_delta,
            *key,
            value_len,
            headers.clone(),
        );
        match value {
            Payload::Shared(v) if v.len() > copy_max => {
                self.shared_len += v.len();
                self.shared.push((self.buf.len(), v.clone()));
            }
            _ => self.buf.extend_from_slice(slice.unwrap_or_default()),
        }
        RecordEncoder::append_after_value(&mut self.buf, headers);
        let lent = match value {
            Payload::Lent(v) => v.as_ptr().expose_provenance(),
            _ => record.lent,
        };
        if lent != 0 || !self.lent.is_empty() {
            self.lent.resize(self.meta.len(), 0);
            self.lent.push(lent);
        }
        self.payload_bytes += payload_len(*key, value, &record.headers);
        let age = record.produced_at.since(self.opened_at).as_micros();
        self.meta.push(RecordMeta {
            opaque: record.opaque,
            age_us: u32::try_from(age).unwrap_or(u32::MAX),
        });
    }

    /// No more records.
    pub(crate) fn finish(self) -> ProducedRecords {
        ProducedRecords {
            buf: Bytes::from(self.buf),
            shared: self.shared,
            meta: self.meta,
            lent: self.lent,
            payload_bytes: self.payload_bytes,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            opened_at: self.opened_at,
        }
    }
}

/// Bytes of a record as the quota counts them: key, value, header names and values.
#[inline]
pub(crate) fn payload_len(key: Option<&[u8]>, value: &Payload<'_>, headers: &HeadersIn<'_>) -> u64 {
    let headers: usize = match headers {
        HeadersIn::List([]) => 0,
        headers => headers
            .iter()
            .map(|h| h.key.len() + h.value.map_or(0, <[u8]>::len))
            .sum(),
    };
    (key.map_or(0, <[u8]>::len) + value.len() + headers) as u64
}

/// Encoded records of one batch with what is kept of each.
#[derive(Debug, Default)]
pub struct ProducedRecords {
    buf: Bytes,
    shared: Vec<(usize, Bytes)>,
    meta: Vec<RecordMeta>,
    lent: Vec<usize>,
    payload_bytes: u64,
    base_timestamp: i64,
    max_timestamp: i64,
    opened_at: Instant,
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

    /// Whether values are referenced rather than copied.
    pub(crate) fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Bytes of all keys, values and headers, as the quota counts them.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Bytes of the encoded records.
    pub fn encoded_len(&self) -> usize {
        self.buf.len() + self.shared.iter().map(|s| s.1.len()).sum::<usize>()
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

    fn time_of(&self, meta: &RecordMeta) -> Instant {
        Instant::from_micros(self.opened_at.as_micros().saturating_add(u64::from(meta.age_us)))
    }

    /// The encoded records; their concatenation is the body of a record batch. Nothing is copied.
    pub fn parts(&self) -> Vec<Bytes> {
        let mut parts = Vec::with_capacity(2 * self.shared.len() + 1);
        let mut from = 0;
        for (at, value) in &self.shared {
            if *at > from {
                parts.push(self.buf.slice(from..*at));
                from = *at;
            }
            parts.push(value.clone());
        }
        if from < self.buf.len() {
            parts.push(self.buf.slice(from..));
        }
        parts
    }

    /// Every record.
    pub(crate) fn iter(&self) -> RecordIter<'_> {
        RecordIter {
            records: self,
            cursor: Cursor {
                bytes: &self.buf,
                pos: 0,
            },
            index: 0,
            next_shared: 0,
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
        let builders = [
            RecordsBuilder::new(self.opened_at, self.buf.len() / 2, n),
            RecordsBuilder::new(self.opened_at, self.buf.len() / 2, self.len() - n),
        ];
        let [mut front, mut rest] = builders;
        for (i, record) in self.iter().enumerate() {
            let builder = if i < n { &mut front } else { &mut rest };
            record.append_to(builder);
        }
        *self = rest.finish();
        front.finish()
    }

    /// The records whose `wanted` is true, encoded anew.
    pub(crate) fn select(&self, mut wanted: impl FnMut(usize) -> bool) -> ProducedRecords {
        let mut builder = RecordsBuilder::new(self.opened_at, 0, 0);
        for (_, record) in self.iter().enumerate().filter(|(i, _)| wanted(*i)) {
            record.append_to(&mut builder);
        }
        builder.finish()
    }
}

/// A record as it is read back from its encoded form.
#[derive(Debug, Clone)]
pub(crate) struct EncodedRecord<'a> {
    pub(crate) key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    shared: Option<&'a Bytes>,
    pub(crate) headers: EncodedHeaders<'a>,
    pub(crate) timestamp_ms: i64,
    pub(crate) opaque: usize,
    pub(crate) lent: usize,
    pub(crate) produced_at: Instant,
}

impl<'a> EncodedRecord<'a> {
    pub(crate) fn value(&self) -> Option<&'a [u8]> {
        match self.shared {
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
        builder.append(self.to_new(), 0);
    }

    /// The value in the form in which it was produced.
    pub(crate) fn payload(&self) -> Payload<'a> {
        match (self.shared, self.value) {
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
    index: usize,
    next_shared: usize,
}

impl<'a> RecordIter<'a> {
    fn read(&mut self) -> Option<EncodedRecord<'a>> {
        let meta = self.records.meta.get(self.index)?;
        let at = &mut self.cursor;
        at.signed()?;
        at.take(1)?;
        let timestamp_delta = at.signed()?;
        at.signed()?;
        let key = at.nullable()?;
        let value_len = at.signed()?;
        let mut shared = None;
        let mut value = None;
        match self.records.shared.get(self.next_shared) {
            Some((place, bytes)) if *place == at.pos => {
                self.next_shared += 1;
                shared = Some(bytes);
            }
            _ if value_len >= 0 => value = Some(at.take(usize::try_from(value_len).ok()?)?),
            _ => {}
        }
        let count = usize::try_from(at.signed()?).ok()?;
        let start = at.pos;
        for _ in 0..count {
            at.nullable()?;
            at.nullable()?;
        }
        Some(EncodedRecord {
            key,
            value,
            shared,
            headers: EncodedHeaders::from_encoded(at.bytes.get(start..at.pos)?, count),
            timestamp_ms: self.records.base_timestamp.wrapping_add(timestamp_delta),
            opaque: meta.opaque,
            lent: self.records.lent.get(self.index).copied().unwrap_or(0),
            produced_at: self.records.time_of(meta),
        })
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

/// Reads what this module wrote.
#[derive(Debug)]
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

#[cfg(test)]
#[path = "produced_tests.rs"]
mod tests;
