//! RenewDelegationToken: a delegation token whose end is moved.

use std::ffi::c_void;
use std::time::Duration;

use ottla_core::admin::{Operation, RenewDelegationToken};

use super::call::{begin, result_of};
use super::delegation_token;
use super::options::AdminOptions;
use crate::event::EventHandle;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Renews a token.
    fn rd_kafka_RenewDelegationToken(
        rk: &Handle, hmac: *const c_void, hmac_size: usize, renew_period_ms: i64, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's bytes.
        let hmac = unsafe { delegation_token::hmac(hmac, hmac_size) };
        let period = u64::try_from(renew_period_ms).ok().map(Duration::from_millis);
        begin(rk, hmac.map(|hmac| RenewDelegationToken { hmac, period }), options, queue);
    }

    /// Returns the event as the result of RenewDelegationToken; NULL for other events.
    fn rd_kafka_event_RenewDelegationToken_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, RenewDelegationToken::NAME)
    }

    /// Returns the token's end.
    fn rd_kafka_RenewDelegationToken_result_expiry_timestamp(result: Option<&EventHandle>) -> i64, or -1; {
        let result = result.and_then(EventHandle::admin_result);
        let result = result.filter(|result| result.operation == RenewDelegationToken::NAME);
        result.and_then(|result| result.output::<i64>()).copied().unwrap_or(-1)
    }
}
