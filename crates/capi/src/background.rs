//! The background queue (`rd_kafka_queue_get_background()`). Its thread starts when the queue is first requested.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_core::error::Error;
use ottla_core::event::{Event, Queue};
use ottla_core::log::level;

use crate::event;
use crate::ffi::{Deadline, IntoC, Timeout};
use crate::handle::Handle;
use crate::interceptors::ThreadType;
use crate::serve;

/// The thread's name for interceptors.
const NAME: &CStr = c"background";

/// Returns the client's background queue. The first call starts its thread.
///
/// # Errors
/// The client is destroyed, or the operating system cannot start a thread.
pub fn queue(handle: &Handle) -> Result<Arc<Queue>, Error> {
    handle.background_queue(serve_all)
}

/// Runs on the background thread: serves the queue until `ending` is set. The thread that sets `ending` also wakes the
/// queue.
fn serve_all(handle: &Handle, queue: &Arc<Queue>, ending: &AtomicBool) {
    let interceptors = handle.interceptors().get();
    if let Some(methods) = interceptors {
        methods.thread_started(handle, ThreadType::Background, NAME);
    }
    while !ending.load(Ordering::Acquire) {
        serve_one(handle, queue);
    }
    if let Some(methods) = interceptors {
        methods.thread_exits(handle, ThreadType::Background, NAME);
    }
}

/// Waits for an event and passes it to the application: to the background event callback if one is set, otherwise to the
/// callback of the event's type. Without a callback for messages, drops them with a warning.
fn serve_one(handle: &Handle, queue: &Arc<Queue>) {
    if let Some(callback) = handle.callbacks().background_event {
        if let Some(event) = event::poll(handle, queue, &Deadline::new(Timeout(None))) {
            // SAFETY: the application's function, which frees the event.
            unsafe { callback(handle.as_ptr(), event.into_c().cast(), handle.callbacks().opaque) };
        }
        return;
    }
    if handle.callbacks().consume.is_some() {
        return serve::serve_one(handle, queue);
    }
    match queue.pop(None) {
        Some(Event::Records(_)) => {
            if let Some(client) = handle.client() {
                let text =
                    || "messages in the background queue are dropped: the client has no callback for them".into();
                client.shared().log.log(level::WARNING, "BGQUEUE", text);
            }
        }
        Some(event) => serve::serve_unmapped(handle, queue, event),
        None => {}
    }
}
