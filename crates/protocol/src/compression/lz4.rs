//! LZ4 frames over liblz4's blocks.
//!
//! The frame is written here because Kafka before 0.10 computed the checksum in its header wrongly, over the magic
//! number too (KAFKA-3160), and such frames must still be read, and written into message sets of magic 0 (KIP-57).
//! Blocks are independent of each other: Java's reader refuses others.

use std::io::Read;

use ::lz4::block::{CompressionMode, compress_bound, compress_to_buffer, decompress_to_buffer};
use xxhash_rust::xxh32::xxh32;

use super::codec::{Codec, CodecError, read_bounded};
use crate::buffer::Buffer;

const CODEC: Codec = Codec::Lz4;

const MAGIC: [u8; 4] = 0x184d_2204u32.to_le_bytes();
const VERSION_1: u8 = 0b0100_0000;
const VERSION_MASK: u8 = 0b1100_0000;
const INDEPENDENT_BLOCKS: u8 = 0b0010_0000;
const BLOCK_CHECKSUM: u8 = 0b0001_0000;
const CONTENT_SIZE: u8 = 0b0000_1000;
const CONTENT_CHECKSUM: u8 = 0b0000_0100;
const DICTIONARY_ID: u8 = 0b0000_0001;
/// In a block's length: the block is stored as it is.
const STORED: u32 = 1 << 31;

/// LZ4 yields at most 255 bytes from one.
const MAX_RATIO: usize = 255;

/// The expected compression ratio, at most that of typical text: memory is reserved for it before the size is known.
const EXPECTED_RATIO: usize = 3;

/// Where the output ends, the library is stricter about malformed blocks. With this much more room than allowed it is
/// not the limit that decides whether such a block is taken.
const SLACK_BYTES: usize = 64;

/// How the checksum in a frame's header is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderChecksum {
    /// Over the frame descriptor, as the LZ4 frame format says.
    Standard,
    /// Over the magic number and the frame descriptor, as Kafka before 0.10 did.
    WithMagic,
}

impl HeaderChecksum {
    /// Returns the checksum of a header that starts with the magic number and ends before the checksum.
    fn of(self, header: &[u8]) -> u8 {
        let covered = match self {
            Self::Standard => header.get(MAGIC.len()..).unwrap_or_default(),
            Self::WithMagic => header,
        };
        (xxh32(covered, 0) >> 8) as u8
    }
}

fn compression_mode(level: Option<i32>) -> CompressionMode {
    // liblz4's own rule: high compression starts at level 3.
    match level.unwrap_or(0) {
        ..3 => CompressionMode::DEFAULT,
        level => CompressionMode::HIGHCOMPRESSION(level.min(12)),
    }
}

pub(crate) fn compress(input: &[u8], level: Option<i32>, checksum: HeaderChecksum) -> Result<Vec<u8>, CodecError> {
    let failed = |error: std::io::Error| CodecError::Compress {
        codec: CODEC,
        reason: error.to_string(),
    };
    // The smallest block size that Java's consumers must buffer, unless larger blocks find more repetitions.
    let (size_code, block_bytes) = if input.len() <= 64 * 1024 {
        (4u8, 64 * 1024)
    } else {
        (5u8, 256 * 1024)
    };
    let bound = compress_bound(block_bytes.min(input.len())).map_err(failed)?;
    let mut scratch = vec![0; bound];
    let mut output = Vec::with_capacity(input.len() / 2 + 32);
    output.extend_from_slice(&MAGIC);
    output.extend_from_slice(&[VERSION_1 | INDEPENDENT_BLOCKS, size_code << 4]);
    output.push(checksum.of(&output));
    for block in input.chunks(block_bytes) {
        let length = compress_to_buffer(block, Some(compression_mode(level)), false, &mut scratch).map_err(failed)?;
        match scratch.get(..length) {
            Some(compressed) if length < block.len() => {
                output.extend_from_slice(&(length as u32).to_le_bytes());
                output.extend_from_slice(compressed);
            }
            _ => {
                output.extend_from_slice(&(block.len() as u32 | STORED).to_le_bytes());
                output.extend_from_slice(block);
            }
        }
    }
    output.extend_from_slice(&0u32.to_le_bytes());
    Ok(output)
}

/// A frame's header, read.
struct Header {
    flags: u8,
    block_max_bytes: usize,
    /// Bytes from the magic number to the first block.
    len: usize,
}

