//! The interface between a pool, its clients and their events.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// The result of a client's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) enum Turn {
    /// Another turn, after those of other clients that are ready.
    Again,
    /// Another turn at the next event, or after this time.
    Sleep(Option<Duration>),
    /// None: the core is finished.
    End,
}

/// A client of a pool.
pub(in crate::runtime) trait Member: Send + Sync {
    /// Drives the client for a limited number of steps. No other thread does so meanwhile.
    fn turn(&self) -> Turn;
    /// Returns the descriptor of the client's poller.
    fn poller_fd(&self) -> RawFd;
}

/// The events of all clients.
pub(in crate::runtime) trait Events: Send + Sync + 'static {
    /// Adds a client's poller.
    fn add(&self, client: usize, fd: RawFd) -> io::Result<()>;
    /// Removes a client's poller.
    fn remove(&self, fd: RawFd);
    /// Waits for events, a call of [`wake`](Self::wake) or the timeout, and appends the clients with events.
    fn wait(&self, timeout: Option<Duration>, found: &mut Vec<usize>) -> io::Result<()>;
    /// Ends the current wait, or the next one.
    fn wake(&self);
}
