//! Cutting a partition's record data into batches.

use bytes::Bytes;

use super::checksum;
use super::data::{Format, RecordData};
use super::header::{BATCH_HEADER_LEN, BatchHeader, CRC_COVERS_FROM, LOG_OVERHEAD, MAGIC_AT};
use super::message_parts::MessageParts;
use super::message_set;
use super::{Record, RecordError, TimestampType};
use crate::Records;
use crate::compression;

/// Walks the batches of a partition's record data; formats may alternate.
///
/// A batch that is cut off at the end of the data, as brokers do to fill a response, ends the walk without error;
/// [`BatchIter::needed_bytes`] then says how much it takes. After an error nothing more comes.
#[derive(Debug, Clone)]
pub struct BatchIter {
    rest: Bytes,
}

/// One record batch, or one top-level message of magic 0 or 1, compressed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    header: BatchHeader,
    bytes: Bytes,
}

impl BatchIter {
    /// Starts at the first byte of `data`.
    pub fn new(data: Bytes) -> Self {
        Self { rest: data }
    }

    /// Bytes not walked yet; after the walk, those of the batch that was cut off.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Bytes that the next batch takes, whether they are all there or not. `None` when not even its length is there.
    pub fn needed_bytes(&self) -> Option<usize> {
        let length = self.rest.get(8..)?.first_chunk::<4>()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        Some(LOG_OVERHEAD + length)
    }

    fn step(&mut self) -> Option<Result<Batch, RecordError>> {
        let (offset, rest) = self.rest.split_first_chunk::<8>()?;
        let base_offset = i64::from_be_bytes(*offset);
        let length = i32::from_be_bytes(*rest.first_chunk::<4>()?);
        let invalid_length = || RecordError::InvalidLength { base_offset, length };
        // Whatever the format, there is room for the magic byte.
        if length <= (MAGIC_AT - LOG_OVERHEAD) as i32 {
            return Some(Err(invalid_length()));
        }
        let whole = LOG_OVERHEAD + length as usize;
        if self.rest.len() < whole {
            return None;
        }
        let bytes = self.rest.split_to(whole);
        let magic = bytes.get(MAGIC_AT).map_or(-1, |&byte| byte as i8);
        let header = match magic {
            0 | 1 if MessageParts::parse(&bytes).is_some() => BatchHeader::parse_message(&bytes),
            2 => BatchHeader::parse(&bytes),
            0 | 1 => None,
            _ => return Some(Err(RecordError::UnsupportedMagic { base_offset, magic })),
        };
        Some(match header {
            Some(header) => Ok(Batch { header, bytes }),
            None => Err(invalid_length()),
        })
    }
}

impl Iterator for BatchIter {
    type Item = Result<Batch, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step();
        if matches!(item, Some(Err(_))) {
            self.rest = Bytes::new();
        }
        item
    }
}

impl Batch {
    /// Returns the batch's head.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Returns the whole batch as it came.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Compares the checksum with the bytes that it covers.
    ///
    /// # Errors
    /// [`RecordError::CorruptBatch`].
    pub fn verify_crc(&self) -> Result<(), RecordError> {
        let computed = match self.header.magic {
            2 => checksum::crc32c(self.bytes.get(CRC_COVERS_FROM..).unwrap_or_default()),
            _ => crc32fast::hash(self.bytes.get(MAGIC_AT..).unwrap_or_default()),
        };
        let stored = self.header.crc;
        match stored == computed {
            true => Ok(()),
            false => Err(RecordError::CorruptBatch {
                base_offset: self.header.base_offset,
                stored,
                computed,
            }),
        }
    }

    /// Returns the batch's records, decompressed if need be; at most `limit_bytes` come out of decompression.
    /// Uncompressed records share the batch's memory, whatever its size.
    ///
    /// # Errors
    /// [`RecordError::Codec`] when decompression fails or exceeds the limit, [`RecordError::InvalidCount`] when the
    /// head's count cannot be right.
    pub fn decompress(&self, limit_bytes: usize) -> Result<RecordData, RecordError> {
        match self.header.magic {
            2 => self.decompress_batch(limit_bytes),
            _ => message_set::open(&self.bytes, &self.header, limit_bytes),
        }
    }

    /// [`Batch::decompress`], after [`Batch::verify_crc`] if `check_crc` is set.
    ///
    /// # Errors
    /// Those of the two.
    pub fn open(&self, check_crc: bool, limit_bytes: usize) -> Result<RecordData, RecordError> {
        if check_crc {
            self.verify_crc()?;
        }
        self.decompress(limit_bytes)
    }

    fn decompress_batch(&self, limit_bytes: usize) -> Result<RecordData, RecordError> {
        let header = &self.header;
        let body = self.bytes.slice(BATCH_HEADER_LEN.min(self.bytes.len())..);
        let data = match header.is_compressed() {
            false => body,
            true => compression::decompress(header.compression()?, &body, limit_bytes)?,
        };
        let count = header.records_count;
        match usize::try_from(count) {
            // A record takes seven bytes at least, its length included.
            Ok(number) if number <= data.len() / 7 => Ok(RecordData::new(
                data,
                Format::Batch {
                    count: number,
                    base_timestamp: header.base_timestamp,
                    log_append_time: self.log_append_time(),
                },
                header.base_offset,
            )),
            _ => Err(RecordError::InvalidCount {
                base_offset: header.base_offset,
                count,
            }),
        }
    }

    fn log_append_time(&self) -> Option<i64> {
        let header = &self.header;
        (header.timestamp_type() == TimestampType::LogAppendTime).then_some(header.max_timestamp)
    }

    /// [`Batch::decompress`], then every record with its own handle on the memory.
    ///
    /// # Errors
    /// Those of [`Batch::decompress`]; the iterator returns those of single records.
    pub fn records(
        &self,
        limit_bytes: usize,
    ) -> Result<impl Iterator<Item = Result<Record, RecordError>> + use<>, RecordError> {
        Ok(self.decompress(limit_bytes)?.into_records())
    }

    /// Returns a magic 2 batch with the base offset, leader epoch and, if given, log append time that the leader
    /// assigns. The records are shared, not copied. The checksum is recomputed only for a log append time, as it
    /// covers neither offset nor epoch. `None` for magic 0 and 1, whose checksum covers what would change.
    pub fn assign(&self, base_offset: i64, leader_epoch: i32, log_append_time: Option<i64>) -> Option<Records> {
        if self.header.magic != 2 {
            return None;
        }
        let mut header = BatchHeader {
            base_offset,
            partition_leader_epoch: leader_epoch,
            ..self.header
        };
        let records = self.bytes.slice(BATCH_HEADER_LEN.min(self.bytes.len())..);
        if let Some(time) = log_append_time {
            header.max_timestamp = time;
            header.attributes |=
                BatchHeader::attributes(Default::default(), TimestampType::LogAppendTime, false, false);
            header.crc = batch_crc(&header, std::slice::from_ref(&records));
        }
        Some(Records::from_parts(vec![
            Bytes::copy_from_slice(&header.to_bytes()),
            records,
        ]))
    }
}

/// Returns the CRC-32C of a magic 2 batch with this head and these records.
pub(super) fn batch_crc(header: &BatchHeader, records: &[Bytes]) -> u32 {
    let head = header.to_bytes();
    let head = head.get(CRC_COVERS_FROM..).unwrap_or_default();
    checksum::crc32c_of_parts(std::iter::once(head).chain(records.iter().map(|part| &part[..])))
}
