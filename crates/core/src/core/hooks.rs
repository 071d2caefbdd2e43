//! A client's settings that are not textual.

use std::sync::Arc;

use ottla_tls::{Certificates, PrivateKey, VerifyCallback};

use crate::config::ClientConfig;
use crate::credentials::SaslHooks;
use crate::event::DeliveryMode;
use crate::interceptor::Interceptor;
use crate::log::{DebugContexts, LogSink};
use crate::transport::SystemHooks;

/// A callback that receives the client's name.
pub type NameHook = Arc<dyn Fn(&str) + Send + Sync>;

/// Certificates and keys from memory, and the application's check of brokers' certificates.
#[derive(Clone, Default, Debug)]
pub struct TlsHooks {
    /// Certificates of CAs, in place of `ssl.ca.location` and `ssl.ca.pem`.
    pub ca: Option<Certificates>,
    /// The client's certificate, followed by its issuers.
    pub certificate: Option<Certificates>,
    /// The client's private key.
    pub key: Option<PrivateKey>,
    /// Called for each certificate of a broker's chain (`ssl.certificate.verify_cb`), on the client's thread. It must not
    /// block.
    pub verify: Option<Arc<dyn VerifyCallback>>,
}

/// The threads that may drive a client's core and wait on its sockets.
///
/// A program that produces one message at a time and waits for each delivery report switches between its own thread and
/// the client's twice per message. With [`Enabled`](Self::Enabled) its own thread does the client's work meanwhile, without
/// those switches. The price is a second way to drive the core, which the simulator does not run: only
/// thread models (`runtime/model_tests.rs`) and tests over real sockets cover it. [`Disabled`](Self::Disabled) leaves
/// everything to the I/O thread, to rule caller polling out as the cause of a defect, and for tests of the I/O thread.
///
/// With it disabled the benchmark's row `one at a time, acks all` costs 68 % more CPU, and its median latency is 27 % higher
/// (both higher in 12 of 12 rounds: `bench/compare.py --only "one at a time" --rounds 12 --build without=FOLDER`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CallerPolling {
    /// The I/O thread, and threads of the application that wait for the client's work.
    #[default]
    Enabled,
    /// Only the I/O thread.
    Disabled,
}

/// The application's callbacks, the events that it receives, and the client's threading.
#[derive(Clone, Default)]
pub struct ClientHooks {
    /// Called with the client's name while the client is being created, before its first log line.
    pub named: Option<NameHook>,
    /// The destination of log lines; without it they are dropped.
    pub log: Option<LogSink>,
    /// Log lines go to the main queue instead of `log` (`log.queue`).
    pub log_to_queue: bool,
    /// The delivery reports that the application receives.
    pub delivery: DeliveryMode,
    /// The application receives rebalance events and assigns partitions itself.
    pub rebalance_event: bool,
    /// The application receives the results of commits.
    pub commit_event: bool,
    /// The application has a callback for commit results, which is also called for synchronous commits.
    pub commit_callback: bool,
    /// The application receives errors; otherwise they are logged.
    pub error_event: bool,
    /// The application receives throttling events.
    pub throttle_event: bool,
    /// The application receives statistics, every `statistics.interval.ms`; otherwise nothing is measured.
    pub stats_event: bool,
    /// Called on requests, responses, connection states, deliveries and commits. If it calls code of the application,
    /// [`expect_callbacks`](crate::event::expect_callbacks) must be called before.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// The application's replacements for the operating system. If they call code of the application,
    /// [`expect_callbacks`](crate::event::expect_callbacks) must be called before.
    pub system: SystemHooks,
    /// Certificates from memory, and the check of brokers' certificates.
    pub tls: TlsHooks,
    /// The application's part in authentication.
    pub sasl: SaslHooks,
    /// The threads that may drive the client.
    pub caller_polling: CallerPolling,
}

/// Returns the contexts of `debug`.
pub(super) fn log_contexts(conf: &ClientConfig) -> DebugContexts {
    DebugContexts(conf.debug)
}
