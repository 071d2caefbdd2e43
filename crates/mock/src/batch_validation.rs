//! Checks of the record batches that producers send (Kafka's `LogValidator`), and the conversion of old message sets.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::produce::{BatchIndexAndErrorMessage, PartitionProduceData, PartitionProduceResponse};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{
    Batch, BatchIter, BatchParams, NO_PRODUCER_ID, NO_TIMESTAMP, RecordEncoder, RecordError, seal_batch,
};

use crate::topic_config::TopicConfig;

/// The maximum decompressed size of a batch whose records are checked one by one, and of a message set.
const DECOMPRESSED_BYTES_MAX: usize = 256 << 20;

/// Why a partition's data is refused.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(crate) error: ErrorCode,
    pub(crate) message: Option<String>,
    /// The records that are reported as the culprits, by their numbers in the batch.
    pub(crate) invalid_records: Vec<i32>,
}

impl Rejection {
    pub(crate) fn invalid_record(message: &str) -> Self {
        Self {
            error: ErrorCode::INVALID_RECORD,
            message: Some(message.to_owned()),
            invalid_records: vec![0],
        }
    }
}

impl From<ErrorCode> for Rejection {
    fn from(error: ErrorCode) -> Self {
        Self {
            error,
            message: None,
            invalid_records: Vec::new(),
        }
    }
}

pub(crate) fn failure(index: i32, rejection: Rejection) -> PartitionProduceResponse {
    let invalid_records = rejection.invalid_records.iter().map(|index| BatchIndexAndErrorMessage {
        batch_index: *index,
        batch_index_error_message: rejection.message.clone(),
        ..Default::default()
    });
    PartitionProduceResponse {
        index,
        error_code: rejection.error.0,
        base_offset: -1,
        record_errors: invalid_records.collect(),
        error_message: rejection.message,
        ..Default::default()
    }
}

/// What a topic takes.
pub(crate) struct Limits {
    pub(crate) max_message_bytes: usize,
    pub(crate) log_append_time: bool,
    timestamp_after_max_ms: i64,
    timestamp_before_max_ms: i64,
}

impl Limits {
    pub(crate) fn new(config: &TopicConfig) -> Self {
        Self {
            max_message_bytes: usize::try_from(config.max_message_bytes).unwrap_or(0),
            log_append_time: config.log_append_time,
            timestamp_after_max_ms: config.timestamp_after_max_ms,
            timestamp_before_max_ms: config.timestamp_before_max_ms,
        }
    }

    /// Whether timestamps between these two are too far from the broker's clock.
    pub(crate) fn are_out_of_range(&self, first_ms: i64, last_ms: i64, now_ms: i64) -> bool {
        let ahead = last_ms.saturating_sub(now_ms) > self.timestamp_after_max_ms;
        let behind = first_ms >= 0 && now_ms.saturating_sub(first_ms) > self.timestamp_before_max_ms;
        !self.log_append_time && (ahead || behind)
    }

    /// The records whose timestamps are out of range, by their numbers in the batch; the first when none is by itself.
    pub(crate) fn out_of_range_records(&self, batch: &Batch, now_ms: i64) -> Vec<i32> {
        let Ok(records) = batch.records(DECOMPRESSED_BYTES_MAX) else {
            return vec![0];
        };
        let numbered = (0..).zip(records.map_while(Result::ok));
        let out = numbered.filter(|(_, r)| self.are_out_of_range(r.timestamp, r.timestamp, now_ms));
        let out: Vec<i32> = out.map(|(at, _)| at).collect();
        if out.is_empty() { vec![0] } else { out }
    }
}

/// The one batch that a partition's data has to be.
pub(crate) fn only_batch(data: PartitionProduceData) -> Result<Batch, Rejection> {
    let mut batches = BatchIter::new(data.records.unwrap_or_default().into_bytes());
    match batches.next() {
        None => Err(Rejection::invalid_record(
            "Produce requests must have exactly one record batch per partition, this has none.",
        )),
        Some(Err(RecordError::InvalidLength { .. } | RecordError::UnsupportedMagic { .. })) => {
            Err(ErrorCode::CORRUPT_MESSAGE.into())
        }
        Some(Err(error)) => Err(Rejection::invalid_record(&error.to_string())),
        Some(Ok(batch)) if batch.header().magic != 2 => Err(Rejection::invalid_record(
            "Produce requests of version 3 and later must carry record batches of magic 2.",
        )),
        Some(Ok(_)) if batches.remaining() > 0 => Err(Rejection::invalid_record(
            "Produce requests must have exactly one record batch per partition, this has more.",
        )),
        Some(Ok(batch)) => Ok(batch),
    }
}

