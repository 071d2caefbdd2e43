//! AddOffsetsToTxn (key 25).

use crate::schema::schema;

schema! {
    api ADD_OFFSETS_TO_TXN, versions 0-4, flexible 3+;

    /// The request.
    request AddOffsetsToTxnRequest -> AddOffsetsToTxnResponse {
        transactional_id: String [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        group_id: String [0+],
    }

    /// The response.
    response AddOffsetsToTxnResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
    }
}
