//! CreateDelegationToken (key 38), versions 1 to 3; version 0 where a version range simulates older brokers (KIP-48).
//!
//! - 3: tokens for another owner than the requester (KIP-373)
//!
//! Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on connections that are not authenticated with SASL,
//! INVALID_PRINCIPAL_TYPE for renewers that are no users, DELEGATION_TOKEN_AUTH_DISABLED without
//! `delegation.token.secret.key`.
//!
//! Omitted: authorization: every user may create tokens for any owner; clients cannot authenticate with tokens.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::create_delegation_token::{CreateDelegationTokenRequest, CreateDelegationTokenResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::delegation_tokens::{DelegationToken, NewToken, Principal};
use crate::request::Context;

pub(crate) struct CreateDelegationToken;

impl Handler for CreateDelegationToken {
    type Request = CreateDelegationTokenRequest;

    const MIN_VERSION: i16 = 1;
    const OLDEST_VERSION: i16 = 0;

    fn handle(cluster: &mut Cluster, context: &Context, request: CreateDelegationTokenRequest) -> AnswerOf<Self> {
        let token = match create(cluster, context, &request) {
            Ok(token) => token,
            Err(error) => return Self::refuse(cluster, context, request, error),
        };
        Answer::Respond(CreateDelegationTokenResponse {
            issue_timestamp_ms: token.issue_ms,
            expiry_timestamp_ms: token.expiry_ms,
            max_timestamp_ms: token.max_ms,
            token_id: token.token_id,
            hmac: Bytes::from(token.hmac),
            ..of_principals(context, token.owner, token.requester)
        })
    }

    fn refuse(
        cluster: &Cluster,
        context: &Context,
        request: CreateDelegationTokenRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        let requester = requester(cluster, context).unwrap_or_else(|_| Principal::user("ANONYMOUS"));
        Answer::Respond(CreateDelegationTokenResponse {
            error_code: error.0,
            issue_timestamp_ms: -1,
            expiry_timestamp_ms: -1,
            max_timestamp_ms: -1,
            ..of_principals(context, owner(&request, &requester), requester)
        })
    }
}

/// Returns the principal of a request about tokens.
///
/// # Errors
/// DELEGATION_TOKEN_REQUEST_NOT_ALLOWED without authentication.
pub(super) fn requester(cluster: &Cluster, context: &Context) -> Result<Principal, ErrorCode> {
    let principal = cluster.sasl.principal(context.key()).map(Principal::user);
    principal.ok_or(ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
}

fn owner(request: &CreateDelegationTokenRequest, requester: &Principal) -> Principal {
    match request.owner_principal_name.as_deref() {
        None | Some("") => requester.clone(),
        Some(name) => Principal::new(request.owner_principal_type.as_deref().unwrap_or_default(), name),
    }
}

fn of_principals(context: &Context, owner: Principal, requester: Principal) -> CreateDelegationTokenResponse {
    let mut response = CreateDelegationTokenResponse {
        principal_type: owner.kind,
        principal_name: owner.name,
        throttle_time_ms: context.throttle_time_ms,
        ..Default::default()
    };
    if context.version >= 3 {
        response.token_requester_principal_type = requester.kind;
        response.token_requester_principal_name = requester.name;
    }
    response
}

fn create(
    cluster: &mut Cluster,
    context: &Context,
    request: &CreateDelegationTokenRequest,
) -> Result<DelegationToken, ErrorCode> {
    let requester = requester(cluster, context)?;
    let renewers = request.renewers.iter();
    let new = NewToken {
        owner: owner(request, &requester),
        requester,
        renewers: renewers
            .map(|renewer| Principal::new(renewer.principal_type.as_str(), renewer.principal_name.as_str()))
            .collect(),
        max_lifetime_ms: request.max_lifetime_ms,
    };
    let now_ms = cluster.state.broker_clock_ms(context.broker);
    let state = &mut cluster.state;
    state
        .delegation_tokens
        .create(&state.config, &mut state.rng, new, now_ms)
}
