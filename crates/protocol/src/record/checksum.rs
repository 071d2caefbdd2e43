//! CRC-32C, the checksum of record batches of magic 2.

use crc_fast::{CrcAlgorithm, Digest, checksum_combine};

/// Of bytes in one piece.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// Of bytes in several pieces.
pub(super) fn crc32c_of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for part in parts {
        digest.update(part);
    }
    (digest.finalize() & u64::from(u32::MAX)) as u32
}

/// Of bytes with the checksum `first`, followed by `second_len` bytes with the checksum `second`.
pub(super) fn combine(first: u32, second: u32, second_len: usize) -> u32 {
    let combined = checksum_combine(CrcAlgorithm::Crc32Iscsi, first.into(), second.into(), second_len as u64);
    (combined & u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_castagnolis() {
        // The check value of CRC-32/ISCSI, and those of RFC 3720, B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn combined_checksums_equal_that_of_all_bytes() {
        let bytes: Vec<u8> = (0..70_000_u32).map(|i| (i * 31 % 251) as u8).collect();
        for at in [0, 1, 40, 69_999, 70_000] {
            let (first, second) = bytes.split_at(at);
            let combined = combine(crc32c(first), crc32c(second), second.len());
            assert_eq!(combined, crc32c(&bytes), "cut at {at}");
        }
    }

    #[test]
    fn pieces_do_not_matter() {
        let bytes: Vec<u8> = (0..70_000_u32).map(|i| (i * 31 % 251) as u8).collect();
        for piece in [1, 7, 64, 4095, 32_768] {
            assert_eq!(
                crc32c_of_parts(bytes.chunks(piece)),
                crc32c(&bytes),
                "pieces of {piece}"
            );
        }
        assert_eq!(crc32c_of_parts([]), 0);
    }
}