impl Header {
    fn read(input: &[u8]) -> Result<Self, CodecError> {
        let (magic, rest) = input.split_first_chunk::<4>().ok_or_else(|| truncated("header"))?;
        let (&[flags, block_descriptor], _) = rest.split_first_chunk::<2>().ok_or_else(|| truncated("header"))?;
        if *magic != MAGIC {
            return Err(CodecError::corrupt(CODEC, "wrong magic number"));
        }
        if flags & VERSION_MASK != VERSION_1 {
            return Err(CodecError::corrupt(CODEC, "unknown frame version"));
        }
        if flags & DICTIONARY_ID != 0 {
            return Err(CodecError::corrupt(CODEC, "frame needs a dictionary"));
        }
        let block_max_bytes = match block_descriptor >> 4 & 7 {
            code @ 4..=7 => 1usize << (8 + 2 * code),
            _ => return Err(CodecError::corrupt(CODEC, "invalid block size")),
        };
        let size_len = if flags & CONTENT_SIZE != 0 { 8 } else { 0 };
        let checksum_at = 6 + size_len;
        let (Some(covered), Some(&checksum)) = (input.get(..checksum_at), input.get(checksum_at)) else {
            return Err(truncated("header"));
        };
        let known = [HeaderChecksum::Standard, HeaderChecksum::WithMagic];
        if !known.iter().any(|form| form.of(covered) == checksum) {
            return Err(CodecError::corrupt(CODEC, "wrong header checksum"));
        }
        Ok(Self {
            flags,
            block_max_bytes,
            len: checksum_at + 1,
        })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[cold]
fn truncated(what: &str) -> CodecError {
    CodecError::corrupt(CODEC, format_args!("{what} cut short"))
}

pub(super) fn decompress(input: &[u8], limit: usize) -> Result<Buffer, CodecError> {
    let mut output = Buffer::with_capacity(input.len().saturating_mul(EXPECTED_RATIO).min(limit));
    let mut rest = input;
    // An empty input is no frame; after the first frame more may follow.
    loop {
        let header = Header::read(rest)?;
        if !header.has(INDEPENDENT_BLOCKS) {
            let left = limit.saturating_sub(output.len());
            output.extend_from_slice(decompress_linked(rest, &header, left, limit)?.data());
            return Ok(output);
        }
        let start = output.len();
        rest = append_blocks(&mut output, rest, &header, limit)?;
        if header.has(CONTENT_CHECKSUM) {
            let (stored, tail) = rest.split_first_chunk::<4>().ok_or_else(|| truncated("checksum"))?;
            if xxh32(output.data().get(start..).unwrap_or_default(), 0) != u32::from_le_bytes(*stored) {
                return Err(CodecError::corrupt(CODEC, "wrong content checksum"));
            }
            rest = tail;
        }
        if rest.is_empty() {
            return Ok(output);
        }
    }
}

/// Appends all blocks of a frame to `output`; returns the bytes after the end mark.
fn append_blocks<'a>(
    output: &mut Buffer,
    frame: &'a [u8],
    header: &Header,
    limit: usize,
) -> Result<&'a [u8], CodecError> {
    let mut rest = frame.get(header.len..).unwrap_or_default();
    loop {
        let (prefix, tail) = rest.split_first_chunk::<4>().ok_or_else(|| truncated("length"))?;
        let word = u32::from_le_bytes(*prefix);
        if word == 0 {
            return Ok(tail);
        }
        let length = (word & !STORED) as usize;
        let block = tail.get(..length).ok_or_else(|| truncated("block"))?;
        rest = tail.get(length..).unwrap_or_default();
        if header.has(BLOCK_CHECKSUM) {
            let (stored, tail) = rest.split_first_chunk::<4>().ok_or_else(|| truncated("checksum"))?;
            if xxh32(block, 0) != u32::from_le_bytes(*stored) {
                return Err(CodecError::corrupt(CODEC, "wrong block checksum"));
            }
            rest = tail;
        }
        if word & STORED != 0 {
            if block.len() > limit.saturating_sub(output.len()) {
                return Err(CodecError::LimitExceeded { codec: CODEC, limit });
            }
            output.extend_from_slice(block);
        } else {
            append_block(output, block, header, limit)?;
        }
    }
}

fn append_block(output: &mut Buffer, block: &[u8], header: &Header, limit: usize) -> Result<(), CodecError> {
    let allowed = limit.saturating_sub(output.len());
    let possible = header.block_max_bytes.min(block.len().saturating_mul(MAX_RATIO));
    let room = possible.min(allowed.saturating_add(SLACK_BYTES));
    match decompress_to_buffer(block, Some(room as i32), output.spare(room)) {
        Ok(length) if length <= allowed => {
            output.advance(length);
            Ok(())
        }
        Ok(_) => Err(CodecError::LimitExceeded { codec: CODEC, limit }),
        // The library does not distinguish a full buffer from bad data.
        Err(_) if room < possible => Err(CodecError::LimitExceeded { codec: CODEC, limit }),
        Err(_) => Err(CodecError::corrupt(CODEC, "invalid block")),
    }
}

/// Frames with linked blocks, which Java refuses and only foreign tools write, go through liblz4's frame reader, with
/// the header's checksum set right.
fn decompress_linked(frame: &[u8], header: &Header, left: usize, limit: usize) -> Result<Buffer, CodecError> {
    let (start, body) = frame.split_at_checked(header.len).unwrap_or((frame, &[]));
    let mut start = start.to_vec();
    start.pop();
    start.push(HeaderChecksum::Standard.of(&start));
    let mut decoder =
        ::lz4::Decoder::new(start.as_slice().chain(body)).map_err(|error| CodecError::corrupt(CODEC, error))?;
    let output =
        read_bounded(CODEC, &mut decoder, body.len().saturating_mul(2), left).map_err(|error| match error {
            CodecError::LimitExceeded { codec, .. } => CodecError::LimitExceeded { codec, limit },
            other => other,
        })?;
    // The reader takes an end of input inside a frame for the frame's end; finishing detects that.
    match decoder.finish() {
        (_, Ok(())) => Ok(output),
        (_, Err(error)) => Err(CodecError::corrupt(CODEC, error)),
    }
}
