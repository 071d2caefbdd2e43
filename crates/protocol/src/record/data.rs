//! Records inside a batch's uncompressed bytes.

use std::ops::Range;

use bytes::Bytes;

use super::message_parts::{self, MessageParts};
use super::{RecordError, TimestampType};
use crate::varint;

/// The uncompressed records of one batch. Clones share the memory.
#[derive(Debug, Clone)]
pub struct RecordData {
    data: Bytes,
    format: Format,
    /// Offset to which the records' own add; for error texts the batch's.
    base_offset: i64,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    /// Records of magic 2.
    Batch {
        count: usize,
        base_timestamp: i64,
        log_append_time: Option<i64>,
    },
    /// Messages of magic 0 or 1, whose offsets count from the base offset.
    Messages { magic: i8, log_append_time: Option<i64> },
}

/// A place in a [`RecordData`]; the default is its start. For callers that take records one by one over time and cannot
/// hold a borrowing iterator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordCursor {
    position: usize,
    index: usize,
}

/// A record that borrows from its [`RecordData`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordRef<'a> {
    /// Its offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970, -1 for none.
    pub timestamp: i64,
    /// The meaning of the timestamp.
    pub timestamp_type: TimestampType,
    /// The key, or null.
    pub key: Option<&'a [u8]>,
    /// The value, or null: a tombstone in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// The headers, parsed on demand.
    pub headers: Headers<&'a [u8]>,
}

/// A record with its own handles on the memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970, -1 for none.
    pub timestamp: i64,
    /// The meaning of the timestamp.
    pub timestamp_type: TimestampType,
    /// The key, or null.
    pub key: Option<Bytes>,
    /// The value, or null: a tombstone in a compacted topic.
    pub value: Option<Bytes>,
    /// The headers, parsed on demand.
    pub headers: Headers<Bytes>,
}

/// The headers of a record as they came: an ordered list in which keys may repeat. Parsed only by iterating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers<B> {
    raw: B,
    count: usize,
}

/// One header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// The key; UTF-8 if the producer kept to the protocol.
    pub key: &'a [u8],
    /// The value, or null.
    pub value: Option<&'a [u8]>,
}

impl<B: AsRef<[u8]>> Headers<B> {
    /// Headers as encoded in a record after their `count`.
    pub fn from_encoded(raw: B, count: usize) -> Self {
        Self { raw, count }
    }

    /// Returns the number of headers by the record's count.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the encoded headers, without their count.
    pub fn raw(&self) -> &[u8] {
        self.raw.as_ref()
    }

    /// Returns the headers in order. A malformed one is an error, after which the iterator ends.
    pub fn iter(&self) -> HeadersIter<'_> {
        HeadersIter {
            raw: self.raw.as_ref(),
            left: self.count,
        }
    }
}

/// Iterator over a record's headers.
#[derive(Debug, Clone)]
pub struct HeadersIter<'a> {
    raw: &'a [u8],
    left: usize,
}

/// A record's headers do not fill the bytes that are there for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedHeaders;

impl std::fmt::Display for MalformedHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("malformed record headers")
    }
}

impl std::error::Error for MalformedHeaders {}

impl<'a> HeadersIter<'a> {
    fn parse(&mut self) -> Option<Header<'a>> {
        let mut at = 0;
        let key = take_nullable(self.raw, &mut at)??;
        let value = take_nullable(self.raw, &mut at)?;
        let header = Header {
            key: self.raw.get(key)?,
            value: match value {
                Some(range) => Some(self.raw.get(range)?),
                None => None,
            },
        };
        self.raw = self.raw.get(at..)?;
        Some(header)
    }
}

impl<'a> Iterator for HeadersIter<'a> {
    type Item = Result<Header<'a>, MalformedHeaders>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let header = self.parse();
        // The last header must end where the record does.
        if header.is_none() || self.left == 0 && !self.raw.is_empty() {
            self.left = 0;
            return Some(Err(MalformedHeaders));
        }
        header.map(Ok)
    }
}

