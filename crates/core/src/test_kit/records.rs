//! Record batches, and parts of Fetch responses for responses that no cluster gives.

use bytes::Bytes;
use ottla_protocol::Records;
use ottla_protocol::api::fetch::PartitionData;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchParams, RecordEncoder, TimestampType, seal_batch};

/// The header of a batch of magic 2.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) base_offset: i64,
    pub(crate) codec: Codec,
    pub(crate) transactional: bool,
    /// The producer id and epoch.
    pub(crate) producer: (i64, i16),
    pub(crate) sequence: i32,
    /// The timestamp of all records.
    pub(crate) timestamp: i64,
}

impl Default for Batch {
    fn default() -> Self {
        Batch {
            base_offset: 0,
            codec: Codec::None,
            transactional: false,
            producer: (-1, -1),
            sequence: -1,
            timestamp: 5,
        }
    }
}

impl Batch {
    pub(crate) fn encode(self, values: &[&str]) -> Bytes {
        let mut out = Vec::new();
        for (delta, value) in (0..).zip(values) {
            RecordEncoder::append(&mut out, delta, 0, None, Some(value.as_bytes()), std::iter::empty());
        }
        let count = i32::try_from(values.len()).unwrap();
        let params = BatchParams {
            base_offset: self.base_offset,
            partition_leader_epoch: 0,
            timestamp_type: TimestampType::CreateTime,
            is_transactional: self.transactional,
            is_control: false,
            last_offset_delta: count - 1,
            base_timestamp: self.timestamp,
            max_timestamp: self.timestamp,
            producer_id: self.producer.0,
            producer_epoch: self.producer.1,
            base_sequence: self.sequence,
            records_count: count,
        };
        seal_batch(&params, &[Bytes::from(out)], self.codec, None)
            .unwrap()
            .into_bytes()
    }
}

/// Returns a batch with these values from `base_offset` on.
pub(crate) fn batch(base_offset: i64, values: &[&str], codec: Codec) -> Bytes {
    let batch = Batch {
        base_offset,
        codec,
        ..Batch::default()
    };
    batch.encode(values)
}

/// Returns a partition's part of a Fetch response.
pub(crate) fn data(partition: i32, high_watermark: i64, batches: &[Bytes]) -> PartitionData {
    PartitionData {
        partition_index: partition,
        high_watermark,
        last_stable_offset: high_watermark,
        log_start_offset: 0,
        records: Some(Records::from(Bytes::from(batches.concat()))),
        ..Default::default()
    }
}
