//! Where log lines go, and the printers that applications may use.

use std::ffi::{CStr, c_char};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ottla::error::ErrorCode;
use ottla::event::{Event, Queue};
use ottla::log::LogLine;
use parking_lot::RwLock;

use crate::callbacks::LogCb;
use crate::cancel_guard::CancelGuard;
use crate::ffi::{AnyProcess, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// Lines kept for an application that does not poll its log queue; later ones are dropped.
const MAX_QUEUED: usize = 10_000;

/// A client's log.
pub struct LogState {
    callback: RwLock<Option<LogCb>>,
    /// `log.queue`: lines wait here until the application polls.
    queue: Option<Arc<Queue>>,
    queued: AtomicUsize,
    /// `log.thread.name`
    thread_name: bool,
}

impl LogState {
    /// A log that calls `callback`, or keeps the lines for polling.
    pub fn new(callback: Option<LogCb>, to_queue: bool, thread_name: bool) -> Self {
        expect(callback);
        LogState {
            callback: RwLock::new(callback),
            queue: to_queue.then(Queue::new),
            queued: AtomicUsize::new(0),
            thread_name,
        }
    }

    /// Takes a line in, on any thread.
    pub fn write(&self, handle: &Handle, mut line: LogLine) {
        if self.thread_name {
            let thread = std::thread::current();
            line.message = format!("[thrd:{}]: {}", thread.name().unwrap_or("app"), line.message);
        }
        match &self.queue {
            None => self.print(handle, &line),
            Some(queue) => {
                if self.queued.fetch_add(1, Ordering::Relaxed) < MAX_QUEUED {
                    queue.push(Event::Log(line));
                } else {
                    self.queued.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// A queued line was taken out.
    pub fn on_taken(&self) {
        let _ = self
            .queued
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    }

    /// Calls the application with a line.
    pub fn print(&self, handle: &Handle, line: &LogLine) {
        let callback = *self.callback.read();
        if let Some(callback) = callback {
            let (facility, text) = (c_text(line.facility), c_text(line.message.as_str()));
            let _uncancelled = CancelGuard::new();
            // SAFETY: the application's function; the strings live during the call.
            unsafe { callback(handle.as_ptr(), line.level, facility.as_ptr(), text.as_ptr()) };
        }
    }

    /// Drops what waits: the client is being destroyed.
    pub fn close(&self) {
        if let Some(queue) = &self.queue {
            queue.purge(true);
        }
    }
}

/// A string for printing; empty for NULL.
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

exports! {
    /// Replaces the log callback; NULL stops logging.
    fn rd_kafka_set_logger(rk: &Handle, callback: Option<LogCb>) {
        expect(callback);
        *rk.log.callback.write() = callback;
    }

    /// Changes the level up to which lines are logged.
    fn rd_kafka_set_log_level(rk: &Handle, level: i32) {
        if let Some(client) = rk.client() {
            client.set_log_level(level);
        }
    }

    /// Prints a line on stderr.
    fn rd_kafka_log_print(rk: Option<AnyProcess<'_, Handle>>, level: i32, facility: *const c_char, text: *const c_char) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = rk.as_ref().map(|rk| rk.0.name().to_string_lossy()).unwrap_or_default();
        // SAFETY: strings by the API's contract.
        let (facility, text) = unsafe { (lossy(facility), lossy(text)) };
        let line = format!("%{level}|{}.{:03}|{facility}|{name}| {text}\n", now.as_secs(), now.subsec_millis());
        let _uncancelled = CancelGuard::new();
        // One write, so that lines of several threads do not mix. Where stderr is closed there is nobody to tell.
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
        let (Some(from), Some(client)) = (&rk.log.queue, rk.client()) else {
            return ErrorCode::L_NOT_CONFIGURED;
        };
        let to = queue.map_or_else(|| client.main_queue().clone(), |q| q.queue().clone());
        from.forward_to(Some(to));
        ErrorCode::NO_ERROR
    }

    /// The debug contexts, as the `debug` property takes them.
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

/// Says that the application's code will be called, if this is not the library's own.
fn expect(callback: Option<LogCb>) {
    if callback.is_some_and(|own| !std::ptr::fn_addr_eq(own, PRINT)) {
        ottla::event::expect_callbacks();
    }
}

/// The default log callback.
pub const PRINT: LogCb = rd_kafka_log_print;
