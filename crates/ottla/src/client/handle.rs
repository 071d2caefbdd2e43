//! The client as applications hold it.

use std::sync::Arc;
use std::time::Duration;

use ottla_mock::{ClusterConfig, EmbeddedCluster};

use super::builder::CoreBuilder;
use super::core::Command;
use super::options::{ClientHooks, address_family, socket_options};
use super::shared::Shared;
use crate::admin::{self, GroupListing};
use crate::cluster::{self, MetadataReply, MetadataScope, parse_endpoints};
use crate::config::{ClientConfig, TopicConfig};
use crate::consumer::OffsetsResult;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Queue};
use crate::log::{DebugContexts, Logger};
use crate::producer::{self, Accumulator, Record};
use crate::reply::Reply;
use crate::runtime::{Loop, live_threads};
use crate::sys::sync::Mutex;
use crate::sys::sync::thread::{self, JoinHandle, ThreadId};
use crate::sys::{Instant, Rng, SystemClock};
use crate::types::{ClientKind, PartitionOffset, Topic, TopicHooks, TopicPartition, offset};

pub(super) struct Inner {
    shared: Arc<Shared>,
    /// The client's thread, until somebody has seen it end.
    thread: Mutex<Option<JoinHandle<()>>>,
    thread_id: ThreadId,
    /// The cluster of `test.mock.num.brokers`, which lives as long as the client.
    embedded: Mutex<Option<EmbeddedCluster>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
        if self.shared.is_inherited() {
            // Leaks what a thread of the parent may hold locked.
            std::mem::forget(std::mem::replace(&mut self.thread, Mutex::new(None)));
            std::mem::forget(std::mem::replace(&mut self.embedded, Mutex::new(None)));
        }
    }
}

impl Inner {
    pub(super) fn new(shared: Arc<Shared>, thread: JoinHandle<()>, embedded: Option<EmbeddedCluster>) -> Self {
        Inner {
            shared,
            thread_id: thread.thread().id(),
            thread: Mutex::new(Some(thread)),
            embedded: Mutex::new(embedded),
        }
    }

    /// For a forked child, which has none of the threads: lets go of its copies of the connections.
    fn abandon(&self) {
        self.shared.waker.abandon();
        // Neither may be dropped, since both would wait for their threads.
        if let Some(mut thread) = self.thread.try_lock() {
            std::mem::forget(thread.take());
        }
        if let Some(mut embedded) = self.embedded.try_lock() {
            std::mem::forget(embedded.take());
        }
    }

    /// Ends the client. When this returns its thread has ended, whoever of several callers came first, unless it is that
    /// thread that calls.
    pub(super) fn stop(&self) {
        if self.shared.is_inherited() {
            return self.abandon();
        }
        self.shared.send(Command::Terminate);
        if self.thread_id != thread::current().id() {
            // Held while waiting, so that others wait as well.
            let mut thread = self.thread.lock();
            if let Some(thread) = thread.take() {
                // The thread's own panic was reported on stderr when it happened; there is nothing left to free.
                let _ = thread.join();
            }
        }
        drop(self.embedded.lock().take());
        self.shared.empty();
    }
}

/// A producer or a consumer. Clones are handles of the same client; the last one dropped ends it. Thread-safe.
///
/// A client belongs to the process that created it. In a child that is forked from it, calls are refused with
/// [`ErrorCode::L_STATE`], those that return no error find nothing, the client's queues are empty and not waited on, and
/// dropping the client closes the child's copies of its connections only.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("name", &self.inner.shared.name)
            .finish_non_exhaustive()
    }
}

fn system_error(what: &str, e: &std::io::Error) -> Error {
    Error::new(ErrorCode::L_CRIT_SYS_RESOURCE, format!("{what}: {e}"))
}

impl Client {
    /// Creates a client and starts its thread. With `test.mock.num.brokers` an embedded cluster is started as well and
    /// takes the place of `bootstrap.servers`.
    pub fn new(
        kind: ClientKind,
        mut conf: ClientConfig,
        topic_defaults: TopicConfig,
        hooks: ClientHooks,
    ) -> Result<Client, Error> {
        let embedded = start_embedded(&mut conf)?;
        let clock = Arc::new(SystemClock::new());
        let io = Loop::new(socket_options(&conf), address_family(&conf), hooks.system.clone())
            .map_err(|e| system_error("no event loop for the client", &e))?;
        let parts = CoreBuilder {
            kind,
            conf,
            topic_defaults,
            hooks,
            clock: clock.clone(),
            waker: io.waker(),
        };
        let core = parts.build(Rng::from_entropy());
        let shared = core.shared().clone();
        if let Some(embedded) = &embedded {
            log_embedded(embedded, &shared.log);
        }
        let thread = io
            .spawn(core, clock)
            .map_err(|e| system_error("no thread for the client", &e))?;
        Ok(Client {
            inner: Arc::new(Inner::new(shared, thread, embedded)),
        })
    }

