//! Delegation tokens (KIP-48): secrets with which clients act for an owner. Owners and renewers renew and expire them.

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::hmac;
use ottla_protocol::ErrorCode;

use crate::config::ClusterConfig;
use crate::rng::Rng;

/// The type of principals that authenticate with SASL; the only one that renewers may have.
const USER: &str = "User";

/// A principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Principal {
    pub(crate) fn new(kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            name: name.into(),
        }
    }

    /// Returns a user of SASL.
    pub(crate) fn user(name: &str) -> Self {
        Self::new(USER, name)
    }
}

/// A token. Times are in milliseconds since 1970.
#[derive(Clone)]
pub(crate) struct DelegationToken {
    pub(crate) token_id: String,
    pub(crate) owner: Principal,
    pub(crate) requester: Principal,
    pub(crate) renewers: Vec<Principal>,
    pub(crate) issue_ms: i64,
    pub(crate) expiry_ms: i64,
    pub(crate) max_ms: i64,
    pub(crate) hmac: Vec<u8>,
}

/// Prints no secret.
impl fmt::Debug for DelegationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelegationToken")
            .field("token_id", &self.token_id)
            .field("owner", &self.owner)
            .field("expiry_ms", &self.expiry_ms)
            .finish_non_exhaustive()
    }
}

impl DelegationToken {
    fn is_expired(&self, now_ms: i64) -> bool {
        self.max_ms < now_ms || self.expiry_ms < now_ms
    }

    /// Returns true when the principal owns, has created or may renew the token.
    pub(crate) fn is_of(&self, principal: &Principal) -> bool {
        self.owner == *principal || self.requester == *principal || self.renewers.contains(principal)
    }

    fn check_renewer(&self, principal: &Principal) -> Result<(), ErrorCode> {
        match self.owner == *principal || self.renewers.contains(principal) {
            true => Ok(()),
            false => Err(ErrorCode::DELEGATION_TOKEN_OWNER_MISMATCH),
        }
    }
}

/// A token to create.
#[derive(Debug)]
pub(crate) struct NewToken {
    pub(crate) owner: Principal,
    pub(crate) requester: Principal,
    pub(crate) renewers: Vec<Principal>,
    /// Not positive for the longest lifetime.
    pub(crate) max_lifetime_ms: i64,
}

/// The tokens of the cluster, by id.
#[derive(Debug, Default)]
pub(crate) struct DelegationTokens(BTreeMap<String, DelegationToken>);

impl DelegationTokens {
    /// Returns the tokens, also expired ones, by ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &DelegationToken> {
        self.0.values()
    }

    /// Creates a token.
    ///
    /// # Errors
    /// INVALID_PRINCIPAL_TYPE, DELEGATION_TOKEN_AUTH_DISABLED.
    pub(crate) fn create(
        &mut self,
        config: &ClusterConfig,
        rng: &mut Rng,
        new: NewToken,
        now_ms: i64,
    ) -> Result<DelegationToken, ErrorCode> {
        if new.renewers.iter().any(|renewer| renewer.kind != USER) {
            return Err(ErrorCode::INVALID_PRINCIPAL_TYPE);
        }
        let secret_key = secret_key(config)?;
        let token_id = rng.uuid().to_string();
        let max_ms = now_ms.saturating_add(at_most(config.delegation_token_max_lifetime_ms, new.max_lifetime_ms));
        let key = hmac::Key::new(hmac::HMAC_SHA512, secret_key.as_bytes());
        let token = DelegationToken {
            hmac: hmac::sign(&key, token_id.as_bytes()).as_ref().to_vec(),
            token_id: token_id.clone(),
            owner: new.owner,
            requester: new.requester,
            renewers: new.renewers,
            issue_ms: now_ms,
            expiry_ms: max_ms.min(now_ms.saturating_add(config.delegation_token_expiry_time_ms)),
            max_ms,
        };
        self.0.insert(token_id, token.clone());
        Ok(token)
    }

    /// Moves the end of a token to `period_ms` from now, at most to that of a new token without renewal; not positive for
    /// that. Returns the new end.
    ///
    /// # Errors
    /// DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_EXPIRED,
    /// DELEGATION_TOKEN_OWNER_MISMATCH.
    pub(crate) fn renew(
        &mut self,
        config: &ClusterConfig,
        hmac: &[u8],
        principal: &Principal,
        period_ms: i64,
        now_ms: i64,
    ) -> Result<i64, ErrorCode> {
        secret_key(config)?;
        let token = self.by_hmac(hmac)?;
        if token.is_expired(now_ms) {
            return Err(ErrorCode::DELEGATION_TOKEN_EXPIRED);
        }
        token.check_renewer(principal)?;
        let period_ms = at_most(config.delegation_token_expiry_time_ms, period_ms);
        token.expiry_ms = token.max_ms.min(now_ms.saturating_add(period_ms));
        Ok(token.expiry_ms)
    }

    /// Moves the end of a token to `period_ms` from now, at most to the end of its longest lifetime. A negative period
    /// removes the token. Returns the new end.
    ///
    /// # Errors
    /// DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_OWNER_MISMATCH,
    /// DELEGATION_TOKEN_EXPIRED.
    pub(crate) fn expire(
        &mut self,
        config: &ClusterConfig,
        hmac: &[u8],
        principal: &Principal,
        period_ms: i64,
        now_ms: i64,
    ) -> Result<i64, ErrorCode> {
        secret_key(config)?;
        let token = self.by_hmac(hmac)?;
        token.check_renewer(principal)?;
        if period_ms < 0 {
            let token_id = token.token_id.clone();
            self.0.remove(&token_id);
            return Ok(now_ms);
        }
        if token.is_expired(now_ms) {
            return Err(ErrorCode::DELEGATION_TOKEN_EXPIRED);
        }
        token.expiry_ms = token.max_ms.min(now_ms.saturating_add(period_ms));
        Ok(token.expiry_ms)
    }

    fn by_hmac(&mut self, hmac: &[u8]) -> Result<&mut DelegationToken, ErrorCode> {
        let found = self.0.values_mut().find(|token| token.hmac == hmac);
        found.ok_or(ErrorCode::DELEGATION_TOKEN_NOT_FOUND)
    }
}

/// Returns the key from which tokens are made.
///
/// # Errors
/// DELEGATION_TOKEN_AUTH_DISABLED without one.
pub(crate) fn secret_key(config: &ClusterConfig) -> Result<&str, ErrorCode> {
    let key = config.delegation_token_secret_key.as_deref();
    key.ok_or(ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED)
}

/// Returns the requested period, at most the longest; the longest if none is requested.
fn at_most(longest_ms: i64, requested_ms: i64) -> i64 {
    match requested_ms > 0 {
        true => requested_ms.min(longest_ms),
        false => longest_ms,
    }
}