/// Returns a varint length, -1 for null, and that many bytes from `at` on, as a range. The outer `None` is for
/// malformed bytes.
#[inline(always)]
fn take_nullable(bytes: &[u8], at: &mut usize) -> Option<Option<Range<usize>>> {
    let (length, used) = varint::get_signed_32(bytes.get(*at..)?)?;
    *at += used;
    if length == -1 {
        return Some(None);
    }
    let end = at.checked_add(usize::try_from(length).ok()?)?;
    if end > bytes.len() {
        return None;
    }
    let range = *at..end;
    *at = end;
    Some(Some(range))
}

/// A record as ranges of its [`RecordData`]'s bytes.
struct Parsed {
    offset: i64,
    timestamp: i64,
    timestamp_type: TimestampType,
    key: Option<Range<usize>>,
    value: Option<Range<usize>>,
    headers: Range<usize>,
    header_count: usize,
}

impl RecordData {
    pub(super) fn new(data: Bytes, format: Format, base_offset: i64) -> Self {
        Self {
            data,
            format,
            base_offset,
        }
    }

    /// Returns the uncompressed bytes that records point into.
    pub fn bytes(&self) -> &Bytes {
        &self.data
    }

    /// Returns the number of records, if it is known without parsing, as in magic 2; `None` for message sets.
    pub fn record_count(&self) -> Option<usize> {
        match self.format {
            Format::Batch { count, .. } => Some(count),
            Format::Messages { .. } => None,
        }
    }

