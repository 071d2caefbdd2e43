//! DescribeDelegationToken (key 41): the tokens of owners (KIP-48).
//!
//! - 0: gone in Kafka 4.x
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)
//! - 3: the requester of a token (KIP-373)

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api DESCRIBE_DELEGATION_TOKEN, versions 0-3, flexible 2+;

    /// The request.
    request DescribeDelegationTokenRequest -> DescribeDelegationTokenResponse {
        /// Null requests all.
        owners: Option<Vec<DescribeDelegationTokenOwner>> [0+],
    }

    /// A requested owner.
    struct DescribeDelegationTokenOwner {
        principal_type: String [0+],
        principal_name: String [0+],
    }

    /// The response.
    response DescribeDelegationTokenResponse {
        error_code: i16 [0+],
        tokens: Vec<DescribedDelegationToken> [0+],
        throttle_time_ms: i32 [0+],
    }

    /// A token.
    struct DescribedDelegationToken {
        principal_type: String [0+],
        principal_name: String [0+],
        token_requester_principal_type: String [3+, strict],
        token_requester_principal_name: String [3+, strict],
        issue_timestamp: i64 [0+],
        expiry_timestamp: i64 [0+],
        max_timestamp: i64 [0+],
        token_id: String [0+],
        /// The token's secret.
        hmac: Bytes [0+],
        renewers: Vec<DescribedDelegationTokenRenewer> [0+],
    }

    /// A principal that may renew the token.
    struct DescribedDelegationTokenRenewer {
        principal_type: String [0+],
        principal_name: String [0+],
    }
}
