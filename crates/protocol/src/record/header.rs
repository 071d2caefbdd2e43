//! The fixed head of a record batch.

use super::{NO_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP, TimestampType};
use crate::compression::{Codec, CodecError};

/// Bytes of a magic 2 batch before its records.
pub const BATCH_HEADER_LEN: usize = 61;

/// Base offset and length precede the bytes that the length counts.
pub(super) const LOG_OVERHEAD: usize = 12;
/// Position of the magic byte, in every format.
pub(super) const MAGIC_AT: usize = 16;
/// Where the bytes start that a magic 2 batch's checksum covers.
pub(super) const CRC_COVERS_FROM: usize = 21;

const CODEC_MASK: i16 = 0x07;
const LOG_APPEND_TIME: i16 = 0x08;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;
const DELETE_HORIZON: i16 = 0x40;

/// The head of a record batch (magic 2). For a message of magic 0 or 1, which has no such head, the fields that it
/// lacks have the values given at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record. In a compressed message of magic 0 or 1: of the last.
    pub base_offset: i64,
    /// Bytes after this field.
    pub batch_length: i32,
    /// Epoch of the leader that appended the batch; -1 before that, and in magic 0 and 1.
    pub partition_leader_epoch: i32,
    /// Format: 0, 1 or 2.
    pub magic: i8,
    /// Checksum: CRC-32C from the attributes on; in magic 0 and 1 CRC-32 from the magic byte on.
    pub crc: u32,
    /// Codec, timestamp type and flags; see the accessors.
    pub attributes: i16,
    /// Offset of the last record minus that of the first; 0 in magic 0 and 1.
    pub last_offset_delta: i32,
    /// Timestamp of the first record, in milliseconds since 1970; -1 in magic 0.
    pub base_timestamp: i64,
    /// Greatest timestamp, or the time of appending; in magic 1 the message's, -1 in magic 0.
    pub max_timestamp: i64,
    /// Id of the idempotent producer, or -1.
    pub producer_id: i64,
    /// Epoch of the idempotent producer, or -1.
    pub producer_epoch: i16,
    /// Sequence number of the first record, or -1.
    pub base_sequence: i32,
    /// Number of records; in magic 0 and 1, -1 for a compressed set, whose number is unknown before decompression, and
    /// otherwise 1.
    pub records_count: i32,
}

