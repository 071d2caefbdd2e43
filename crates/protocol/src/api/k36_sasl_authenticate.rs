//! SaslAuthenticate (key 36): carries the tokens of the SASL mechanism that SaslHandshake chose (KIP-152).
//!
//! - 1: how long the session lasts before the client must authenticate again (KIP-368)
//! - 2: flexible (KIP-482)

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
        /// After this time the client must authenticate again; 0 for never.
        session_lifetime_ms: i64 [1+],
    }
}
