//! EndTxn (key 26): commits or aborts a producer's transaction (KIP-98); goes to the transaction's coordinator.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: the broker may answer PRODUCER_FENCED
//! - 3: flexible (KIP-482)
//! - 4: TRANSACTION_ABORTABLE (KIP-890)
//! - 5: the producer epoch increases with every transaction; the response has the new one (KIP-890)

use crate::schema::schema;

schema! {
    api END_TXN, versions 0-5, flexible 3+;

    /// The request.
    request EndTxnRequest -> EndTxnResponse {
        transactional_id: String [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        /// True to commit, false to abort.
        committed: bool [0+],
    }

    /// The response.
    response EndTxnResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        producer_id: i64 [5+] = -1,
        producer_epoch: i16 [5+] = -1,
    }
}

impl EndTxnRequest {
    /// The first version with transaction version 2 (KIP-890).
    pub const TRANSACTION_V2_SINCE: i16 = 5;
}
