//! InitProducerId (key 22): assigns id and epoch to an idempotent or transactional producer (KIP-98); goes to the
//! transactional id's coordinator, without one to any broker.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)
//! - 3: the producer's old id and epoch, to go on after an error (KIP-360)
//! - 4: the broker may answer PRODUCER_FENCED
//! - 5: the client supports TRANSACTION_ABORTABLE (KIP-890)
//! - 6: two-phase commit (KIP-939)

use crate::schema::schema;

schema! {
    api INIT_PRODUCER_ID, versions 0-6, flexible 2+;

    /// The request.
    request InitProducerIdRequest -> InitProducerIdResponse {
        /// Null for an idempotent producer without transactions.
        transactional_id: Option<String> [0+],
        /// After this time without progress the coordinator aborts the transaction.
        transaction_timeout_ms: i32 [0+],
        producer_id: i64 [3+, strict] = -1,
        producer_epoch: i16 [3+, strict] = -1,
        /// Enables two-phase commit: the coordinator never aborts the transaction by itself.
        enable2_pc: bool [6+, strict],
        /// Keeps the open transaction of the earlier producer.
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

impl InitProducerIdRequest {
    /// The first version that raises the epoch of an existing producer (KIP-360).
    pub const EPOCH_BUMP_SINCE: i16 = 3;
}
