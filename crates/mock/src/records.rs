//! Records that are written to and read from partitions without a client.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{Batch, BatchIter, BatchParams, Header, RecordEncoder, RecordError, seal_batch};

use crate::api_error::ApiError;

/// The maximum decompressed size of a batch.
const DECOMPRESSED_BYTES_MAX: usize = 256 << 20;

/// A record to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRecord {
    /// The key.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<(String, Option<Bytes>)>,
    /// Milliseconds since 1970; `None` for the broker's time.
    pub timestamp_ms: Option<i64>,
}

impl NewRecord {
    /// Returns a record with a value only.
    pub fn value(value: impl Into<Bytes>) -> Self {
        Self {
            value: Some(value.into()),
            ..Self::default()
        }
    }

    /// Returns a record with key and value.
    pub fn keyed(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self {
            key: Some(key.into()),
            ..Self::value(value)
        }
    }
}

/// A record in a partition's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// The offset.
    pub offset: i64,
    /// Milliseconds since 1970, -1 for none.
    pub timestamp_ms: i64,
    /// The key.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Option<Bytes>,
    /// The headers, in order. A key that is not UTF-8 has replacement characters.
    pub headers: Vec<(String, Option<Bytes>)>,
    /// The leader epoch under which it was written.
    pub leader_epoch: i32,
    /// The id of the idempotent producer that wrote it, -1 without one.
    pub producer_id: i64,
    /// The record belongs to a transaction, committed or not.
    pub is_transactional: bool,
}

/// Encodes records as one uncompressed batch.
///
/// # Errors
/// INVALID_RECORD without a record, MESSAGE_TOO_LARGE when the batch exceeds a 32-bit length.
pub(crate) fn encode(records: &[NewRecord], now_ms: i64) -> Result<Batch, ApiError> {
    let times = || records.iter().map(|record| record.timestamp_ms.unwrap_or(now_ms));
    let count = i32::try_from(records.len()).map_err(|_| ApiError::from(ErrorCode::MESSAGE_TOO_LARGE))?;
    let base_timestamp = times().next().unwrap_or(now_ms);
    let mut encoded = Vec::new();
    for ((index, record), time) in (0..).zip(records).zip(times()) {
        let headers = record.headers.iter().map(|(key, value)| Header {
            key: key.as_bytes(),
            value: value.as_deref(),
        });
        let delta = time.saturating_sub(base_timestamp);
        RecordEncoder::append(
            &mut encoded,
            index,
            delta,
            record.key.as_deref(),
            record.value.as_deref(),
            headers,
        );
    }
    let params = BatchParams {
        base_timestamp,
        max_timestamp: times().max().unwrap_or(now_ms),
        last_offset_delta: count.saturating_sub(1),
        records_count: count,
        ..BatchParams::default()
    };
    let batch = seal_batch(&params, &[encoded.into()], Codec::None, None)
        .map_err(|error| ApiError::new(ErrorCode::MESSAGE_TOO_LARGE, error.to_string()))?;
    match BatchIter::new(batch.into_bytes()).next() {
        Some(Ok(batch)) if count > 0 => Ok(batch),
        _ => Err(ApiError::new(ErrorCode::INVALID_RECORD, "A batch needs a record.")),
    }
}

/// Appends the records of a batch to `found`, without control records.
///
/// # Errors
/// [`RecordError`] when a producer has written a damaged batch.
pub(crate) fn decode(batch: &Batch, found: &mut Vec<StoredRecord>) -> Result<(), RecordError> {
    let header = batch.header();
    if header.is_control() {
        return Ok(());
    }
    for record in batch.decompress(DECOMPRESSED_BYTES_MAX)?.into_records() {
        let record = record?;
        let headers = record.headers.iter().filter_map(Result::ok).map(|header| {
            let key = String::from_utf8_lossy(header.key).into_owned();
            (key, header.value.map(Bytes::copy_from_slice))
        });
        found.push(StoredRecord {
            offset: record.offset,
            timestamp_ms: record.timestamp,
            headers: headers.collect(),
            leader_epoch: header.partition_leader_epoch,
            producer_id: header.producer_id,
            is_transactional: header.is_transactional(),
            key: record.key,
            value: record.value,
        });
    }
    Ok(())
}
