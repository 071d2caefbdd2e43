//! The background queue and the thread that serves it, which exists only once somebody asks for either.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ottla::error::{Error, ErrorCode};
use ottla::event::{Event, Queue};
use ottla::log::level;

use crate::event;
use crate::ffi::{Deadline, IntoC, Timeout};
use crate::handle::Handle;
use crate::interceptors::ThreadType;
use crate::serve;

/// The thread's name for interceptors.
const NAME: &CStr = c"background";

/// Threads of this kind alive in this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Threads of this kind alive in this process.
pub fn threads() -> usize {
    THREADS.load(Ordering::Relaxed)
}

/// A queue with the thread that serves it.
pub struct Background {
    queue: Arc<Queue>,
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Background {
    /// Starts the thread.
    pub fn start(handle: Arc<Handle>) -> Result<Self, Error> {
        let (queue, ending) = (Queue::new(), Arc::new(AtomicBool::new(false)));
        let (from, ends) = (queue.clone(), ending.clone());
        THREADS.fetch_add(1, Ordering::Relaxed);
        let spawned = thread::Builder::new().name("ottla-events".into()).spawn(move || {
            let interceptors = handle.interceptors().get();
            if let Some(methods) = interceptors {
                methods.thread_started(&handle, ThreadType::Background, NAME);
            }
            while !ends.load(Ordering::Acquire) {
                serve_one(&handle, &from);
            }
            if let Some(methods) = interceptors {
                methods.thread_exits(&handle, ThreadType::Background, NAME);
            }
            THREADS.fetch_sub(1, Ordering::Relaxed);
        });
        match spawned {
            Ok(thread) => Ok(Background { queue, ending, thread }),
            Err(e) => {
                THREADS.fetch_sub(1, Ordering::Relaxed);
                let text = format!("no thread for the background queue: {e}");
                Err(Error::new(ErrorCode::L_CRIT_SYS_RESOURCE, text))
            }
        }
    }

    /// The queue.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Whether the thread takes what comes to `queue`, without the caller's help.
    pub fn serves(&self, queue: &Arc<Queue>) -> bool {
        self.thread.thread().id() != thread::current().id() && queue.leads_to(&self.queue)
    }

    /// Ends the thread; returns when the callback that it is in has returned.
    pub fn stop(self) {
        self.ending.store(true, Ordering::Release);
        if self.thread.thread().id() == thread::current().id() {
            return;
        }
        // Another thread that polls the queue may take the wake-up.
        while !self.thread.is_finished() {
            self.queue.wake();
            thread::sleep(Duration::from_millis(1));
        }
        // A panic was reported when it happened.
        let _ = self.thread.join();
    }
}

/// Waits for an event and hands it to the application, to its own callback when there is none for all events.
fn serve_one(handle: &Handle, queue: &Arc<Queue>) {
    if let Some(callback) = handle.callbacks().background_event {
        if let Some(event) = event::poll(handle, queue, &Deadline::new(Timeout(None))) {
            // SAFETY: the application's function, which frees the event.
            unsafe { callback(handle.as_ptr(), event.into_c(), handle.callbacks().opaque) };
        }
        return;
    }
    if handle.callbacks().consume.is_some() {
        return serve::serve_one(handle, queue);
    }
    match queue.pop(None) {
        Some(Event::Records(_)) => {
            if let Some(client) = handle.client() {
                let text = || "messages in the background queue are dropped: nobody takes them there".into();
                client.shared().log.log(level::WARNING, "BGQUEUE", text);
            }
        }
        Some(event) => serve::serve_unmapped(handle, queue, event),
        None => {}
    }
}
