//! CRC-32C, the checksum of record batches of magic 2.

use crc_fast::{CrcAlgorithm, Digest};

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
