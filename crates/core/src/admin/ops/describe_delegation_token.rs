//! DescribeDelegationToken: the delegation tokens of principals, at any broker (KIP-48).

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_delegation_token::{
    DescribeDelegationTokenOwner, DescribeDelegationTokenRequest, DescribedDelegationToken,
};

use super::delegation_token::{DelegationToken, Principal, TokenHmac, check_principals};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;

/// Describes the delegation tokens that the client may see: it owns, has created or may renew them, or it has the permission
/// to describe them. The result is in the order of the tokens' ids.
#[derive(Debug, Clone, Default)]
pub struct DescribeDelegationToken {
    /// Describes only tokens that one of these principals owns, has created or may renew; `None` for all.
    pub owners: Option<Vec<Principal>>,
}

impl Operation for DescribeDelegationToken {
    const NAME: &'static str = "DescribeDelegationToken";
    type Key = ();
    type Row = Vec<DelegationToken>;
    type Output = Vec<DelegationToken>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_principals(self.owners.iter().flatten())
    }

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        let owner = |owner: &Principal| DescribeDelegationTokenOwner {
            principal_type: owner.principal_type.clone(),
            principal_name: owner.name.clone(),
            ..Default::default()
        };
        let owners = self.owners.as_ref();
        to.send(&DescribeDelegationTokenRequest {
            owners: owners.map(|owners| owners.iter().map(owner).collect()),
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<DescribeDelegationTokenRequest>()?;
        let mut tokens: Vec<DelegationToken> = response.tokens.into_iter().map(token).collect();
        tokens.sort_by(|a, b| a.token_id.cmp(&b.token_id));
        Ok(vec![((), Verdict::of(response.error_code, None, tokens))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<DelegationToken>, Error> {
        row_of(&rows, &())
    }
}

fn token(token: DescribedDelegationToken) -> DelegationToken {
    let renewers = token.renewers.into_iter();
    DelegationToken {
        token_id: token.token_id,
        owner: Principal {
            principal_type: token.principal_type,
            name: token.principal_name,
        },
        requester: Principal::of_response(
            token.token_requester_principal_type,
            token.token_requester_principal_name,
        ),
        renewers: renewers
            .map(|renewer| Principal {
                principal_type: renewer.principal_type,
                name: renewer.principal_name,
            })
            .collect(),
        issue_ms: token.issue_timestamp,
        expiry_ms: token.expiry_timestamp,
        max_ms: token.max_timestamp,
        hmac: TokenHmac::new(&token.hmac),
    }
}
