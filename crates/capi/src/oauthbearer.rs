//! Tokens for SASL/OAUTHBEARER. A client with that mechanism is refused, so that no client ever needs one.

use std::ffi::c_char;

use ottla_core::error::ErrorCode;

use crate::ffi::{self, exports};
use crate::handle::Handle;

const NOT_CONFIGURED: &str = "SASL/OAUTHBEARER is not the client's authentication mechanism";

exports! {
    /// Returns the client a token.
    fn rd_kafka_oauthbearer_set_token(
        rk: &Handle, token: &str, lifetime_ms: i64, principal: &str, extensions: *mut *const c_char, count: usize,
        errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let _ = (rk, token, lifetime_ms, principal, extensions, count);
        // SAFETY: the caller's buffer.
        unsafe { ffi::put_text(errstr, size, NOT_CONFIGURED) };
        ErrorCode::L_STATE
    }

    /// Reports to the client that there is no token.
    fn rd_kafka_oauthbearer_set_token_failure(rk: &Handle, errstr: &str) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let _ = rk;
        match errstr.is_empty() {
            true => ErrorCode::L_INVALID_ARG,
            false => ErrorCode::L_STATE,
        }
    }
}
