//! CreateDelegationToken (key 38): a token with which others act for a principal (KIP-48).
//!
//! - 0: gone in Kafka 4.x
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)
//! - 3: tokens for another owner (KIP-373)

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api CREATE_DELEGATION_TOKEN, versions 0-3, flexible 2+;

    /// The request.
    request CreateDelegationTokenRequest -> CreateDelegationTokenResponse {
        /// Null for the requester.
        owner_principal_type: Option<String> [3+, strict],
        owner_principal_name: Option<String> [3+, strict],
        renewers: Vec<CreatableRenewers> [0+],
        /// -1 for the broker's own.
        max_lifetime_ms: i64 [0+],
    }

    /// A principal that may renew the token.
    struct CreatableRenewers {
        principal_type: String [0+],
        principal_name: String [0+],
    }

    /// The response.
    response CreateDelegationTokenResponse {
        error_code: i16 [0+],
        principal_type: String [0+],
        principal_name: String [0+],
        token_requester_principal_type: String [3+, strict],
        token_requester_principal_name: String [3+, strict],
        issue_timestamp_ms: i64 [0+],
        expiry_timestamp_ms: i64 [0+],
        max_timestamp_ms: i64 [0+],
        token_id: String [0+],
        /// The token's secret.
        hmac: Bytes [0+],
        throttle_time_ms: i32 [0+],
    }
}

impl CreateDelegationTokenRequest {
    /// The first version with an owner (KIP-373, Kafka 3.3).
    pub const OWNER_SINCE: i16 = 3;
}
