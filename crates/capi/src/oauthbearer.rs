//! Tokens for SASL/OAUTHBEARER (KIP-255).

use std::ffi::{CString, c_char};

use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::TokenRequest;
use zeroize::Zeroize;

use crate::ffi::{self, FromC, c_text, exports};
use crate::handle::Handle;

/// The value of `sasl.oauthbearer.config` for C. It may contain secrets: the memory is overwritten when it is dropped.
pub struct ConfigText(CString);

impl ConfigText {
    /// Returns the request's text; `None` if the property is not set.
    pub fn of(request: &TokenRequest) -> Option<Self> {
        (!request.config.is_empty()).then(|| ConfigText(c_text(&*request.config)))
    }

    /// Returns the text for C; NULL for `None`.
    pub fn as_ptr(text: Option<&Self>) -> *const c_char {
        text.map_or(std::ptr::null(), |text| text.0.as_ptr())
    }
}

impl Drop for ConfigText {
    fn drop(&mut self) {
        std::mem::take(&mut self.0).into_bytes().zeroize();
    }
}

/// A token and its extensions as the application passes them.
pub(crate) struct GivenToken {
    pub(crate) token: *const c_char,
    pub(crate) principal: *const c_char,
    /// Names and values in turn.
    pub(crate) extensions: *const *const c_char,
    /// The number of names and values.
    pub(crate) count: usize,
}

impl GivenToken {
    /// Returns the pairs of the extensions.
    ///
    /// # Safety
    /// `extensions` is NULL or an array of `count` strings or NULLs.
    unsafe fn pairs(&self) -> Result<Vec<(String, String)>, Error> {
        if !self.count.is_multiple_of(2) {
            return Err(Error::invalid_arg(format!(
                "{} extension names and values: each name needs a value",
                self.count
            )));
        }
        if self.count > 0 && self.extensions.is_null() {
            return Err(Error::invalid_arg("extensions is NULL"));
        }
        let mut pairs = Vec::new();
        for index in (0..self.count).step_by(2) {
            // SAFETY: index + 1 < count.
            let texts = unsafe { (text(*self.extensions.add(index)), text(*self.extensions.add(index + 1))) };
            let (Some(name), Some(value)) = texts else {
                return Err(Error::invalid_arg(format!(
                    "extension {}: name or value is NULL or not UTF-8",
                    index / 2 + 1
                )));
            };
            pairs.push((name.to_owned(), value.to_owned()));
        }
        Ok(pairs)
    }

    /// Passes the token to the client.
    ///
    /// # Safety
    /// The pointers are NULL or valid, see [`pairs`](Self::pairs).
    pub(crate) unsafe fn set(&self, rk: &Handle, lifetime_ms: i64) -> Result<(), Error> {
        let client = rk.need_client()?;
        client.check_oauthbearer()?;
        // SAFETY: NULL or strings.
        let (pairs, texts) = unsafe { (self.pairs()?, (text(self.token), text(self.principal))) };
        let (Some(token), Some(principal)) = texts else {
            return Err(Error::invalid_arg("token or principal is NULL or not UTF-8"));
        };
        client.set_token(token, lifetime_ms, principal, &pairs)
    }
}

/// Returns a string; `None` for NULL and for other bytes than UTF-8.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string that outlives the result.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    // SAFETY: as promised.
    unsafe { <&str>::from_c(text) }
}

exports! {
    /// Sets the client's token.
    fn rd_kafka_oauthbearer_set_token(
        rk: &Handle, token: *const c_char, lifetime_ms: i64, principal: *const c_char,
        extensions: *mut *const c_char, count: usize, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let given = GivenToken { token, principal, extensions: extensions.cast_const(), count };
        // SAFETY: strings and an array of `count` strings, by the API's contract.
        let result = unsafe { given.set(rk, lifetime_ms) };
        if let Err(error) = &result {
            // SAFETY: the caller's buffer.
            unsafe { ffi::put_text(errstr, size, &error.message) };
        }
        ffi::code_of(result)
    }

    /// Reports to the client that there is no token.
    fn rd_kafka_oauthbearer_set_token_failure(rk: &Handle, errstr: &str) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        ffi::code_of(rk.need_client().and_then(|client| client.set_token_failure(errstr)))
    }
}
