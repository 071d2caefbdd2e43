//! SaslHandshake (key 17), versions 0 and 1.
//!
//! Version 0: tokens follow with their length before them, without headers. Version 1: SaslAuthenticate carries them
//! (KIP-152). A mechanism that is not enabled: UNSUPPORTED_SASL_MECHANISM with the enabled ones, after the delay of
//! refusals, and the end of the connection. ILLEGAL_SASL_STATE on brokers without SASL, and less than a second after the
//! begin of the last re-authentication.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};

use super::handler::{Answer, AnswerOf, Handler, refused};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::sasl::Handshake;

pub(crate) struct SaslHandshake;

impl Handler for SaslHandshake {
    type Request = SaslHandshakeRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: SaslHandshakeRequest) -> AnswerOf<Self> {
        let (key, now) = (context.key(), cluster.state.now);
        let handshake = cluster
            .sasl
            .handshake(key, &request.mechanism, context.version >= 1, now);
        let (error_code, mechanisms) = match handshake {
            Handshake::Accepted => (ErrorCode::NONE, cluster.sasl.mechanism_names()),
            Handshake::Unsupported => (ErrorCode::UNSUPPORTED_SASL_MECHANISM, cluster.sasl.mechanism_names()),
            Handshake::Illegal => (ErrorCode::ILLEGAL_SASL_STATE, Vec::new()),
        };
        let response = SaslHandshakeResponse {
            error_code: error_code.0,
            mechanisms,
            ..Default::default()
        };
        match handshake {
            Handshake::Unsupported => refused(response, "the mechanism is not enabled"),
            _ => Answer::Respond(response),
        }
    }

    fn refuse(cluster: &Cluster, context: &Context, _: SaslHandshakeRequest, error: ErrorCode) -> AnswerOf<Self> {
        let response = SaslHandshakeResponse {
            error_code: error.0,
            mechanisms: cluster.sasl.mechanism_names(),
            ..Default::default()
        };
        match cluster.sasl.is_authenticating(context.key()) {
            true => refused(response, "an injected error"),
            false => Answer::Respond(response),
        }
    }
}
