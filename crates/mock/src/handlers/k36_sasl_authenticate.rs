//! SaslAuthenticate (key 36), versions 0 to 2.
//!
//! Any version: a token of the mechanism that SaslHandshake chose. A refusal is SASL_AUTHENTICATION_FAILED with Kafka's
//! text, after the delay of refusals, and the end of the connection. ILLEGAL_SASL_STATE for an authenticated client.
//! Version 1 and later: the length of the session (KIP-368).

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};

use super::handler::{Answer, AnswerOf, Handler, refused};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::sasl::Token;

pub(crate) struct SaslAuthenticate;

impl Handler for SaslAuthenticate {
    type Request = SaslAuthenticateRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: SaslAuthenticateRequest) -> AnswerOf<Self> {
        let now_ms = cluster.state.broker_clock_ms(context.broker);
        let (key, now) = (context.key(), cluster.state.now);
        match cluster.sasl.token(key, &request.auth_bytes, now, now_ms) {
            Token::Answer { token, lifetime_ms } => Answer::Respond(SaslAuthenticateResponse {
                auth_bytes: Bytes::from(token),
                session_lifetime_ms: i64::try_from(lifetime_ms).unwrap_or(i64::MAX),
                ..Default::default()
            }),
            Token::Refused(text) | Token::Invalid(text) => {
                refused(error(ErrorCode::SASL_AUTHENTICATION_FAILED, text.clone()), &text)
            }
            Token::Illegal => Answer::Respond(error(
                ErrorCode::ILLEGAL_SASL_STATE,
                "SaslAuthenticate request received after successful authentication".into(),
            )),
        }
    }

    fn refuse(cluster: &Cluster, context: &Context, _: SaslAuthenticateRequest, code: ErrorCode) -> AnswerOf<Self> {
        let text = code.name().unwrap_or("an injected error");
        let response = error(code, text.to_owned());
        match cluster.sasl.is_authenticating(context.key()) {
            true => refused(response, text),
            false => Answer::Respond(response),
        }
    }
}

fn error(code: ErrorCode, text: String) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse {
        error_code: code.0,
        error_message: Some(text),
        ..Default::default()
    }
}
