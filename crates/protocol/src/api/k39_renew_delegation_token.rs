//! RenewDelegationToken (key 39): moves a token's expiry (KIP-48).
//!
//! - 0: gone in Kafka 4.x
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api RENEW_DELEGATION_TOKEN, versions 0-2, flexible 2+;

    /// The request.
    request RenewDelegationTokenRequest -> RenewDelegationTokenResponse {
        /// The token's secret.
        hmac: Bytes [0+],
        renew_period_ms: i64 [0+],
    }

    /// The response.
    response RenewDelegationTokenResponse {
        error_code: i16 [0+],
        expiry_timestamp_ms: i64 [0+],
        throttle_time_ms: i32 [0+],
    }
}
