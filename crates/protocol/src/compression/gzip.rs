//! gzip. Whole buffers go through libdeflate; what it cannot bound goes through a streaming decoder.

use std::cell::RefCell;

use flate2::read::MultiGzDecoder;
use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::codec::{Codec, CodecError, read_bounded};
use crate::buffer::Buffer;

const CODEC: Codec = Codec::Gzip;

/// The best ratio that deflate reaches: 258 bytes from two bits, about.
const MAX_RATIO: usize = 1032;

thread_local! {
    /// The last used level and its compressor, whose set-up costs more than compressing a small batch.
    static COMPRESSOR: RefCell<Option<(i32, Compressor)>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor>> = const { RefCell::new(None) };
}

pub(super) fn compress(input: &[u8], level: Option<i32>) -> Result<Vec<u8>, CodecError> {
    let level = level.unwrap_or(6).clamp(0, 9);
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some((kept, compressor)) if *kept == level => compressor,
            _ => {
                let library_level = CompressionLvl::new(level).unwrap_or_default();
                &mut slot.insert((level, Compressor::new(library_level))).1
            }
        };
        let mut output = vec![0; compressor.gzip_compress_bound(input.len())];
        let length = compressor
            .gzip_compress(input, &mut output)
            .map_err(|error| CodecError::Compress {
                codec: CODEC,
                reason: error.to_string(),
            })?;
        output.truncate(length);
        Ok(output)
    })
}

pub(super) fn decompress(input: &[u8], limit: usize) -> Result<Buffer, CodecError> {
    match decompress_single_member(input, limit) {
        Some(output) => Ok(output),
        None => {
            let expected = claimed_size(input).unwrap_or(0).min(input.len().saturating_mul(8));
            read_bounded(CODEC, MultiGzDecoder::new(input), expected, limit)
        }
    }
}

/// Returns the size of the (last) member, from its trailer: modulo 2^32, unverified.
fn claimed_size(input: &[u8]) -> Option<usize> {
    let size = u32::from_le_bytes(*input.last_chunk::<4>()?) as usize;
    (size <= input.len().saturating_mul(MAX_RATIO)).then_some(size)
}

/// Decompresses a single member whose trailer has its size, at once. Returns `None` if the input has another form or
/// it does not decompress; the streaming decoder then says why.
fn decompress_single_member(input: &[u8], limit: usize) -> Option<Buffer> {
    // libdeflate stops after the first member and does not say where. A second one would show its magic number.
    if memchr::memmem::find(input.get(1..)?, &[0x1f, 0x8b, 0x08]).is_some() {
        return None;
    }
    let size = claimed_size(input).filter(|&size| size <= limit)?;
    let mut output = Buffer::with_capacity(size);
    let length = DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = slot.get_or_insert_with(Decompressor::new);
        decompressor.gzip_decompress(input, output.spare(size)).ok()
    })?;
    output.advance(length);
    (length == size).then_some(output)
}
