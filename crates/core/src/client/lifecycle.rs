//! The start and the end of a client's thread and of its embedded cluster.

use std::sync::Arc;

use ottla_mock::EmbeddedCluster;
use ottla_tls::ClientTls;

use super::sockets::{address_family, socket_options};
use super::{embedded, tls};
use crate::config::{ClientConfig, TopicConfig};
use crate::core::{CallerPolling, ClientHooks, Command, CoreBuilder, Shared};
use crate::credentials::CredentialSource;
use crate::error::Error;
use crate::log::level;
use crate::runtime::{IoThread, Loop, LoopOptions};
use crate::sys::sync::Mutex;
use crate::sys::{Rng, SystemClock};
use crate::types::ClientKind;

/// The log line of a client with interceptors of threads and `io.threads.shared`.
const OWN_THREAD: &str = "io.threads.shared has no effect: interceptors of this client are called at the start and the end of \
                          its I/O thread, so it has a thread of its own";

/// Returns the number of I/O threads that the client shares with others; 0 for a thread of its own.
fn shared_threads(wanted: u32, hooks: &ClientHooks) -> u32 {
    let watched = hooks.interceptor.as_ref().is_some_and(|i| i.watches_threads());
    if watched { 0 } else { wanted }
}

/// A running client. Dropping it ends the client.
pub(super) struct ClientThread {
    pub(super) shared: Arc<Shared>,
    thread: IoThread,
    /// The cluster of `test.mock.num.brokers`, which lives as long as the client.
    pub(super) embedded: Mutex<Option<Arc<EmbeddedCluster>>>,
    /// `None` for a plaintext client.
    pub(super) tls: Option<Arc<ClientTls>>,
}

impl Drop for ClientThread {
    fn drop(&mut self) {
        self.stop();
        if self.shared.is_inherited() {
            // Leaked: threads of the parent may have held their locks at the fork.
            self.thread.leak();
            std::mem::forget(std::mem::replace(&mut self.embedded, Mutex::new(None)));
        }
    }
}

impl ClientThread {
    pub(super) fn new(shared: Arc<Shared>, thread: IoThread, embedded: Option<EmbeddedCluster>) -> Self {
        ClientThread {
            shared,
            thread,
            embedded: Mutex::new(embedded.map(Arc::new)),
            tls: None,
        }
    }

    /// Starts the embedded cluster, if the settings name one, and the client's thread.
    pub(super) fn start(
        kind: ClientKind,
        mut conf: ClientConfig,
        topic_defaults: TopicConfig,
        hooks: ClientHooks,
    ) -> Result<Self, Error> {
        let (embedded, generated_ca) = embedded::start(&mut conf)?;
        let mut tls_hooks = hooks.tls.clone();
        let has_ca = tls_hooks.ca.is_some() || !conf.ssl_ca_location.is_empty() || !conf.ssl_ca_pem.is_empty();
        if !has_ca {
            tls_hooks.ca = generated_ca;
        }
        let (tls, tls_warnings) = tls::start(&conf, &tls_hooks)?.unzip();
        let credentials = CredentialSource::new(&conf, &hooks.sasl)?;
        let clock = Arc::new(SystemClock::new());
        let wanted = conf.io_threads_shared;
        let threads = shared_threads(wanted, &hooks);
        let options = LoopOptions {
            sockets: socket_options(&conf),
            family: address_family(&conf),
            system: hooks.system.clone(),
            caller_polling: match threads {
                0 => hooks.caller_polling,
                _ => CallerPolling::Disabled,
            },
            tls: tls.clone(),
            worker_threads: conf.worker_threads as usize,
        };
        let io = Loop::new(options).map_err(|e| Error::system_resource("no event loop for the client", &e))?;
        let builder = CoreBuilder {
            kind,
            conf,
            topic_defaults,
            hooks,
            credentials,
            clock: clock.clone(),
            waker: io.waker(),
        };
        let core = builder.build(Rng::from_entropy());
        let shared = core.shared().clone();
        if let Some(embedded) = &embedded {
            embedded::log_requests(embedded, &shared.log);
        }
        for text in tls_warnings.into_iter().flatten() {
            shared.log.log(level::WARNING, "SSL", || text);
        }
        if threads != wanted {
            shared.log.log(level::NOTICE, "IOTHREADS", || OWN_THREAD.to_owned());
        }
        let thread = io
            .start(core, clock, threads as usize)
            .map_err(|e| Error::system_resource("no thread for the client", &e))?;
        let mut client = ClientThread::new(shared, thread, embedded);
        client.tls = tls;
        Ok(client)
    }

    /// Closes a forked child's copies of the connections. The child has none of the threads.
    fn abandon(&self) {
        self.shared.waker.abandon();
        self.thread.forget_inherited();
        // Forgotten, since its drop waits for its threads.
        if let Some(mut embedded) = self.embedded.try_lock() {
            std::mem::forget(embedded.take());
        }
    }

    /// Ends the client. The thread has ended when this returns, for each of several concurrent callers, unless the caller is
    /// that thread itself.
    pub(super) fn stop(&self) {
        if self.shared.is_inherited() {
            return self.abandon();
        }
        self.shared.send(Command::Terminate);
        self.thread.wait_for_end();
        drop(self.embedded.lock().take());
        self.shared.clear();
    }
}
