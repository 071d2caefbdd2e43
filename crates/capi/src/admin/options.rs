//! `rd_kafka_AdminOptions_t`.

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use ottla_core::admin::{GroupFilters, Options};
use ottla_core::error::ErrorCode;
use ottla_core::types::NodeId;

use super::common::refused;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;

/// `rd_kafka_admin_op_t`
#[allow(missing_docs)]
pub mod admin_op {
    pub const ANY: i32 = 0;
    pub const CREATE_TOPICS: i32 = 1;
    pub const DELETE_TOPICS: i32 = 2;
    pub const CREATE_PARTITIONS: i32 = 3;
    pub const ALTER_CONFIGS: i32 = 4;
    pub const DELETE_RECORDS: i32 = 6;
    pub const LIST_CONSUMER_GROUPS: i32 = 12;
    pub const INCREMENTAL_ALTER_CONFIGS: i32 = 16;
    pub const LIST_OFFSETS: i32 = 21;
    pub const ELECT_LEADERS: i32 = 22;
    pub const COUNT: i32 = 23;
}

/// For which requests `operation_timeout` is an option.
const WITH_OPERATION_TIMEOUT: &[i32] = &[
    admin_op::ANY,
    admin_op::CREATE_TOPICS,
    admin_op::DELETE_TOPICS,
    admin_op::CREATE_PARTITIONS,
    admin_op::DELETE_RECORDS,
    admin_op::LIST_OFFSETS,
    admin_op::ELECT_LEADERS,
];
/// For which requests `validate_only` is an option.
const WITH_VALIDATE_ONLY: &[i32] = &[
    admin_op::ANY,
    admin_op::CREATE_TOPICS,
    admin_op::CREATE_PARTITIONS,
    admin_op::ALTER_CONFIGS,
    admin_op::INCREMENTAL_ALTER_CONFIGS,
];

/// The longest timeout, in milliseconds.
const TIMEOUT_MAX_MS: c_int = 3_600_000;

/// `rd_kafka_AdminOptions_t`
#[repr(C)]
pub struct AdminOptions {
    tag: Tag,
    /// For which request.
    op: i32,
    options: Options,
    /// Which groups are listed.
    pub(super) filters: GroupFilters,
    opaque: *mut c_void,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AdminOptions {
    const TAG: u32 = 0x0e44_0a0c;
}

impl AdminOptions {
    /// Returns whether they are for one of these requests.
    pub(super) fn is_for(&self, ops: &[i32]) -> bool {
        ops.contains(&self.op)
    }

    /// As the core takes them, with what comes back with the result.
    pub(super) fn to_core(&self) -> (Options, usize) {
        (self.options.clone(), self.opaque as usize)
    }
}

/// Checks a number against its range, and that the option fits the request.
fn check(options: &AdminOptions, ops: &[i32], name: &str, range: (c_int, c_int), value: c_int) -> Result<(), String> {
    if !ops.is_empty() && !options.is_for(ops) {
        return Err(format!("{name} is no option of this request"));
    }
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
        (0..admin_op::COUNT).contains(&op).then(|| {
            boxed(AdminOptions {
                tag: Tag::new(AdminOptions::TAG),
                op,
                options: Options::default(),
                filters: GroupFilters::default(),
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
        let checked = check(options, &[], "request_timeout", (0, TIMEOUT_MAX_MS), timeout_ms);
        let to = &mut options.options.request_timeout;
        // SAFETY: the caller's buffer.
        unsafe { set(checked, errstr, size, || *to = Some(millis(timeout_ms))) }
    }

    /// Sets how long the controller waits for the end of what it begins.
    fn rd_kafka_AdminOptions_set_operation_timeout(
        options: &mut AdminOptions, timeout_ms: i32, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let range = (-1, TIMEOUT_MAX_MS);
        let checked = check(options, WITH_OPERATION_TIMEOUT, "operation_timeout", range, timeout_ms);
        let to = &mut options.options.operation_timeout;
        // SAFETY: the caller's buffer.
        unsafe { set(checked, errstr, size, || *to = Some(millis(timeout_ms))) }
    }

    /// Sets whether the request is only checked.
    fn rd_kafka_AdminOptions_set_validate_only(
        options: &mut AdminOptions, validate_only: i32, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let checked = check(options, WITH_VALIDATE_ONLY, "validate_only", (0, 1), validate_only);
        let to = &mut options.options.validate_only;
        // SAFETY: the caller's buffer.
        unsafe { set(checked, errstr, size, || *to = validate_only == 1) }
    }

    /// Sets the broker that receives the request.
    fn rd_kafka_AdminOptions_set_broker(
        options: &mut AdminOptions, broker: i32, errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let checked = check(options, &[], "broker", (0, i32::MAX), broker);
        let to = &mut options.options.broker;
        // SAFETY: the caller's buffer.
        unsafe { set(checked, errstr, size, || *to = Some(NodeId(broker))) }
    }

    /// Sets what comes with the result.
    fn rd_kafka_AdminOptions_set_opaque(options: &mut AdminOptions, opaque: *mut c_void) {
        options.opaque = opaque;
    }
}
