use std::io::{Read, Write};

use super::*;

fn text(length: usize) -> Vec<u8> {
    let words = b"the quick brown fox jumps over the lazy dog and comes back again ";
    words.iter().copied().cycle().take(length).collect()
}

/// Bytes that no codec can shrink.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect()
}

fn inputs() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new(), b"x".to_vec()];
    for length in [100, 65_536, 65_537, 300_000, 1_000_000] {
        all.push(text(length));
        all.push(noise(length));
    }
    all
}

#[test]
fn every_codec_and_level_comes_back() {
    for codec in Codec::ALL {
        for level in [None, Some(-1), Some(1), Some(3), Some(9), Some(12), Some(99)] {
            for input in inputs().iter().filter(|i| level.is_none() || i.len() < 100_000) {
                let packed = compress(codec, level, input).unwrap();
                assert_eq!(decompress(codec, &packed, input.len()).unwrap(), input, "{codec}");
            }
        }
    }
}

#[test]
fn limits_hold() {
    for codec in Codec::ALL {
        for input in inputs().iter().filter(|i| !i.is_empty()) {
            let packed = compress(codec, None, input).unwrap();
            for limit in [0, input.len() / 2, input.len() - 1] {
                let error = decompress(codec, &packed, limit).unwrap_err();
                assert_eq!(error, CodecError::LimitExceeded { codec, limit });
            }
        }
    }
}

#[test]
fn truncated_and_damaged_data_is_refused_or_different() {
    let input = text(5_000);
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let packed = compress(codec, None, &input).unwrap();
        for cut in 0..packed.len() {
            // Snappy's framed form may end after any block, so the bare header is a valid empty stream.
            let result = decompress(codec, &packed[..cut], 10_000);
            assert_ne!(result.as_deref(), Ok(input.as_slice()), "{codec} {cut}");
            assert!(result.is_err() || codec == Codec::Snappy && cut == 16, "{codec} {cut}");
        }
        for at in 0..packed.len() {
            let mut damaged = packed.to_vec();
            damaged[at] ^= 0x55;
            let _ = decompress(codec, &damaged, 10_000);
        }
    }
}

#[test]
fn gzip_in_several_members() {
    let (one, two) = (text(1000), text(1000));
    let mut packed = compress(Codec::Gzip, None, &one).unwrap().to_vec();
    packed.extend_from_slice(&compress(Codec::Gzip, None, &two).unwrap());
    let whole = [one, two].concat();
    assert_eq!(decompress(Codec::Gzip, &packed, 2000).unwrap(), whole);
    assert!(decompress(Codec::Gzip, &packed, 1999).is_err());
}

#[test]
fn gzip_with_a_false_size_claim_allocates_little_and_fails() {
    let mut packed = compress(Codec::Gzip, None, &text(1000)).unwrap().to_vec();
    let at = packed.len() - 4;
    packed[at..].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(decompress(Codec::Gzip, &packed, usize::MAX).is_err());
}

#[test]
fn snappy_plain_and_joined_frames() {
    let input = text(70_000);
    let plain = snap::raw::Encoder::new().compress_vec(&input).unwrap();
    assert_eq!(decompress(Codec::Snappy, &plain, 70_000).unwrap(), input);

    let framed = compress(Codec::Snappy, None, &input).unwrap();
    assert_eq!(&framed[..8], b"\x82SNAPPY\x00");
    let joined = [framed.clone(), framed].concat();
    assert_eq!(decompress(Codec::Snappy, &joined, 140_000).unwrap(), input.repeat(2));
}

#[test]
fn snappy_with_a_false_size_claim() {
    // A block of two bytes that says it holds 2^31 bytes.
    let error = decompress(Codec::Snappy, &[0x80, 0x80, 0x80, 0x80, 0x08, 0], usize::MAX);
    assert!(matches!(error, Err(CodecError::Corrupt { .. })));
}

#[test]
fn lz4_with_the_old_header_checksum() {
    let input = text(1_000);
    let good = lz4::compress(&input, None, HeaderChecksum::Standard).unwrap();
    let old = lz4::compress(&input, None, HeaderChecksum::WithMagic).unwrap();
    assert_ne!(good[6], old[6]);
    assert_eq!(good[7..], old[7..]);
    // The checksums of this header (flags 0x60, block size code 4) as Kafka 0.8 and 0.10 write them.
    assert_eq!((good[6], old[6]), (0x82, 0x1a));
    assert_eq!(decompress(Codec::Lz4, &good, 1_000).unwrap(), input);
    assert_eq!(decompress(Codec::Lz4, &old, 1_000).unwrap(), input);
    let mut wrong = good;
    wrong[6] ^= 1;
    assert!(decompress(Codec::Lz4, &wrong, 1_000).is_err());
}

