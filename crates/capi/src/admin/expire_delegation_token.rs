//! ExpireDelegationToken: a delegation token to end.

use std::ffi::c_void;
use std::time::Duration;

use ottla_core::admin::{ExpireDelegationToken, Operation};

use super::call::{begin, result_of};
use super::delegation_token;
use super::options::AdminOptions;
use crate::event::EventHandle;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Ends a token.
    fn rd_kafka_ExpireDelegationToken(
        rk: &Handle, hmac: *const c_void, hmac_size: usize, expiry_period_ms: i64, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's bytes.
        let hmac = unsafe { delegation_token::hmac(hmac, hmac_size) };
        let period = u64::try_from(expiry_period_ms).ok().map(Duration::from_millis);
        begin(rk, hmac.map(|hmac| ExpireDelegationToken { hmac, period }), options, queue);
    }

    /// Returns the event as the result of ExpireDelegationToken; NULL for other events.
    fn rd_kafka_event_ExpireDelegationToken_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, ExpireDelegationToken::NAME)
    }

    /// Returns the token's end.
    fn rd_kafka_ExpireDelegationToken_result_expiry_timestamp(result: Option<&EventHandle>) -> i64, or -1; {
        let result = result.and_then(EventHandle::admin_result);
        let result = result.filter(|result| result.operation == ExpireDelegationToken::NAME);
        result.and_then(|result| result.output::<i64>()).copied().unwrap_or(-1)
    }
}
