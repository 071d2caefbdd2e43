//! A client's I/O thread: waits for sockets, timers and wake-ups, and drives the core.
//!
//! A client has one I/O thread, however many brokers there are, or shares the I/O threads of a `pool`. Threads for name
//! look-ups and for offset files ([`transport`](crate::transport)) exist only while they have work.
//!
//! The core and its sockets are a `Driver` behind a lock, which the I/O thread holds while it works, not while it waits. So
//! a thread of the application that flushes, or produces a lone record that does not linger, may drive the core itself while
//! the I/O thread sleeps, which saves a thread switch (`caller_polling`). The driving thread has no effect on the core's
//! decisions, so the simulator does not model it. The poller's lock precedes the driver's, and both precede all other locks.

mod caller_polling;
mod driver;
mod io_thread;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod pool;
mod thread_count;
mod wake_state;

use std::io;
use std::sync::Arc;

use ottla_tls::ClientTls;

pub use self::caller_polling::LoopWaker;
use self::driver::Driver;
pub use self::io_thread::IoThread;
use crate::core::{CallerPolling, Core};
use crate::interceptor::Interceptor;
use crate::sys::SharedClock;
use crate::sys::sync::thread;
use crate::transport::{
    AddressFamily, Files, Poller, Resolver, SocketOptions, SystemHooks, TcpTransport, worker_threads,
};

/// Returns the number of threads that clients of this process run, including those for look-ups and files.
pub fn live_threads() -> usize {
    thread_count::get() + worker_threads()
}

/// The settings of a loop.
pub struct LoopOptions {
    /// Socket options of connections to brokers.
    pub sockets: SocketOptions,
    /// The address family of connections to brokers.
    pub family: AddressFamily,
    /// The application's replacements for the operating system.
    pub system: SystemHooks,
    /// The threads that may drive the core.
    pub caller_polling: CallerPolling,
    /// The TLS of connections to brokers.
    pub tls: Option<Arc<ClientTls>>,
}

/// The parts of an event loop that exist before its core.
#[derive(Debug)]
pub struct Loop {
    waker: Arc<LoopWaker>,
    transport: TcpTransport,
    files: Files,
}

impl Loop {
    /// Creates the poller and its waker.
    ///
    /// # Errors
    /// Those of the operating system, such as when no file descriptors are left.
    pub fn new(options: LoopOptions) -> io::Result<Self> {
        let LoopOptions {
            sockets,
            family,
            system,
            caller_polling,
            tls,
        } = options;
        let poller = Poller::new()?;
        let registry = poller.registry().try_clone()?;
        let inner = mio::Waker::new(&registry, crate::transport::WAKE)?;
        let waker = Arc::new(LoopWaker::new(inner, poller, system.shield, caller_polling));
        let resolver = Resolver::new(waker.clone(), family, system.resolve.clone());
        let files = Files::new(waker.clone(), system.clone());
        let transport = TcpTransport::new(registry, (resolver, waker.clone()), sockets, system, tls);
        Ok(Loop {
            waker,
            transport,
            files,
        })
    }

    /// Returns the loop's waker.
    pub fn waker(&self) -> Arc<LoopWaker> {
        self.waker.clone()
    }

    /// Starts the loop, which ends when the core is finished: on a thread of its own, or with a positive `shared` on those that
    /// the clients of this process share, of which there may then be that many.
    ///
    /// # Errors
    /// Those of the operating system, such as when no threads are left.
    pub fn start(self, core: Core, clock: SharedClock, shared: usize) -> io::Result<IoThread> {
        let interceptor = core.shared().hooks.interceptor.clone();
        let waker = self.place(core, clock);
        let started = match shared {
            0 => spawn(waker.clone(), interceptor).map(IoThread::own),
            _ => pool::enter(shared, waker.clone()).map(IoThread::pooled),
        };
        if started.is_err() {
            // Breaks the reference cycle: the core owns the waker.
            *waker.driver.lock() = None;
        }
        started
    }

    /// Creates the driver.
    fn place(self, core: Core, clock: SharedClock) -> Arc<LoopWaker> {
        let Loop {
            waker,
            transport,
            files,
        } = self;
        *waker.driver.lock() = Some(Driver {
            core,
            transport,
            files,
            clock,
            sleeps_until: None,
            settled: false,
        });
        waker
    }
}

/// Starts the I/O thread of one client.
fn spawn(waker: Arc<LoopWaker>, interceptor: Option<Arc<dyn Interceptor>>) -> io::Result<thread::JoinHandle<()>> {
    // Counted before it starts, so that the count is correct when the client's constructor returns.
    thread_count::add();
    let spawned = thread::Builder::new().name("ottla-io".into()).spawn(move || {
        if let Some(interceptor) = &interceptor {
            interceptor.on_thread_start();
        }
        waker.run();
        if let Some(interceptor) = interceptor {
            interceptor.on_thread_exit();
        }
        thread_count::subtract();
    });
    if spawned.is_err() {
        thread_count::subtract();
    }
    spawned
}