    /// Ends the client now, whoever still holds a handle of it: later calls are refused.
    pub fn destroy(&self) {
        self.inner.stop();
    }

    /// What the client's threads share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// `client.id#type-N`.
    pub fn name(&self) -> &str {
        &self.inner.shared.name
    }

    /// Producer or consumer.
    pub fn kind(&self) -> ClientKind {
        self.inner.shared.kind
    }

    /// The settings.
    pub fn conf(&self) -> &ClientConfig {
        &self.inner.shared.conf
    }

    /// See [`Shared::topic`].
    pub fn topic(&self, name: &str, conf: Option<TopicConfig>, hooks: TopicHooks) -> Result<Arc<Topic>, Error> {
        self.inner.shared.topic(name, conf, hooks)
    }

    /// A topic that is known.
    pub fn find_topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.inner.shared.find_topic(name)
    }

    /// Delivery reports, errors, logs, statistics.
    pub fn main_queue(&self) -> &Arc<Queue> {
        &self.inner.shared.main_queue
    }

    /// Records and group events.
    pub fn consumer_queue(&self) -> &Arc<Queue> {
        &self.inner.shared.consumer_queue
    }

    /// Runs `f` on the embedded cluster of `test.mock.num.brokers`; `None` without one, and in a forked child.
    pub fn with_embedded<T>(&self, f: impl FnOnce(&EmbeddedCluster) -> T) -> Option<T> {
        self.inner.shared.check_process().ok()?;
        self.inner.embedded.lock().as_ref().map(f)
    }

    /// Adds bootstrap brokers; gives how many addresses were understood.
    pub fn add_brokers(&self, list: &str) -> usize {
        if self.inner.shared.is_inherited() {
            return 0;
        }
        let (good, bad) = parse_endpoints(list);
        for why in bad {
            self.inner.shared.log.log(crate::log::level::ERROR, "BROKER", || why);
        }
        let n = good.len();
        self.send_cluster(cluster::Command::AddBrokers(good));
        n
    }

    /// The first fatal error, if there was one.
    pub fn fatal_error(&self) -> Option<Error> {
        self.inner.shared.fatal_error()
    }

    /// Raises a fatal error, for tests of applications. Fails when one was raised before.
    pub fn test_fatal_error(&self, code: ErrorCode, reason: &str) -> Result<(), Error> {
        self.inner.shared.check_process()?;
        if self
            .inner
            .shared
            .set_fatal(code, &format!("test_fatal_error: {reason}"))
        {
            Ok(())
        } else {
            Err(Error::new(
                ErrorCode::L_PREV_IN_PROGRESS,
                "a fatal error was raised before",
            ))
        }
    }

    /// Changes the level up to which lines are logged.
    pub fn set_log_level(&self, level: i32) {
        self.inner.shared.log.set_max_level(level);
    }

    /// Threads that clients of this process run now.
    pub fn live_threads() -> usize {
        live_threads()
    }

    pub(super) fn deadline(&self, timeout: Option<Duration>) -> Instant {
        timeout.map_or(Instant::NEVER, |t| self.inner.shared.clock.now() + t)
    }

    /// For a thread that is about to wait for `queue`, until `stop` says yes: it may drive the client meanwhile, which
    /// saves waking it. Returns at any time before the wait would end.
    pub fn poll_inline(&self, queue: &Queue, timeout: Option<Duration>, stop: &dyn Fn() -> bool) {
        if timeout != Some(Duration::ZERO) {
            let done = || !queue.is_empty() || stop();
            self.inner.shared.waker.poll_inline(timeout, &done);
        }
    }

    fn send_cluster(&self, command: cluster::Command) {
        self.inner.shared.send(Command::Cluster(command));
    }

    /// Asks a broker for metadata. `None` waits for ever.
    ///
    /// Fails with [`ErrorCode::L_TRANSPORT`] or [`ErrorCode::L_TIMED_OUT`] when no broker answered in time.
    pub fn metadata(&self, scope: MetadataScope, timeout: Option<Duration>) -> Result<MetadataReply, Error> {
        let reply = Reply::new();
        self.send_cluster(cluster::Command::Metadata {
            scope,
            deadline: self.deadline(timeout),
            reply: reply.clone(),
        });
        // The core keeps the deadline; waiting without one of our own gives its more exact error.
        reply
            .wait(None)
            .unwrap_or_else(|| Err(Error::new(ErrorCode::L_TIMED_OUT, "")))
    }

    /// The cluster's id. Asks a broker only when metadata has not told it yet.
    pub fn cluster_id(&self, timeout: Option<Duration>) -> Option<String> {
        self.inner.shared.cluster_id().or_else(|| {
            let asked = self.metadata(MetadataScope::Topics(Vec::new()), timeout);
            asked.ok()?.response.cluster_id
        })
    }

    /// The groups of all brokers, or only `group`, with their members. Waits for `socket.timeout.ms` at most,
    /// also without a timeout.
    ///
    /// When only some brokers answered, the listing says so. Fails with [`ErrorCode::L_TIMED_OUT`], or a broker's error,
    /// when no group was told of and a broker did not answer.
    pub fn list_groups(&self, group: Option<&str>, timeout: Option<Duration>) -> Result<GroupListing, Error> {
        let reply = Reply::new();
        let command = admin::Command::ListGroups {
            group: group.map(str::to_owned),
            deadline: self.deadline(timeout),
            reply: reply.clone(),
        };
        self.inner.shared.send(Command::Admin(command));
        // The core keeps the deadline.
        reply
            .wait(None)
            .unwrap_or_else(|| Err(Error::new(ErrorCode::L_TIMED_OUT, "")))
    }

    /// The controller's broker id. Asks a broker only when metadata has not told it yet.
    pub fn controller_id(&self, timeout: Option<Duration>) -> Option<i32> {
        self.inner.shared.controller_id().or_else(|| {
            let asked = self.metadata(MetadataScope::Topics(Vec::new()), timeout);
            Some(asked.ok()?.response.controller_id).filter(|id| *id >= 0)
        })
    }

    // ---------------------------------------------------------------- producer

    pub(super) fn accumulator(&self) -> Result<&Arc<Accumulator>, Error> {
        self.inner.shared.check_process()?;
        let producer = self.inner.shared.producer.as_ref();
        producer.ok_or_else(|| Error::new(ErrorCode::L_INVALID_ARG, "the client is a consumer, not a producer"))
    }

    /// Queues a record for sending. With `block`, waits while the queue is full.
    ///
    /// Fails with [`ErrorCode::L_QUEUE_FULL`], [`ErrorCode::MSG_SIZE_TOO_LARGE`], [`ErrorCode::L_UNKNOWN_PARTITION`],
    /// [`ErrorCode::L_UNKNOWN_TOPIC`] or the fatal error; the record was not taken then.
    pub fn produce(&self, topic: &Arc<Topic>, partition: i32, record: Record<'_>, block: bool) -> Result<(), Error> {
        let accumulator = self.accumulator()?;
        if let Some(fatal) = self.fatal_error() {
            let text = format!("nothing can be produced after a fatal error: {}", fatal.message);
            return Err(Error::new(fatal.code, text).into_fatal());
        }
        if block {
            accumulator.produce_blocking(topic, partition, record)
        } else {
            accumulator.produce(topic, partition, record)
        }
    }

    /// Records whose delivery reports were not handled yet; for a consumer, events that wait.
    pub fn outq_len(&self) -> usize {
        if self.inner.shared.is_inherited() {
            return 0;
        }
        match &self.inner.shared.producer {
            Some(accumulator) => {
                let other = self.main_queue().len_where(|e| !matches!(e, Event::Delivery(_)));
                accumulator.outstanding() + other
            }
            None => self.main_queue().len(),
        }
    }

    /// Cuts linger short until [`flush_end`](Self::flush_end) was called as often. The caller serves the main queue
    /// meanwhile, which is woken ([`Queue::wake_all`]) when no record is outstanding any more, and looks at
    /// [`outq_len`](Self::outq_len).
    pub fn flush_begin(&self) -> Result<(), Error> {
        let accumulator = self.accumulator()?;
        accumulator.buffer_memory().begin_flush(self.main_queue().clone());
        accumulator.flush_begin();
        Ok(())
    }

    /// Waits until no record is outstanding or `timeout` passed; another thread handles the delivery reports. May
    /// return early.
    pub fn flush_wait(&self, timeout: Duration) -> Result<(), Error> {
        self.accumulator()?.buffer_memory().wait_until_empty(timeout);
        Ok(())
    }

    /// Ends one [`flush_begin`](Self::flush_begin).
    pub fn flush_end(&self) {
        if let Ok(accumulator) = self.accumulator() {
            accumulator.flush_end();
            accumulator.buffer_memory().end_flush(self.main_queue());
        }
    }

    /// Stops sending to partitions, or goes on. Records for them are taken and wait; `message.timeout.ms` counts on. Each row
    /// has its result: [`ErrorCode::L_UNKNOWN_PARTITION`] for a topic that the client has not heard of by
    /// [`topic`](Self::topic), and for a partition that it does not have.
    pub fn pause_producing(&self, partitions: Vec<TopicPartition>, paused: bool) -> OffsetsResult {
        let accumulator = self.accumulator()?;
        let mut known = Vec::new();
        let rows = partitions.into_iter().map(|tp| {
            let mut row = PartitionOffset::new(tp, offset::INVALID);
            match self.find_topic(&row.tp.topic) {
                Some(topic) if accumulator.may_have(&topic, row.tp.partition) => known.push((topic, row.tp.partition)),
                _ => row.error = ErrorCode::L_UNKNOWN_PARTITION,
            }
            row
        });
        let rows = rows.collect();
        let done = Reply::new();
        self.inner.shared.send(Command::Producer(producer::Command::Pause {
            partitions: known,
            paused,
            done: done.clone(),
        }));
        done.wait(None);
        Ok(rows)
    }

    /// Gives up records that wait in queues, in flight, or both; each gets its delivery report with
    /// [`ErrorCode::L_PURGE_QUEUE`] or [`ErrorCode::L_PURGE_INFLIGHT`].
    pub fn purge(&self, queue: bool, in_flight: bool, non_blocking: bool) -> Result<(), Error> {
        self.accumulator()?;
        let done = Reply::new();
        self.inner.shared.send(Command::Producer(producer::Command::Purge {
            queue,
            in_flight,
            done: done.clone(),
        }));
        if !non_blocking {
            done.wait(None);
        }
        Ok(())
    }
}