    /// Returns the record at `cursor`, which moves behind it. `None` at the end. After an error the end is reached.
    ///
    /// It and what it consists of are inlined in every case. With several callers the compiler chooses calls, which take half as
    /// long again for small records.
    #[inline(always)]
    pub fn next(&self, cursor: &mut RecordCursor) -> Option<Result<RecordRef<'_>, RecordError>> {
        let parsed = match self.parse_next(cursor)? {
            Ok(parsed) => parsed,
            Err(error) => return Some(Err(error)),
        };
        let part = |range: Range<usize>| self.data.get(range).unwrap_or_default();
        Some(Ok(RecordRef {
            offset: parsed.offset,
            timestamp: parsed.timestamp,
            timestamp_type: parsed.timestamp_type,
            key: parsed.key.map(part),
            value: parsed.value.map(part),
            headers: Headers {
                raw: part(parsed.headers),
                count: parsed.header_count,
            },
        }))
    }

    /// Returns all records from the start.
    pub fn iter(&self) -> RecordIter<'_> {
        RecordIter {
            data: self,
            cursor: RecordCursor::default(),
        }
    }

    /// Returns all records with their own handles on the memory.
    pub fn into_records(self) -> impl Iterator<Item = Result<Record, RecordError>> {
        let mut cursor = RecordCursor::default();
        std::iter::from_fn(move || {
            let parsed = self.parse_next(&mut cursor)?;
            Some(parsed.map(|parsed| self.own(parsed)))
        })
    }

    fn own(&self, parsed: Parsed) -> Record {
        // The ranges were checked against the data when they were made.
        let part = |range: Range<usize>| match range.end <= self.data.len() {
            true => self.data.slice(range),
            false => Bytes::new(),
        };
        Record {
            offset: parsed.offset,
            timestamp: parsed.timestamp,
            timestamp_type: parsed.timestamp_type,
            key: parsed.key.map(part),
            value: parsed.value.map(part),
            headers: Headers {
                raw: part(parsed.headers),
                count: parsed.header_count,
            },
        }
    }

    #[inline(always)]
    fn parse_next(&self, cursor: &mut RecordCursor) -> Option<Result<Parsed, RecordError>> {
        let parsed = match self.format {
            Format::Batch { count, .. } if cursor.index >= count => {
                let ended = cursor.index > count || cursor.position >= self.data.len();
                cursor.index = usize::MAX;
                match ended {
                    true => return None,
                    false => Err("bytes after the last record"),
                }
            }
            Format::Batch {
                base_timestamp,
                log_append_time,
                ..
            } => self.parse_record(cursor, base_timestamp, log_append_time),
            Format::Messages { .. } if cursor.position >= self.data.len() => return None,
            Format::Messages { magic, log_append_time } => self.parse_message(cursor, magic, log_append_time),
        };
        let index = cursor.index;
        match parsed {
            Ok(parsed) => {
                cursor.index += 1;
                Some(Ok(parsed))
            }
            Err(reason) => {
                *cursor = RecordCursor {
                    position: usize::MAX,
                    index: usize::MAX,
                };
                let base_offset = self.base_offset;
                Some(Err(RecordError::InvalidRecord {
                    base_offset,
                    index,
                    reason,
                }))
            }
        }
    }

    #[inline(always)]
    fn parse_record(
        &self,
        cursor: &mut RecordCursor,
        base_timestamp: i64,
        log_append_time: Option<i64>,
    ) -> Result<Parsed, &'static str> {
        const MALFORMED: &str = "field cut short";
        let rest = self.data.get(cursor.position..).ok_or("record missing")?;
        let (length, used) = varint::get_signed_32(rest).ok_or("length cut short")?;
        let length = usize::try_from(length).map_err(|_| "negative length")?;
        let start = cursor.position + used;
        let end = start.checked_add(length).ok_or("length too large")?;
        // From here on positions are relative to the data, and nothing beyond the record is seen.
        let bytes = self.data.get(..end).ok_or("record cut short")?;
        // The record's own attributes, one byte, have no meaning yet.
        let mut at = start + 1;
        let (timestamp_delta, used) = bytes.get(at..).and_then(varint::get_signed_64).ok_or(MALFORMED)?;
        at += used;
        let (offset_delta, used) = bytes.get(at..).and_then(varint::get_signed_32).ok_or(MALFORMED)?;
        at += used;
        let key = take_nullable(bytes, &mut at).ok_or(MALFORMED)?;
        let value = take_nullable(bytes, &mut at).ok_or(MALFORMED)?;
        let (header_count, used) = bytes.get(at..).and_then(varint::get_signed_32).ok_or(MALFORMED)?;
        at += used;
        let header_count = usize::try_from(header_count).map_err(|_| "negative header count")?;
        // A header takes two bytes at least.
        if header_count > (end - at) / 2 || header_count == 0 && at != end {
            return Err("length and headers disagree");
        }
        cursor.position = end;
        Ok(Parsed {
            offset: self.base_offset.wrapping_add(offset_delta.into()),
            timestamp: log_append_time.unwrap_or_else(|| base_timestamp.wrapping_add(timestamp_delta)),
            timestamp_type: match log_append_time {
                Some(_) => TimestampType::LogAppendTime,
                None => TimestampType::CreateTime,
            },
            key,
            value,
            headers: at..end,
            header_count,
        })
    }

    fn parse_message(
        &self,
        cursor: &mut RecordCursor,
        magic: i8,
        log_append_time: Option<i64>,
    ) -> Result<Parsed, &'static str> {
        let position = cursor.position;
        let bytes = self.data.get(position..).ok_or("message missing")?;
        let message = MessageParts::parse(bytes).ok_or("message cut short")?;
        message_parts::check_inner(&message, magic)?;
        cursor.position = position + message.len;
        let shift = |range: Range<usize>| position + range.start..position + range.end;
        Ok(Parsed {
            offset: self.base_offset.wrapping_add(message.offset),
            timestamp: log_append_time.unwrap_or(message.timestamp),
            timestamp_type: match log_append_time {
                Some(_) => TimestampType::LogAppendTime,
                None => message.timestamp_type,
            },
            key: message.key.map(shift),
            value: message.value.map(shift),
            headers: 0..0,
            header_count: 0,
        })
    }
}

impl<'a> IntoIterator for &'a RecordData {
    type Item = Result<RecordRef<'a>, RecordError>;
    type IntoIter = RecordIter<'a>;

    fn into_iter(self) -> RecordIter<'a> {
        self.iter()
    }
}

/// Iterator over the records of a [`RecordData`].
#[derive(Debug, Clone)]
pub struct RecordIter<'a> {
    data: &'a RecordData,
    cursor: RecordCursor,
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = Result<RecordRef<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.data.next(&mut self.cursor)
    }
}
