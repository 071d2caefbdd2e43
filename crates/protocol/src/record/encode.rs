//! Writing record batches of magic 2.

use std::sync::Arc;

use bytes::Bytes;

use super::batch::batch_crc;
use super::data::Header;
use super::header::{BATCH_HEADER_LEN, BatchHeader, LOG_OVERHEAD};
use super::{
    NO_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP, RecordError, TimestampType,
};
use crate::compression::{self, Codec};
use crate::types::join;
use crate::{Records, varint};

/// Writes single records of magic 2 into a buffer. All functions only append to the caller's buffer; nothing is
/// allocated besides the buffer's own growth.
///
/// Keys, values, and header keys and values longer than `i32::MAX` bytes are the caller's to refuse.
#[derive(Debug)]
pub struct RecordEncoder;

/// Returns the varint length of a nullable byte array with its bytes.
fn nullable_len(bytes: Option<usize>) -> usize {
    match bytes {
        Some(length) => varint::signed_len(length as i64) + length,
        None => 1,
    }
}

fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            varint::put_signed(out, bytes.len() as i64);
            out.extend_from_slice(bytes);
        }
        None => varint::put_signed(out, -1),
    }
}

/// Bytes of the headers with their count, and the count.
#[inline]
fn headers_len<'h>(headers: impl Iterator<Item = Header<'h>>) -> (usize, usize) {
    let (mut count, mut length) = (0, 0);
    for header in headers {
        count += 1;
        length += nullable_len(Some(header.key.len())) + nullable_len(header.value.map(<[u8]>::len));
    }
    (varint::signed_len(count as i64) + length, count)
}

/// Room for the fields of a record besides key, value and headers: six varints and the attributes.
const SMALL_FIELDS_LEN: usize = 48;

/// Varints on their way into a record.
struct SmallFields {
    bytes: [u8; SMALL_FIELDS_LEN],
    used: usize,
}

impl Default for SmallFields {
    fn default() -> Self {
        Self {
            bytes: [0; SMALL_FIELDS_LEN],
            used: 0,
        }
    }
}

impl SmallFields {
    #[inline]
    fn put_signed(&mut self, value: i64) {
        let mut rest = varint::zigzag(value);
        // The loop ends with the value; there is room for all fields of a record at their longest.
        while let Some(slot) = self.bytes.get_mut(self.used) {
            self.used += 1;
            if rest < 0x80 {
                *slot = rest as u8;
                return;
            }
            *slot = rest as u8 | 0x80;
            rest >>= 7;
        }
    }

    /// The length of a nullable byte array.
    #[inline]
    fn put_len(&mut self, length: Option<usize>) {
        self.put_signed(length.map_or(-1, |length| length as i64));
    }

    #[inline]
    fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes.get(..self.used).unwrap_or_default());
        self.used = 0;
    }
}

impl RecordEncoder {
    /// Appends a whole record. `offset_delta` and `timestamp_delta` count from the batch's first offset and base
    /// timestamp. `headers` is walked twice.
    #[inline]
    pub fn append<'h>(
        out: &mut Vec<u8>,
        offset_delta: i32,
        timestamp_delta: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = Header<'h>> + Clone,
    ) {
        let value_len = value.map(<[u8]>::len);
        Self::append_before_value(out, offset_delta, timestamp_delta, key, value_len, headers.clone());
        out.extend_from_slice(value.unwrap_or_default());
        Self::append_after_value(out, headers);
    }

    /// Appends the part of a record before its value: the first half of [`RecordEncoder::append`], for values
    /// that travel by reference. The value's bytes and [`RecordEncoder::append_after_value`] must follow.
    #[inline]
    pub fn append_before_value<'h>(
        out: &mut Vec<u8>,
        offset_delta: i32,
        timestamp_delta: i64,
        key: Option<&[u8]>,
        value_len: Option<usize>,
        headers: impl Iterator<Item = Header<'h>>,
    ) {
        let (headers_len, _) = headers_len(headers);
        let key_len = key.map(<[u8]>::len);
        let length = body_len(offset_delta, timestamp_delta, key_len, value_len, headers_len);
        out.reserve(key_len.unwrap_or(0) + SMALL_FIELDS_LEN);
        // Small fields are gathered first: one append instead of many.
        let mut fields = SmallFields::default();
        fields.put_signed(length as i64);
        // Attributes, of which none is defined.
        fields.put_signed(0);
        fields.put_signed(timestamp_delta);
        fields.put_signed(offset_delta.into());
        fields.put_len(key_len);
        if let Some(key) = key {
            fields.flush(out);
            out.extend_from_slice(key);
        }
        fields.put_len(value_len);
        fields.flush(out);
    }

    /// Appends the part of a record after its value: the headers.
    #[inline]
    pub fn append_after_value<'h>(out: &mut Vec<u8>, headers: impl Iterator<Item = Header<'h>> + Clone) {
        let (_, count) = headers_len(headers.clone());
        varint::put_signed(out, count as i64);
        for header in headers {
            put_nullable(out, Some(header.key));
            put_nullable(out, header.value);
        }
    }

    /// Bytes that a record has besides those of its key, its value and its headers, at most.
    pub const OVERHEAD_MAX: usize = SMALL_FIELDS_LEN;

    /// Bytes that a header has besides those of its key and its value, at most.
    pub const HEADER_OVERHEAD_MAX: usize = 2 * varint::MAX_LEN_32;

    /// Bytes that [`RecordEncoder::append`] would append.
    pub fn encoded_len<'h>(
        offset_delta: i32,
        timestamp_delta: i64,
        key_len: Option<usize>,
        value_len: Option<usize>,
        headers: impl Iterator<Item = Header<'h>>,
    ) -> usize {
        let (headers_len, _) = headers_len(headers);
        let length = body_len(offset_delta, timestamp_delta, key_len, value_len, headers_len);
        varint::signed_len(length as i64) + length
    }
}

