//! Snappy, read in two forms and written in one.
//!
//! Java's clients and brokers wrap snappy in the framing of `SnappyOutputStream`: a magic number, two version numbers,
//! and blocks with their lengths. Other clients put one plain snappy block into the batch, and Java reads that too. The
//! framed form is what we write: every consumer must read it, because Java producers have always written it.

use super::codec::{Codec, CodecError};
use crate::buffer::Buffer;

const CODEC: Codec = Codec::Snappy;

/// Magic number, version 1, and the oldest version that can read it, 1.
const HEADER: [u8; 16] = *b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01";
const MAGIC_LEN: usize = 8;

/// Uncompressed bytes per block. Snappy itself works in blocks of this size, so larger ones gain nothing.
const BLOCK_BYTES: usize = 64 * 1024;

/// No snappy element yields more than 64 bytes from three; blocks that claim more are corrupt.
const MAX_RATIO: usize = 22;

/// The expected compression ratio, at most that of typical text: memory is reserved for it before the size is known.
const EXPECTED_RATIO: usize = 3;

pub(super) fn compress(input: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut encoder = snap::raw::Encoder::new();
    let bound: usize = input
        .chunks(BLOCK_BYTES)
        .map(|block| 4 + snap::raw::max_compress_len(block.len()))
        .sum();
    let mut output = vec![0; HEADER.len() + bound];
    let mut used = 0;
    let mut put = |output: &mut [u8], bytes: &[u8]| {
        if let Some(target) = output.get_mut(used..used + bytes.len()) {
            target.copy_from_slice(bytes);
        }
        used += bytes.len();
    };
    put(&mut output, &HEADER);
    for block in input.chunks(BLOCK_BYTES) {
        let at = used;
        used += 4;
        let target = output.get_mut(used..).unwrap_or_default();
        let length = encoder.compress(block, target).map_err(|error| CodecError::Compress {
            codec: CODEC,
            reason: error.to_string(),
        })?;
        if let Some(prefix) = output.get_mut(at..used).and_then(|p| p.first_chunk_mut::<4>()) {
            *prefix = (length as u32).to_be_bytes();
        }
        used += length;
    }
    output.truncate(used);
    Ok(output)
}

pub(super) fn decompress(input: &[u8], limit: usize) -> Result<Buffer, CodecError> {
    let mut output = Buffer::with_capacity(input.len().saturating_mul(EXPECTED_RATIO).min(limit));
    if input.get(..MAGIC_LEN) != HEADER.get(..MAGIC_LEN) {
        append_block(&mut output, input, limit)?;
        return Ok(output);
    }
    let mut rest = input.get(HEADER.len()..).ok_or_else(|| truncated("header"))?;
    while !rest.is_empty() {
        // Streams may be joined: where a block's length is expected, a new header may follow instead.
        if rest.get(..MAGIC_LEN) == HEADER.get(..MAGIC_LEN) {
            rest = rest.get(HEADER.len()..).ok_or_else(|| truncated("header"))?;
            continue;
        }
        let (prefix, tail) = rest.split_first_chunk::<4>().ok_or_else(|| truncated("length"))?;
        let length = u32::from_be_bytes(*prefix) as usize;
        let block = tail.get(..length).ok_or_else(|| truncated("block"))?;
        append_block(&mut output, block, limit)?;
        rest = tail.get(length..).unwrap_or_default();
    }
    Ok(output)
}

#[cold]
fn truncated(what: &str) -> CodecError {
    CodecError::corrupt(CODEC, format_args!("{what} cut short"))
}

fn append_block(output: &mut Buffer, block: &[u8], limit: usize) -> Result<(), CodecError> {
    let length = snap::raw::decompress_len(block).map_err(|error| CodecError::corrupt(CODEC, error))?;
    if length > block.len().saturating_mul(MAX_RATIO) {
        let claim = format_args!("{length} bytes claimed for a block of {}", block.len());
        return Err(CodecError::corrupt(CODEC, claim));
    }
    if length > limit.saturating_sub(output.len()) {
        return Err(CodecError::LimitExceeded { codec: CODEC, limit });
    }
    let written = snap::raw::Decoder::new()
        .decompress(block, output.spare(length))
        .map_err(|error| CodecError::corrupt(CODEC, error))?;
    output.advance(written);
    Ok(())
}
