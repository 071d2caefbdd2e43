//! SaslHandshake (key 17): chooses the SASL mechanism of a connection.
//!
//! - 0: SASL tokens follow without Kafka's framing around them
//! - 1: tokens follow in SaslAuthenticate requests (KIP-152)

use crate::schema::schema;

schema! {
    api SASL_HANDSHAKE, versions 0-1, flexible none;

    /// The request.
    request SaslHandshakeRequest -> SaslHandshakeResponse {
        mechanism: String [0+],
    }

    /// The response.
    response SaslHandshakeResponse {
        error_code: i16 [0+],
        mechanisms: Vec<String> [0+],
    }
}
