//! Log, authentication, and functions that librdkafka does not have. Thread-safe, unlike the others.

use std::ffi::c_char;

use ottla_core::error::{Error, ErrorCode};
use ottla_core::share::SharedState;

use super::handle::{ShareHandle, no_handle, no_handle_error};
use crate::errors::ErrorHandle;
use crate::ffi::{self, Owned, exports};
use crate::handle::Handle;
use crate::oauthbearer::GivenToken;
use crate::queue::QueueHandle;
use crate::{log, sasl};

fn client_of(share: Option<&ShareHandle>) -> Result<&Handle, Error> {
    share.map(|share| &**share.handle()).ok_or_else(no_handle)
}

/// Returns the state that all threads may use.
pub(super) fn share_state(rk: &Handle) -> Option<&SharedState> {
    rk.client()?.shared().share.as_deref()
}

exports! {
    /// Forwards the log queue of `log.queue` to another queue, for NULL to the queue that polls serve.
    fn rd_kafka_share_set_log_queue(rkshare: Option<&ShareHandle>, queue: Option<&QueueHandle>)
        -> Option<Owned<ErrorHandle>>, or no_handle_error();
    {
        ErrorHandle::from_result(client_of(rkshare).and_then(|rk| log::forward(rk, queue)))
    }

    /// Returns the queue of requests for tokens; NULL unless it is enabled and OAUTHBEARER is the mechanism.
    fn rd_kafka_share_queue_get_sasl(rkshare: &ShareHandle) -> Option<Owned<QueueHandle>>, or None; {
        QueueHandle::of_sasl(rkshare.handle())
    }

    /// Calls the callback for tokens on the background thread.
    fn rd_kafka_share_sasl_background_callbacks_enable(rkshare: Option<&ShareHandle>)
        -> Option<Owned<ErrorHandle>>, or no_handle_error();
    {
        ErrorHandle::from_result(client_of(rkshare).and_then(sasl::serve_in_background))
    }

    /// Replaces user name and password.
    fn rd_kafka_share_sasl_set_credentials(
        rkshare: Option<&ShareHandle>, username: Option<&str>, password: Option<&str>,
    ) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        ErrorHandle::from_result(client_of(rkshare).and_then(|rk| sasl::set_credentials(rk, username, password)))
    }

    /// Sets the client's token.
    fn rd_kafka_share_oauthbearer_set_token(
        rkshare: Option<&ShareHandle>, token: *const c_char, lifetime_ms: i64, principal: *const c_char,
        extensions: *mut *const c_char, count: usize, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_STATE; {
        let given = GivenToken { token, principal, extensions: extensions.cast_const(), count };
        // SAFETY: strings and an array of `count` strings, by the API's contract.
        let result = client_of(rkshare).and_then(|rk| unsafe { given.set(rk, lifetime_ms) });
        if let Err(error) = &result {
            // SAFETY: the caller's buffer.
            unsafe { ffi::put_text(errstr, size, &error.message) };
        }
        ffi::code_of(result)
    }

    /// Reports to the client that there is no token.
    fn rd_kafka_share_oauthbearer_set_token_failure(rkshare: Option<&ShareHandle>, errstr: Option<&str>)
        -> ErrorCode, or ErrorCode::L_STATE;
    {
        ffi::code_of(client_of(rkshare).and_then(|rk| {
            let text = errstr.ok_or_else(|| Error::invalid_arg("The text is NULL"))?;
            rk.need_client()?.set_token_failure(text)
        }))
    }

    /// Ends the present or the next wait of a poll.
    fn rd_kafka_share_wakeup(rkshare: Option<&ShareHandle>) -> ErrorCode, or ErrorCode::L_STATE; {
        ffi::code_of(client_of(rkshare).map(|rk| {
            if let Some(state) = share_state(rk) {
                state.wake();
            }
        }))
    }

    /// Returns the duration of record locks in milliseconds, -1 while it is not known.
    fn rd_kafka_share_lock_timeout_ms(rkshare: &ShareHandle) -> i32, or -1; {
        let timeout_ms = share_state(rkshare.handle()).and_then(|state| state.lock_timeout_ms());
        timeout_ms.and_then(|ms| i32::try_from(ms).ok()).unwrap_or(-1)
    }
}
