//! The one thread of a client: waits for sockets, timers and wake-ups, and drives the core.

mod doze;
#[cfg(all(test, ottla_loom))]
mod model_tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::doze::Doze;
use crate::client::Core;
use crate::env::sync::thread;
use crate::env::{Clock, Instant, SharedClock, Waker};
use crate::event::level;
use crate::transport::{AddressFamily, Resolver, SocketOptions, TcpTransport};

/// Wakes the loop. A wake-up while the loop is awake costs an atomic exchange; only a sleeping loop is written to.
pub struct LoopWaker {
    inner: mio::Waker,
    doze: Doze,
}

impl std::fmt::Debug for LoopWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopWaker").finish_non_exhaustive()
    }
}

impl Waker for LoopWaker {
    fn wake(&self) {
        if self.doze.call() {
            // The only possible error is a full counter, which wakes the loop as well.
            let _ = self.inner.wake();
        }
    }
}

/// Client threads alive in this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Threads that clients of this process run, look-ups included.
pub fn live_threads() -> usize {
    THREADS.load(Ordering::Relaxed) + Resolver::threads()
}

/// The pieces of a loop that exist before its core does.
#[derive(Debug)]
pub struct Loop {
    waker: Arc<LoopWaker>,
    transport: TcpTransport,
}

impl Loop {
    /// Makes poll and waker. Fails when the system has no descriptors left.
    pub fn new(options: SocketOptions, family: AddressFamily) -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        let waker = Arc::new(LoopWaker {
            inner: mio::Waker::new(poll.registry(), crate::transport::WAKE)?,
            doze: Doze::new(),
        });
        let resolver = Resolver::new(waker.clone(), family);
        Ok(Loop {
            waker,
            transport: TcpTransport::new(poll, resolver, options)?,
        })
    }

    /// Wakes this loop.
    pub fn waker(&self) -> Arc<LoopWaker> {
        self.waker.clone()
    }

    /// Starts the thread, which ends when the core is finished.
    pub fn spawn(self, core: Core, clock: SharedClock) -> io::Result<thread::JoinHandle<()>> {
        // Counted before it runs, so that the count is right when the client's creation returns.
        THREADS.fetch_add(1, Ordering::Relaxed);
        let spawned = thread::Builder::new().name("ottla-io".into()).spawn(move || {
            self.run(core, &*clock);
            THREADS.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            THREADS.fetch_sub(1, Ordering::Relaxed);
        }
        spawned
    }

    fn run(mut self, mut core: Core, clock: &dyn Clock) {
        loop {
            let wake_at = core.drive(clock.now(), clock.wall_ms());
            while let Some(action) = core.next_action() {
                self.transport.perform(action);
            }
            self.transport.flush();
            if self.feed(&mut core, clock) {
                continue;
            }
            if core.is_finished() {
                return;
            }
            let timeout = wake_at.filter(|at| *at < Instant::NEVER).map(|at| {
                // The poll's timer counts milliseconds and must not wake the loop before the time.
                at.since(clock.now())
                    .saturating_add(std::time::Duration::from_micros(999))
            });
            let waited = if self.waker.doze.may_sleep() {
                self.transport.wait(timeout)
            } else {
                self.transport.wait(Some(std::time::Duration::ZERO))
            };
            self.waker.doze.woke();
            if let Err(e) = waited {
                core.shared()
                    .log
                    .log(level::ERROR, "POLL", || format!("waiting for sockets failed: {e}"));
            }
            self.feed(&mut core, clock);
        }
    }

    /// Hands what the network reports to the core; false when there was nothing.
    fn feed(&mut self, core: &mut Core, clock: &dyn Clock) -> bool {
        let mut any = false;
        while let Some(event) = self.transport.next_event() {
            core.on_net(event, clock.now());
            any = true;
        }
        any
    }
}
