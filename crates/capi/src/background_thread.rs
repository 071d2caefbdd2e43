//! The thread of a background queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::Queue;

/// The number of these threads in this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of these threads in this process.
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
    /// Starts a thread that runs `serve` with the queue; `serve` returns when the flag is set.
    ///
    /// # Errors
    /// The operating system starts no thread.
    pub fn start(serve: impl FnOnce(&Arc<Queue>, &AtomicBool) + Send + 'static) -> Result<Self, Error> {
        let (queue, ending) = (Queue::new(), Arc::new(AtomicBool::new(false)));
        let (from, ends) = (queue.clone(), ending.clone());
        THREADS.fetch_add(1, Ordering::Relaxed);
        let spawned = thread::Builder::new().name("ottla-events".into()).spawn(move || {
            serve(&from, &ends);
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

    /// Returns the queue.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Returns whether another thread than the caller's serves `queue`.
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
