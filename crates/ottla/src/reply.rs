//! The answer to one call that another thread carries out.

use std::sync::Arc;
use std::time::Duration;

use crate::sys::sync::{Condvar, Deadline, Mutex, wait_while};

/// A slot for one answer, shared by who waits and who answers.
#[derive(Debug)]
pub struct Reply<T> {
    slot: Mutex<Option<T>>,
    filled: Condvar,
}

impl<T> Reply<T> {
    /// An empty slot.
    pub fn new() -> Arc<Self> {
        Arc::new(Reply {
            slot: Mutex::new(None),
            filled: Condvar::new(),
        })
    }

    /// Gives the answer; the first one counts.
    pub fn fill(&self, value: T) {
        let mut slot = self.slot.lock();
        if slot.is_none() {
            *slot = Some(value);
            self.filled.notify_all();
        }
    }

    /// Takes the answer if it is there.
    pub fn try_take(&self) -> Option<T> {
        self.slot.lock().take()
    }

    /// Waits for the answer; `None` timeout waits for ever.
    pub fn wait(&self, timeout: Option<Duration>) -> Option<T> {
        let mut slot = self.slot.lock();
        wait_while(&self.filled, &mut slot, |s| s.is_none(), Deadline::after(timeout));
        slot.take()
    }
}
