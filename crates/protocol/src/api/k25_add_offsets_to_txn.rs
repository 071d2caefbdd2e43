//! AddOffsetsToTxn (key 25): adds a group's offsets to a producer's transaction (KIP-98); goes to the transaction's
//! coordinator.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: the broker may answer PRODUCER_FENCED
//! - 3: flexible (KIP-482)
//! - 4: TRANSACTION_ABORTABLE (KIP-890)

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
