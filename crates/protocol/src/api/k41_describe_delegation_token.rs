//! DescribeDelegationToken (key 41).

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api DESCRIBE_DELEGATION_TOKEN, versions 0-3, flexible 2+;

    /// The request.
    request DescribeDelegationTokenRequest -> DescribeDelegationTokenResponse {
        owners: Option<Vec<DescribeDelegationTokenOwner>> [0+],
    }

    /// Part of the request.
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

    /// Part of the response.
    struct DescribedDelegationToken {
        principal_type: String [0+],
        principal_name: String [0+],
        token_requester_principal_type: String [3+, strict],
        token_requester_principal_name: String [3+, strict],
        issue_timestamp: i64 [0+],
        expiry_timestamp: i64 [0+],
        max_timestamp: i64 [0+],
        token_id: String [0+],
        hmac: Bytes [0+],
        renewers: Vec<DescribedDelegationTokenRenewer> [0+],
    }

    /// Part of the response.
    struct DescribedDelegationTokenRenewer {
        principal_type: String [0+],
        principal_name: String [0+],
    }
}
