//! The TCP front: a cluster behind sockets of this machine, served by one thread.

mod server;
mod shared;
mod socket;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mio::Waker;
use ottla_tls::ServerTls;

use crate::cluster::Cluster;
use crate::config::ClusterConfig;
use crate::ids::BrokerId;
use server::{BROKER_ID_MAX, Server};
use shared::{Changes, Listeners, Shared};

/// The time for the serving thread to open or close listeners.
const SOCKETS_PATIENCE: Duration = Duration::from_secs(5);

/// A running cluster with a TCP listener on 127.0.0.1 for each broker. Dropping it closes all sockets and ends the
/// thread before it returns.
///
/// The handle may be used from any thread.
pub struct EmbeddedCluster {
    shared: Arc<Shared>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl EmbeddedCluster {
    /// Starts a cluster. Its brokers listen on free ports. `config.host`, `first_port` and `wall_clock_ms` are replaced
    /// by the real values.
    ///
    /// # Errors
    /// The system's error when a socket or the thread cannot be created.
    pub fn start(config: ClusterConfig) -> io::Result<Self> {
        Self::start_with(config, None)
    }

    /// Starts a cluster whose brokers speak TLS.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_tls(config: ClusterConfig, tls: Arc<ServerTls>) -> io::Result<Self> {
        Self::start_with(config, Some(tls))
    }

    fn start_with(config: ClusterConfig, tls: Option<Arc<ServerTls>>) -> io::Result<Self> {
        let wall_clock_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_millis());
        let mut cluster = Cluster::new(ClusterConfig {
            host: "127.0.0.1".into(),
            wall_clock_ms: i64::try_from(wall_clock_ms).unwrap_or(i64::MAX),
            ..config
        });
        let server = Server::bind(&mut cluster, tls)?;
        let waker = server.waker()?;
        let shared = Arc::new(Shared {
            cluster: Mutex::new(cluster),
            started: Instant::now(),
            stop: AtomicBool::new(false),
            listeners: Listeners::default(),
            changes: Changes::default(),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("ottla-mock".into()).spawn(move || {
            server.run(&for_thread);
            for_thread.listeners.end();
        })?;
        Ok(Self {
            shared,
            waker,
            thread: Some(thread),
        })
    }

    /// Returns `host:port` of every broker, separated by commas: a `bootstrap.servers` value.
    pub fn bootstrap_servers(&self) -> String {
        self.shared.lock().bootstrap_servers()
    }

    /// Calls `f` with the cluster. No request is served meanwhile, so `f` should be short; it must not use this handle.
    pub fn with<T>(&self, f: impl FnOnce(&mut Cluster) -> T) -> T {
        let result = {
            let mut cluster = self.shared.lock();
            cluster.advance_clock(self.shared.now());
            f(&mut cluster)
        };
        // The thread must process the effects of `f` before its next timer. If the wake-up fails, they are only
        // delayed.
        let _ = self.waker.wake();
        result
    }

    /// As [`with`](Self::with), and returns only when the listening sockets are as `f` has left the cluster: brokers that it
    /// took down or removed accept no connection, those that it brought up do.
    pub fn with_sockets<T>(&self, f: impl FnOnce(&mut Cluster) -> T) -> T {
        let (result, change) = self.with(|cluster| (f(cluster), self.shared.listeners.request()));
        self.shared.listeners.wait(change, SOCKETS_PATIENCE);
        result
    }

    /// Waits until `look` returns a value, and returns it; `None` when that takes longer than `limit`. `look` is called with
    /// the cluster at first and whenever clients may have changed it. As with [`with`](Self::with) no request is served
    /// meanwhile, so `look` should be short; it must neither change the cluster nor use this handle.
    pub fn wait_for<T>(&self, limit: Duration, look: impl FnMut(&Cluster) -> Option<T>) -> Option<T> {
        self.shared.wait_for(limit, look)
    }

    /// Adds a broker that is up and listens on a free port. It has no partition until a topic is created or
    /// [`Cluster::reassign_partitions`] is called.
    ///
    /// # Errors
    /// The id is taken or outside of 0 to 16777214, or the system opens no port.
    pub fn add_broker(&self, broker: BrokerId) -> Result<(), AddBrokerError> {
        if !(0..=BROKER_ID_MAX).contains(&broker.0) {
            return Err(AddBrokerError::InvalidId);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(AddBrokerError::System)?;
        listener.set_nonblocking(true).map_err(AddBrokerError::System)?;
        let port = listener.local_addr().map_err(AddBrokerError::System)?.port();
        self.with_sockets(|cluster| {
            cluster
                .add_broker(broker, "127.0.0.1", port)
                .map_err(|_| AddBrokerError::InvalidId)?;
            self.shared.listeners.add(broker, listener);
            Ok(())
        })
    }
}

/// The reason why no broker was added.
#[derive(Debug)]
pub enum AddBrokerError {
    /// The id is taken or outside of the allowed range.
    InvalidId,
    /// The system's error.
    System(io::Error),
}

impl fmt::Display for AddBrokerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidId => f.write_str("the broker id is taken or outside of 0 to 16777214"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AddBrokerError {}

impl Drop for EmbeddedCluster {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        let woken = self.waker.wake().is_ok();
        if let Some(thread) = self.thread.take()
            && woken
        {
            // The panic hook has reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for EmbeddedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedCluster")
            .field("bootstrap_servers", &self.bootstrap_servers())
            .finish()
    }
}
