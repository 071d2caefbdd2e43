//! The state that the application's threads share with the core.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::command::Command;
use super::hooks::ClientHooks;
use crate::config::{ClientConfig, TopicConfig};
use crate::consumer::SharedState;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Queue};
use crate::log::{DebugContexts, Logger, level};
use crate::producer::{self, Accumulator, TransactionCall, TransactionReply};
use crate::reply::Reply;
use crate::share;
use crate::sys::sync::{AtomicBool, Mutex, RwLock};
use crate::sys::{Instant, SharedClock, Waker, forks};
use crate::types::{ClientKind, NameMap, Topic, TopicHooks};

/// Maximum length of a topic name in a request, in bytes (Kafka's protocol: the length of a STRING is an INT16).
const MAX_TOPIC_NAME: usize = i16::MAX as usize;

/// The state of a client that every thread may use. Thread-safe.
pub struct Shared {
    /// Producer or consumer.
    pub kind: ClientKind,
    /// `client.id#type-N`, the name in logs.
    pub name: String,
    /// The settings.
    pub conf: ClientConfig,
    /// The application's callbacks and events.
    pub hooks: ClientHooks,
    /// The source of time.
    pub clock: SharedClock,
    /// Wakes the thread that drives the core.
    pub waker: Arc<dyn Waker>,
    /// The log.
    pub log: Arc<Logger>,
    /// Delivery reports, errors, log lines, statistics: the events that `rd_kafka_poll()` serves.
    pub main_queue: Arc<Queue>,
    /// Records and group events, which `rd_kafka_consumer_poll()` serves.
    pub consumer_queue: Arc<Queue>,
    /// Requests for tokens, with `enable_sasl_queue` and `sasl.mechanisms=OAUTHBEARER`; otherwise they are in the main
    /// queue.
    pub sasl_queue: Option<Arc<Queue>>,
    /// A producer's open batches.
    pub producer: Option<Arc<Accumulator>>,
    /// A consumer's partitions.
    pub consumer: Option<Arc<SharedState>>,
    /// A share consumer's state.
    pub share: Option<Arc<share::SharedState>>,
    topic_defaults: TopicConfig,
    topics: RwLock<Topics>,
    command_queue: Mutex<CommandQueue>,
    fatal: Mutex<FatalErrors>,
    has_fatal: AtomicBool,
    cluster_info: Mutex<ClusterInfo>,
    /// The process that created the client.
    process: u32,
}

/// Commands that the core has not taken yet.
#[derive(Default)]
struct CommandQueue {
    commands: Vec<Command>,
    /// The core terminates and accepts no further commands: a later one fails at once, as nothing would answer its caller.
    closed: bool,
}

#[derive(Default)]
struct Topics {
    by_name: NameMap<KnownTopic>,
}

struct KnownTopic {
    topic: Arc<Topic>,
    since: Instant,
}

#[derive(Default)]
struct FatalErrors {
    /// The first fatal error.
    first: Option<Error>,
    count: u64,
}

/// The cluster as described by the latest metadata.
#[derive(Default)]
pub(super) struct ClusterInfo {
    /// The brokers' ids, ascending.
    pub(super) brokers: Vec<i32>,
    pub(super) cluster_id: Option<String>,
    pub(super) controller_id: Option<i32>,
}

/// The arguments of [`Shared::new`].
pub(super) struct SharedParts {
    pub(super) kind: ClientKind,
    pub(super) name: String,
    pub(super) conf: ClientConfig,
    pub(super) topic_defaults: TopicConfig,
    pub(super) hooks: ClientHooks,
    pub(super) clock: SharedClock,
    pub(super) waker: Arc<dyn Waker>,
    pub(super) log: Arc<Logger>,
    pub(super) main_queue: Arc<Queue>,
}

impl Shared {
    pub(super) fn new(parts: SharedParts) -> Self {
        let SharedParts {
            kind,
            conf,
            clock,
            waker,
            ..
        } = &parts;
        forks::watch();
        let consumer_queue = Queue::new();
        let has_tokens = conf.security_protocol.as_str().starts_with("sasl") && conf.sasl_mechanisms == "OAUTHBEARER";
        let sasl_queue = (conf.enable_sasl_queue && has_tokens).then(Queue::new);
        let producer = (*kind == ClientKind::Producer).then(|| {
            Arc::new(Accumulator::new(
                conf,
                parts.hooks.delivery,
                clock.clone(),
                waker.clone(),
            ))
        });
        let consumer = (*kind == ClientKind::Consumer)
            .then(|| Arc::new(SharedState::new(conf, consumer_queue.clone(), waker.clone())));
        let share =
            (*kind == ClientKind::ShareConsumer).then(|| Arc::new(share::SharedState::new(consumer_queue.clone())));
        Shared {
            kind: parts.kind,
            share,
            name: parts.name,
            conf: parts.conf,
            hooks: parts.hooks,
            clock: parts.clock,
            waker: parts.waker,
            log: parts.log,
            main_queue: parts.main_queue,
            consumer_queue,
            sasl_queue,
            producer,
            consumer,
            topic_defaults: parts.topic_defaults,
            topics: RwLock::new(Topics::default()),
            command_queue: Mutex::new(CommandQueue::default()),
            fatal: Mutex::default(),
            has_fatal: AtomicBool::new(false),
            cluster_info: Mutex::default(),
            process: forks::depth(),
        }
    }

