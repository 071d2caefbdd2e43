//! Produce requests in the versions that brokers speak.
//!
//! Versions 0 to 2 carry message sets of magic 0 (version 0, 1) and 1 (version 2), 3 and later record batches of magic 2.
//! zstd needs version 7 (KIP-110). Version 13 names topics by their id (KIP-516).

use std::sync::Arc;

use ottla_protocol::Records;
use ottla_protocol::api::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchParams, MessageSetRecord, NO_PRODUCER_ID, seal_batch, write_message_set};

use super::batch::{Batch, Preparation, Sealed};
use super::in_flight::Slot;
use crate::connection::BrokerVersions;
use crate::error::{Error, ErrorCode};

/// Returns the version to use with a broker. `ids`: the topics' ids are known. `v2`: in a transaction, whether it uses
/// transaction version 2 (KIP-890).
pub(super) fn pick_version(versions: &BrokerVersions, ids: bool, v2: Option<bool>) -> Option<i16> {
    let cap = match (ids, v2) {
        (_, Some(false)) => ProduceRequest::TRANSACTION_V2_SINCE - 1,
        (true, _) => i16::MAX,
        (false, _) => ProduceRequest::TOPIC_IDS_SINCE - 1,
    };
    let version = versions.pick_up_to::<ProduceRequest>(cap)?;
    (version >= ProduceRequest::TRANSACTION_V2_SINCE || v2 != Some(true)).then_some(version)
}

/// Returns `acks` for a request of this version. Brokers with record batches reject a number of replicas above 1; all
/// in-sync replicas is the nearest setting that is at least as strong.
pub(super) fn acks_for(version: i16, acks: i16) -> i16 {
    if acks > 1 && version >= ProduceRequest::RECORD_BATCHES_SINCE {
        -1
    } else {
        acks
    }
}

/// Returns whether a request of this version carries record batches, whose body is independent of their header.
pub(super) fn has_record_batches(version: i16) -> bool {
    magic_of(version) == 2
}

fn magic_of(version: i16) -> i8 {
    match version {
        ProduceRequest::RECORD_BATCHES_SINCE.. => 2,
        ProduceRequest::TIMESTAMPS_SINCE.. => 1,
        _ => 0,
    }
}

/// Returns the codec for a request of this version: none if the broker does not support the configured one.
pub(super) fn codec_for(version: i16, codec: Codec) -> Codec {
    if codec == Codec::Zstd && version < ProduceRequest::ZSTD_SINCE {
        Codec::None
    } else {
        codec
    }
}

/// Returns the record data of a batch, encoded again only if the format has changed since the last attempt. Uses the body
/// that a job has computed, if there is one.
pub(super) fn seal(batch: &mut Batch, version: i16, codec: Codec, level: Option<i32>) -> Result<Records, Error> {
    let magic = magic_of(version);
    let codec = codec_for(version, codec);
    if let Some(sealed) = batch.sealed.as_ref().filter(|s| s.magic == magic && s.codec == codec) {
        return Ok(sealed.data.clone());
    }
    let data = match magic {
        2 => seal_v2(batch, codec, level)?,
        _ if batch.stamp.is_some() => {
            let text = format!("Produce version {version} does not support the idempotent producer's sequence numbers");
            return Err(Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, text));
        }
        _ => seal_messages(batch, magic, codec, level)?,
    };
    batch.sealed = Some(Sealed {
        magic,
        codec,
        data: data.clone(),
    });
    Ok(data)
}

fn failed(e: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorCode::L_BAD_COMPRESSION,
        format!("the batch cannot be encoded: {e}"),
    )
}

