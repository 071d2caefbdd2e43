//! ExpireDelegationToken (key 40), versions 1 and 2; version 0 where a version range simulates older brokers (KIP-48).
//!
//! Owner and renewers may end a token earlier. A negative period removes it at once. Expired tokens are otherwise kept, as
//! Kafka keeps them until it looks for them, once an hour.
//! Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on connections that are not authenticated with SASL,
//! DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_OWNER_MISMATCH,
//! DELEGATION_TOKEN_EXPIRED.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::expire_delegation_token::{ExpireDelegationTokenRequest, ExpireDelegationTokenResponse};

use super::handler::{Answer, AnswerOf, Handler};
use super::k38_create_delegation_token::requester;
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct ExpireDelegationToken;

impl Handler for ExpireDelegationToken {
    type Request = ExpireDelegationTokenRequest;

    const MIN_VERSION: i16 = 1;
    const OLDEST_VERSION: i16 = 0;

    fn handle(cluster: &mut Cluster, context: &Context, request: ExpireDelegationTokenRequest) -> AnswerOf<Self> {
        match expire(cluster, context, &request) {
            Ok(expiry_timestamp_ms) => Answer::Respond(ExpireDelegationTokenResponse {
                expiry_timestamp_ms,
                throttle_time_ms: context.throttle_time_ms,
                ..Default::default()
            }),
            Err(error) => Self::refuse(cluster, context, request, error),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: ExpireDelegationTokenRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(ExpireDelegationTokenResponse {
            error_code: error.0,
            expiry_timestamp_ms: -1,
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        })
    }
}

fn expire(cluster: &mut Cluster, context: &Context, request: &ExpireDelegationTokenRequest) -> Result<i64, ErrorCode> {
    let requester = requester(cluster, context)?;
    let now_ms = cluster.state.broker_clock_ms(context.broker);
    let state = &mut cluster.state;
    let period_ms = request.expiry_time_period_ms;
    state
        .delegation_tokens
        .expire(&state.config, &request.hmac, &requester, period_ms, now_ms)
}