    /// Returns a topic, created if necessary; `conf` and `hooks` apply only when it is created.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) in a forked child, and [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for a name that
    /// does not fit into a request: it is empty or longer than 32,767 bytes. Brokers reject further names (longer than 249
    /// characters, characters other than `a-z A-Z 0-9 . _ -`), with [`TOPIC_EXCEPTION`](ErrorCode::TOPIC_EXCEPTION) when the
    /// topic is used.
    pub fn topic(&self, name: &str, conf: Option<TopicConfig>, hooks: TopicHooks) -> Result<Arc<Topic>, Error> {
        self.check_process()?;
        if let Some(topic) = self.find_topic(name) {
            return Ok(topic);
        }
        check_topic_name(name)?;
        let mut topics = self.topics.write();
        if let Some(known) = topics.by_name.get(name) {
            return Ok(known.topic.clone());
        }
        let index = u32::try_from(topics.by_name.len()).unwrap_or(u32::MAX);
        let conf = conf.unwrap_or_else(|| self.topic_defaults.clone());
        let topic = Arc::new(Topic::new(name, conf, hooks, index));
        let known = KnownTopic {
            topic: topic.clone(),
            since: self.clock.now(),
        };
        topics.by_name.insert(topic.shared_name(), known);
        Ok(topic)
    }