fn seal_v2(batch: &mut Batch, codec: Codec, level: Option<i32>) -> Result<Records, Error> {
    let preparation = std::mem::take(&mut batch.preparation);
    let records = &batch.records;
    let count = i32::try_from(records.len()).map_err(failed)?;
    let params = BatchParams {
        last_offset_delta: count - 1,
        base_timestamp: records.base_timestamp(),
        max_timestamp: records.max_timestamp(),
        records_count: count,
        producer_id: batch.stamp.map_or(NO_PRODUCER_ID, |s| s.producer_id),
        producer_epoch: batch.stamp.map_or(-1, |s| s.epoch),
        base_sequence: batch.stamp.map_or(-1, |s| s.base_sequence),
        is_transactional: batch.stamp.is_some_and(|s| s.transactional),
        ..Default::default()
    };
    match preparation {
        Preparation::Ready(body, _) if body.requested_codec() == codec => return body.seal(&params).map_err(failed),
        Preparation::Failed(error) => return Err(error),
        _ => {}
    }
    let parts = records.parts();
    let sealed = seal_batch(&params, &parts, codec, level).map_err(failed)?;
    let plain_len = ottla_protocol::record::BATCH_HEADER_LEN + records.encoded_len();
    if codec != Codec::None && sealed.len() >= plain_len {
        // Compression has increased the size.
        return seal_batch(&params, &parts, Codec::None, None).map_err(failed);
    }
    Ok(sealed)
}

fn seal_messages(batch: &Batch, magic: i8, codec: Codec, level: Option<i32>) -> Result<Records, Error> {
    let messages = batch.records.iter().enumerate().map(|(i, r)| MessageSetRecord {
        offset: i64::try_from(i).unwrap_or(i64::MAX),
        timestamp: r.timestamp_ms,
        key: r.key,
        value: r.value(),
    });
    write_message_set(magic, messages, codec, level)
        .map(Records::from)
        .map_err(failed)
}

/// A partition's part of a request to be built.
pub(super) struct Part {
    pub(super) slot: Slot,
    pub(super) name: Arc<str>,
    pub(super) data: Records,
}

/// Builds the request; the parts must be sorted by topic.
pub(super) fn build(parts: &[Part], acks: i16, timeout_ms: i32, transactional_id: Option<&str>) -> ProduceRequest {
    let mut topics: Vec<TopicProduceData> = Vec::new();
    let mut last = None;
    for part in parts {
        let id = part.slot.id;
        let data = PartitionProduceData {
            index: id.partition,
            records: Some(part.data.clone()),
            ..Default::default()
        };
        match topics.last_mut() {
            Some(topic) if last == Some(id.topic) => topic.partition_data.push(data),
            _ => topics.push(TopicProduceData {
                name: part.name.to_string(),
                topic_id: part.slot.topic_id,
                partition_data: vec![data],
                ..Default::default()
            }),
        }
        last = Some(id.topic);
    }
    ProduceRequest {
        transactional_id: transactional_id.map(str::to_owned),
        acks,
        timeout_ms,
        topic_data: topics,
        ..Default::default()
    }
}

/// Returns whether a request of this version names topics by id.
pub(super) fn is_by_id(version: i16) -> bool {
    version >= ProduceRequest::TOPIC_IDS_SINCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_above_one_become_all_for_brokers_that_reject_them() {
        assert_eq!([0, 1, -1, 2, 1000].map(|a| acks_for(3, a)), [0, 1, -1, -1, -1]);
        assert_eq!([0, 1, -1, 2, 1000].map(|a| acks_for(2, a)), [0, 1, -1, 2, 1000]);
    }

    #[test]
    fn api_version_determines_the_format() {
        assert_eq!([0, 1, 2, 3, 13].map(magic_of), [0, 0, 1, 2, 2]);
        assert_eq!(codec_for(6, Codec::Zstd), Codec::None);
        assert_eq!(codec_for(7, Codec::Zstd), Codec::Zstd);
        assert_eq!(codec_for(0, Codec::Gzip), Codec::Gzip);
    }

    #[test]
    fn version_without_topic_ids_is_capped() {
        let modern = BrokerVersions::new([(0, 3, 13)]);
        assert_eq!(pick_version(&modern, true, None), Some(13));
        assert_eq!(pick_version(&modern, false, None), Some(12));
        assert_eq!(pick_version(&BrokerVersions::new([(0, 13, 20)]), false, None), None);
    }

    #[test]
    fn transaction_version_bounds_the_version() {
        let modern = BrokerVersions::new([(0, 3, 13)]);
        assert_eq!(pick_version(&modern, true, Some(false)), Some(11));
        assert_eq!(pick_version(&modern, true, Some(true)), Some(13));
        assert_eq!(pick_version(&modern, false, Some(true)), Some(12));
        assert_eq!(pick_version(&BrokerVersions::new([(0, 3, 11)]), true, Some(true)), None);
    }
}
