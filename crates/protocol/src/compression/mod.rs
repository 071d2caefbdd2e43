//! The codecs of record data: gzip, snappy, lz4 and zstd.
//!
//! Every decompression takes a limit and yields no byte beyond it, whatever the input claims. Compressors with
//! costly set-up are kept per thread.

mod gzip;
mod lz4;
mod snappy;
mod zstandard;

use std::fmt;
use std::io::Read;

use bytes::Bytes;

use crate::buffer::Buffer;

pub use lz4::HeaderChecksum;
pub(crate) use lz4::compress as compress_lz4;

/// How records are compressed. The discriminant is what stands in the lowest bits of a batch's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Codec {
    /// Not at all.
    #[default]
    None = 0,
    /// RFC 1952.
    Gzip = 1,
    /// Snappy, in the framed form of Java's library.
    Snappy = 2,
    /// LZ4 frames.
    Lz4 = 3,
    /// Zstandard (KIP-110); only in record batches of magic 2.
    Zstd = 4,
}

impl Codec {
    /// Every codec, by ascending id.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The codec with this id, if there is one.
    pub const fn from_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::None),
            1 => Some(Self::Gzip),
            2 => Some(Self::Snappy),
            3 => Some(Self::Lz4),
            4 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The id in a batch's attributes.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The name in configurations, as in `compression.type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The codec with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why data could not be compressed or decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError {
    /// The attributes of a batch name a codec that does not exist.
    UnknownCodec(u8),
    /// The compressed data is not what the codec writes.
    Corrupt {
        /// The codec.
        codec: Codec,
        /// What is wrong with it.
        reason: String,
    },
    /// The data would decompress to more bytes than allowed.
    LimitExceeded {
        /// The codec.
        codec: Codec,
        /// The bytes allowed.
        limit: usize,
    },
    /// The codec refused to compress.
    Compress {
        /// The codec.
        codec: Codec,
        /// What it said.
        reason: String,
    },
}

impl CodecError {
    #[cold]
    fn corrupt(codec: Codec, reason: impl fmt::Display) -> Self {
        Self::Corrupt {
            codec,
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCodec(id) => write!(f, "unknown compression codec {id}"),
            Self::Corrupt { codec, reason } => write!(f, "corrupt {codec} data: {reason}"),
            Self::LimitExceeded { codec, limit } => {
                write!(f, "{codec} data decompresses to more than {limit} bytes")
            }
            Self::Compress { codec, reason } => write!(f, "{codec} compression failed: {reason}"),
        }
    }
}

impl std::error::Error for CodecError {}

/// Compresses `input`. `level` is the codec's own (gzip 0 to 9, lz4 0 to 12 with high compression from 3 on, zstd its
/// negative ones to 22), moved to the nearest one that exists; `None` is the codec's default. Snappy has no levels.
///
/// # Errors
/// [`CodecError::Compress`] when the codec's library fails.
pub fn compress(codec: Codec, level: Option<i32>, input: &[u8]) -> Result<Bytes, CodecError> {
    let output = match codec {
        Codec::None => return Ok(Bytes::copy_from_slice(input)),
        Codec::Gzip => gzip::compress(input, level),
        Codec::Snappy => snappy::compress(input),
        Codec::Lz4 => lz4::compress(input, level, HeaderChecksum::Standard),
        Codec::Zstd => zstandard::compress(input, level),
    }?;
    Ok(into_bytes(output))
}

/// Decompresses `input`, which must be whole.
///
/// # Errors
/// [`CodecError::LimitExceeded`] when the result would be longer than `limit_bytes`, [`CodecError::Corrupt`] when
/// `input` is not what the codec writes.
pub fn decompress(codec: Codec, input: &[u8], limit_bytes: usize) -> Result<Bytes, CodecError> {
    let output = match codec {
        Codec::None if input.len() > limit_bytes => {
            return Err(CodecError::LimitExceeded {
                codec,
                limit: limit_bytes,
            });
        }
        Codec::None => return Ok(Bytes::copy_from_slice(input)),
        Codec::Gzip => gzip::decompress(input, limit_bytes),
        Codec::Snappy => snappy::decompress(input, limit_bytes),
        Codec::Lz4 => lz4::decompress(input, limit_bytes),
        Codec::Zstd => zstandard::decompress(input, limit_bytes),
    }?;
    Ok(output.freeze())
}

/// Hands over a buffer, giving back what it reserved for the worst case: compressed batches wait in queues, and must
/// not hold the memory that they were compressed to save.
fn into_bytes(mut buffer: Vec<u8>) -> Bytes {
    if buffer.capacity() / 2 > buffer.len() {
        buffer.shrink_to_fit();
    }
    Bytes::from(buffer)
}

/// Reads all that a streaming decompressor yields, up to `limit` bytes; `expected` is a guess at how much.
fn read_bounded(codec: Codec, reader: impl Read, expected: usize, limit: usize) -> Result<Buffer, CodecError> {
    let mut output = Vec::with_capacity(expected.min(limit));
    reader
        .take((limit as u64).saturating_add(1))
        .read_to_end(&mut output)
        .map_err(|error| CodecError::corrupt(codec, error))?;
    match output.len() > limit {
        true => Err(CodecError::LimitExceeded { codec, limit }),
        false => Ok(output.into()),
    }
}

#[cfg(test)]
mod tests;
