//! Zstandard. Frames with their size are decompressed at once; others, as Java's streaming writer makes them,
//! through a streaming decoder.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use super::codec::{Codec, CodecError, read_bounded};
use crate::buffer::Buffer;

const CODEC: Codec = Codec::Zstd;

/// The best ratio that a frame reaches: a block of 128 KiB from four bytes. Input that claims more is read
/// piece by piece.
const MAX_RATIO: u64 = 32 * 1024;

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
        return decompress_stream(input, limit);
    };
    if size > limit as u64 {
        return Err(CodecError::LimitExceeded { codec: CODEC, limit });
    }
    let believed = size / MAX_RATIO <= input.len() as u64;
    if let Some(output) = believed.then(|| decompress_known(input, size as usize)).flatten() {
        return Ok(output);
    }
    let output = decompress_stream(input, limit)?;
    // The library does not look at the size when the last block is empty.
    match (output.len() as u64) < size {
        true => Err(CodecError::corrupt(CODEC, "the frame is shorter than it says")),
        false => Ok(output),
    }
}

/// Returns the fast way, for a single frame of the given size. `None` when that is not what the input is.
fn decompress_known(input: &[u8], size: usize) -> Option<Buffer> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(Decompressor::new().ok()?),
        };
        let mut output = Buffer::with_capacity(size);
        let length = decompressor.decompress_to_buffer(input, output.spare(size)).ok()?;
        output.advance(length);
        (length == size).then_some(output)
    })
}

fn decompress_stream(input: &[u8], limit: usize) -> Result<Buffer, CodecError> {
    let decoder = zstd::stream::read::Decoder::with_buffer(input).map_err(|error| CodecError::corrupt(CODEC, error))?;
    read_bounded(CODEC, decoder, input.len().saturating_mul(4), limit)
}
