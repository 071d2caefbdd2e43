//! Record data and parts of responses.

use bytes::Bytes;
use ottla_protocol::Records;
use ottla_protocol::api::fetch::PartitionData;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchParams, RecordEncoder, TimestampType, seal_batch};

use super::harness::Got;

/// A batch of magic 2 with these values from `base` on.
pub(super) fn batch(base: i64, values: &[&str], codec: Codec) -> Bytes {
    batch_of(base, values, codec, false, false, -1)
}

pub(super) fn batch_of(
    base: i64,
    values: &[&str],
    codec: Codec,
    transactional: bool,
    control: bool,
    producer: i64,
) -> Bytes {
    let mut out = Vec::new();
    for (i, value) in values.iter().enumerate() {
        let key: Option<&[u8]> = control.then_some(&[0, 0, 0, 0]);
        let delta = i32::try_from(i).unwrap();
        RecordEncoder::append(&mut out, delta, 0, key, Some(value.as_bytes()), std::iter::empty());
    }
    let params = BatchParams {
        base_offset: base,
        partition_leader_epoch: 1,
        timestamp_type: TimestampType::CreateTime,
        is_transactional: transactional,
        is_control: control,
        last_offset_delta: i32::try_from(values.len()).unwrap() - 1,
        base_timestamp: 5,
        max_timestamp: 5,
        producer_id: producer,
        producer_epoch: 0,
        base_sequence: -1,
        records_count: i32::try_from(values.len()).unwrap(),
    };
    seal_batch(&params, &[Bytes::from(out)], codec, None)
        .unwrap()
        .into_bytes()
}

/// A partition's part of a Fetch response.
pub(super) fn data(partition: i32, high_watermark: i64, batches: &[Bytes]) -> PartitionData {
    PartitionData {
        partition_index: partition,
        high_watermark,
        last_stable_offset: high_watermark,
        log_start_offset: 0,
        records: Some(Records::from(Bytes::from(batches.concat()))),
        ..Default::default()
    }
}

pub(super) fn failed(partition: i32, code: i16) -> PartitionData {
    PartitionData {
        partition_index: partition,
        error_code: code,
        high_watermark: -1,
        ..Default::default()
    }
}

pub(super) fn record(partition: i32, offset: i64, value: &str) -> Got {
    Got::Record(partition, offset, value.into())
}

/// The error of a missing topic: unknown, with an invalid name, or with an unknown id.
pub(super) fn why_unknown(name: Option<&str>) -> i16 {
    match name {
        Some(name) if name.starts_with('#') => 17,
        Some(_) => 3,
        None => 100,
    }
}
