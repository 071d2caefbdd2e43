//! A client's I/O thread: waits for sockets, timers and wake-ups, and drives the core.
//!
//! A client has one I/O thread, however many brokers there are, or shares the I/O threads of a `pool`. Threads for name
//! look-ups and for offset files ([`transport`](crate::transport)) exist only while they have work. While a loop is busy, jobs
//! of the core run on threads that all clients of the process share (`work_pool`, `load_meter`).
//!
//! The core and its sockets are a `Driver` behind a lock, which the I/O thread holds while it works, not while it waits. So
//! a thread of the application that flushes, or produces a lone record that does not linger, may drive the core itself while
//! the I/O thread sleeps, which saves a thread switch (`caller_polling`). The driving thread has no effect on the core's
//! decisions, so the simulator does not model it. The poller's lock precedes the driver's, and both precede all other locks.

mod caller_polling;
mod driver;
mod io_thread;
mod load_meter;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod pool;
mod thread_count;
mod wake_state;
mod work_pool;

use std::io;
use std::sync::Arc;

use ottla_tls::ClientTls;

pub use self::caller_polling::LoopWaker;
use self::driver::Driver;
pub use self::io_thread::IoThread;
use self::load_meter::LoadMeter;
use self::work_pool::{WorkClient, WorkPool, job_threads};
use crate::core::{CallerPolling, Core};
use crate::interceptor::Interceptor;
use crate::sys::SharedClock;
use crate::sys::sync::thread;
use crate::transport::{
    AddressFamily, Files, Poller, Resolver, SocketOptions, SystemHooks, TcpTransport, worker_threads,
};

/// Returns the number of threads that clients of this process run, including those for jobs, look-ups and files.
pub fn live_threads() -> usize {
    thread_count::get() + worker_threads() + job_threads()
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
    /// The maximum number of threads that run jobs of the core.
    pub worker_threads: usize,
}

/// The parts of an event loop that exist before its core.
#[derive(Debug)]
pub struct Loop {
    waker: Arc<LoopWaker>,
    transport: TcpTransport,
    files: Files,
    work: WorkClient,
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
            worker_threads,
        } = options;
        let poller = Poller::new()?;
        let registry = poller.registry().try_clone()?;
        let inner = mio::Waker::new(&registry, crate::transport::WAKE)?;
        let waker = Arc::new(LoopWaker::new(inner, poller, system.shield, caller_polling));
        let resolver = Resolver::new(waker.clone(), family, system.resolve.clone());
        let files = Files::new(waker.clone(), system.clone());
        let work = WorkClient::new(WorkPool::of_process(), worker_threads, waker.clone());
        let transport = TcpTransport::new(registry, (resolver, waker.clone()), sockets, system, tls);
        Ok(Loop {
            waker,
            transport,
            files,
            work,
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
            work,
        } = self;
        *waker.driver.lock() = Some(Driver {
            core,
            transport,
            files,
            work,
            load: LoadMeter::default(),
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
