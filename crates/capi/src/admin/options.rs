//! `rd_kafka_AdminOptions_t`.

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use ottla_core::admin::Options;
use ottla_core::error::ErrorCode;
use ottla_core::types::NodeId;

use super::common::refused;
use crate::admin_op::{
    AUTHORIZED_OPERATIONS, ISOLATION_LEVEL, OPERATION_TIMEOUT, OptionSet, STABLE_OFFSETS, VALIDATE_ONLY, options_of,
};
use crate::errors::ErrorHandle;
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
    /// The types of the protocols of groups to list.
    pub(super) protocol_types: Vec<String>,
    /// Committed offsets of open transactions are awaited.
    pub(super) require_stable: bool,
    /// Authorized operations are requested.
    pub(super) include_authorized_operations: bool,
    /// Records of open transactions do not count.
    pub(super) read_committed: bool,
    /// A reassignment may change the number of replicas.
    pub(super) allow_factor_change: bool,
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

/// Sets an option that is a flag, or returns why not.
pub(super) fn set_flag_of(
    options: &mut AdminOptions,
    (option, name): (OptionSet, &str),
    true_or_false: c_int,
    flag: impl FnOnce(&mut AdminOptions) -> &mut bool,
) -> Option<Owned<ErrorHandle>> {
    let checked = check(options, option, name, (0, 1), true_or_false);
    set_flag(checked, || *flag(options) = true_or_false == 1)
}

/// Sets one option, or returns why not.
fn set_flag(checked: Result<(), String>, set: impl FnOnce()) -> Option<Owned<ErrorHandle>> {
    match checked {
        Ok(()) => {
            set();
            None
        }
        Err(why) => Some(ErrorHandle::new(ErrorCode::L_INVALID_ARG, why)),
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
                protocol_types: Vec::new(),
                require_stable: false,
                include_authorized_operations: false,
                read_committed: false,
                allow_factor_change: true,
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

    /// Sets whether committed offsets of open transactions are awaited.
    fn rd_kafka_AdminOptions_set_require_stable_offsets(options: &mut AdminOptions, true_or_false: i32)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        let checked = check(options, STABLE_OFFSETS, "require_stable_offsets", (0, 1), true_or_false);
        set_flag(checked, || options.require_stable = true_or_false == 1)
    }

    /// Sets whether the broker returns the operations that the client may perform.
    fn rd_kafka_AdminOptions_set_include_authorized_operations(options: &mut AdminOptions, true_or_false: i32)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        let name = "include_authorized_operations";
        let checked = check(options, AUTHORIZED_OPERATIONS, name, (0, 1), true_or_false);
        set_flag(checked, || options.include_authorized_operations = true_or_false == 1)
    }

    /// Sets the isolation level, `rd_kafka_IsolationLevel_t`.
    fn rd_kafka_AdminOptions_set_isolation_level(options: &mut AdminOptions, level: i32)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        let checked = check(options, ISOLATION_LEVEL, "isolation_level", (0, 1), level);
        set_flag(checked, || options.read_committed = level == 1)
    }

    /// Sets what comes with the result.
    fn rd_kafka_AdminOptions_set_opaque(options: &mut AdminOptions, opaque: *mut c_void) {
        options.opaque = opaque;
    }
}
