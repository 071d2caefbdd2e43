//! DescribeDelegationToken (key 41), versions 1 to 3; version 0 where a version range simulates older brokers (KIP-48).
//!
//! - 3: the requesters of tokens (KIP-373)
//!
//! All tokens, or those that some principals own, have created or may renew; also expired ones. Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on connections that
//! are not authenticated with SASL, DELEGATION_TOKEN_AUTH_DISABLED.
//!
//! Omitted: authorization: every user may see all tokens, as in Kafka without an authorizer.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_delegation_token::{
    DescribeDelegationTokenOwner, DescribeDelegationTokenRequest, DescribeDelegationTokenResponse,
    DescribedDelegationToken, DescribedDelegationTokenRenewer,
};

use super::handler::{Answer, AnswerOf, Handler};
use super::k38_create_delegation_token::requester;
use crate::cluster::Cluster;
use crate::delegation_tokens::{DelegationToken, Principal, secret_key};
use crate::request::Context;

pub(crate) struct DescribeDelegationToken;

impl Handler for DescribeDelegationToken {
    type Request = DescribeDelegationTokenRequest;

    const MIN_VERSION: i16 = 1;
    const OLDEST_VERSION: i16 = 0;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeDelegationTokenRequest) -> AnswerOf<Self> {
        match describe(cluster, context, &request) {
            Ok(tokens) => Answer::Respond(DescribeDelegationTokenResponse {
                tokens,
                throttle_time_ms: context.throttle_time_ms,
                ..Default::default()
            }),
            Err(error) => Self::refuse(cluster, context, request, error),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: DescribeDelegationTokenRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(DescribeDelegationTokenResponse {
            error_code: error.0,
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        })
    }
}

fn describe(
    cluster: &Cluster,
    context: &Context,
    request: &DescribeDelegationTokenRequest,
) -> Result<Vec<DescribedDelegationToken>, ErrorCode> {
    requester(cluster, context)?;
    secret_key(&cluster.state.config)?;
    let owners = request
        .owners
        .as_ref()
        .map(|owners| owners.iter().map(principal).collect::<Vec<_>>());
    let is_wanted = |token: &&DelegationToken| {
        let owners = owners.as_ref();
        owners.is_none_or(|owners| owners.iter().any(|owner| token.is_of(owner)))
    };
    let tokens = cluster.state.delegation_tokens.iter().filter(is_wanted);
    Ok(tokens.map(|token| described(context, token)).collect())
}

fn principal(owner: &DescribeDelegationTokenOwner) -> Principal {
    Principal::new(owner.principal_type.as_str(), owner.principal_name.as_str())
}

fn described(context: &Context, token: &DelegationToken) -> DescribedDelegationToken {
    let renewer = |renewer: &Principal| DescribedDelegationTokenRenewer {
        principal_type: renewer.kind.clone(),
        principal_name: renewer.name.clone(),
        ..Default::default()
    };
    let mut described = DescribedDelegationToken {
        principal_type: token.owner.kind.clone(),
        principal_name: token.owner.name.clone(),
        issue_timestamp: token.issue_ms,
        expiry_timestamp: token.expiry_ms,
        max_timestamp: token.max_ms,
        token_id: token.token_id.clone(),
        hmac: Bytes::from(token.hmac.clone()),
        renewers: token.renewers.iter().map(renewer).collect(),
        ..Default::default()
    };
    if context.version >= 3 {
        described.token_requester_principal_type = token.requester.kind.clone();
        described.token_requester_principal_name = token.requester.name.clone();
    }
    described
}
