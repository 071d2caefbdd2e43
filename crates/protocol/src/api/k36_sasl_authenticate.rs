//! SaslAuthenticate (key 36).

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api SASL_AUTHENTICATE, versions 0-2, flexible 2+;

    /// The request.
    request SaslAuthenticateRequest -> SaslAuthenticateResponse {
        auth_bytes: Bytes [0+],
    }

    /// The response.
    response SaslAuthenticateResponse {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        auth_bytes: Bytes [0+],
        session_lifetime_ms: i64 [1+],
    }
}
