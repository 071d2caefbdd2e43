//! What a client is created with besides its textual settings.

use std::sync::Arc;

use crate::config::ClientConfig;
use crate::event::{DebugContexts, DeliveryMode, Interceptor, LogSink};
use crate::transport::SystemHooks;

/// Told the client's name.
pub type NameHook = Arc<dyn Fn(&str) + Send + Sync>;

/// The threads that may drive a client's core and wait on its sockets.
///
/// A program that produces one message at a time and waits for each delivery report switches between its own thread and
/// the client's twice per message. With [`Enabled`](Self::Enabled) its own thread does the client's work meanwhile, without
/// those switches. The price is a second way to drive the core, which the simulator does not run: only
/// thread models (`runtime/model_tests.rs`) and tests over real sockets cover it. [`Disabled`](Self::Disabled) leaves
/// everything to the I/O thread, to rule caller polling out as the cause of a defect, and for tests of the I/O thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CallerPolling {
    /// The I/O thread, and threads of the application that wait for the client's work.
    #[default]
    Enabled,
    /// Only the I/O thread.
    Disabled,
}

/// How the application listens.
#[derive(Clone, Default)]
pub struct ClientHooks {
    /// Called with the client's name while the client is being created, before its first log line.
    pub named: Option<NameHook>,
    /// Where log lines go; without it they are dropped.
    pub log: Option<LogSink>,
    /// Log lines go to the main queue instead (`log.queue`).
    pub log_to_queue: bool,
    /// Which delivery reports are wanted.
    pub delivery: DeliveryMode,
    /// The application carries out rebalances itself.
    pub rebalance_event: bool,
    /// The application hears of commit results.
    pub commit_event: bool,
    /// The application has a callback for commit results, which also reports those that a call waits for.
    pub commit_callback: bool,
    /// The application hears of errors; otherwise they are logged.
    pub error_event: bool,
    /// The application hears of throttling.
    pub throttle_event: bool,
    /// The application wants statistics, every `statistics.interval.ms`; otherwise nothing is measured.
    pub stats_event: bool,
    /// Told of what the client does. One that calls code of the application needs
    /// [`expect_callbacks`](crate::event::expect_callbacks) before.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// What the application does in place of the operating system. Code of the application needs
    /// [`expect_callbacks`](crate::event::expect_callbacks) before.
    pub system: SystemHooks,
    /// The threads that may drive the client.
    pub caller_polling: CallerPolling,
}

/// `debug`.
pub(super) fn log_contexts(conf: &ClientConfig) -> DebugContexts {
    DebugContexts(conf.debug)
}
