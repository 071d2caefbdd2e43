//! A pool's events without a poller, for tests and models.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use super::member::Events;
use crate::sys::sync::{Condvar, Deadline, Mutex, wait_while};

/// The events of clients, set by the test.
#[derive(Default)]
pub(super) struct TestEvents {
    state: Mutex<(Vec<usize>, bool)>,
    changed: Condvar,
}

impl TestEvents {
    pub(super) fn signal(&self, client: usize) {
        self.state.lock().0.push(client);
        self.changed.notify_all();
    }
}

impl Events for TestEvents {
    fn add(&self, _: usize, fd: RawFd) -> io::Result<()> {
        match fd {
            REFUSED => Err(io::Error::other("refused")),
            _ => Ok(()),
        }
    }

    fn remove(&self, _: RawFd) {}

    fn wait(&self, timeout: Option<Duration>, found: &mut Vec<usize>) -> io::Result<()> {
        let mut state = self.state.lock();
        let nothing = |s: &mut (Vec<usize>, bool)| s.0.is_empty() && !s.1;
        wait_while(&self.changed, &mut state, nothing, Deadline::after(timeout));
        state.1 = false;
        found.append(&mut state.0);
        Ok(())
    }

    fn wake(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }
}

/// The descriptor of a poller that cannot be added.
pub(super) const REFUSED: RawFd = -2;
