//! The functions that control a client's log, and the printers that applications may use.

use std::ffi::{CStr, c_char};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use ottla_core::error::{Error, ErrorCode};

use crate::abi::RdKafka;
use crate::callbacks::LogCb;
use crate::cancel_guard::CancelGuard;
use crate::ffi::{self, AnyProcess, FromC, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// Returns a string for printing; empty for NULL.
///
/// # Safety
/// NULL or a NUL-terminated string.
unsafe fn lossy<'a>(text: *const c_char) -> std::borrow::Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: by the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// Forwards the log queue of `log.queue` to another queue, the main queue for `None`.
pub(crate) fn forward(rk: &Handle, queue: Option<&QueueHandle>) -> Result<(), Error> {
    let (Some(from), Some(client)) = (rk.log.queue(), rk.client()) else {
        return Err(Error::new(ErrorCode::L_NOT_CONFIGURED, "log.queue is not true"));
    };
    let to = queue.map_or_else(|| client.main_queue().clone(), |q| q.queue().clone());
    from.forward_to(Some(to));
    Ok(())
}

exports! {
    /// Replaces the log callback; NULL stops logging.
    fn rd_kafka_set_logger(rk: &Handle, callback: Option<LogCb>) {
        expect(callback);
        rk.log.set_callback(callback);
    }

    /// Changes the level up to which lines are logged.
    fn rd_kafka_set_log_level(rk: &Handle, level: i32) {
        if let Some(client) = rk.client() {
            client.set_log_level(level);
        }
    }

    /// Prints a line on stderr.
    fn rd_kafka_log_print(rk: *const RdKafka, level: i32, facility: *const c_char, text: *const c_char) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // SAFETY: NULL or a client's handle, by the API's contract.
        let rk = unsafe { <Option<AnyProcess<'_, Handle>>>::from_c(rk.cast()) }.flatten();
        let name = rk.as_ref().map(|rk| rk.0.name().to_string_lossy()).unwrap_or_default();
        // SAFETY: strings by the API's contract.
        let (facility, text) = unsafe { (lossy(facility), lossy(text)) };
        let line = format!("%{level}|{}.{:03}|{facility}|{name}| {text}\n", now.as_secs(), now.subsec_millis());
        let _uncancelled = CancelGuard::new();
        // One write, so that lines of several threads do not mix. Errors of a closed stderr are ignored.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    /// Hands a line to syslog(3).
    fn rd_kafka_log_syslog(rk: Option<AnyProcess<'_, Handle>>, level: i32, facility: *const c_char, text: *const c_char) {
        let name = rk.map_or(c"", |rk| rk.0.name());
        let _uncancelled = CancelGuard::new();
        // SAFETY: a constant format with three strings.
        unsafe {
            let (facility, text) = (lossy(facility), lossy(text));
            let (facility, text) = (c_text(&*facility), c_text(&*text));
            libc::syslog(level, c"%s: %s: %s".as_ptr(), facility.as_ptr(), name.as_ptr(), text.as_ptr());
        }
    }

    /// Forwards the log queue of `log.queue` to another queue, the main queue for NULL.
    fn rd_kafka_set_log_queue(rk: &Handle, queue: Option<&QueueHandle>)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        ffi::code_of(forward(rk, queue))
    }

    /// Returns the debug contexts, as the `debug` property takes them.
    fn rd_kafka_get_debug_contexts() -> *const c_char, or c"".as_ptr(); {
        DEBUG_CONTEXTS.as_ptr()
    }
}

/// `RD_KAFKA_DEBUG_CONTEXTS`
const DEBUG_CONTEXTS: &CStr = c"all,generic,broker,topic,metadata,feature,queue,msg,protocol,cgrp,security,fetch,\
interceptor,plugin,consumer,admin,eos,mock,assignor,conf";

/// Writes text to the application's stdio stream.
///
/// # Safety
/// `stream` is NULL or an open `FILE`.
pub unsafe fn print_to(stream: *mut libc::FILE, text: &str) {
    if stream.is_null() {
        return;
    }
    let _uncancelled = CancelGuard::new();
    // SAFETY: by the caller's promise.
    unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream) };
}

/// Announces calls of the application's code to the core, unless the callback is the library's own.
pub(crate) fn expect(callback: Option<LogCb>) {
    if callback.is_some_and(|own| !std::ptr::fn_addr_eq(own, PRINT)) {
        ottla_core::event::expect_callbacks();
    }
}

/// The default log callback.
pub const PRINT: LogCb = rd_kafka_log_print;
