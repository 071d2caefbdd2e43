//! The application's handle of a client: its calls.
//!
//! Most calls send a command to the client's thread and wait for the reply. The core answers every command, at the latest
//! at its deadline or when the client ends.

use std::sync::Arc;
use std::time::Duration;

use ottla_mock::EmbeddedCluster;
use ottla_tls::Replacement;
use zeroize::Zeroizing;

use super::lifecycle::ClientThread;
use crate::admin::{self, DescribedGroups, Destination, ListAndDescribeGroups, Operation, Options};
use crate::cluster::{self, MetadataReply, MetadataScope, parse_endpoints};
use crate::config::{ClientConfig, TopicConfig};
use crate::consumer::{self, CommitTarget, GroupInfo, OffsetsResult, RebalanceProtocol, SharedState};
use crate::core::{ClientHooks, Command, Shared};
use crate::credentials;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, PartitionState, Queue};
use crate::log::level;
use crate::producer::{self, Accumulator, Record, TransactionCall, TransactionReply};
use crate::reply::Reply;
use crate::runtime::live_threads;
use crate::sasl::BearerToken;
use crate::sys::Instant;
use crate::types::{ClientKind, GroupMetadata, PartitionOffset, Topic, TopicHooks, TopicPartition, offset};

/// The destination of a commit's result.
#[derive(Clone)]
pub enum CommitMode {
    /// The return value of the call, which waits for it.
    Sync,
    /// An [`Event::Commit`], if the application receives those.
    Async,
    /// A queue, with the application's pointer.
    Queue {
        /// The destination.
        queue: Arc<Queue>,
        /// The application's pointer.
        opaque: usize,
        /// The commit has a callback of its own, which is called in place of the configuration's.
        own_callback: bool,
    },
}

/// A producer or a consumer. Clones are handles of the same client, which ends when the last of them is dropped.
/// Thread-safe.
///
/// A client belongs to the process that created it. In a child that is forked from it, calls fail with
/// [`ErrorCode::L_STATE`], those that return no error find nothing, the client's queues are empty and not waited on, and
/// dropping the client only closes the child's copies of its connections.
///
/// # Transactions
/// A producer with a `transactional.id` (KIP-98) calls
///
/// ```text
/// init_transactions()                                       once
///   begin_transaction()                                     then, for each transaction
///     produce() ..., send_offsets_to_transaction() ...
///   commit_transaction() or abort_transaction()
/// ```
///
/// The error of each of these calls determines the next step:
/// - `retriable`: nothing was decided. Repeat the same call. After [`L_TIMED_OUT`](ErrorCode::L_TIMED_OUT) the operation
///   continues in the background, and the repeated call waits for its end. Until then, other calls of this kind fail with
///   [`L_CONFLICT`](ErrorCode::L_CONFLICT), and the same call from another thread fails with
///   [`L_PREV_IN_PROGRESS`](ErrorCode::L_PREV_IN_PROGRESS).
/// - `txn_requires_abort`: nothing of the transaction will be committed. Abort it; the producer can begin another one then.
/// - `fatal`: the producer cannot continue, for example because a newer one has its `transactional.id`
///   ([`L_FENCED`](ErrorCode::L_FENCED)). The coordinator aborts an open transaction.
/// - none of them: the call is not allowed in this state ([`L_STATE`](ErrorCode::L_STATE)) or has invalid arguments.
///
/// Delivery reports go to the main queue as usual. A commit ends without the application serving them.
#[derive(Clone)]
pub struct Client {
    running: Arc<ClientThread>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client and starts its thread. With `test.mock.num.brokers` it also starts an embedded cluster, whose brokers
    /// replace `bootstrap.servers`.
    ///
    /// # Errors
    /// [`L_CRIT_SYS_RESOURCE`](ErrorCode::L_CRIT_SYS_RESOURCE) when the operating system has no descriptors or threads left.
    pub fn new(
        kind: ClientKind,
        conf: ClientConfig,
        topic_defaults: TopicConfig,
        hooks: ClientHooks,
    ) -> Result<Client, Error> {
        let running = ClientThread::start(kind, conf, topic_defaults, hooks)?;
        Ok(Client {
            running: Arc::new(running),
        })
    }

    /// Ends the client now, also while other handles exist: later calls fail with [`ErrorCode::L_DESTROY`].
    pub fn destroy(&self) {
        self.running.stop();
    }

