//! Reads the part of a Produce request that its answer needs, without touching the records.

use bytes::Bytes;
use ottla_protocol::record::BATCH_HEADER_LEN;
use ottla_protocol::{Frame, Uuid};

/// The version that the mock's brokers and the client agree on: topics by their ids, flexible.
pub(crate) const VERSION: i16 = 13;
/// The position of the number of records in the header of a batch.
const RECORDS_COUNT_AT: usize = BATCH_HEADER_LEN - 4;

/// The data for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartitionRecords {
    pub(crate) partition: i32,
    /// The number of records, from the header of the only batch.
    pub(crate) records: i32,
    /// The size of the batch.
    pub(crate) bytes: usize,
}

/// The data for a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopicRecords {
    pub(crate) topic_id: Uuid,
    pub(crate) partitions: Vec<PartitionRecords>,
}

/// Returns the topics of a request of [`VERSION`].
pub(crate) fn read(frame: &Frame) -> Vec<TopicRecords> {
    let mut fields = Fields {
        parts: &frame.parts,
        at: 0,
    };
    // Length, API key, version, correlation id, and the client's id.
    fields.skip(12);
    let client_id_len = i16::from_be_bytes(fields.take()).max(0);
    fields.skip(client_id_len.unsigned_abs().into());
    fields.expect_no_tags();
    let transactional_id_len = fields.compact_len();
    fields.skip(transactional_id_len);
    // Acks and timeout.
    fields.skip(6);
    (0..fields.compact_len()).map(|_| topic(&mut fields)).collect()
}

fn topic(fields: &mut Fields<'_>) -> TopicRecords {
    let topic_id = Uuid(fields.take());
    let partitions = (0..fields.compact_len()).map(|_| partition(fields)).collect();
    fields.expect_no_tags();
    TopicRecords { topic_id, partitions }
}

fn partition(fields: &mut Fields<'_>) -> PartitionRecords {
    let partition = i32::from_be_bytes(fields.take());
    let bytes = fields.compact_len();
    fields.skip(RECORDS_COUNT_AT);
    let records = i32::from_be_bytes(fields.take());
    fields.skip(bytes - BATCH_HEADER_LEN);
    fields.expect_no_tags();
    PartitionRecords {
        partition,
        records,
        bytes,
    }
}

/// The bytes of a frame from a position on.
struct Fields<'a> {
    parts: &'a [Bytes],
    /// The position in the first part.
    at: usize,
}

impl Fields<'_> {
    fn skip(&mut self, mut bytes: usize) {
        while let Some((first, rest)) = self.parts.split_first()
            && bytes >= first.len() - self.at
        {
            bytes -= first.len() - self.at;
            (self.parts, self.at) = (rest, 0);
        }
        self.at += bytes;
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| {
            let byte = self.parts[0][self.at];
            self.skip(1);
            byte
        })
    }

    fn unsigned_varint(&mut self) -> usize {
        let (mut value, mut shift) = (0, 0);
        loop {
            let [byte] = self.take();
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
            shift += 7;
        }
    }

    /// Returns the length of a compact array or string, which is written plus one; that of null is zero.
    fn compact_len(&mut self) -> usize {
        self.unsigned_varint().saturating_sub(1)
    }

    fn expect_no_tags(&mut self) {
        assert_eq!(self.unsigned_varint(), 0, "tagged fields in a Produce request");
    }
}
