//! InitProducerId (key 22).

use crate::schema::schema;

schema! {
    api INIT_PRODUCER_ID, versions 0-6, flexible 2+;

    /// The request.
    request InitProducerIdRequest -> InitProducerIdResponse {
        transactional_id: Option<String> [0+],
        transaction_timeout_ms: i32 [0+],
        producer_id: i64 [3+, strict] = -1,
        producer_epoch: i16 [3+, strict] = -1,
        enable2_pc: bool [6+, strict],
        keep_prepared_txn: bool [6+],
    }

    /// The response.
    response InitProducerIdResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        producer_id: i64 [0+] = -1,
        producer_epoch: i16 [0+],
        ongoing_txn_producer_id: i64 [6+, strict] = -1,
        ongoing_txn_producer_epoch: i16 [6+, strict] = -1,
    }
}
