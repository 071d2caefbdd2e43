//! The mock cluster of `rdkafka_mock.h`, one file for each area of the header.
//!
//! Each function locks the cluster for the time of its change, so every function may be called from any thread.

pub mod brokers;
pub mod cluster;
pub mod consumer_groups;
pub mod coordinators;
pub mod errors;
pub mod requests;
pub mod share_groups;
pub mod telemetry;
pub mod topics;

use std::ffi::c_char;

use ottla_core::error::ErrorCode;
use ottla_mock::ErrorCode as BrokerError;

use crate::ffi::{self, FromC};

/// Converts the outcome of a change to the code that the function returns.
fn code<E: Into<ErrorCode>>(outcome: Result<Result<(), BrokerError>, E>) -> ErrorCode {
    match outcome {
        Ok(Ok(())) => ErrorCode::NO_ERROR,
        Ok(Err(error)) => ErrorCode(error.0.into()),
        Err(error) => error.into(),
    }
}

/// Notes the outcome of a function without a result for `rd_kafka_last_error()`.
fn note(outcome: Result<(), ErrorCode>) {
    let code = outcome.err().unwrap_or(ErrorCode::NO_ERROR);
    ffi::set_last_error(code, ffi::errno_of(code));
}

/// Returns the elements of a caller's array; `None` for NULL with a count.
///
/// # Safety
/// `array` is NULL or valid for reads of `count` elements.
unsafe fn elements<T: Copy>(array: *const T, count: usize) -> Option<Vec<T>> {
    if count == 0 {
        return Some(Vec::new());
    }
    if array.is_null() || !array.is_aligned() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return None;
    }
    // SAFETY: by the caller's promise; not longer than a Rust object can be.
    Some(unsafe { std::slice::from_raw_parts(array, count) }.to_vec())
}

/// Copies an array of strings; `None` when the array or a string is NULL or not UTF-8.
///
/// # Safety
/// `array` is NULL or valid for reads of `count` strings.
unsafe fn texts(array: *const *const c_char, count: usize) -> Option<Vec<String>> {
    // SAFETY: as for this function.
    let pointers = unsafe { elements(array, count) }?;
    // SAFETY: NULL or a string, by the caller's promise.
    let text = |text: *const c_char| unsafe { <&str>::from_c(text) }.map(str::to_owned);
    pointers.into_iter().map(text).collect()
}