    /// The state that the application's threads share with the client's.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.running.shared
    }

    /// `client.id#type-N`.
    pub fn name(&self) -> &str {
        &self.shared().name
    }

    /// Producer or consumer.
    pub fn kind(&self) -> ClientKind {
        self.shared().kind
    }

    /// The settings.
    pub fn conf(&self) -> &ClientConfig {
        &self.shared().conf
    }

    /// See [`Shared::topic`].
    pub fn topic(&self, name: &str, conf: Option<TopicConfig>, hooks: TopicHooks) -> Result<Arc<Topic>, Error> {
        self.shared().topic(name, conf, hooks)
    }

    /// See [`Shared::find_topic`].
    pub fn find_topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.shared().find_topic(name)
    }

    /// The queue of delivery reports, errors, log lines and statistics.
    pub fn main_queue(&self) -> &Arc<Queue> {
        &self.shared().main_queue
    }

    /// The queue of records and group events.
    pub fn consumer_queue(&self) -> &Arc<Queue> {
        &self.shared().consumer_queue
    }

    /// Runs `f` on the embedded cluster of `test.mock.num.brokers`; `None` without one, and in a forked child.
    pub fn with_embedded<T>(&self, f: impl FnOnce(&EmbeddedCluster) -> T) -> Option<T> {
        self.shared().check_process().ok()?;
        self.running.embedded.lock().as_deref().map(f)
    }

    /// Returns the embedded cluster of `test.mock.num.brokers`; `None` without one, and in a forked child. It ends with the
    /// last reference, so keep a weak one for longer than a call.
    pub fn embedded(&self) -> Option<Arc<EmbeddedCluster>> {
        self.shared().check_process().ok()?;
        self.running.embedded.lock().clone()
    }

    /// Logs the requests to a cluster in this client's log under `debug=mock`, as long as the log exists.
    pub fn log_requests_of(&self, cluster: &EmbeddedCluster) {
        super::embedded::log_requests(cluster, &self.shared().log);
    }

    /// Replaces the client's certificate or the CAs for new connections; with `ssl.certificate.refresh.reconnect.ms` open
    /// connections are replaced within that time. The files that the settings name for the same purpose are not read any
    /// more.
    ///
    /// # Errors
    /// [`L_NOT_CONFIGURED`](ErrorCode::L_NOT_CONFIGURED) for a client without TLS,
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for certificates that cannot be used: those before stay in use.
    pub fn replace_certificates(&self, replacement: Replacement) -> Result<(), Error> {
        self.shared().check_process()?;
        let Some(tls) = &self.running.tls else {
            let text = "security.protocol is not ssl or sasl_ssl";
            return Err(Error::new(ErrorCode::L_NOT_CONFIGURED, text));
        };
        let warnings = tls.replace(replacement).map_err(|e| super::tls::invalid(&e))?;
        self.shared().send(Command::CertificatesReplaced(warnings));
        Ok(())
    }

    // ---------------------------------------------------------------- authentication

    /// Replaces user name and password of PLAIN and SCRAM for the authentications that begin from now on: those of new
    /// connections, and those with which sessions are renewed (KIP-368). Connections that wait because their authentication
    /// failed are opened at once. Other mechanisms do not use them: a warning is logged.
    ///
    /// # Errors
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) when either is empty.
    pub fn set_sasl_credentials(&self, username: &str, password: &str) -> Result<(), Error> {
        self.shared().check_process()?;
        if username.is_empty() || password.is_empty() {
            return Err(Error::invalid_arg("user name and password must not be empty"));
        }
        self.send_credentials(credentials::Command::SetLogin {
            username: username.to_owned(),
            password: Zeroizing::new(password.to_owned()),
        });
        Ok(())
    }

    /// Sets the token of OAUTHBEARER for the authentications that begin from now on (KIP-255). The next one is requested
    /// after 80 % of its life. `expires_ms` is the end of its life in milliseconds since 1970, `principal` a name for the
    /// log; `extensions` are sent with the token (KIP-342).
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) when OAUTHBEARER is not the client's mechanism,
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for a token or an extension that cannot be sent, or a life that has ended.
    pub fn set_token(
        &self,
        token: &str,
        expires_ms: i64,
        principal: &str,
        extensions: &[(String, String)],
    ) -> Result<(), Error> {
        self.check_oauthbearer()?;
        let invalid = |text: String| Error::new(ErrorCode::L_INVALID_ARG, text);
        let token = BearerToken::new(token, extensions).map_err(|e| invalid(e.0))?;
        let now_ms = self.shared().clock.wall_ms();
        if expires_ms <= now_ms {
            return Err(invalid(format!(
                "the token's life ended at {expires_ms} ms since 1970, and the time is {now_ms} ms"
            )));
        }
        self.send_credentials(credentials::Command::SetToken {
            token,
            expires_ms,
            principal: principal.to_owned(),
        });
        Ok(())
    }

    /// Reports that there is no token, for the cause in `text`. The one before stays in use, and another is requested in 10
    /// seconds.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) when OAUTHBEARER is not the client's mechanism,
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for an empty text.
    pub fn set_token_failure(&self, text: &str) -> Result<(), Error> {
        self.check_oauthbearer()?;
        if text.is_empty() {
            return Err(Error::invalid_arg("the text must not be empty"));
        }
        self.send_credentials(credentials::Command::SetTokenFailure(text.to_owned()));
        Ok(())
    }

    /// Returns the queue of requests for tokens: [`Event::TokenRefresh`]. `None` unless `enable_sasl_queue` is set and
    /// OAUTHBEARER is the mechanism; the requests are in the main queue then.
    pub fn sasl_queue(&self) -> Option<Arc<Queue>> {
        self.shared().sasl_queue.clone()
    }

    /// Returns an error unless OAUTHBEARER is the client's mechanism.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE)
    pub fn check_oauthbearer(&self) -> Result<(), Error> {
        self.shared().check_process()?;
        let conf = &self.shared().conf;
        if conf.security_protocol.as_str().starts_with("sasl") && conf.sasl_mechanisms == "OAUTHBEARER" {
            return Ok(());
        }
        let text = "SASL/OAUTHBEARER is not the client's authentication mechanism";
        Err(Error::new(ErrorCode::L_STATE, text))
    }

    fn send_credentials(&self, command: credentials::Command) {
        self.shared().send(Command::Credentials(command));
    }

    /// Returns the first fatal error, if one was raised.
    pub fn fatal_error(&self) -> Option<Error> {
        self.shared().fatal_error()
    }

    /// Raises a fatal error, for tests of applications.
    ///
    /// # Errors
    /// [`L_PREV_IN_PROGRESS`](ErrorCode::L_PREV_IN_PROGRESS) when one was raised before.
    pub fn test_fatal_error(&self, code: ErrorCode, reason: &str) -> Result<(), Error> {
        self.shared().check_process()?;
        let text = format!("test_fatal_error: {reason}");
        if self.shared().set_fatal(code, &text) {
            return Ok(());
        }
        let text = "a fatal error was raised before";
        Err(Error::new(ErrorCode::L_PREV_IN_PROGRESS, text))
    }

    /// Changes the level up to which lines are logged.
    pub fn set_log_level(&self, level: i32) {
        self.shared().log.set_max_level(level);
    }

    /// Returns the number of threads that clients of this process run now.
    pub fn live_threads() -> usize {
        live_threads()
    }

    fn deadline(&self, timeout: Option<Duration>) -> Instant {
        timeout.map_or(Instant::NEVER, |t| self.shared().clock.now() + t)
    }

    /// Drives the client on the calling thread, which is about to wait for `queue` until `stop` returns true: this saves a
    /// switch to the I/O thread and back. Returns at any time before that wait would end.
    pub fn poll_inline(&self, queue: &Queue, timeout: Option<Duration>, stop: &dyn Fn() -> bool) {
        if timeout != Some(Duration::ZERO) {
            let done = || !queue.is_empty() || stop();
            self.shared().waker.poll_inline(timeout, &done);
        }
    }

    // ---------------------------------------------------------------- cluster

    fn send_cluster(&self, command: cluster::Command) {
        self.shared().send(Command::Cluster(command));
    }

    /// Adds bootstrap brokers; returns the number of valid addresses in `list`.
    pub fn add_brokers(&self, list: &str) -> usize {
        if self.shared().is_inherited() {
            return 0;
        }
        let (good, bad) = parse_endpoints(list);
        for why in bad {
            self.shared().log.log(level::ERROR, "BROKER", || why);
        }
        let n = good.len();
        self.send_cluster(cluster::Command::AddBrokers(good));
        n
    }

    /// Requests metadata from a broker. `None` waits without limit.
    ///
    /// # Errors
    /// [`ErrorCode::L_TRANSPORT`] or [`ErrorCode::L_TIMED_OUT`] when no broker answered in time.
    pub fn metadata(&self, scope: MetadataScope, timeout: Option<Duration>) -> Result<MetadataReply, Error> {
        let reply = Reply::new();
        self.send_cluster(cluster::Command::Metadata {
            scope,
            deadline: self.deadline(timeout),
            reply: reply.clone(),
        });
        // The core keeps the deadline, and its error is more exact than a timeout here.
        reply
            .wait(None)
            .unwrap_or_else(|| Err(Error::new(ErrorCode::L_TIMED_OUT, "")))
    }

    /// Returns the cluster's id. Requests metadata only when no response has contained it yet.
    pub fn cluster_id(&self, timeout: Option<Duration>) -> Option<String> {
        self.shared().cluster_id().or_else(|| {
            let reply = self.metadata(MetadataScope::Topics(Vec::new()), timeout);
            reply.ok()?.response.cluster_id
        })
    }

    /// Returns the controller's broker id. Requests metadata only when no response has contained it yet.
    pub fn controller_id(&self, timeout: Option<Duration>) -> Option<i32> {
        self.shared().controller_id().or_else(|| {
            let reply = self.metadata(MetadataScope::Topics(Vec::new()), timeout);
            Some(reply.ok()?.response.controller_id).filter(|id| *id >= 0)
        })
    }

    /// Lists the groups of all brokers, or only `group`, with their members. Waits for at most `socket.timeout.ms`, also
    /// without a timeout.
    ///
    /// The listing is marked as partial when only some brokers answered.
    ///
    /// # Errors
    /// [`ErrorCode::L_TIMED_OUT`], or a broker's error, when no group was listed and a broker did not answer.
    pub fn list_groups(&self, group: Option<&str>, timeout: Option<Duration>) -> Result<DescribedGroups, Error> {
        let socket_timeout = Duration::from_millis(self.conf().socket_timeout_ms.into());
        let options = Options {
            request_timeout: Some(timeout.map_or(socket_timeout, |timeout| timeout.min(socket_timeout))),
            ..Options::default()
        };
        let group = group.map(str::to_owned);
        self.admin(ListAndDescribeGroups { group }, &options)
    }

    // ---------------------------------------------------------------- producer

    fn accumulator(&self) -> Result<&Arc<Accumulator>, Error> {
        self.shared().check_process()?;
        let producer = self.shared().producer.as_ref();
        producer.ok_or_else(|| Error::new(ErrorCode::L_INVALID_ARG, "the client is a consumer, not a producer"))
    }

    /// Queues a record for sending. With `block`, waits while the queue is full.
    ///
    /// # Errors
    /// [`ErrorCode::L_QUEUE_FULL`], [`ErrorCode::MSG_SIZE_TOO_LARGE`], [`ErrorCode::L_UNKNOWN_PARTITION`],
    /// [`ErrorCode::L_UNKNOWN_TOPIC`] or the fatal error; the record was not queued then.
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

    /// Returns the number of records whose delivery reports were not served yet, plus other queued events; for a consumer,
    /// the number of queued events.
    pub fn outq_len(&self) -> usize {
        if self.shared().is_inherited() {
            return 0;
        }
        match &self.shared().producer {
            Some(accumulator) => {
                let other = self.main_queue().len_where(|e| !matches!(e, Event::Delivery(_)));
                accumulator.outstanding() + other
            }
            None => self.main_queue().len(),
        }
    }

    /// Ignores linger until [`flush_end`](Self::flush_end) was called as often. The caller serves the main queue meanwhile,
    /// whose waiting threads are woken ([`Queue::wake_all`]) when no record is outstanding any more, and reads
    /// [`outq_len`](Self::outq_len).
    pub fn flush_begin(&self) -> Result<(), Error> {
        let accumulator = self.accumulator()?;
        accumulator.buffer_memory().begin_flush(self.main_queue().clone());
        accumulator.flush_begin();
        Ok(())
    }

    /// Waits until no record is outstanding or `timeout` passed, while another thread serves the delivery reports. May
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

    /// Stops sending to partitions, or resumes it. Records for them are still accepted and wait; `message.timeout.ms` applies
    /// to them. The result of a row is [`ErrorCode::L_UNKNOWN_PARTITION`] for a topic that [`topic`](Self::topic) has not
    /// created, and for a partition that the topic does not have.
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
        self.shared().send(Command::Producer(producer::Command::Pause {
            partitions: known,
            paused,
            done: done.clone(),
        }));
        done.wait(None);
        Ok(rows)
    }

    /// Discards queued records, records in flight, or both. Each gets a delivery report with
    /// [`ErrorCode::L_PURGE_QUEUE`] or [`ErrorCode::L_PURGE_INFLIGHT`].
    pub fn purge(&self, queue: bool, in_flight: bool, non_blocking: bool) -> Result<(), Error> {
        self.accumulator()?;
        let done = Reply::new();
        self.shared().send(Command::Producer(producer::Command::Purge {
            queue,
            in_flight,
            done: done.clone(),
        }));
        if !non_blocking {
            done.wait(None);
        }
        Ok(())
    }

    // ---------------------------------------------------------------- transactions

    /// Begins a transactional call without waiting for its end; the reply receives the result. Without a timeout it is
    /// `transaction.timeout.ms`, twice that for [`TransactionCall::Init`].
    ///
    /// # Errors
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for a consumer, [`L_NOT_CONFIGURED`](ErrorCode::L_NOT_CONFIGURED) without
    /// `transactional.id`, and the fatal error after one; the call was not begun then.
    pub fn begin_transaction_call(
        &self,
        call: TransactionCall,
        timeout: Option<Duration>,
    ) -> Result<TransactionReply, Error> {
        self.check_transactional()?;
        Ok(self.shared().transact(call, timeout))
    }

    /// Returns the result of a call begun with [`begin_transaction_call`](Self::begin_transaction_call). An error that
    /// only reports that a fatal error was raised is replaced by that fatal error.
    pub fn transaction_result(&self, result: Result<(), Error>) -> Result<(), Error> {
        result.map_err(|error| match self.fatal_error() {
            Some(fatal) if error.fatal => fatal.into_fatal(),
            _ => error,
        })
    }

    fn check_transactional(&self) -> Result<(), Error> {
        self.accumulator()?;
        if self.conf().transactional_id.is_empty() {
            let text = "the producer is not transactional: transactional.id is not set";
            return Err(Error::new(ErrorCode::L_NOT_CONFIGURED, text));
        }
        match self.fatal_error() {
            Some(fatal) => Err(fatal.into_fatal()),
            None => Ok(()),
        }
    }

    fn transact(&self, call: TransactionCall, timeout: Option<Duration>) -> Result<(), Error> {
        let reply = self.begin_transaction_call(call, timeout)?;
        // The core keeps the deadline.
        let result = reply.wait(None).unwrap_or_else(|| Err(not_answered()));
        self.transaction_result(result)
    }

    /// Acquires the producer's id and epoch from the coordinator of its `transactional.id`. Older producers with that id are
    /// fenced. The coordinator aborts the transaction that they left open, or completes its commit if that was requested.
    ///
    /// `None` waits for twice `transaction.timeout.ms`. See [Transactions](#transactions) for errors.
    pub fn init_transactions(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.transact(TransactionCall::Init, timeout)
    }

    /// Begins a transaction. Does not wait for a broker.
    pub fn begin_transaction(&self) -> Result<(), Error> {
        self.transact(TransactionCall::Begin, None)
    }

    /// Adds consumed offsets to the transaction: the group's committed offsets change when and only when the transaction is
    /// committed. `offsets` are the next offsets to read, the last processed plus one. Rows with logical offsets are skipped;
    /// without any other row the call does nothing.
    ///
    /// `group` is the consumer's [`group_metadata`](Self::group_metadata) of the time at which the records were read. When
    /// the group has assigned the partitions to another member since, the transaction must be aborted (KIP-447).
    ///
    /// `None` waits for `transaction.timeout.ms`. After a timeout the call may be repeated with the same or other offsets.
    pub fn send_offsets_to_transaction(
        &self,
        offsets: Vec<PartitionOffset>,
        group: &GroupMetadata,
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        if group.group_id.is_empty() {
            return Err(Error::invalid_arg("the group metadata names no group"));
        }
        let group = group.clone();
        self.transact(TransactionCall::SendOffsets { offsets, group }, timeout)
    }

    /// Waits until every record produced in the transaction was written, then commits it.
    ///
    /// `None` waits for `transaction.timeout.ms`; a shorter timeout only increases the number of timeouts.
    pub fn commit_transaction(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.transact(TransactionCall::Commit, timeout)
    }

    /// Discards records that were not sent ([`L_PURGE_QUEUE`](ErrorCode::L_PURGE_QUEUE)), waits for those in flight, and
    /// aborts the transaction.
    ///
    /// `None` waits for `transaction.timeout.ms`.
    pub fn abort_transaction(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.transact(TransactionCall::Abort, timeout)
    }

    // ---------------------------------------------------------------- consumer

    fn consumer_state(&self) -> Result<&Arc<SharedState>, Error> {
        self.shared().check_process()?;
        let consumer = self.shared().consumer.as_ref();
        consumer.ok_or_else(|| Error::new(ErrorCode::L_INVALID_ARG, "the client is a producer, not a consumer"))
    }

    fn request<T>(&self, make: impl FnOnce(Arc<Reply<Result<T, Error>>>) -> consumer::Command) -> Result<T, Error> {
        self.consumer_state()?;
        self.request_any(make)
    }

    /// Like [`request`](Self::request), for commands that a producer accepts as well.
    fn request_any<T>(&self, make: impl FnOnce(Arc<Reply<Result<T, Error>>>) -> consumer::Command) -> Result<T, Error> {
        let reply = Reply::new();
        self.shared().send(Command::Consumer(make(reply.clone())));
        reply.wait(None).unwrap_or_else(|| Err(not_answered()))
    }

    /// Returns the state of a partition, created if necessary. Its queue can be served apart from the consumer's.
    pub fn partition(&self, topic: &Arc<Topic>, partition: i32) -> Result<Arc<PartitionState>, Error> {
        Ok(self.consumer_state()?.partition(topic, partition))
    }

    /// Returns the queue of a partition that has a state; `None` otherwise.
    pub fn partition_queue(&self, topic: &str, partition: i32) -> Option<Arc<Queue>> {
        Some(self.consumer_state().ok()?.find(topic, partition)?.queue().clone())
    }

    /// Consumes one partition, outside of any assignment. Its records go to `queue`, or to the partition's own queue.
    pub fn consume_start(
        &self,
        topic: &Arc<Topic>,
        partition: i32,
        offset: i64,
        queue: Option<Arc<Queue>>,
    ) -> Result<(), Error> {
        let topic = topic.clone();
        self.request(|reply| consumer::Command::Start {
            topic,
            partition,
            offset,
            queue,
            reply,
        })
    }

    /// Ends [`consume_start`](Self::consume_start). No record of the partition follows.
    pub fn consume_stop(&self, topic: &Arc<Topic>, partition: i32) -> Result<(), Error> {
        let topic = topic.clone();
        self.request(|reply| consumer::Command::Stop {
            topic,
            partition,
            reply,
        })
    }

    /// Continues at other offsets; each row has its own result.
    pub fn seek(&self, partitions: Vec<PartitionOffset>) -> OffsetsResult {
        if partitions.is_empty() {
            return Err(Error::invalid_arg("no partitions to seek"));
        }
        self.request(|reply| consumer::Command::Seek { partitions, reply })
    }

    /// Fails with [`ErrorCode::L_FATAL`] after a fatal error.
    fn check_not_fatal(&self) -> Result<(), Error> {
        self.fatal_error().map_or(Ok(()), |fatal| {
            let text = format!("nothing can be consumed after a fatal error: {}", fatal.message);
            Err(Error::new(ErrorCode::L_FATAL, text).into_fatal())
        })
    }

    /// Replaces the assignment; `None` clears it, which is also allowed after a fatal error. An assignment fails with
    /// [`ErrorCode::L_FATAL`] then.
    pub fn assign(&self, partitions: Option<Vec<PartitionOffset>>) -> Result<(), Error> {
        if partitions.is_some() {
            self.check_not_fatal()?;
        }
        self.request(|reply| match partitions {
            Some(partitions) => consumer::Command::Assign { partitions, reply },
            None => consumer::Command::Unassign { reply },
        })
    }

    /// Adds partitions to the assignment.
    pub fn incremental_assign(&self, partitions: Vec<PartitionOffset>) -> Result<(), Error> {
        self.request(|reply| consumer::Command::IncrementalAssign { partitions, reply })
    }

    /// Removes partitions from the assignment.
    pub fn incremental_unassign(&self, partitions: Vec<TopicPartition>) -> Result<(), Error> {
        self.request(|reply| consumer::Command::IncrementalUnassign { partitions, reply })
    }

    /// Returns the assignment.
    pub fn assignment(&self) -> OffsetsResult {
        self.request(|reply| consumer::Command::Assignment { reply })
    }

    /// Joins the group with these topics. Fails with [`ErrorCode::L_FATAL`] after a fatal error.
    pub fn subscribe(&self, topics: Vec<String>) -> Result<(), Error> {
        self.check_not_fatal()?;
        self.request(|reply| consumer::Command::Subscribe { topics, reply })
    }

    /// Leaves the group.
    pub fn unsubscribe(&self) -> Result<(), Error> {
        self.request(|reply| consumer::Command::Unsubscribe { reply })
    }

    /// Returns the subscription.
    pub fn subscription(&self) -> Result<Vec<String>, Error> {
        self.request(|reply| consumer::Command::Subscription { reply })
    }

    /// Stops fetching and returning records of partitions that stay assigned.
    pub fn pause(&self, partitions: Vec<TopicPartition>) -> OffsetsResult {
        self.request(|reply| consumer::Command::Pause { partitions, reply })
    }

    /// Ends [`pause`](Self::pause).
    pub fn resume(&self, partitions: Vec<TopicPartition>) -> OffsetsResult {
        self.request(|reply| consumer::Command::Resume { partitions, reply })
    }

    /// Sets each row's offset to the next one that the application will receive, [`offset::INVALID`] where nothing was
    /// consumed yet.
    pub fn position(&self, partitions: &mut [PartitionOffset]) -> Result<(), Error> {
        self.consumer_state()?.positions(partitions);
        Ok(())
    }

    /// Requests committed offsets from the coordinator. `None` waits without limit.
    pub fn committed(&self, partitions: Vec<TopicPartition>, timeout: Option<Duration>) -> OffsetsResult {
        let deadline = self.deadline(timeout);
        self.request(|reply| consumer::Command::Committed {
            partitions,
            deadline,
            reply,
        })
    }

    /// Commits offsets, or with `None` the stored ones of the assignment. Returns the rows with their results in
    /// [`CommitMode::Sync`], no rows otherwise. With `commit_callback` of the [hooks](super::ClientHooks) the result also
    /// goes to the consumer's queue in every mode, unless the commit has a callback of its own.
    pub fn commit(&self, offsets: Option<Vec<PartitionOffset>>, mode: CommitMode) -> OffsetsResult {
        self.consumer_state()?;
        let reports = self.shared().hooks.commit_callback;
        let also_event = |target, reports: bool| match reports {
            true => CommitTarget::AndEvent(Box::new(target)),
            false => target,
        };
        let target = match mode {
            CommitMode::Sync => {
                return self.request(|reply| consumer::Command::Commit {
                    offsets,
                    target: also_event(CommitTarget::Reply(reply), reports),
                });
            }
            CommitMode::Async => CommitTarget::Event,
            CommitMode::Queue {
                queue,
                opaque,
                own_callback,
            } => also_event(CommitTarget::Queue(queue, opaque), reports && !own_callback),
        };
        let command = consumer::Command::Commit { offsets, target };
        self.shared().send(Command::Consumer(command));
        Ok(Vec::new())
    }

    /// See [`SharedState::store_offset`].
    pub fn store_offset(&self, row: &PartitionOffset) -> Result<(), Error> {
        self.consumer_state()?.store_offset(row)
    }

    /// See [`SharedState::store_offsets`].
    pub fn store_offsets(&self, partitions: &mut [PartitionOffset]) -> Result<(), Error> {
        self.consumer_state()?.store_offsets(partitions)
    }

    /// Returns the low and high watermark of the latest Fetch response; [`offset::INVALID`] before the first.
    pub fn watermarks_cached(&self, topic: &str, partition: i32) -> Result<(i64, i64), Error> {
        let state = self.consumer_state()?.find(topic, partition);
        state.map(|s| s.watermarks()).ok_or_else(|| {
            Error::new(
                ErrorCode::L_UNKNOWN_PARTITION,
                format!("{topic} [{partition}] is not consumed by this client"),
            )
        })
    }

    /// Requests the low and the high watermark from the leader. `None` waits without limit.
    pub fn query_watermarks(&self, tp: TopicPartition, timeout: Option<Duration>) -> Result<(i64, i64), Error> {
        let deadline = self.deadline(timeout);
        self.request_any(|reply| consumer::Command::QueryWatermarks { tp, deadline, reply })
    }

    /// Requests from the leaders the first offsets at or after the timestamps in the rows' `offset`. `None` waits without
    /// limit.
    pub fn offsets_for_times(&self, partitions: Vec<PartitionOffset>, timeout: Option<Duration>) -> OffsetsResult {
        if partitions.is_empty() {
            return Err(Error::invalid_arg("no partitions to look up offsets for"));
        }
        let deadline = self.deadline(timeout);
        self.request_any(|reply| consumer::Command::OffsetsForTimes {
            partitions,
            deadline,
            reply,
        })
    }

    /// Begins to leave the group. Offsets are committed, and revocations go to the consumer's queue if the application
    /// receives rebalance events: it must serve that queue until the reply is filled. Threads that wait for an event of that
    /// queue are then woken, see [`is_consumer_closed`](Self::is_consumer_closed).
    pub fn close_consumer(&self) -> Result<Arc<Reply<Result<(), Error>>>, Error> {
        self.consumer_state()?;
        let reply = Reply::new();
        let command = consumer::Command::Close { reply: reply.clone() };
        self.shared().send(Command::Consumer(command));
        Ok(reply)
    }

    /// Returns true once the reply of [`close_consumer`](Self::close_consumer) was filled. Acquires no lock: a condition for
    /// [`Queue::pop_unless`].
    pub fn is_consumer_closed(&self) -> bool {
        self.shared().consumer.as_ref().is_some_and(|c| c.is_closed())
    }

    /// See [`SharedState::is_assignment_lost`].
    pub fn is_assignment_lost(&self) -> bool {
        self.consumer_state().is_ok_and(|r| r.is_assignment_lost())
    }

    /// Returns the rebalance protocol of the client's group.
    pub fn rebalance_protocol(&self) -> Result<RebalanceProtocol, Error> {
        Ok(self.consumer_state()?.group().protocol)
    }

    /// Returns the client's membership in its group.
    pub fn group(&self) -> Result<GroupInfo, Error> {
        Ok(self.consumer_state()?.group())
    }

    /// Returns the member id that the coordinator has assigned, empty before.
    pub fn member_id(&self) -> Result<String, Error> {
        Ok(self.consumer_state()?.group().member_id)
    }

    /// Returns the consumer's group metadata, for [`send_offsets_to_transaction`](Self::send_offsets_to_transaction).
    pub fn group_metadata(&self) -> Result<GroupMetadata, Error> {
        let group = self.group()?;
        Ok(GroupMetadata {
            group_id: group.group_id,
            generation: group.generation,
            member_id: group.member_id,
            group_instance_id: group.group_instance_id,
        })
    }

    // ---------------------------------------------------------------- admin

    /// Begins an admin call. Its result goes to `queue` as [`Event::Admin`] with this `opaque`, exactly once, after
    /// [`Options::request_timeout`] at the latest. Producers and consumers can make admin calls, also concurrently.
    ///
    /// Results are in the order of the call. The broker's error for a topic, partition, resource or group is in that one's
    /// result. A call fails as a whole
    ///
    /// - with [`ErrorCode::L_TIMED_OUT`] when there was no response in time, or no broker to send a request to;
    /// - with [`ErrorCode::L_TRANSPORT`] and the like when the connection was lost before the response: the broker may
    ///   have carried out the request;
    /// - with [`ErrorCode::L_INVALID_ARG`] when the call names nothing, names a broker by something other than an id, or
    ///   contains a contradictory change, and with [`ErrorCode::L_CONFLICT`] for the settings of two brokers in one call;
    /// - with [`ErrorCode::L_UNSUPPORTED_FEATURE`] when the broker is too old;
    /// - with [`ErrorCode::L_BAD_MSG`] when the response is invalid;
    /// - with [`ErrorCode::L_DESTROY`] when the client is destroyed meanwhile.
    ///
    /// If some brokers have answered, the others' topics, partitions, resources or groups have these errors instead.
    pub fn begin_admin<O: Operation>(&self, operation: O, options: Options, queue: Arc<Queue>, opaque: usize) {
        self.send_admin(operation, options, Destination::Event { queue, opaque });
    }

    /// Makes an admin call and waits for its result, for [`Options::request_timeout`] at most.
    ///
    /// # Errors
    /// As [`begin_admin`](Self::begin_admin).
    pub fn admin<O: Operation>(&self, operation: O, options: &Options) -> Result<O::Output, Error> {
        let reply = self.start_admin(operation, options);
        // The core keeps the deadline.
        reply.wait(None).unwrap_or_else(|| Err(not_answered()))
    }

    /// Begins an admin call and returns the reply that receives its result, after [`Options::request_timeout`] at the
    /// latest. The call continues if the reply is dropped. Errors are those of [`begin_admin`](Self::begin_admin).
    pub fn start_admin<O: Operation>(&self, operation: O, options: &Options) -> Arc<Reply<Result<O::Output, Error>>> {
        let reply = Reply::new();
        self.send_admin(operation, options.clone(), Destination::Reply(reply.clone()));
        reply
    }

    fn send_admin<O: Operation>(&self, operation: O, options: Options, destination: Destination<O::Output>) {
        let socket_timeout = Duration::from_millis(self.conf().socket_timeout_ms.into());
        let deadline = self.deadline(Some(options.request_timeout.unwrap_or(socket_timeout)));
        let command = admin::Command::new(operation, options, deadline, destination);
        self.shared().send(Command::Admin(command));
    }
}

fn not_answered() -> Error {
    Error::new(ErrorCode::L_FAIL, "the call was not answered")
}
