//! The thread that drives a client: its own, or those of the pool.

use super::pool::PooledClient;
use crate::sys::sync::Mutex;
use crate::sys::sync::thread::{self, JoinHandle, ThreadId};

/// The thread that drives a client.
pub struct IoThread(Kind);

enum Kind {
    /// A thread of the client's own.
    Own {
        id: ThreadId,
        /// `None` once a caller has joined the thread.
        thread: Mutex<Option<JoinHandle<()>>>,
    },
    /// Threads that the clients of the process share.
    Pooled(PooledClient),
}

impl IoThread {
    /// Returns the thread of one client, which ends with it.
    pub fn own(thread: JoinHandle<()>) -> Self {
        IoThread(Kind::Own {
            id: thread.thread().id(),
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn pooled(client: PooledClient) -> Self {
        IoThread(Kind::Pooled(client))
    }

    /// Waits until the core is finished, and for the end of threads that have no other client. Concurrent callers wait as
    /// well. Returns at once on the thread that drives the client.
    pub fn wait_for_end(&self) {
        match &self.0 {
            Kind::Own { id, .. } if *id == thread::current().id() => {}
            Kind::Own { thread, .. } => {
                // The lock is held during the join, so that concurrent callers wait for it as well.
                let mut thread = thread.lock();
                if let Some(thread) = thread.take() {
                    // A panic of the thread was printed to stderr when it occurred.
                    let _ = thread.join();
                }
            }
            Kind::Pooled(client) => client.wait_for_end(),
        }
    }

    /// Leaks a forked child's handle of the thread, which the child does not have, unless a thread of the parent held its lock
    /// at the fork.
    pub fn forget_inherited(&self) {
        if let Kind::Own { thread, .. } = &self.0
            && let Some(mut thread) = thread.try_lock()
        {
            std::mem::forget(thread.take());
        }
    }

    /// Leaks a forked child's handle of the thread.
    pub fn leak(&mut self) {
        if let Kind::Own { thread, .. } = &mut self.0 {
            std::mem::forget(std::mem::replace(thread, Mutex::new(None)));
        }
    }
}
