//! The codecs by themselves. An input is the codec, a limit or a level, and data.

use ottla_protocol::compression::{self, Codec, CodecError};

use crate::input::Input;
use crate::memory::within;
use crate::{Seen, Verdict};

/// Bytes that a decompressor holds independently of the data: buffers between its library and the reader.
const BASE_BYTES: usize = 256 * 1024;

/// Checks that decompression stays within the limit, in output and in memory, and that the limit has no other effect.
pub(super) fn decompress(data: &[u8]) -> Verdict {
    let mut input = Input::new(data);
    let codec = input.pick(&Codec::ALL);
    let limit = usize::from(input.short());
    let packed = input.rest();
    let memory = 4 * limit + 4 * packed.len() + BASE_BYTES;
    match within(memory, || compression::decompress(codec, packed, limit))? {
        Ok(output) => {
            ensure!(
                output.len() <= limit,
                "{codec}: {} bytes, {limit} are allowed",
                output.len()
            );
            let exact = compression::decompress(codec, packed, output.len());
            ensure!(
                exact.as_ref() == Ok(&output),
                "{codec}: just as many bytes allowed: {exact:?}"
            );
            if let Some(less) = output.len().checked_sub(1) {
                let refused = compression::decompress(codec, packed, less);
                let right = matches!(refused, Err(CodecError::LimitExceeded { .. }));
                ensure!(right, "{codec}: {less} bytes allowed: {refused:?}");
            }
            comes_back(codec, None, &output)?;
            Ok(Seen::Accepted)
        }
        Err(CodecError::Corrupt { .. } | CodecError::LimitExceeded { .. }) => Ok(Seen::Refused),
        Err(other) => Err(format!("{codec}: {other:?}")),
    }
}

/// Any data comes back, whatever the level.
pub(super) fn compress(data: &[u8]) -> Verdict {
    let mut input = Input::new(data);
    let codec = input.pick(&Codec::ALL);
    let level = match input.byte() {
        0 => None,
        255 => Some(input.int()),
        small => Some(i32::from(small.cast_signed())),
    };
    let times = usize::from(input.byte()) + 1;
    comes_back(codec, level, &input.rest().repeat(times))?;
    Ok(Seen::Accepted)
}

fn comes_back(codec: Codec, level: Option<i32>, plain: &[u8]) -> Result<(), String> {
    let packed = compression::compress(codec, level, plain).map_err(|e| e.to_string())?;
    let again = compression::decompress(codec, &packed, plain.len()).map_err(|e| e.to_string())?;
    ensure!(
        again == plain,
        "{codec} level {level:?}: {} bytes came back differently",
        plain.len()
    );
    Ok(())
}

pub(super) fn decompress_seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 4] = [
        b"",
        b"x",
        &[b'a'; 3000],
        b"the quick brown fox jumps over the lazy dog, the quick fox",
    ];
    let mut seeds = Vec::new();
    for codec in Codec::ALL {
        for text in texts {
            let packed = compression::compress(codec, None, text).unwrap_or_default();
            seeds.push([&[codec.id(), 0x20, 0], packed.as_ref()].concat());
        }
    }
    seeds
}

pub(super) fn compress_seeds() -> Vec<Vec<u8>> {
    Codec::ALL
        .iter()
        .map(|codec| [&[codec.id(), 0, 2], b"some text, some text".as_slice()].concat())
        .collect()
}