pub(crate) fn check_batch(batch: &Batch, limits: &Limits, version: i16, now_ms: i64) -> Result<(), Rejection> {
    let header = batch.header();
    match header.compression() {
        Ok(Codec::Zstd) if version < 7 => {
            return Err(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE.into());
        }
        Ok(_) => {}
        Err(_) => return Err(ErrorCode::CORRUPT_MESSAGE.into()),
    }
    if header.base_offset != 0 {
        return Err(Rejection::invalid_record(
            "The base offset of a batch to append must be 0.",
        ));
    }
    if batch.bytes().len() > limits.max_message_bytes {
        return Err(Rejection {
            error: ErrorCode::MESSAGE_TOO_LARGE,
            message: Some(format!(
                "The record batch is {} bytes; the topic takes no more than {}.",
                batch.bytes().len(),
                limits.max_message_bytes
            )),
            invalid_records: Vec::new(),
        });
    }
    batch.verify_crc().map_err(|_| ErrorCode::CORRUPT_MESSAGE)?;
    if header.is_control() {
        return Err(Rejection::invalid_record(
            "Clients are not allowed to write control records.",
        ));
    }
    if header.records_count <= 0 || header.last_offset_delta != header.records_count - 1 {
        return Err(Rejection::invalid_record(
            "The record count does not match the offsets.",
        ));
    }
    if header.is_transactional() && header.producer_id == NO_PRODUCER_ID {
        return Err(Rejection::invalid_record("A transactional batch needs a producer id."));
    }
    if header.producer_id != NO_PRODUCER_ID && (header.producer_epoch < 0 || header.base_sequence < 0) {
        return Err(Rejection::invalid_record(
            "A batch with a producer id needs an epoch and a sequence.",
        ));
    }
    if limits.are_out_of_range(header.base_timestamp, header.max_timestamp, now_ms) {
        return Err(Rejection {
            error: ErrorCode::INVALID_TIMESTAMP,
            message: Some("The timestamp is out of the range that the topic allows.".into()),
            invalid_records: limits.out_of_range_records(batch, now_ms),
        });
    }
    Ok(())
}

/// Puts all messages of a partition's data into one uncompressed batch of magic 2.
pub(crate) fn message_set_to_batch(data: Bytes) -> Result<Batch, Rejection> {
    let corrupt = || Rejection::from(ErrorCode::CORRUPT_MESSAGE);
    let mut encoded = Vec::new();
    let mut params = BatchParams {
        base_timestamp: NO_TIMESTAMP,
        ..BatchParams::default()
    };
    for messages in BatchIter::new(data) {
        let messages = messages.map_err(|_| corrupt())?;
        messages.verify_crc().map_err(|_| corrupt())?;
        if messages.header().magic > 1 {
            return Err(Rejection::invalid_record(
                "Produce requests before version 3 must carry messages of magic 0 or 1.",
            ));
        }
        for record in messages.records(DECOMPRESSED_BYTES_MAX).map_err(|_| corrupt())? {
            let record = record.map_err(|_| corrupt())?;
            if params.records_count == 0 {
                params.base_timestamp = record.timestamp;
            }
            params.max_timestamp = params.max_timestamp.max(record.timestamp);
            RecordEncoder::append(
                &mut encoded,
                params.records_count,
                record.timestamp.saturating_sub(params.base_timestamp),
                record.key.as_deref(),
                record.value.as_deref(),
                std::iter::empty(),
            );
            params.records_count += 1;
        }
    }
    params.last_offset_delta = params.records_count - 1;
    let sealed = seal_batch(&params, &[encoded.into()], Codec::None, None).map_err(|_| corrupt())?;
    let mut batches = BatchIter::new(sealed.into_bytes());
    batches.next().and_then(Result::ok).ok_or_else(corrupt)
}