impl BatchHeader {
    /// Reads the head of a magic 2 batch; `None` when `bytes` are fewer than [`BATCH_HEADER_LEN`]. Nothing is checked.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes.first_chunk::<BATCH_HEADER_LEN>()?);
        Some(Self {
            base_offset: i64::from_be_bytes(fields.take()?),
            batch_length: i32::from_be_bytes(fields.take()?),
            partition_leader_epoch: i32::from_be_bytes(fields.take()?),
            magic: i8::from_be_bytes(fields.take()?),
            crc: u32::from_be_bytes(fields.take()?),
            attributes: i16::from_be_bytes(fields.take()?),
            last_offset_delta: i32::from_be_bytes(fields.take()?),
            base_timestamp: i64::from_be_bytes(fields.take()?),
            max_timestamp: i64::from_be_bytes(fields.take()?),
            producer_id: i64::from_be_bytes(fields.take()?),
            producer_epoch: i16::from_be_bytes(fields.take()?),
            base_sequence: i32::from_be_bytes(fields.take()?),
            records_count: i32::from_be_bytes(fields.take()?),
        })
    }

    /// Reads the head of a message of magic 0 or 1; `None` when the bytes are too few.
    pub(super) fn parse_message(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let base_offset = i64::from_be_bytes(fields.take()?);
        let batch_length = i32::from_be_bytes(fields.take()?);
        let crc = u32::from_be_bytes(fields.take()?);
        let magic = i8::from_be_bytes(fields.take()?);
        let attributes = i16::from(u8::from_be_bytes(fields.take()?));
        let timestamp = match magic {
            0 => NO_TIMESTAMP,
            _ => i64::from_be_bytes(fields.take()?),
        };
        Some(Self {
            base_offset,
            batch_length,
            partition_leader_epoch: NO_LEADER_EPOCH,
            magic,
            crc,
            attributes,
            last_offset_delta: 0,
            base_timestamp: timestamp,
            max_timestamp: timestamp,
            producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            base_sequence: NO_SEQUENCE,
            records_count: if attributes & CODEC_MASK == 0 { 1 } else { -1 },
        })
    }

    /// Returns the 61 bytes of a magic 2 head.
    pub fn to_bytes(&self) -> [u8; BATCH_HEADER_LEN] {
        let mut out = [0; BATCH_HEADER_LEN];
        let mut rest = out.as_mut_slice();
        put(&mut rest, self.base_offset.to_be_bytes());
        put(&mut rest, self.batch_length.to_be_bytes());
        put(&mut rest, self.partition_leader_epoch.to_be_bytes());
        put(&mut rest, self.magic.to_be_bytes());
        put(&mut rest, self.crc.to_be_bytes());
        put(&mut rest, self.attributes.to_be_bytes());
        put(&mut rest, self.last_offset_delta.to_be_bytes());
        put(&mut rest, self.base_timestamp.to_be_bytes());
        put(&mut rest, self.max_timestamp.to_be_bytes());
        put(&mut rest, self.producer_id.to_be_bytes());
        put(&mut rest, self.producer_epoch.to_be_bytes());
        put(&mut rest, self.base_sequence.to_be_bytes());
        put(&mut rest, self.records_count.to_be_bytes());
        out
    }

    /// Attributes from their parts.
    pub fn attributes(codec: Codec, timestamp_type: TimestampType, transactional: bool, control: bool) -> i16 {
        let mut attributes = i16::from(codec.id());
        if timestamp_type == TimestampType::LogAppendTime {
            attributes |= LOG_APPEND_TIME;
        }
        if transactional {
            attributes |= TRANSACTIONAL;
        }
        if control {
            attributes |= CONTROL;
        }
        attributes
    }

    /// Returns the codec of the records.
    ///
    /// # Errors
    /// [`CodecError::UnknownCodec`] for an id without a codec.
    pub fn compression(&self) -> Result<Codec, CodecError> {
        let id = (self.attributes & CODEC_MASK) as u8;
        Codec::from_id(id).ok_or(CodecError::UnknownCodec(id))
    }

    /// True when the records are compressed, by whatever codec.
    pub fn is_compressed(&self) -> bool {
        self.attributes & CODEC_MASK != 0
    }

    /// Returns the meaning of the records' timestamps.
    pub fn timestamp_type(&self) -> TimestampType {
        match (self.magic, self.attributes & LOG_APPEND_TIME) {
            (0, _) => TimestampType::NotAvailable,
            (_, 0) => TimestampType::CreateTime,
            _ => TimestampType::LogAppendTime,
        }
    }

    /// Returns whether the batch belongs to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.magic >= 2 && self.attributes & TRANSACTIONAL != 0
    }

    /// Returns whether the batch holds control records, which are not for applications.
    pub fn is_control(&self) -> bool {
        self.magic >= 2 && self.attributes & CONTROL != 0
    }

    /// Returns whether the base timestamp is the time from which a tombstone or marker may be removed (KIP-534).
    pub fn has_delete_horizon(&self) -> bool {
        self.magic >= 2 && self.attributes & DELETE_HORIZON != 0
    }

    /// Offset of the last record; compaction may have removed the record itself. The base offset if the header's delta is
    /// negative, which no intact batch has.
    pub fn last_offset(&self) -> i64 {
        self.base_offset
            .saturating_add(i64::from(self.last_offset_delta.max(0)))
    }

    /// Returns the offset to read at after this batch.
    pub fn next_offset(&self) -> i64 {
        self.last_offset().saturating_add(1)
    }

    /// Sequence number of the last record, -1 without an idempotent producer. Sequence numbers wrap from `i32::MAX`
    /// to 0.
    pub fn last_sequence(&self) -> i32 {
        match self.base_sequence {
            NO_SEQUENCE => NO_SEQUENCE,
            base => base.wrapping_add(self.last_offset_delta) & i32::MAX,
        }
    }
}

/// Takes fixed-size fields off the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }
}

fn put<const N: usize>(rest: &mut &mut [u8], field: [u8; N]) {
    if let Some((slot, tail)) = std::mem::take(rest).split_first_chunk_mut::<N>() {
        *slot = field;
        *rest = tail;
    }
}