/// Has the embedded cluster's requests logged under `mock`.
fn log_embedded(embedded: &EmbeddedCluster, log: &Arc<Logger>) {
    let (context, servers) = (DebugContexts::MOCK, || embedded.bootstrap_servers());
    log.debug(context, "MOCK", || {
        format!("an embedded cluster listens at {}", servers())
    });
    if log.debugs(context) {
        // The cluster may be used longer than the client's log.
        let log = Arc::downgrade(log);
        embedded.with(|cluster| {
            cluster.observe(move |line| {
                if let Some(log) = log.upgrade() {
                    log.debug(context, "MOCK", || line);
                }
            });
        });
    }
}

fn start_embedded(conf: &mut ClientConfig) -> Result<Option<EmbeddedCluster>, Error> {
    let brokers = i32::try_from(conf.test_mock_num_brokers).unwrap_or(0);
    if brokers <= 0 {
        return Ok(None);
    }
    let defaults = ClusterConfig::default();
    // The cluster is there for this client: what its own limit allows, a batch's framing included, is taken.
    let own_batch = i32::try_from(conf.message_max_bytes)
        .unwrap_or(i32::MAX)
        .saturating_add(1024);
    let embedded = EmbeddedCluster::start(ClusterConfig {
        brokers,
        message_max_bytes: defaults.message_max_bytes.max(own_batch),
        socket_request_max_bytes: defaults
            .socket_request_max_bytes
            .max(usize::try_from(own_batch).unwrap_or(0).saturating_add(1 << 20)),
        ..defaults
    })
    .map_err(|e| system_error("the embedded cluster of test.mock.num.brokers did not start", &e))?;
    if conf.test_mock_broker_rtt > 0 {
        let micros = u64::from(conf.test_mock_broker_rtt) * 1000;
        embedded.with(|cluster| {
            for id in cluster.broker_ids().collect::<Vec<_>>() {
                cluster.set_round_trip_us(id, micros);
            }
        });
    }
    conf.bootstrap_servers = embedded.bootstrap_servers();
    Ok(Some(embedded))
}
