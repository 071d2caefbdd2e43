//! The result of one call that another thread executes.

use std::sync::Arc;
use std::time::Duration;

use crate::sys::sync::{Condvar, Deadline, Mutex, wait_while};

/// A slot for one result, shared by the waiting and the executing thread.
#[derive(Debug)]
pub struct Reply<T> {
    slot: Mutex<Option<T>>,
    filled: Condvar,
}

impl<T> Reply<T> {
    /// Creates an empty slot.
    pub fn new() -> Arc<Self> {
        Arc::new(Reply {
            slot: Mutex::new(None),
            filled: Condvar::new(),
        })
    }

    /// Sets the result; the first one counts.
    pub fn fill(&self, value: T) {
        let mut slot = self.slot.lock();
        if slot.is_none() {
            *slot = Some(value);
            self.filled.notify_all();
        }
    }

    /// Returns whether there is a result.
    pub fn is_filled(&self) -> bool {
        self.slot.lock().is_some()
    }

    /// Takes the result if there is one.
    pub fn try_take(&self) -> Option<T> {
        self.slot.lock().take()
    }

    /// Waits until there is a result, which remains. Without a timeout it waits indefinitely.
    pub fn wait_until_filled(&self, timeout: Option<Duration>) {
        let mut slot = self.slot.lock();
        wait_while(&self.filled, &mut slot, |s| s.is_none(), Deadline::after(timeout));
    }

    /// Waits for the result. Without a timeout it waits indefinitely.
    pub fn wait(&self, timeout: Option<Duration>) -> Option<T> {
        let mut slot = self.slot.lock();
        wait_while(&self.filled, &mut slot, |s| s.is_none(), Deadline::after(timeout));
        slot.take()
    }
}