fn lz4_by_library(input: &[u8], mode: ::lz4::BlockMode) -> Vec<u8> {
    let mut encoder = ::lz4::EncoderBuilder::new()
        .block_mode(mode)
        .checksum(::lz4::ContentChecksum::ChecksumEnabled)
        .build(Vec::new())
        .unwrap();
    encoder.write_all(input).unwrap();
    let (packed, result) = encoder.finish();
    result.unwrap();
    packed
}

#[test]
fn lz4_frames_of_the_library() {
    let input = text(300_000);
    for mode in [::lz4::BlockMode::Independent, ::lz4::BlockMode::Linked] {
        let packed = lz4_by_library(&input, mode);
        assert_eq!(decompress(Codec::Lz4, &packed, 300_000).unwrap(), input);
        assert!(decompress(Codec::Lz4, &packed, 299_999).is_err());
        assert!(decompress(Codec::Lz4, &packed[..packed.len() - 10], 300_000).is_err());
    }
    // And the library reads ours.
    let ours = compress(Codec::Lz4, None, &input).unwrap();
    let mut output = Vec::new();
    ::lz4::Decoder::new(ours.as_ref())
        .unwrap()
        .read_to_end(&mut output)
        .unwrap();
    assert_eq!(output, input);
}

#[test]
fn zstd_of_unknown_size_and_in_several_frames() {
    let input = text(300_000);
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.write_all(&input).unwrap();
    let streamed = encoder.finish().unwrap();
    assert!(matches!(zstd::zstd_safe::get_frame_content_size(&streamed), Ok(None)));
    assert_eq!(decompress(Codec::Zstd, &streamed, 300_000).unwrap(), input);
    let error = decompress(Codec::Zstd, &streamed, 299_999).unwrap_err();
    assert_eq!(
        error,
        CodecError::LimitExceeded {
            codec: Codec::Zstd,
            limit: 299_999
        }
    );

    let known = compress(Codec::Zstd, None, &input).unwrap();
    let joined = [known.as_ref(), &streamed, &known].concat();
    assert_eq!(decompress(Codec::Zstd, &joined, 900_000).unwrap(), input.repeat(3));
}

/// Blocks of a few bytes each, as of a writer that flushes each record, claim 128 KiB each.
#[test]
fn zstd_of_many_small_blocks() {
    let input = text(30_000);
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    for piece in input.chunks(30) {
        encoder.write_all(piece).unwrap();
        encoder.flush().unwrap();
    }
    let packed = encoder.finish().unwrap();
    let bound = zstd::zstd_safe::decompress_bound(&packed).unwrap();
    assert!(bound > 100 * packed.len() as u64, "{bound} of {}", packed.len());
    assert_eq!(decompress(Codec::Zstd, &packed, 1_000_000).unwrap(), input);
    assert!(decompress(Codec::Zstd, &packed, 29_999).is_err());
    assert!(decompress(Codec::Zstd, &packed[..packed.len() - 5], 1_000_000).is_err());
}

/// An empty block that announces a match in vain: liblz4 takes it, but not where there is no room at all.
#[test]
fn lz4_blocks_are_taken_whatever_the_limit() {
    let header = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
    let stored = [1, 0, 0, 0x80, b'a'];
    let empty = [1, 0, 0, 0, 3];
    let frame = [&header[..], &stored, &empty, &[0; 4]].concat();
    assert_eq!(decompress(Codec::Lz4, &frame, 1000).unwrap(), "a");
    assert_eq!(decompress(Codec::Lz4, &frame, 1).unwrap(), "a");
    let error = decompress(Codec::Lz4, &frame, 0).unwrap_err();
    assert!(matches!(error, CodecError::LimitExceeded { .. }), "{error:?}");
}

/// One empty block after a header that promises 162 bytes.
#[test]
fn zstd_with_a_false_size_claim() {
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 162, 1, 0, 0];
    let error = decompress(Codec::Zstd, &frame, 1000).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt { .. }), "{error:?}");
}

#[test]
fn names_and_ids_agree() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_id(codec.id()), Some(codec));
        assert_eq!(Codec::from_name(codec.name()), Some(codec));
    }
    assert_eq!(Codec::from_id(5), None);
}
