//! Message sets of producers before Kafka 0.11, turned into record batches as brokers since then have stored them.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{Batch, BatchIter, BatchParams, NO_TIMESTAMP, RecordEncoder, seal_batch};

use crate::handlers::k00_produce::Rejection;

/// The most that a message set may decompress to.
const LIMIT_BYTES: usize = 256 << 20;

/// Puts all messages of a partition's data into one uncompressed batch of magic 2.
pub(crate) fn to_batch(data: Bytes) -> Result<Batch, Rejection> {
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
        for record in messages.records(LIMIT_BYTES).map_err(|_| corrupt())? {
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
