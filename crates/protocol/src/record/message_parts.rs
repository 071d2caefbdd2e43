//! One message of a message set.

use std::ops::Range;

use super::header::{LOG_OVERHEAD, MAGIC_AT};
use super::{NO_TIMESTAMP, TimestampType};

/// The codec in a message's attributes.
pub(super) const CODEC_MASK: u8 = 0x07;
/// Set in a message's attributes if its timestamp is the broker's.
pub(super) const LOG_APPEND_TIME: u8 = 0x08;

/// Where things are in one message; ranges count from its first byte.
pub(super) struct MessageParts {
    pub(super) offset: i64,
    /// Bytes of the whole message.
    pub(super) len: usize,
    pub(super) magic: i8,
    pub(super) attributes: u8,
    pub(super) timestamp: i64,
    pub(super) timestamp_type: TimestampType,
    pub(super) key: Option<Range<usize>>,
    pub(super) value: Option<Range<usize>>,
}

impl MessageParts {
    /// Returns the message at the start of `bytes`, which may be longer. `None` when it is cut short or malformed.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let offset = i64::from_be_bytes(*bytes.first_chunk::<8>()?);
        let size = i32::from_be_bytes(*bytes.get(8..)?.first_chunk::<4>()?);
        let len = LOG_OVERHEAD.checked_add(usize::try_from(size).ok()?)?;
        let bytes = bytes.get(..len)?;
        let &[magic, attributes] = bytes.get(MAGIC_AT..)?.first_chunk::<2>()?;
        let mut at = MAGIC_AT + 2;
        let mut timestamp = NO_TIMESTAMP;
        let mut timestamp_type = TimestampType::NotAvailable;
        if magic != 0 {
            timestamp = i64::from_be_bytes(*bytes.get(at..)?.first_chunk::<8>()?);
            at += 8;
            timestamp_type = match attributes & LOG_APPEND_TIME {
                0 => TimestampType::CreateTime,
                _ => TimestampType::LogAppendTime,
            };
        }
        let key = take_nullable(bytes, &mut at)?;
        let value = take_nullable(bytes, &mut at)?;
        let magic = magic as i8;
        (at == len).then_some(Self {
            offset,
            len,
            magic,
            attributes,
            timestamp,
            timestamp_type,
            key,
            value,
        })
    }
}

/// Returns a 4-byte length, -1 for null, and that many bytes. The outer `None` is for malformed bytes.
fn take_nullable(bytes: &[u8], at: &mut usize) -> Option<Option<Range<usize>>> {
    let length = i32::from_be_bytes(*bytes.get(*at..)?.first_chunk::<4>()?);
    *at += 4;
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

/// Checks that a message inside a compressed set has the set's magic and no further compression.
pub(super) fn check_inner(message: &MessageParts, magic: i8) -> Result<(), &'static str> {
    if message.magic != magic {
        return Err("message inside a compressed set has another magic");
    }
    if message.attributes & CODEC_MASK != 0 {
        return Err("compressed message inside a compressed set");
    }
    Ok(())
}
