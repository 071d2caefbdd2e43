//! The codecs of record data: gzip, snappy, lz4 and zstd.
//!
//! Every decompression takes a limit and yields no byte beyond it, whatever the input claims. Compressors with
//! costly set-up are kept per thread.

mod codec;
mod gzip;
mod lz4;
mod snappy;
mod zstandard;

use bytes::Bytes;

pub use codec::{Codec, CodecError};
pub use lz4::HeaderChecksum;
pub(crate) use lz4::compress as compress_lz4;

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

#[cfg(test)]
mod tests;
