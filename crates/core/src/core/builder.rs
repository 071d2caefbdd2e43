//! Builds a core, with or without a thread that drives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::hooks::{ClientHooks, log_contexts};
use super::shared::{Shared, SharedParts};
use super::wiring::Core;
use crate::config::{ClientConfig, TopicConfig};
use crate::credentials::CredentialSource;
use crate::event::{Event, Queue};
use crate::log::{LogLine, Logger, level};
use crate::sys::{Rng, SharedClock, Waker};
use crate::types::ClientKind;

/// Numbers the clients of this process, for names in logs.
static CLIENTS: AtomicU32 = AtomicU32::new(1);

/// The dependencies of a client's core. [`Client::new`](crate::client::Client::new) passes the system's clock and the waker
/// of an I/O thread; a simulation passes virtual ones and drives the core itself.
pub struct CoreBuilder {
    /// Producer or consumer.
    pub kind: ClientKind,
    /// The settings.
    pub conf: ClientConfig,
    /// The settings of topics that are created without their own.
    pub topic_defaults: TopicConfig,
    /// The application's callbacks and events.
    pub hooks: ClientHooks,
    /// The source of the credentials for authentication: [`CredentialSource::new`] with the settings.
    pub credentials: CredentialSource,
    /// The source of time.
    pub clock: SharedClock,
    /// Called when the core is to be driven.
    pub waker: Arc<dyn Waker>,
}

impl CoreBuilder {
    /// Creates the core, with its [`Shared`] state for the application's threads.
    pub fn build(mut self, rng: Rng) -> Core {
        if !self.hooks.stats_event {
            self.conf.statistics_interval_ms = 0;
        }
        let number = CLIENTS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}#{}-{number}", self.conf.client_id, self.kind);
        if let Some(named) = &self.hooks.named {
            named(&name);
        }
        let main_queue = Queue::new();
        let log = make_logger(&self.conf, &self.hooks, &main_queue);
        let shared = Shared::new(SharedParts {
            kind: self.kind,
            name,
            conf: self.conf,
            topic_defaults: self.topic_defaults,
            hooks: self.hooks,
            clock: self.clock,
            waker: self.waker,
            log: Arc::new(log),
            main_queue,
        });
        Core::new(Arc::new(shared), self.credentials, rng)
    }
}

/// Returns `log_level`, raised to 7 if `debug` names a context: debug lines have that level.
fn log_level(conf: &ClientConfig) -> i32 {
    let configured = i32::try_from(conf.log_level).unwrap_or(level::INFO);
    if conf.debug != 0 {
        configured.max(level::DEBUG)
    } else {
        configured
    }
}

/// Creates the logger, which writes to the main queue, to the application's sink, or nowhere.
fn make_logger(conf: &ClientConfig, hooks: &ClientHooks, main_queue: &Arc<Queue>) -> Logger {
    let sink = if hooks.log_to_queue {
        let queue = Arc::downgrade(main_queue);
        Arc::new(move |line: LogLine| {
            if let Some(queue) = queue.upgrade() {
                queue.push(Event::Log(line));
            }
        })
    } else {
        hooks.log.clone().unwrap_or_else(|| Arc::new(|_| {}))
    };
    Logger::new(sink, log_level(conf), log_contexts(conf))
}