#[inline]
fn body_len(
    offset_delta: i32,
    timestamp_delta: i64,
    key_len: Option<usize>,
    value_len: Option<usize>,
    headers_len: usize,
) -> usize {
    1 + varint::signed_len(timestamp_delta)
        + varint::signed_len(offset_delta.into())
        + nullable_len(key_len)
        + nullable_len(value_len)
        + headers_len
}

/// The header fields of a batch to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchParams {
    /// Offset of the first record; producers write 0.
    pub base_offset: i64,
    /// -1 except on a broker.
    pub partition_leader_epoch: i32,
    /// The meaning of the timestamps; producers write create time.
    pub timestamp_type: TimestampType,
    /// The batch belongs to a transaction.
    pub is_transactional: bool,
    /// The batch holds control records.
    pub is_control: bool,
    /// Offset of the last record minus that of the first.
    pub last_offset_delta: i32,
    /// The timestamp that the records' deltas count from, in milliseconds since 1970.
    pub base_timestamp: i64,
    /// The records' greatest timestamp.
    pub max_timestamp: i64,
    /// Id of the idempotent producer, or -1.
    pub producer_id: i64,
    /// Its epoch, or -1.
    pub producer_epoch: i16,
    /// Sequence number of the first record, or -1.
    pub base_sequence: i32,
    /// Number of records.
    pub records_count: i32,
}

impl Default for BatchParams {
    /// Returns a batch of nothing, by no idempotent producer, at offset 0.
    fn default() -> Self {
        Self {
            base_offset: 0,
            partition_leader_epoch: NO_LEADER_EPOCH,
            timestamp_type: TimestampType::CreateTime,
            is_transactional: false,
            is_control: false,
            last_offset_delta: 0,
            base_timestamp: NO_TIMESTAMP,
            max_timestamp: NO_TIMESTAMP,
            producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            base_sequence: NO_SEQUENCE,
            records_count: 0,
        }
    }
}

/// Makes a record batch of the encoded `records`, whose parts may be cut anywhere: compresses them and computes the
/// checksum. Without compression the parts are referenced, not copied. `level` is that of
/// [`compression::compress`].
///
/// # Errors
/// [`RecordError::Codec`] when compression fails, [`RecordError::TooLarge`] when the batch exceeds a 32-bit length.
pub fn seal_batch(
    params: &BatchParams,
    records: &[Bytes],
    codec: Codec,
    level: Option<i32>,
) -> Result<Records, RecordError> {
    let compressed = match (codec, records) {
        (Codec::None, _) => None,
        (_, [single]) => Some(compression::compress(codec, level, single)?),
        (_, parts) => Some(compression::compress(codec, level, &join(parts))?),
    };
    let body = compressed.as_ref().map_or(records, std::slice::from_ref);
    let body_len: usize = body.iter().map(Bytes::len).sum();
    let mut header = header_of(params, codec, body_len)?;
    header.crc = batch_crc(&header, body);
    let head = Bytes::copy_from_slice(&header.to_bytes());
    let parts = std::iter::once(head).chain(body.iter().cloned());
    Ok(Records::from_parts(parts.collect::<Arc<_>>()))
}

/// Returns the header of a batch with a body of `body_len` bytes, without its checksum.
///
/// # Errors
/// [`RecordError::TooLarge`] when the batch exceeds a 32-bit length.
pub(super) fn header_of(params: &BatchParams, codec: Codec, body_len: usize) -> Result<BatchHeader, RecordError> {
    let length = BATCH_HEADER_LEN - LOG_OVERHEAD + body_len;
    Ok(BatchHeader {
        base_offset: params.base_offset,
        batch_length: i32::try_from(length).map_err(|_| RecordError::TooLarge { length })?,
        partition_leader_epoch: params.partition_leader_epoch,
        magic: 2,
        crc: 0,
        attributes: BatchHeader::attributes(codec, params.timestamp_type, params.is_transactional, params.is_control),
        last_offset_delta: params.last_offset_delta,
        base_timestamp: params.base_timestamp,
        max_timestamp: params.max_timestamp,
        producer_id: params.producer_id,
        producer_epoch: params.producer_epoch,
        base_sequence: params.base_sequence,
        records_count: params.records_count,
    })
}
