//! Record data: batches of magic 2, message sets of magic 0 and 1, read and written.
//!
//! Reading goes in steps, each of which a caller may stop at:
//!
//! 1. [`BatchIter`] cuts a partition's record data into [`Batch`]es, touching only headers;
//! 2. [`Batch::verify_crc`] checks a batch's bytes;
//! 3. [`Batch::decompress`] gives its [`RecordData`], within a limit;
//! 4. [`RecordData::iter`], or [`RecordData::next`] with a [`RecordCursor`] kept by the caller, gives records that
//!    borrow from that data, without allocation.
//!
//! Writing: [`RecordEncoder`] appends records to a buffer, [`seal_batch`] puts the header around them.
//! [`BatchBody`] does the same in two steps, of which the first is independent of sequence numbers.

mod batch;
mod body;
mod checksum;
mod control;
mod data;
mod encode;
mod header;
mod message_parts;
mod message_set;

use std::fmt;

use crate::compression::CodecError;

pub use batch::{Batch, BatchIter};
pub use body::BatchBody;
pub use control::{ControlRecord, ControlType, end_transaction_batch};
pub use data::{
    Header, Headers, HeadersIter, MalformedHeaders, Record, RecordCursor, RecordData, RecordIter, RecordRef,
};
pub use encode::{BatchParams, RecordEncoder, seal_batch};
pub use header::{BATCH_HEADER_LEN, BatchHeader};
pub use message_set::{MessageSetRecord, write_message_set};

/// The meaning of a record's timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimestampType {
    /// Messages of magic 0 have none.
    NotAvailable,
    /// The producer set it.
    #[default]
    CreateTime,
    /// The broker set it when it appended the batch.
    LogAppendTime,
}

/// Timestamp of a record that has none.
pub const NO_TIMESTAMP: i64 = -1;
/// Producer id of a batch that an idempotent producer did not write.
pub const NO_PRODUCER_ID: i64 = -1;
/// Producer epoch of such a batch.
pub const NO_PRODUCER_EPOCH: i16 = -1;
/// Base sequence of such a batch.
pub const NO_SEQUENCE: i32 = -1;
/// Leader epoch of a batch that no leader has appended yet.
pub const NO_LEADER_EPOCH: i32 = -1;

/// Why record data cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// A batch or message is shorter than its fixed part.
    InvalidLength {
        /// Its first offset, as it says.
        base_offset: i64,
        /// The length that it claims.
        length: i32,
    },
    /// The format is not one of magic 0 to 2, or not the one that belongs here.
    UnsupportedMagic {
        /// The batch's first offset, as it says.
        base_offset: i64,
        /// The magic byte.
        magic: i8,
    },
    /// The checksum does not match the bytes.
    CorruptBatch {
        /// The batch's first offset, as it says.
        base_offset: i64,
        /// The checksum in the batch.
        stored: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// The compressed part cannot be decompressed, or compression failed.
    Codec(CodecError),
    /// A record is malformed.
    InvalidRecord {
        /// The batch's first offset, as it says.
        base_offset: i64,
        /// Which of the batch's records, counted from zero.
        index: usize,
        /// A description of the error.
        reason: &'static str,
    },
    /// The number of records does not agree with the bytes.
    InvalidCount {
        /// The batch's first offset, as it says.
        base_offset: i64,
        /// The number that the header gives.
        count: i32,
    },
    /// A batch or message does not fit the format's 32-bit lengths.
    TooLarge {
        /// Its length in bytes.
        length: usize,
    },
    /// The message format cannot carry the codec: zstd needs record batches of magic 2 (KIP-110).
    CodecNotInFormat,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidLength { base_offset, length } => {
                write!(f, "record batch at offset {base_offset} has invalid length {length}")
            }
            Self::UnsupportedMagic { base_offset, magic } => {
                write!(f, "record batch at offset {base_offset} has unsupported magic {magic}")
            }
            Self::CorruptBatch {
                base_offset,
                stored,
                computed,
            } => write!(
                f,
                "record batch at offset {base_offset} is corrupt: checksum is {stored:#010x}, its bytes give {computed:#010x}"
            ),
            Self::Codec(error) => error.fmt(f),
            Self::InvalidRecord {
                base_offset,
                index,
                reason,
            } => {
                write!(
                    f,
                    "record {index} of the batch at offset {base_offset} is invalid: {reason}"
                )
            }
            Self::InvalidCount { base_offset, count } => write!(
                f,
                "record batch at offset {base_offset} claims {count} records, which its bytes contradict"
            ),
            Self::TooLarge { length } => write!(f, "record batch of {length} bytes is too large"),
            Self::CodecNotInFormat => f.write_str("the message format cannot carry this codec"),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Codec(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CodecError> for RecordError {
    fn from(error: CodecError) -> Self {
        Self::Codec(error)
    }
}

#[cfg(test)]
mod tests;
