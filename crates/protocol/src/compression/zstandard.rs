//! Zstandard. Frames are decompressed at once, those without their size, as librdkafka and Java write them, into as much room
//! as their blocks can need. What is not believed, or is damaged, goes through a streaming decoder.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use super::codec::{Codec, CodecError, read_bounded};
use crate::buffer::Buffer;

const CODEC: Codec = Codec::Zstd;

/// The best ratio that a frame reaches: a block of 128 KiB from four bytes. Input that claims more is read
/// piece by piece.
const MAX_RATIO: u64 = 32 * 1024;

/// The same for a frame without its size, whose many small blocks would claim 128 KiB each.
const MAX_RATIO_OF_BLOCKS: u64 = 64;

thread_local! {
    /// The contexts hold tables of up to some megabytes, whose set-up costs more than a small batch.
    static COMPRESSOR: RefCell<Option<(i32, Compressor<'static>)>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

pub(super) fn compress(input: &[u8], level: Option<i32>) -> Result<Vec<u8>, CodecError> {
    let range = zstd::compression_level_range();
    let level = level
        .unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL)
        .clamp(*range.start(), *range.end());
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some((kept, compressor)) if *kept == level => Ok(compressor),
            _ => Compressor::new(level).map(|new| &mut slot.insert((level, new)).1),
        };
        compressor
            .and_then(|compressor| compressor.compress(input))
            .map_err(|error| CodecError::Compress {
                codec: CODEC,
                reason: error.to_string(),
            })
    })
}

pub(super) fn decompress(input: &[u8], limit: usize) -> Result<Buffer, CodecError> {
    let Ok(Some(size)) = zstd::zstd_safe::get_frame_content_size(input) else {
        let output = decompress_blocks(input, limit);
        return output.map_or_else(|| decompress_stream(input, limit), Ok);
    };
    if size > limit as u64 {
        return Err(CodecError::LimitExceeded { codec: CODEC, limit });
    }
    if size / MAX_RATIO <= input.len() as u64
        && let Some(output) = decompress_at_once(input, size as usize)
        && output.len() as u64 == size
    {
        return Ok(output);
    }
    let output = decompress_stream(input, limit)?;
    // The library does not look at the size when the last block is empty.
    match (output.len() as u64) < size {
        true => Err(CodecError::corrupt(CODEC, "the frame is shorter than it says")),
        false => Ok(output),
    }
}

/// Decompresses frames without their size. `None` if they need more than `limit` bytes, claim too much, or are damaged.
fn decompress_blocks(input: &[u8], limit: usize) -> Option<Buffer> {
    let bound = zstd::zstd_safe::decompress_bound(input)
        .ok()
        .filter(|bound| *bound > 0)?;
    let is_believed = bound / MAX_RATIO_OF_BLOCKS <= input.len() as u64;
    is_believed.then(|| decompress_at_once(input, (bound as usize).min(limit)))?
}

/// Decompresses all frames. `None` if they need more than `room` bytes, or are damaged.
fn decompress_at_once(input: &[u8], room: usize) -> Option<Buffer> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(Decompressor::new().ok()?),
        };
        let mut output = Buffer::with_capacity(room);
        let length = decompressor.decompress_to_buffer(input, output.spare(room)).ok()?;
        output.advance(length);
        Some(output)
    })
}

fn decompress_stream(input: &[u8], limit: usize) -> Result<Buffer, CodecError> {
    let decoder = zstd::stream::read::Decoder::with_buffer(input).map_err(|error| CodecError::corrupt(CODEC, error))?;
    read_bounded(CODEC, decoder, input.len().saturating_mul(4), limit)
}
