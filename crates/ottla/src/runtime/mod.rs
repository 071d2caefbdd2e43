//! The one thread of a client: waits for sockets, timers and wake-ups, and drives the core.

mod doze;
#[cfg(all(test, ottla_loom))]
mod model_tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use self::doze::Doze;
use crate::client::Core;
use crate::env::sync::{Mutex, thread};
use crate::env::{Instant, SharedClock, Waker};
use crate::event::{has_callbacks, level};
use crate::transport::{AddressFamily, Files, Poller, Resolver, SocketOptions, TcpTransport, worker_threads};

/// The core with its sockets. Whoever has locked it drives it.
struct Driver {
    core: Core,
    transport: TcpTransport,
    files: Files,
    clock: SharedClock,
    /// When the loop looks by itself.
    sleeps_until: Option<Instant>,
}

/// What is to be done after a step.
enum Next {
    /// Another step.
    Step,
    /// Sleep, until then at the latest.
    Sleep(Option<Instant>),
    /// The core is finished.
    End,
}

impl Driver {
    /// Has the core decide, and does what it decided.
    fn step(&mut self) -> Next {
        let wake_at = self.core.drive(self.clock.now(), self.clock.wall_ms());
        while let Some(action) = self.core.next_action() {
            self.transport.perform(action);
        }
        while let Some(action) = self.core.next_file_action() {
            self.files.perform(action);
        }
        self.transport.flush();
        if self.feed() {
            return Next::Step;
        }
        if self.core.is_finished() {
            return Next::End;
        }
        Next::Sleep(wake_at.filter(|at| *at < Instant::NEVER))
    }

    /// Hands what network and files report to the core; false when there was nothing.
    fn feed(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.transport.next_event() {
            self.core.on_net(event, self.clock.now());
            any = true;
        }
        for event in self.files.take_events() {
            self.core.on_file(event);
            any = true;
        }
        any
    }
}

/// Wakes the loop. A wake-up while the loop is awake costs an atomic exchange; only a sleeping loop is written to.
pub struct LoopWaker {
    inner: mio::Waker,
    doze: Doze,
    /// The process that the loop runs in; a forked child must leave its sockets alone.
    process: u32,
    /// Empty before the loop begins and once it has ended.
    driver: Mutex<Option<Driver>>,
}

impl std::fmt::Debug for LoopWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopWaker").finish_non_exhaustive()
    }
}

/// Steps that a helper takes before it leaves the rest to the loop.
const HELPING_STEPS: usize = 4;

impl LoopWaker {
    fn ring(&self) {
        // The only possible error is a full counter, which wakes the loop as well.
        let _ = self.inner.wake();
    }

    /// Does what the loop would be woken for; false when the loop has to look as well.
    fn stand_in(&self) -> bool {
        // The loop takes the lock only when it has woken up; it will look, then.
        let Some(mut guard) = self.driver.try_lock() else {
            return false;
        };
        let Some(driver) = guard.as_mut() else {
            return false;
        };
        for _ in 0..HELPING_STEPS {
            match driver.step() {
                Next::Step => {}
                Next::Sleep(None) => return true,
                Next::Sleep(Some(at)) => return driver.sleeps_until.is_some_and(|looks| looks <= at),
                Next::End => return false,
            }
        }
        false
    }
}

impl Waker for LoopWaker {
    fn wake(&self) {
        if self.doze.call() {
            self.ring();
        }
    }

    fn help(&self) {
        /// Lets the loop sleep on, or wakes it: also when the core has panicked.
        struct Helping<'a>(&'a LoopWaker, bool);
        impl Drop for Helping<'_> {
            fn drop(&mut self) {
                let Helping(waker, done) = self;
                if waker.doze.end_help() {
                    waker.ring();
                } else if !*done {
                    waker.wake();
                }
            }
        }
        // What the application has the client call must find no lock of the application held.
        if has_callbacks() || std::process::id() != self.process || !self.doze.begin_help() {
            return self.wake();
        }
        let mut helping = Helping(self, false);
        helping.1 = self.stand_in();
    }
}

/// Client threads alive in this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Threads that clients of this process run, those for look-ups and files included.
pub fn live_threads() -> usize {
    THREADS.load(Ordering::Relaxed) + worker_threads()
}

/// The pieces of a loop that exist before its core does.
#[derive(Debug)]
pub struct Loop {
    waker: Arc<LoopWaker>,
    poller: Poller,
    transport: TcpTransport,
}

impl Loop {
    /// Makes poll and waker. Fails when the system has no descriptors left.
    pub fn new(options: SocketOptions, family: AddressFamily) -> io::Result<Self> {
        let poller = Poller::new()?;
        let waker = Arc::new(LoopWaker {
            inner: mio::Waker::new(poller.registry(), crate::transport::WAKE)?,
            doze: Doze::new(),
            process: std::process::id(),
            driver: Mutex::new(None),
        });
        let resolver = Resolver::new(waker.clone(), family);
        let transport = TcpTransport::new(poller.registry().try_clone()?, resolver, options);
        Ok(Loop {
            waker,
            poller,
            transport,
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
        let Loop {
            waker,
            poller,
            transport,
        } = self;
        *waker.driver.lock() = Some(Driver {
            core,
            transport,
            files: Files::new(waker.clone()),
            clock,
            sleeps_until: None,
        });
        let runner = waker.clone();
        let spawned = thread::Builder::new().name("ottla-io".into()).spawn(move || {
            run(&runner, poller);
            THREADS.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            // The core refers to the waker.
            *waker.driver.lock() = None;
            THREADS.fetch_sub(1, Ordering::Relaxed);
        }
        spawned
    }
}

fn run(waker: &LoopWaker, mut poller: Poller) {
    loop {
        let timeout = {
            let mut guard = waker.driver.lock();
            let Some(driver) = guard.as_mut() else { return };
            match driver.step() {
                Next::Step => continue,
                Next::End => {
                    let ended = guard.take();
                    drop(guard);
                    if let Some(driver) = &ended {
                        driver.files.finish();
                    }
                    return drop(ended);
                }
                Next::Sleep(_) if driver.transport.has_unread() => Some(Duration::ZERO),
                Next::Sleep(at) => {
                    driver.sleeps_until = at;
                    // The poll counts milliseconds and rounds up by itself: it does not wake the loop before the time.
                    at.map(|at| at.since(driver.clock.now()))
                }
            }
        };
        let waited = if waker.doze.may_sleep() {
            poller.wait(timeout)
        } else {
            poller.wait(Some(Duration::ZERO))
        };
        waker.doze.woke();
        let mut guard = waker.driver.lock();
        let Some(driver) = guard.as_mut() else { return };
        match waited {
            Ok(()) => driver.transport.on_ready(&poller),
            Err(e) => driver
                .core
                .shared()
                .log
                .log(level::ERROR, "POLL", || format!("waiting for sockets failed: {e}")),
        }
        driver.feed();
    }
}
