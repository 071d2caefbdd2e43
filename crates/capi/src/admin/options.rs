//! `rd_kafka_AdminOptions_t`.

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use ottla_core::admin::Options;
use ottla_core::error::ErrorCode;
use ottla_core::types::NodeId;

use super::common::refused;
use crate::admin_op::{OPERATION_TIMEOUT, OptionSet, VALIDATE_ONLY, options_of};
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;

/// The longest timeout, in milliseconds.
const TIMEOUT_MAX_MS: c_int = 3_600_000;

/// `rd_kafka_AdminOptions_t`
#[repr(C)]
pub struct AdminOptions {
    tag: Tag,
    /// The options of the operation.
    allowed: OptionSet,
    options: Options,
    /// The states of groups to list.
    pub(super) states: Vec<String>,
    /// The types of groups to list.
    pub(super) types: Vec<String>,
    opaque: *mut c_void,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AdminOptions {
    const TAG: u32 = 0x0e44_0a0c;
}

impl AdminOptions {
    /// Checks that the operation has these options.
    pub(super) fn check(&self, option: OptionSet, name: &str) -> Result<(), String> {
        match self.allowed & option == option {
            true => Ok(()),
            false => Err(format!("{name} is no option of this request")),
        }
    }

    /// As the core takes them, with what comes back with the result.
    pub(super) fn to_core(&self) -> (Options, usize) {
        (self.options.clone(), self.opaque as usize)
    }
}

/// Checks a number against its range, and that the operation has the option.
fn check(
    options: &AdminOptions,
    option: OptionSet,
    name: &str,
    range: (c_int, c_int),
    value: c_int,
) -> Result<(), String> {
    options.check(option, name)?;
    match (range.0..=range.1).contains(&value) {
        true => Ok(()),
        false => Err(format!("{name}={value} is out of range: {}..{}", range.0, range.1)),
    }
}

fn millis(timeout_ms: c_int) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0))
}

/// Sets one option, or writes why not.
///
/// # Safety
/// `errstr` is NULL or valid for writes of `size` bytes.
unsafe fn set(checked: Result<(), String>, errstr: *mut c_char, size: usize, set: impl FnOnce()) -> ErrorCode {
    match checked {
        Ok(()) => {
            set();
            ErrorCode::NO_ERROR
        }
        // SAFETY: the caller's buffer.
        Err(why) => unsafe { refused(errstr, size, &why) },
    }
}

exports! {
    /// Options of a request, all at their defaults; NULL for a request that does not exist.
    fn rd_kafka_AdminOptions_new(rk: &Handle, op: i32) -> Option<Owned<AdminOptions>>, or None; {
        let _ = rk;
        options_of(op).map(|allowed| {
            boxed(AdminOptions {
                tag: Tag::new(AdminOptions::TAG),
                allowed,
                options: Options::default(),
                states: Vec::new(),
                types: Vec::new(),
                opaque: std::ptr::null_mut(),
            })
        })
    }

    /// Frees options; NULL is fine.
    fn rd_kafka_AdminOptions_destroy(options: *mut AdminOptions) {
        // SAFETY: NULL or the application's options.
        drop(unsafe { <Owned<AdminOptions>>::from_c(options) });
    }

    /// Sets the call's timeout.
    fn rd_kafka_AdminOptions_set_request_timeout(
        options: &mut AdminOptions, timeout_ms: i32, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let checked = check(options, 0, "request_timeout", (0, TIMEOUT_MAX_MS), timeout_ms);
        let to = &mut options.options.request_timeout;
        // SAFETY: the caller's buffer.
        unsafe { set(checked, errstr, size, || *to = Some(millis(timeout_ms))) }
    }

    /// Sets how long the controller waits for the end of what it begins.
    fn rd_kafka_AdminOptions_set_operation_timeout(
        options: &mut AdminOptions, timeout_ms: i32, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let range = (-1, TIMEOUT_MAX_MS);
        let checked = check(options, OPERATION_TIMEOUT, "operation_timeout", range, timeout_ms);
        let to = &mut options.options.operation_timeout;
        // SAFETY: the caller's buffer.
        unsafe { set(checked, errstr, size, || *to = Some(millis(timeout_ms))) }
    }

    /// Sets whether the request is only checked.
    fn rd_kafka_AdminOptions_set_validate_only(
        options: &mut AdminOptions, validate_only: i32, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let checked = check(options, VALIDATE_ONLY, "validate_only", (0, 1), validate_only);
        let to = &mut options.options.validate_only;
        // SAFETY: the caller's buffer.
        unsafe { set(checked, errstr, size, || *to = validate_only == 1) }
    }

    /// Sets the broker that receives the request.
    fn rd_kafka_AdminOptions_set_broker(
        options: &mut AdminOptions, broker: i32, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let checked = check(options, 0, "broker", (0, i32::MAX), broker);
        let to = &mut options.options.broker;
        // SAFETY: the caller's buffer.
        unsafe { set(checked, errstr, size, || *to = Some(NodeId(broker))) }
    }

    /// Sets what comes with the result.
    fn rd_kafka_AdminOptions_set_opaque(options: &mut AdminOptions, opaque: *mut c_void) {
        options.opaque = opaque;
    }
}
