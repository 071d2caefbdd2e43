//! RenewDelegationToken: moves the end of a delegation token, at any broker (KIP-48).

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::DecodeError;
use ottla_protocol::api::renew_delegation_token::RenewDelegationTokenRequest;

use super::delegation_token::{TokenHmac, period_ms};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;

/// Renews a delegation token, as its owner or a renewer. The result is its new end, in milliseconds since 1970.
#[derive(Debug, Clone)]
pub struct RenewDelegationToken {
    /// The token's secret.
    pub hmac: TokenHmac,
    /// The time from now to the new end, at most the broker's `delegation.token.expiry.time.ms`, which is also that for
    /// `None`. The token's longest lifetime is a limit as well.
    pub period: Option<Duration>,
}

impl Operation for RenewDelegationToken {
    const NAME: &'static str = "RenewDelegationToken";
    type Key = ();
    type Row = i64;
    type Output = i64;

    fn check(&self, _: &Options) -> Result<(), Error> {
        self.hmac.check()
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
        to.send(&RenewDelegationTokenRequest {
            hmac: Bytes::copy_from_slice(self.hmac.as_bytes()),
            renew_period_ms: period_ms(self.period),
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<RenewDelegationTokenRequest>()?;
        let verdict = Verdict::of(response.error_code, None, response.expiry_timestamp_ms);
        Ok(vec![((), verdict)])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<i64, Error> {
        row_of(&rows, &())
    }
}
