//! A client's log lines: called back or queued.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ottla_core::event::{Event, Queue};
use ottla_core::log::LogLine;
use parking_lot::RwLock;

use crate::abi::RdKafka;
use crate::callbacks::LogCb;
use crate::cancel_guard::CancelGuard;
use crate::ffi::c_text;

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
    /// Returns a log that calls `callback`, or keeps the lines for polling.
    pub fn new(callback: Option<LogCb>, to_queue: bool, thread_name: bool) -> Self {
        LogState {
            callback: RwLock::new(callback),
            queue: to_queue.then(Queue::new),
            queued: AtomicUsize::new(0),
            thread_name,
        }
    }

    /// Replaces the callback.
    pub(crate) fn set_callback(&self, callback: Option<LogCb>) {
        *self.callback.write() = callback;
    }

    /// Returns the queue of `log.queue`, if that is set.
    pub(crate) fn queue(&self) -> Option<&Arc<Queue>> {
        self.queue.as_ref()
    }

    /// Takes a line in, on any thread.
    pub fn write(&self, client: *const RdKafka, mut line: LogLine) {
        if self.thread_name {
            let thread = std::thread::current();
            line.message = format!("[thrd:{}]: {}", thread.name().unwrap_or("app"), line.message);
        }
        match &self.queue {
            None => self.print(client, &line),
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
    pub(crate) fn print(&self, client: *const RdKafka, line: &LogLine) {
        let callback = *self.callback.read();
        if let Some(callback) = callback {
            let (facility, text) = (c_text(line.facility), c_text(line.message.as_str()));
            let _uncancelled = CancelGuard::new();
            // SAFETY: the application's function; the strings live during the call.
            unsafe { callback(client, line.level, facility.as_ptr(), text.as_ptr()) };
        }
    }

    /// Drops what waits: the client is being destroyed.
    pub fn close(&self) {
        if let Some(queue) = &self.queue {
            queue.purge(true);
        }
    }
}
