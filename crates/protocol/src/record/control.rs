//! Control records: what brokers write into partitions to mark the end of a transaction (KIP-98), and more.

use bytes::Bytes;

use super::encode::{BatchParams, RecordEncoder, seal_batch};
use super::{RecordError, RecordRef};
use crate::Records;
use crate::compression::Codec;

/// The type of a control record. Unknown numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ControlType(pub i16);

impl ControlType {
    /// The producer's open transaction in this partition was aborted.
    pub const ABORT: Self = Self(0);
    /// The producer's open transaction in this partition was committed.
    pub const COMMIT: Self = Self(1);
}

/// A control record, parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlRecord {
    /// The type of the record.
    pub control_type: ControlType,
    /// For the end of a transaction, the epoch of the coordinator that ended it.
    pub coordinator_epoch: Option<i32>,
}

impl ControlRecord {
    /// Parses a record of a control batch; `None` when its key is not that of a control record.
    pub fn parse(record: &RecordRef<'_>) -> Option<Self> {
        let key = record.key?;
        // Version of the key, and type; later versions may append fields.
        let &[_, _, high, low] = key.first_chunk::<4>()?;
        let control_type = ControlType(i16::from_be_bytes([high, low]));
        let coordinator_epoch = match control_type {
            ControlType::ABORT | ControlType::COMMIT => record
                .value
                .and_then(|value| value.get(2..))
                .and_then(|epoch| epoch.first_chunk::<4>())
                .map(|epoch| i32::from_be_bytes(*epoch)),
            _ => None,
        };
        Some(Self {
            control_type,
            coordinator_epoch,
        })
    }
}

/// Returns the batch that ends a producer's transaction in a partition, as its leader writes it: one control record.
/// `params` has offset, leader epoch, producer and base timestamp; the rest of it is set here.
///
/// # Errors
/// Those of [`seal_batch`], none of which a batch of this size meets.
pub fn end_transaction_batch(
    params: &BatchParams,
    control_type: ControlType,
    coordinator_epoch: i32,
) -> Result<Records, RecordError> {
    let mut key = [0; 4];
    if let Some(slot) = key.last_chunk_mut::<2>() {
        *slot = control_type.0.to_be_bytes();
    }
    let mut value = [0; 6];
    if let Some(slot) = value.last_chunk_mut::<4>() {
        *slot = coordinator_epoch.to_be_bytes();
    }
    let mut records = Vec::new();
    RecordEncoder::append(&mut records, 0, 0, Some(&key), Some(&value), std::iter::empty());
    let params = BatchParams {
        is_transactional: true,
        is_control: true,
        last_offset_delta: 0,
        max_timestamp: params.base_timestamp,
        base_sequence: super::NO_SEQUENCE,
        records_count: 1,
        ..*params
    };
    seal_batch(&params, &[Bytes::from(records)], Codec::None, None)
}
