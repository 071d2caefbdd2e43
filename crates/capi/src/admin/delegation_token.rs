//! `rd_kafka_DelegationToken_t`: a delegation token in results.

use std::ffi::{CString, c_char, c_void};

use ottla_core::admin::{DelegationToken, TokenHmac};
use ottla_core::error::Error;

use super::common::{Pointers, address};
use super::principal::PrincipalHandle;
use crate::ffi::{self, Tag, Tagged, c_text, exports};

/// `rd_kafka_DelegationToken_t`
#[repr(C)]
pub struct TokenHandle {
    tag: Tag,
    token_id: CString,
    owner: PrincipalHandle,
    requester: Option<PrincipalHandle>,
    renewers: Pointers<PrincipalHandle>,
    issue_ms: i64,
    expiry_ms: i64,
    max_ms: i64,
    hmac: TokenHmac,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for TokenHandle {
    const TAG: u32 = 0x0e44_1108;
}

impl From<&DelegationToken> for TokenHandle {
    fn from(token: &DelegationToken) -> Self {
        TokenHandle {
            tag: Tag::new(Self::TAG),
            token_id: c_text(token.token_id.as_str()),
            owner: PrincipalHandle::from(&token.owner),
            requester: token.requester.as_ref().map(PrincipalHandle::from),
            renewers: token.renewers.iter().map(PrincipalHandle::from).collect(),
            issue_ms: token.issue_ms,
            expiry_ms: token.expiry_ms,
            max_ms: token.max_ms,
            hmac: token.hmac.clone(),
        }
    }
}

/// Copies the secret of a token.
///
/// # Errors
/// `_INVALID_ARG` for NULL.
///
/// # Safety
/// `hmac` is NULL or valid for reads of `size` bytes.
pub(super) unsafe fn hmac(hmac: *const c_void, size: usize) -> Result<TokenHmac, Error> {
    // SAFETY: the caller's bytes.
    let bytes = unsafe { ffi::bytes(hmac, size) };
    bytes
        .map(TokenHmac::new)
        .ok_or_else(|| Error::invalid_arg("The HMAC of the token is NULL"))
}

exports! {
    /// Returns the token's id.
    fn rd_kafka_DelegationToken_token_id(token: &TokenHandle) -> *const c_char, or std::ptr::null(); {
        token.token_id.as_ptr()
    }

    /// Returns the token's owner.
    fn rd_kafka_DelegationToken_owner(token: &TokenHandle) -> *const PrincipalHandle, or std::ptr::null(); {
        &raw const token.owner
    }

    /// Returns the principal that has created the token; NULL if it is unknown.
    fn rd_kafka_DelegationToken_requester(token: &TokenHandle) -> *const PrincipalHandle, or std::ptr::null(); {
        address(token.requester.as_ref())
    }

    /// Returns the principals that may renew the token, owned by the result.
    fn rd_kafka_DelegationToken_renewers(token: Option<&TokenHandle>, count: *mut usize)
        -> *mut *const PrincipalHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match token {
                Some(token) => token.renewers.lend(count),
                None => super::call::nothing(count),
            }
        }
    }

    /// Returns when the token was created.
    fn rd_kafka_DelegationToken_issue_timestamp(token: &TokenHandle) -> i64, or -1; {
        token.issue_ms
    }

    /// Returns when the token ends unless it is renewed.
    fn rd_kafka_DelegationToken_expiry_timestamp(token: &TokenHandle) -> i64, or -1; {
        token.expiry_ms
    }

    /// Returns when the token ends in any case.
    fn rd_kafka_DelegationToken_max_timestamp(token: &TokenHandle) -> i64, or -1; {
        token.max_ms
    }

    /// Returns the token's secret, owned by the result.
    fn rd_kafka_DelegationToken_hmac(token: Option<&TokenHandle>, size: *mut usize)
        -> *const c_void, or std::ptr::null();
    {
        let hmac = token.map(|token| token.hmac.as_bytes());
        // SAFETY: the caller's out-parameter.
        unsafe { ffi::put(size, hmac.map_or(0, <[u8]>::len)) };
        hmac.map_or(std::ptr::null(), |hmac| hmac.as_ptr().cast())
    }
}
