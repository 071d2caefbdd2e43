//! CreateDelegationToken: creates a delegation token, at any broker (KIP-48).

use std::time::Duration;

use ottla_protocol::DecodeError;
use ottla_protocol::api::create_delegation_token::{
    CreatableRenewers, CreateDelegationTokenRequest, CreateDelegationTokenResponse,
};

use super::delegation_token::{DelegationToken, Principal, TokenHmac, check_principals, period_ms};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::{Target, unsupported};

/// Creates a delegation token. Requires Kafka 1.1, and a connection that is authenticated, but not with a token.
#[derive(Debug, Clone, Default)]
pub struct CreateDelegationToken {
    /// The owner; `None` for the client's own principal (KIP-373, Kafka 3.3).
    pub owner: Option<Principal>,
    /// The principals besides the owner that may renew and expire the token.
    pub renewers: Vec<Principal>,
    /// The time after which the token cannot be renewed, at most the broker's `delegation.token.max.lifetime.ms`, which is
    /// also that for `None`.
    pub max_lifetime: Option<Duration>,
}

impl Operation for CreateDelegationToken {
    const NAME: &'static str = "CreateDelegationToken";
    type Key = ();
    type Row = DelegationToken;
    type Output = DelegationToken;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_principals(self.owner.iter().chain(&self.renewers))
    }

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    /// The second time there is another token.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        let renewer = |renewer: &Principal| CreatableRenewers {
            principal_type: renewer.principal_type.clone(),
            principal_name: renewer.name.clone(),
            ..Default::default()
        };
        let mut request = CreateDelegationTokenRequest {
            renewers: self.renewers.iter().map(renewer).collect(),
            max_lifetime_ms: period_ms(self.max_lifetime),
            ..Default::default()
        };
        if let Some(owner) = &self.owner {
            if to.version::<CreateDelegationTokenRequest>()? < CreateDelegationTokenRequest::OWNER_SINCE {
                return Err(unsupported(
                    "the broker creates no tokens for other owners (KIP-373): that requires Kafka 3.3",
                ));
            }
            request.owner_principal_type = Some(owner.principal_type.clone());
            request.owner_principal_name = Some(owner.name.clone());
        }
        to.send(&request)
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<CreateDelegationTokenRequest>()?;
        let code = response.error_code;
        Ok(vec![((), Verdict::of(code, None, self.token(response)))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<DelegationToken, Error> {
        row_of(&rows, &())
    }
}

impl CreateDelegationToken {
    fn token(&self, response: CreateDelegationTokenResponse) -> DelegationToken {
        DelegationToken {
            token_id: response.token_id,
            owner: Principal {
                principal_type: response.principal_type,
                name: response.principal_name,
            },
            requester: Principal::of_response(
                response.token_requester_principal_type,
                response.token_requester_principal_name,
            ),
            renewers: self.renewers.clone(),
            issue_ms: response.issue_timestamp_ms,
            expiry_ms: response.expiry_timestamp_ms,
            max_ms: response.max_timestamp_ms,
            hmac: TokenHmac::new(&response.hmac),
        }
    }
}
