//! EndTxn (key 26).

use crate::schema::schema;

schema! {
    api END_TXN, versions 0-5, flexible 3+;

    /// The request.
    request EndTxnRequest -> EndTxnResponse {
        transactional_id: String [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
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
