//! The pool of this process, and its clients' access to it.

use std::io;
use std::os::fd::RawFd;
// Not that of `sys::sync`, which cannot be static in models. Models have pools of their own.
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};

use super::member::{Events, Member};
use super::workers::Pool;
use crate::sys::sync::ForkSafeMutex;
use crate::sys::{SystemClock, forks};
use crate::transport::{Poller, WAKE};

/// The pool's poller, in which the clients' pollers are registered.
struct ClientPollers {
    registry: Registry,
    waker: mio::Waker,
    poller: ForkSafeMutex<Poller>,
}

impl ClientPollers {
    fn new() -> io::Result<Self> {
        let poller = Poller::new()?;
        let registry = poller.registry().try_clone()?;
        Ok(ClientPollers {
            waker: mio::Waker::new(&registry, WAKE)?,
            registry,
            poller: ForkSafeMutex::new(poller),
        })
    }
}

impl Events for ClientPollers {
    fn add(&self, client: usize, fd: RawFd) -> io::Result<()> {
        // Edge-triggered: the system reports each new event of the client's poller, also one that follows an unread one.
        self.registry
            .register(&mut SourceFd(&fd), Token(client), Interest::READABLE)
    }

    fn remove(&self, fd: RawFd) {
        // Necessary although the descriptor is closed soon: a forked child may have a copy, which preserves the registration.
        let _ = self.registry.deregister(&mut SourceFd(&fd));
    }

    fn wait(&self, timeout: Option<Duration>, found: &mut Vec<usize>) -> io::Result<()> {
        let mut poller = self.poller.lock();
        poller.wait(timeout)?;
        found.extend(poller.ready_tokens().map(|token| token.0));
        Ok(())
    }

    fn wake(&self) {
        // The only possible error is a full counter, which also ends the wait.
        let _ = self.waker.wake();
    }
}

/// A client in the pool of its process.
pub(in crate::runtime) struct PooledClient {
    pool: Arc<Pool<ClientPollers>>,
    id: usize,
}

impl PooledClient {
    /// Waits until the client has ended, and for the pool's threads if it was the last client. Returns at once on the thread
    /// that drives the client.
    pub(in crate::runtime) fn wait_for_end(&self) {
        self.pool.wait_for_end(self.id);
    }
}

/// The number of processes in a line of forks that have pools of their own.
const PROCESSES: usize = 16;

/// A pool, with the number of forks of its process.
type ProcessPool = (u32, Weak<Pool<ClientPollers>>);

/// The pools of this process and of its ancestors, by number of forks: a thread of the parent may have held the parent's lock
/// at the fork, so a child uses another one.
static POOLS: [Mutex<ProcessPool>; PROCESSES] = [const { Mutex::new((0, Weak::new())) }; PROCESSES];

/// Adds a client to the pool of this process, which then has at least `size` workers. Starts the pool if there is none.
///
/// # Errors
/// Those of the operating system, such as when no descriptors or threads are left.
pub(in crate::runtime) fn enter(size: usize, member: Arc<dyn Member>) -> io::Result<PooledClient> {
    let process = forks::depth();
    let mut current = POOLS[process as usize % PROCESSES]
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if current.0 == process
        && let Some(pool) = current.1.upgrade()
        && let Some(id) = pool.add(size, member.clone())?
    {
        return Ok(PooledClient { pool, id });
    }
    let pool = Pool::new(ClientPollers::new()?, Arc::new(SystemClock::new()));
    let Some(id) = pool.add(size, member)? else {
        return Err(io::Error::other("a new pool has ended"));
    };
    pool.start()?;
    *current = (process, Arc::downgrade(&pool));
    Ok(PooledClient { pool, id })
}
