//! The codecs' names and errors, and the bound on decompression.

use std::fmt;
use std::io::Read;

use crate::buffer::Buffer;

/// The compression of records. The discriminant is the value of the lowest bits of a batch's attributes.
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

    /// Returns the codec with this id, if there is one.
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

    /// Returns the id in a batch's attributes.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// Returns the name in configurations, as in `compression.type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Returns the codec with this name, if there is one.
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
        /// A description of the corruption.
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
        /// The library's message.
        reason: String,
    },
}

impl CodecError {
    #[cold]
    pub(super) fn corrupt(codec: Codec, reason: impl fmt::Display) -> Self {
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

/// Reads all that a streaming decompressor yields, up to `limit` bytes; `expected` is a guess at how much.
pub(super) fn read_bounded(
    codec: Codec,
    reader: impl Read,
    expected: usize,
    limit: usize,
) -> Result<Buffer, CodecError> {
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
