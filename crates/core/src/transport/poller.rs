//! Readiness of sockets, over mio.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use mio::{Events, Poll, Registry, Token};

/// The token of the waker; connections have tokens from 1.
pub(crate) const WAKE: Token = Token(0);

/// The number of events that one wait reports at most.
const EVENTS_MAX: usize = 256;

/// Waits for the sockets of a transport.
#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    ready: Events,
}

/// The readiness of one socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readiness {
    pub(super) token: Token,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The peer has written its last byte, or the connection has failed: no further readiness event follows.
    pub(super) ending: bool,
}

impl Poller {
    /// Returns a poller without sockets. Fails when the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Poller {
            poll: Poll::new()?,
            ready: Events::with_capacity(EVENTS_MAX),
        })
    }

    /// Returns the registry for sockets.
    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Returns the descriptor, which is readable while sockets are ready.
    pub fn fd(&self) -> RawFd {
        self.poll.as_raw_fd()
    }

    /// Waits for readiness, which [`TcpTransport::on_ready`](super::TcpTransport::on_ready) must then handle. `None` waits
    /// without a limit.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(&mut self.ready, timeout) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }

    /// Returns true if the last wait may have left events for the next one.
    pub fn may_have_more(&self) -> bool {
        self.ready.iter().count() >= EVENTS_MAX
    }

    /// Returns the tokens that the last wait found ready, without the waker's.
    pub fn ready_tokens(&self) -> impl Iterator<Item = Token> + '_ {
        self.ready().map(|r| r.token)
    }

    /// Returns the sockets that the last wait found ready.
    pub(super) fn ready(&self) -> impl Iterator<Item = Readiness> + '_ {
        let events = self.ready.iter().filter(|e| e.token() != WAKE);
        events.map(|e| Readiness {
            token: e.token(),
            readable: e.is_readable(),
            writable: e.is_writable() || e.is_error(),
            ending: e.is_read_closed() || e.is_error(),
        })
    }
}
