//! The one thread of a client: waits for sockets, timers and wake-ups, and drives the core.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::client::Core;
use crate::env::{Clock, Instant, SharedClock, Waker};
use crate::event::level;
use crate::transport::{AddressFamily, Resolver, SocketOptions, TcpTransport};

/// Wakes the loop. A wake-up while the loop is awake costs an atomic store; only a sleeping loop is written to.
pub struct LoopWaker {
    inner: mio::Waker,
    /// Somebody wants the loop to look.
    called: AtomicBool,
    /// The loop waits, or is about to, and needs to be written to.
    asleep: AtomicBool,
}

impl std::fmt::Debug for LoopWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopWaker").finish_non_exhaustive()
    }
}

impl Waker for LoopWaker {
    /// The loop sets `asleep` and then looks at `called`; this sets `called` and then looks at `asleep`. With both in
    /// one total order (SeqCst) at least one side sees the other, so no call is lost.
    fn wake(&self) {
        if self.called.swap(true, Ordering::SeqCst) {
            return;
        }
        if self.asleep.load(Ordering::SeqCst) {
            // The only possible error is a full counter, which wakes the loop as well.
            let _ = self.inner.wake();
        }
    }
}

impl LoopWaker {
    /// Whether the loop may sleep; it must call [`LoopWaker::woke`] afterwards.
    fn may_sleep(&self) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        !self.called.load(Ordering::SeqCst)
    }

    fn woke(&self) {
        self.asleep.store(false, Ordering::SeqCst);
        self.called.store(false, Ordering::SeqCst);
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
            called: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
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
    pub fn spawn(self, core: Core, clock: SharedClock) -> io::Result<std::thread::JoinHandle<()>> {
        // Counted before it runs, so that the count is right when the client's creation returns.
        THREADS.fetch_add(1, Ordering::Relaxed);
        let spawned = std::thread::Builder::new().name("ottla-io".into()).spawn(move || {
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
            let waited = if self.waker.may_sleep() {
                self.transport.wait(timeout)
            } else {
                self.transport.wait(Some(std::time::Duration::ZERO))
            };
            self.waker.woke();
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