    /// Returns a topic that exists in this client; `None` in a forked child.
    pub fn find_topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.check_process().ok()?;
        self.topics.read().by_name.get(name).map(|known| known.topic.clone())
    }

    /// Returns the settings of topics that are created without their own.
    pub fn topic_defaults(&self) -> &TopicConfig {
        &self.topic_defaults
    }

    /// Returns the ids of the brokers in the metadata, ascending.
    pub fn known_brokers(&self) -> Vec<i32> {
        if self.is_inherited() {
            return Vec::new();
        }
        self.cluster_info.lock().brokers.clone()
    }

    /// Returns the cluster's id, if a metadata response contained it.
    pub fn cluster_id(&self) -> Option<String> {
        self.check_process().ok()?;
        self.cluster_info.lock().cluster_id.clone()
    }

    /// Returns the controller's broker id, if a metadata response contained it.
    pub fn controller_id(&self) -> Option<i32> {
        self.check_process().ok()?;
        self.cluster_info.lock().controller_id
    }

    pub(super) fn set_cluster_info(&self, info: ClusterInfo) {
        *self.cluster_info.lock() = info;
    }

    /// Returns every topic of this client.
    pub fn topics(&self) -> Vec<Arc<Topic>> {
        if self.is_inherited() {
            return Vec::new();
        }
        let topics = self.topics.read();
        topics.by_name.values().map(|known| known.topic.clone()).collect()
    }

    /// Returns the topics' names, each with the time of the topic's creation.
    pub(super) fn topic_names(&self) -> Vec<(Arc<str>, Instant)> {
        let topics = self.topics.read();
        let known = topics.by_name.iter();
        known.map(|(name, known)| (name.clone(), known.since)).collect()
    }

    /// Frees topics, cluster information and queued events: handles of a destroyed client may be kept for long.
    pub(crate) fn clear(&self) {
        drop(std::mem::take(&mut *self.topics.write()));
        drop(std::mem::take(&mut *self.cluster_info.lock()));
        if let Some(registry) = &self.consumer {
            registry.empty();
        }
        for queue in [&self.main_queue, &self.consumer_queue] {
            queue.purge(true);
            queue.forward_to(None);
        }
    }

    /// Returns true in a process that was forked from the client's.
    #[inline]
    pub fn is_inherited(&self) -> bool {
        forks::depth() != self.process
    }

    /// Fails with [`ErrorCode::L_STATE`] in a process that was forked from the client's: the parent's threads may have held
    /// locks at the fork.
    #[inline]
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        match self.is_inherited() {
            false => Ok(()),
            true => Err(refusal()),
        }
    }

    /// Sends a command to the core. It fails with [`ErrorCode::L_DESTROY`] once the client is being destroyed, and with
    /// [`ErrorCode::L_STATE`] in a process that was forked from the client's.
    pub fn send(&self, command: Command) {
        if let Err(refusal) = self.check_process() {
            return command.fail(refusal);
        }
        let mut queue = self.command_queue.lock();
        if queue.closed {
            drop(queue);
            command.refuse();
            return;
        }
        queue.commands.push(command);
        drop(queue);
        self.waker.wake();
    }

    /// Begins a transactional call; the core fills the reply. Without a timeout it is the coordinator's
    /// ([`transaction.timeout.ms`](ClientConfig::transaction_timeout_ms)), and twice that for [`TransactionCall::Init`],
    /// which may have to wait for the end of an older producer's transaction.
    pub fn transact(&self, call: TransactionCall, timeout: Option<Duration>) -> TransactionReply {
        let reply = Reply::new();
        let longest = Duration::from_millis(self.conf.transaction_timeout_ms.into());
        let timeout = timeout.unwrap_or(match call {
            TransactionCall::Init => longest * 2,
            _ => longest,
        });
        self.send(Command::Producer(producer::Command::Transaction {
            call,
            deadline: self.clock.now() + timeout,
            reply: reply.clone(),
        }));
        reply
    }

    /// Takes the commands sent since the last call: called by [`Core::drive`](super::Core::drive), or by a test instead.
    pub fn take_commands(&self) -> Vec<Command> {
        std::mem::take(&mut self.command_queue.lock().commands)
    }

    /// Closes the command queue: later commands fail. Returns the pending ones.
    pub(super) fn close_command_queue(&self) -> Vec<Command> {
        let mut queue = self.command_queue.lock();
        queue.closed = true;
        std::mem::take(&mut queue.commands)
    }

    /// Reports a client-level error to the application, or logs it if the application does not receive errors.
    pub fn report(&self, error: Error) {
        if self.hooks.error_event {
            self.main_queue.push(Event::Error(error));
        } else {
            self.log.log(level::ERROR, "ERROR", || error.message.clone());
        }
    }

    /// Reports an error that is logged elsewhere to the application, if it receives errors.
    pub(super) fn report_logged(&self, error: Error) {
        if self.hooks.error_event {
            self.main_queue.push(Event::Error(error));
        }
    }

    /// Reports to the application, if it receives errors, that the connection to `broker` (`host:port/id`) failed. The
    /// failure is logged elsewhere.
    pub(crate) fn report_connection_error(&self, broker: &str, error: &Error) {
        self.report_logged(Error::new(error.code, format!("{broker}: {}", error.message)));
    }

    /// Returns the first line of the client's debug log: name, version, `bootstrap.servers`, `debug`.
    pub(super) fn startup_line(&self) -> String {
        let (version, debug) = (env!("CARGO_PKG_VERSION"), DebugContexts(self.conf.debug).names());
        let servers = &self.conf.bootstrap_servers;
        format!(
            "{} {}: Ottla {version}, bootstrap.servers {servers}, debug {debug}",
            self.kind, self.name
        )
    }

    /// Returns the first fatal error, if one was raised.
    pub fn fatal_error(&self) -> Option<Error> {
        if !self.has_fatal.load(Ordering::Acquire) || self.is_inherited() {
            return None;
        }
        self.fatal.lock().first.clone()
    }

    /// Returns the number of fatal errors raised.
    pub(super) fn fatal_count(&self) -> u64 {
        self.fatal.lock().count
    }

    /// Raises a fatal error; only the first takes effect. Returns true for the first.
    pub fn set_fatal(&self, code: ErrorCode, message: &str) -> bool {
        {
            let mut fatal = self.fatal.lock();
            fatal.count += 1;
            if fatal.first.is_some() {
                return false;
            }
            fatal.first = Some(Error::new(code, message));
        }
        self.has_fatal.store(true, Ordering::Release);
        if let Some(accumulator) = &self.producer {
            // Records in flight still receive their responses; unsent records fail.
            accumulator.set_fatal();
            self.send(Command::Producer(producer::Command::Purge {
                queue: true,
                in_flight: false,
                done: Reply::new(),
            }));
        }
        let mut error = Error::new(
            ErrorCode::L_FATAL,
            format!("Fatal error: {}: {message}", code.description()),
        );
        error.fatal = true;
        self.report(error);
        true
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cold]
fn refusal() -> Error {
    let text = "the client belongs to the process that created it: a child cannot use it after a fork";
    Error::new(ErrorCode::L_STATE, text)
}

fn check_topic_name(name: &str) -> Result<(), Error> {
    let problem = if name.is_empty() {
        "is empty".to_owned()
    } else if name.len() > MAX_TOPIC_NAME {
        format!("has {} bytes, the maximum in a request is {MAX_TOPIC_NAME}", name.len())
    } else {
        return Ok(());
    };
    Err(Error::invalid_arg(format!("The topic name {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_topic_name_rejects_only_names_that_do_not_fit_into_a_request() {
        for sendable in ["a b", "..", "é", "#!$", &"a".repeat(250), &"a".repeat(32_767)] {
            assert_eq!(check_topic_name(sendable), Ok(()), "{sendable}");
        }
        for bad in [String::new(), "a".repeat(32_768), "é".repeat(16_384)] {
            let refusal = check_topic_name(&bad).map_err(|e| e.code);
            assert_eq!(refusal, Err(ErrorCode::L_INVALID_ARG), "{} bytes", bad.len());
        }
    }
}
