//! Delegation tokens (KIP-48): secrets with which clients act for an owner.

use std::fmt;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::error::Error;

/// A principal, such as the user `alice`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Principal {
    /// The type: `User`, which brokers require of renewers.
    pub principal_type: String,
    /// The name.
    pub name: String,
}

impl Principal {
    /// Returns a principal of type `User`.
    pub fn user(name: impl Into<String>) -> Self {
        Principal {
            principal_type: "User".into(),
            name: name.into(),
        }
    }

    /// Returns a principal of a response, `None` for one without a name.
    pub(super) fn of_response(principal_type: String, name: String) -> Option<Self> {
        (!name.is_empty()).then_some(Principal { principal_type, name })
    }
}

/// The secret of a token. Its Base64 text is the password of the token's clients, whose user name is the token's id.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHmac(Zeroizing<Vec<u8>>);

impl TokenHmac {
    /// Copies a secret.
    pub fn new(bytes: &[u8]) -> Self {
        TokenHmac(Zeroizing::new(bytes.to_vec()))
    }

    /// Returns the secret.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Checks a secret of the application.
    ///
    /// # Errors
    /// `_INVALID_ARG` for an empty one.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.0.is_empty() {
            true => Err(Error::invalid_arg("The HMAC of the token is empty")),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for TokenHmac {
    /// Writes no secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHmac({} bytes)", self.0.len())
    }
}

/// A delegation token. Times are in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationToken {
    /// The token's id.
    pub token_id: String,
    /// The principal for which clients with the token act.
    pub owner: Principal,
    /// The principal that has created the token; `None` from brokers before Kafka 3.3.
    pub requester: Option<Principal>,
    /// The principals besides the owner that may renew and expire the token.
    pub renewers: Vec<Principal>,
    /// When the token was created.
    pub issue_ms: i64,
    /// When the token ends unless it is renewed.
    pub expiry_ms: i64,
    /// When the token ends in any case.
    pub max_ms: i64,
    /// The token's secret.
    pub hmac: TokenHmac,
}

/// Checks principals of the application.
///
/// # Errors
/// `_INVALID_ARG` for one without type or name.
pub(super) fn check_principals<'a>(principals: impl IntoIterator<Item = &'a Principal>) -> Result<(), Error> {
    let is_partial = |principal: &Principal| principal.principal_type.is_empty() || principal.name.is_empty();
    match principals.into_iter().any(is_partial) {
        true => Err(Error::invalid_arg("A principal has no type or no name")),
        false => Ok(()),
    }
}

/// Returns a period in milliseconds, -1 for none.
pub(super) fn period_ms(period: Option<Duration>) -> i64 {
    period.map_or(-1, |period| i64::try_from(period.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
