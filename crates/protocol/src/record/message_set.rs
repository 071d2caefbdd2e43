//! Message sets: the record data of Kafka before 0.11, magic 0 and, from 0.10 on with timestamps (KIP-32), magic 1.
//!
//! A message is: offset (8 bytes), size (4), CRC-32 (4), magic (1), attributes (1), in magic 1 a timestamp (8), key and
//! value, each with a 4-byte length. A compressed set is the value of one message whose offset is that of its last
//! message. Inside, magic 0 has the messages' real offsets; magic 1 has offsets that count from the set's first
//! (KIP-31), so that a broker can assign offsets without compressing again.

use bytes::Bytes;

use super::data::{Format, RecordData};
use super::header::{BatchHeader, LOG_OVERHEAD, MAGIC_AT};
use super::message_parts::MessageParts;
use super::{NO_TIMESTAMP, RecordError, TimestampType};
use crate::compression::{self, Codec, HeaderChecksum};

/// Returns the records of one top-level message: itself, or the set that it wraps.
pub(super) fn open(bytes: &Bytes, header: &BatchHeader, limit_bytes: usize) -> Result<RecordData, RecordError> {
    let magic = header.magic;
    if !header.is_compressed() {
        // A plain message carries its real offset.
        let format = Format::Messages {
            magic,
            log_append_time: None,
        };
        return Ok(RecordData::new(bytes.clone(), format, 0));
    }
    let base_offset = header.base_offset;
    let invalid = |reason| RecordError::InvalidRecord {
        base_offset,
        index: 0,
        reason,
    };
    let codec = header.compression()?;
    if codec == Codec::Zstd {
        return Err(RecordError::CodecNotInFormat);
    }
    let value = MessageParts::parse(bytes)
        .and_then(|wrapper| wrapper.value)
        .and_then(|range| bytes.get(range))
        .ok_or_else(|| invalid("compressed message without value"))?;
    let data = compression::decompress(codec, value, limit_bytes)?;
    let log_append_time = match header.timestamp_type() {
        TimestampType::LogAppendTime => Some(header.max_timestamp),
        _ => None,
    };
    let inner_base = match magic {
        0 => 0,
        _ => {
            let last = last_offset(&data).ok_or_else(|| invalid("malformed compressed set"))?;
            base_offset.wrapping_sub(last)
        }
    };
    Ok(RecordData::new(
        data,
        Format::Messages { magic, log_append_time },
        inner_base,
    ))
}

/// Returns the offset field of the last message; `None` when there is no message or one is cut short.
fn last_offset(mut data: &[u8]) -> Option<i64> {
    let mut last = None;
    while !data.is_empty() {
        last = Some(i64::from_be_bytes(*data.first_chunk::<8>()?));
        let size = i32::from_be_bytes(*data.get(8..)?.first_chunk::<4>()?);
        let len = LOG_OVERHEAD.checked_add(usize::try_from(size).ok()?)?;
        data = data.get(len..)?;
    }
    last
}

/// A record to be written into a message set. Message sets have no headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSetRecord<'a> {
    /// The offset. Producers count from 0; brokers assign the real one.
    pub offset: i64,
    /// Milliseconds since 1970, -1 for none; not written in magic 0.
    pub timestamp: i64,
    /// The key, or null.
    pub key: Option<&'a [u8]>,
    /// The value, or null.
    pub value: Option<&'a [u8]>,
}

/// Writes `records` as a message set of magic 0 or 1, with create time as the timestamp type. With a codec the set is
/// wrapped in one message; an empty set is empty all the same.
///
/// # Errors
/// [`RecordError::UnsupportedMagic`] for another magic, [`RecordError::CodecNotInFormat`] for zstd,
/// [`RecordError::Codec`] when compression fails, [`RecordError::TooLarge`] when a message exceeds 32-bit lengths.
pub fn write_message_set<'a>(
    magic: i8,
    records: impl IntoIterator<Item = MessageSetRecord<'a>>,
    codec: Codec,
    level: Option<i32>,
) -> Result<Bytes, RecordError> {
    if !matches!(magic, 0 | 1) {
        return Err(RecordError::UnsupportedMagic { base_offset: 0, magic });
    }
    if codec == Codec::Zstd {
        return Err(RecordError::CodecNotInFormat);
    }
    let mut set = Vec::new();
    let mut bounds: Option<(i64, i64)> = None;
    let mut max_timestamp = NO_TIMESTAMP;
    for record in records {
        let (first, _) = bounds.unwrap_or((record.offset, record.offset));
        bounds = Some((first, record.offset));
        max_timestamp = max_timestamp.max(record.timestamp);
        let relative = codec != Codec::None && magic == 1;
        let offset = if relative {
            record.offset.wrapping_sub(first)
        } else {
            record.offset
        };
        append_message(&mut set, magic, 0, MessageSetRecord { offset, ..record })?;
    }
    let Some((_, last)) = bounds.filter(|_| codec != Codec::None) else {
        return Ok(set.into());
    };
    let packed = match (codec, magic) {
        // Consumers of that time check the header for the wrong checksum.
        (Codec::Lz4, 0) => compression::compress_lz4(&set, level, HeaderChecksum::WithMagic)?.into(),
        _ => compression::compress(codec, level, &set)?,
    };
    let wrapper = MessageSetRecord {
        offset: last,
        timestamp: max_timestamp,
        key: None,
        value: Some(&packed),
    };
    let mut out = Vec::with_capacity(packed.len() + 34);
    append_message(&mut out, magic, codec.id(), wrapper)?;
    Ok(out.into())
}

fn append_message(
    out: &mut Vec<u8>,
    magic: i8,
    attributes: u8,
    record: MessageSetRecord<'_>,
) -> Result<(), RecordError> {
    let start = out.len();
    let fields = [record.key, record.value];
    let payload: usize = fields.iter().flatten().map(|field| field.len()).sum();
    let size = payload.saturating_add(if magic == 0 { 14 } else { 22 });
    let size_field = i32::try_from(size).map_err(|_| RecordError::TooLarge { length: size })?;
    out.reserve(LOG_OVERHEAD + size);
    out.extend_from_slice(&record.offset.to_be_bytes());
    out.extend_from_slice(&size_field.to_be_bytes());
    // The checksum, filled in below.
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[magic as u8, attributes]);
    if magic == 1 {
        out.extend_from_slice(&record.timestamp.to_be_bytes());
    }
    for field in fields {
        let length = field.map_or(-1, |bytes| bytes.len() as i32);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(field.unwrap_or_default());
    }
    let crc = crc32fast::hash(out.get(start + MAGIC_AT..).unwrap_or_default());
    let crc_at = start + LOG_OVERHEAD;
    if let Some(slot) = out.get_mut(crc_at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
        *slot = crc.to_be_bytes();
    }
    Ok(())
}
