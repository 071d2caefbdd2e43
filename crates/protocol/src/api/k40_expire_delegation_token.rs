//! ExpireDelegationToken (key 40).

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api EXPIRE_DELEGATION_TOKEN, versions 0-2, flexible 2+;

    /// The request.
    request ExpireDelegationTokenRequest -> ExpireDelegationTokenResponse {
        hmac: Bytes [0+],
        expiry_time_period_ms: i64 [0+],
    }

    /// The response.
    response ExpireDelegationTokenResponse {
        error_code: i16 [0+],
        expiry_timestamp_ms: i64 [0+],
        throttle_time_ms: i32 [0+],
    }
}
