//! The body of a batch that is prepared apart from its header.

use std::sync::Arc;

use bytes::Bytes;

use super::encode::{BatchParams, header_of};
use super::header::CRC_COVERS_FROM;
use super::{RecordError, checksum};
use crate::Records;
use crate::compression::{self, Codec};
use crate::types::join;

/// The records of a batch, compressed and with the checksum of their bytes. The header is added by [`BatchBody::seal`] when
/// its fields, such as sequence numbers, are known: compression may run before that, on another thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchBody {
    requested: Codec,
    codec: Codec,
    parts: Vec<Bytes>,
    crc: u32,
    len: usize,
}

impl BatchBody {
    /// Compresses the encoded `records`, whose parts may be cut anywhere. If compression does not reduce the size, the parts
    /// are referenced as they are. `level` is that of [`compression::compress`].
    ///
    /// # Errors
    /// [`RecordError::Codec`] when compression fails.
    pub fn new(records: &[Bytes], codec: Codec, level: Option<i32>) -> Result<Self, RecordError> {
        let plain_len = records.iter().map(Bytes::len).sum();
        let compressed = match (codec, records) {
            (Codec::None, _) => None,
            (_, [single]) => Some(compression::compress(codec, level, single)?),
            (_, parts) => Some(compression::compress(codec, level, &join(parts))?),
        };
        Ok(match compressed.filter(|data| data.len() < plain_len) {
            Some(data) => BatchBody {
                requested: codec,
                codec,
                crc: checksum::crc32c(&data),
                len: data.len(),
                parts: vec![data],
            },
            None => BatchBody {
                requested: codec,
                codec: Codec::None,
                crc: checksum::crc32c_of_parts(records.iter().map(|part| &part[..])),
                len: plain_len,
                parts: records.to_vec(),
            },
        })
    }

    /// Returns the codec that was requested, whether or not it reduced the size.
    pub fn requested_codec(&self) -> Codec {
        self.requested
    }

    /// Returns the size in bytes, without the header.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true when there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts the header before the body. The bytes are not read again: their checksum is combined with the header's.
    ///
    /// # Errors
    /// [`RecordError::TooLarge`] when the batch exceeds a 32-bit length.
    pub fn seal(self, params: &BatchParams) -> Result<Records, RecordError> {
        let mut header = header_of(params, self.codec, self.len)?;
        let head = header.to_bytes();
        let head_crc = checksum::crc32c(head.get(CRC_COVERS_FROM..).unwrap_or_default());
        header.crc = checksum::combine(head_crc, self.crc, self.len);
        let head = Bytes::copy_from_slice(&header.to_bytes());
        let parts = std::iter::once(head).chain(self.parts);
        Ok(Records::from_parts(parts.collect::<Arc<_>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BatchIter, seal_batch};

    fn records(len: usize, patterned: bool) -> Vec<Bytes> {
        let mut state = 1_u32;
        let bytes: Vec<u8> = (0..len)
            .map(|i| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if patterned { (i % 7) as u8 } else { (state >> 24) as u8 }
            })
            .collect();
        bytes.chunks(1000).map(Bytes::copy_from_slice).collect()
    }

    fn params() -> BatchParams {
        BatchParams {
            producer_id: 7,
            producer_epoch: 2,
            base_sequence: 99,
            records_count: 3,
            ..BatchParams::default()
        }
    }

    #[test]
    fn body_with_a_later_header_equals_a_batch_sealed_at_once() {
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd, Codec::None] {
            for len in [100, 1000, 50_000] {
                let parts = records(len, true);
                let at_once = seal_batch(&params(), &parts, codec, Some(3)).unwrap();
                let body = BatchBody::new(&parts, codec, Some(3)).unwrap();
                assert_eq!(body.requested_codec(), codec);
                let later = body.seal(&params()).unwrap();
                assert_eq!(later.into_bytes(), at_once.into_bytes(), "{codec} {len}");
            }
        }
    }

    #[test]
    fn body_that_compression_would_enlarge_stays_uncompressed() {
        let parts = records(10_000, false);
        let body = BatchBody::new(&parts, Codec::Lz4, None).unwrap();
        assert_eq!((body.requested_codec(), body.len()), (Codec::Lz4, 10_000));
        let sealed = body.seal(&params()).unwrap().into_bytes();
        let batch = BatchIter::new(sealed).next().unwrap().unwrap();
        batch.verify_crc().unwrap();
        assert!(!batch.header().is_compressed());
    }
}
