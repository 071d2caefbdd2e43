//! The producer's manager: decides which batches go to which broker.

mod produce_request;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::accumulator::Accumulator;
use super::broker_queue::BrokerQueues;
use super::counters::{Sent, sum};
use super::partition_sender::InFlightRules;
use super::producer_id::{IdOutcome, ProducerIdState};
use super::sealing::{self, Sealing};
use super::timers::TimerKind;
use super::undelivered::UndeliveredRecords;
use super::wire::Part;
use super::{Command, PartitionId, TransactionCall, TransactionReply};
use crate::cluster::{Cluster, Survey};
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Outcome, Purpose};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::Queue;
use crate::interceptor::Interceptor;
use crate::stats::{DurationSum, Eos};
use crate::sys::{Instant, earliest};
use crate::types::{NodeId, PARTITION_UA, Topic};
use crate::work::{Work, WorkDone, WorkRules};

/// The interval at which unused memory is returned to the system.
const TRIM_INTERVAL: Duration = Duration::from_secs(5);

/// Warnings that are logged once per client.
#[derive(Debug, Default)]
struct Warned {
    acks: bool,
    codec: bool,
}

/// Groups ready partitions by leader, sends their batches and handles the outcomes.
///
/// A manager: call [`poll`](Self::poll) after each event; the `on_*` functions report events.
#[derive(Debug)]
pub struct Sender {
    records: UndeliveredRecords,
    broker_queues: BrokerQueues,
    sealing: Sealing,
    /// Reused by [`poll`](Self::poll).
    scratch: Vec<PartitionId>,
    /// The time of the next return of unused memory.
    trim_at: Option<Instant>,
    max_request: usize,
    request_timeout: Duration,
    /// With one request in flight per connection, order is kept across retries and leader changes, too.
    one_at_a_time: bool,
    /// The id of an idempotent producer.
    producer_id: Option<ProducerIdState>,
    warned: Warned,
    /// Counts what was put into requests.
    sent: Sent,
    /// Messages and batches are measured for statistics (`statistics.interval.ms`).
    measures: bool,
    /// The times for which records wait, while client metrics request them.
    queue_times: Option<DurationSum>,
}

impl Sender {
    /// Creates a sender for the records of `accumulator`; delivery reports go to `main_queue`.
    pub fn new(accumulator: Arc<Accumulator>, conf: &ClientConfig, main_queue: Arc<Queue>) -> Self {
        let producer_id = || match conf.transactional_id.is_empty() {
            true => ProducerIdState::default(),
            false => ProducerIdState::external(),
        };
        Sender {
            records: UndeliveredRecords::new(accumulator, conf, main_queue),
            broker_queues: BrokerQueues::default(),
            sealing: Sealing::default(),
            scratch: Vec::new(),
            trim_at: None,
            max_request: usize::try_from(conf.message_max_bytes).unwrap_or(usize::MAX),
            request_timeout: Duration::from_millis(conf.socket_timeout_ms.into()),
            one_at_a_time: conf.max_in_flight_requests_per_connection == 1,
            producer_id: conf.enable_idempotence.then(producer_id),
            warned: Warned::default(),
            sent: Sent::default(),
            measures: conf.statistics_interval_ms > 0,
            queue_times: None,
        }
    }

    /// Notifies `interceptor` of every delivery report, whether or not the application wants it.
    #[must_use]
    pub fn with_interceptor(mut self, interceptor: Option<Arc<dyn Interceptor>>) -> Self {
        self.records.set_interceptor(interceptor);
        self
    }

    // ---------------------------------------------------------------- driver

    /// Takes produced records, handles timers and sends the batches that can be sent. Returns the time of the next call
    /// at the latest.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        let mut ids = std::mem::take(&mut self.scratch);
        self.records.accumulator().take_ready(&mut ids);
        for id in ids.drain(..) {
            self.on_ready(ctx, cluster, id);
        }
        self.scratch = ids;
        for id in self.sealing.take_retries() {
            self.enqueue(ctx, cluster, id);
        }
        while let Some((kind, id)) = self.records.timers_mut().pop_due(ctx.now) {
            self.on_timer(ctx, cluster, kind, id);
        }
        if self.records.accumulator().is_flushing() {
            for id in self.records.timers_mut().take_all(TimerKind::Linger) {
                self.on_timer(ctx, cluster, TimerKind::Linger, id);
            }
        }
        self.request_producer_id(ctx, cluster);
        self.serve_all(ctx, cluster);
        let ending = self.drive_transaction(ctx, cluster);
        self.serve_all(ctx, cluster);
        self.records.send_reports(ctx.connections.is_releasing());
        let seeking = self.producer_id.as_ref().and_then(|i| i.wake(ctx.now));
        let wake = earliest(earliest(self.records.timers_mut().next(), seeking), ending);
        let wake = earliest(wake, self.trim(ctx.now));
        if self.records.accumulator().set_wake_time(wake) {
            wake
        } else {
            Some(ctx.now)
        }
    }

    fn serve_all(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        while let Some(node) = self.broker_queues.next_dirty() {
            self.serve(ctx, cluster, node);
        }
    }

    /// Returns unused memory to the system every [`TRIM_INTERVAL`] while there may be any.
    fn trim(&mut self, now: Instant) -> Option<Instant> {
        if self.trim_at.is_none_or(|at| at <= now) {
            let accumulator = self.records.accumulator();
            let left = accumulator.pool().trim() || accumulator.outstanding() > 0;
            self.trim_at = left.then(|| now + TRIM_INTERVAL);
        }
        self.trim_at
    }

    /// Returns whether the last produce request in flight has ended since the last call.
    pub fn take_all_answered(&mut self) -> bool {
        self.records.requests_mut().take_all_ended()
    }

    /// Carries out a command.
    pub fn on_command(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, command: Command) {
        match command {
            Command::Transaction { call, deadline, reply } => {
                self.on_transaction_call(ctx, cluster, call, deadline, reply);
            }
            Command::Pause {
                partitions,
                paused,
                done,
            } => {
                for (topic, partition) in &partitions {
                    self.pause(ctx, cluster, topic, *partition, paused);
                }
                done.fill(());
            }
            Command::Purge { queue, in_flight, done } => {
                if queue {
                    self.records
                        .fail_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
                }
                if in_flight {
                    self.records
                        .fail_in_flight(ctx, &Error::from(ErrorCode::L_PURGE_INFLIGHT));
                }
                done.fill(());
            }
        }
    }

    /// Ends the producer: refuses later records and calls, and fails all records that are left.
    pub fn close(&mut self, ctx: &mut Ctx<'_>, _cluster: &mut Cluster) {
        self.records.close(ctx);
        self.sealing = Sealing::default();
    }

    // ---------------------------------------------------------------- work

    /// Sets the rules for batches that are handed out as jobs from now on.
    pub fn set_work_rules(&mut self, rules: WorkRules) {
        self.sealing.set_rules(rules);
    }

    /// Returns the next job for the driver.
    pub fn next_work(&mut self) -> Option<Work> {
        self.sealing.next_work()
    }

    /// Returns the size of each body that was compressed ahead, and that of its records.
    #[cfg(test)]
    pub(crate) fn compressed_ahead(&self) -> Vec<(usize, usize)> {
        use super::batch::{Batch, Preparation};

        let batches = self.records.partitions().flat_map(|p| &p.pending);
        let sizes = |batch: &Batch| match &batch.preparation {
            Preparation::Ready(body, _) => Some((body.len(), batch.records.encoded_len())),
            _ => None,
        };
        batches.filter_map(sizes).collect()
    }

    /// Handles the result of a job.
    pub fn on_work(&mut self, done: WorkDone) {
        let id = self.sealing.end(&done);
        if let Some(partition_sender) = id.and_then(|id| self.records.partition(id)) {
            sealing::store(&mut partition_sender.pending, done);
        }
    }

    /// Returns the fatal error that was raised since the last call.
    pub fn take_fatal(&mut self) -> Option<Error> {
        self.records.take_fatal()
    }

    // ---------------------------------------------------------------- connections

    /// Handles a connection that was established.
    pub fn on_connection_up(&mut self, _ctx: &mut Ctx<'_>, _cluster: &mut Cluster, key: BrokerKey) {
        self.resume_broker(key);
    }

    /// Handles the end of a throttle time that a broker has set.
    pub fn on_unthrottled(&mut self, key: BrokerKey) {
        self.resume_broker(key);
    }

    /// Handles a connection that was closed, or a failed attempt to connect.
    pub fn on_connection_down(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        error: Option<&Error>,
    ) {
        self.records.router_mut().on_connection_down(ctx, key, error);
        self.resume_broker(key);
        if error.is_none() || key.purpose != Purpose::General {
            return;
        }
        // The partitions may have another leader by now.
        let mut last = None;
        for id in self.broker_queues.partitions(key.node) {
            if last != Some(id.topic)
                && let Some(topic) = self.records.topic(id.topic)
            {
                cluster.request_refresh(&topic.name, ctx.now);
            }
            last = Some(id.topic);
        }
    }

    /// Tries the partitions again that wait for this connection.
    fn resume_broker(&mut self, key: BrokerKey) {
        if key.purpose == Purpose::General {
            self.broker_queues.resume(key.node);
        }
    }

    /// Handles the outcome of a request of the producer.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, id: u64, outcome: Outcome) {
        if self.producer_id.as_ref().is_some_and(|state| state.is_in_flight(id)) {
            return self.on_producer_id_outcome(ctx, key, outcome);
        }
        if self.records.router_mut().on_outcome(ctx, key, id, &outcome) {
            return;
        }
        if self.records.transactions().is_some_and(|t| t.is_in_flight(id)) {
            return self.on_transaction_outcome(ctx, cluster, key, outcome);
        }
        let Some(request) = self.records.remove_request(id) else {
            return;
        };
        let (node, partitions) = (request.node, request.partitions());
        if let Some(broker_queue) = self.broker_queues.get_mut(node) {
            let took = match &outcome {
                Outcome::Reply(reply) => Some(reply.rtt),
                _ => None,
            };
            broker_queue.on_done(took, ctx.now);
        }
        self.release_held(node);
        self.resume_broker(key);
        self.records.on_outcome(ctx, cluster, key, id, request, outcome);
        for at in partitions {
            // The topic may have been created again with fewer partitions while the request was in flight.
            let queue = self.records.accumulator().topic(at.topic);
            if queue.is_some_and(|queue| at.partition >= queue.count()) {
                self.records.fail_without_partition(ctx, at);
            } else {
                self.enqueue(ctx, cluster, at);
            }
        }
    }

    // ---------------------------------------------------------------- timers

    fn on_timer(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, kind: TimerKind, id: PartitionId) {
        match (kind, id.is_topic()) {
            (TimerKind::Linger, _) => {
                if self.records.on_linger_timer(id) {
                    // The batch of the timer may be gone and a younger one be open.
                    self.on_ready(ctx, cluster, id);
                }
            }
            (TimerKind::Backoff, _) => {
                if self.records.on_backoff_timer(ctx.now, id) {
                    self.enqueue(ctx, cluster, id);
                }
            }
            (TimerKind::Expiry, false) => {
                self.records.expire(ctx, id);
                self.enqueue(ctx, cluster, id);
            }
            (TimerKind::Expiry, true) => {
                self.records.on_topic_timer(id.topic, kind);
                self.records.expire_unassigned(ctx.now, id.topic);
            }
            (TimerKind::Missing, _) => {
                self.records.on_topic_timer(id.topic, kind);
                self.refresh_topic(ctx, cluster, id.topic);
            }
        }
    }

    // ---------------------------------------------------------------- topics and partitions

    /// Handles a partition or a topic from the accumulator's ready list.
    fn on_ready(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: PartitionId) {
        let accumulator = self.records.accumulator().clone();
        if accumulator.is_fatal() {
            // The call that produced the record checked for the error before it was raised.
            let error = Error::from(ErrorCode::L_PURGE_QUEUE);
            return self.records.fail_queued(ctx.now, &error);
        }
        let Some(queue) = accumulator.topic(id.topic) else {
            return;
        };
        self.register_topic(ctx, cluster, id.topic);
        if id.is_topic() {
            return self.refresh_topic(ctx, cluster, id.topic);
        }
        if queue.partition(id.partition).is_none() {
            return;
        }
        if id.partition >= queue.count() {
            return self.records.fail_without_partition(ctx, id);
        }
        self.records.collect(ctx.now, id);
        self.prepare(ctx, cluster, id);
        self.enqueue(ctx, cluster, id);
    }

    /// Hands out the closed batches of a partition that will be sent soon: its leader is connected.
    fn prepare(&mut self, ctx: &Ctx<'_>, cluster: &Cluster, id: PartitionId) {
        let Some(topic) = self.records.topic_mut(id.topic) else {
            return;
        };
        let (settings, leader) = (topic.settings, cluster.leader(&topic.name, id.partition));
        let is_up = leader.is_some_and(|node| ctx.connections.is_up(BrokerKey::general(node)));
        if let Some(partition_sender) = topic.partition_sender(id.partition).filter(|_| is_up) {
            let pending = &mut partition_sender.pending;
            self.sealing.prepare(id, settings.codec, settings.level, pending);
        }
    }

    /// Registers a topic on first use: its metadata is kept up to date from now on.
    fn register_topic(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, index: u32) {
        let max_request = self.measures.then_some(self.max_request);
        if let Some(name) = self.records.register_topic(ctx.conf, index, max_request) {
            cluster.watch(&name, ctx.now);
            if let Some(producer_id) = &mut self.producer_id {
                producer_id.require();
            }
        }
    }

    /// Handles changed metadata of a watched topic, or the confirmation that the topic does not exist.
    pub fn on_topic_changed(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        if let Some(topic) = self.records.index_of(name) {
            self.refresh_topic(ctx, cluster, topic);
        }
    }

    /// Acts on the metadata of a topic.
    fn refresh_topic(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, topic: u32) {
        self.remove_moved_partitions(cluster, topic);
        for partition in 0..self.records.refresh_topic(ctx, cluster, topic) {
            self.enqueue(ctx, cluster, PartitionId { topic, partition });
        }
    }

    /// Stops sending to a partition, or resumes it. Batches in flight that come back wait.
    fn pause(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, topic: &Arc<Topic>, partition: i32, paused: bool) {
        self.records.accumulator().announce(topic);
        let topic = u32::try_from(topic.index()).unwrap_or(u32::MAX);
        self.register_topic(ctx, cluster, topic);
        let id = PartitionId { topic, partition };
        if let Some(partition_sender) = self.records.partition(id) {
            partition_sender.paused = paused;
            self.enqueue(ctx, cluster, id);
        }
    }

    fn in_flight_rules(&self) -> InFlightRules {
        InFlightRules {
            one_at_a_time: self.one_at_a_time,
            idempotent: self.producer_id.is_some(),
        }
    }

    /// Puts a partition that can send into its leader's queue. A partition without a leader waits for metadata, which the
    /// cluster requests repeatedly while a leader is missing.
    fn enqueue(&mut self, ctx: &Ctx<'_>, cluster: &Cluster, id: PartitionId) {
        let rules = self.in_flight_rules();
        let Some(topic) = self.records.topic_mut(id.topic) else {
            return;
        };
        let name = topic.name.clone();
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        if let Some(node) = partition_sender.queued_on {
            // A full batch is not held.
            if partition_sender.held && !partition_sender.pending.is_empty() {
                partition_sender.held = false;
                self.broker_queues.push(node, id);
            }
            return;
        }
        if !partition_sender.has_work(ctx.now) {
            return;
        }
        let Some(node) = cluster.leader(&name, id.partition) else {
            return;
        };
        if partition_sender.is_full(rules, node, ctx.now) {
            return;
        }
        partition_sender.queued_on = Some(node);
        self.broker_queues.push(node, id);
    }

    /// Removes a topic's partitions from the queues of brokers that no longer lead them.
    fn remove_moved_partitions(&mut self, cluster: &Cluster, index: u32) {
        let Some(topic) = self.records.topic_mut(index) else {
            return;
        };
        let name = topic.name.clone();
        self.broker_queues.retain(|node, id| {
            if id.topic != index || cluster.leader(&name, id.partition) == Some(node) {
                return true;
            }
            if let Some(partition_sender) = topic.partition_sender(id.partition) {
                partition_sender.leave_queue(node);
            }
            false
        });
    }

    /// Makes the held partitions of a broker ready once another request to it would not queue.
    fn release_held(&mut self, node: NodeId) {
        for id in self.broker_queues.take_held(node) {
            let partition_sender = self.records.partition(id);
            if let Some(held) = partition_sender.filter(|p| p.held && p.queued_on == Some(node)) {
                held.held = false;
                self.broker_queues.push(node, id);
            }
        }
    }

    // ---------------------------------------------------------------- producer id

    /// Requests a producer id when one is needed.
    fn request_producer_id(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        if self.records.has_raised_fatal() {
            return;
        }
        let Some(producer_id) = &mut self.producer_id else {
            return;
        };
        if let Err(error) = producer_id.request(ctx, cluster, self.records.router_mut()) {
            self.records.raise_fatal(error);
        }
    }

    /// Handles the outcome of the request for a producer id.
    fn on_producer_id_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, outcome: Outcome) {
        let Some(producer_id) = &mut self.producer_id else {
            return;
        };
        match producer_id.on_outcome(ctx, key, outcome) {
            IdOutcome::Assigned => self.broker_queues.resume_all(),
            IdOutcome::Retried => {}
            IdOutcome::Fatal(error) => self.records.raise_fatal(error),
        }
    }

    // ---------------------------------------------------------------- transactions

    /// Carries out a call of the transactional API.
    fn on_transaction_call(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        call: TransactionCall,
        deadline: Instant,
        reply: TransactionReply,
    ) {
        let Some((transactions, router)) = self.records.transactions_mut() else {
            let text = "the producer has no transactional.id";
            return reply.fill(Err(Error::new(ErrorCode::L_NOT_CONFIGURED, text)));
        };
        transactions.on_call(ctx.now, router, call, deadline, reply);
        self.follow_transaction(ctx, cluster);
    }

    /// Handles the outcome of the transaction manager's request.
    fn on_transaction_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, outcome: Outcome) {
        if let Some((transactions, router)) = self.records.transactions_mut() {
            transactions.on_outcome(ctx, cluster, router, (key, outcome));
            self.follow_transaction(ctx, cluster);
        }
    }

    /// Advances the transaction. Returns the time of the next call at the latest.
    fn drive_transaction(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        let transactions = self.records.transactions()?;
        let (is_ending, is_aborting) = (transactions.is_ending(), transactions.is_aborting());
        if is_aborting && self.records.requests().is_empty() {
            // Batches that came back, and records produced while the transaction ended.
            self.records
                .fail_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
        }
        let settled = is_ending && self.records.is_settled();
        let is_fatal = self.records.accumulator().is_fatal();
        let (transactions, router) = self.records.transactions_mut()?;
        if is_fatal {
            transactions.raise(Error::from(ErrorCode::L_FATAL));
        }
        let wake = transactions.poll(ctx, cluster, router, settled);
        self.follow_transaction(ctx, cluster);
        wake
    }

    /// Acts on the changes of the transaction.
    fn follow_transaction(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        let Some((transactions, _)) = self.records.transactions_mut() else {
            return;
        };
        let changes = transactions.take_changes();
        if let Some(producer_id) = &mut self.producer_id {
            producer_id.set(changes.producer_id);
        }
        if let Some(cut) = changes.cut_linger {
            self.records.accumulator().cut_linger(cut);
        }
        if changes.starts_sending {
            self.broker_queues.resume_all();
        }
        for id in changes.added {
            self.enqueue(ctx, cluster, id);
        }
        if changes.starts_aborting {
            self.records
                .fail_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
        }
        if let Some(error) = changes.fatal {
            match self.records.has_raised_fatal() {
                true => self.on_fatal_recorded(),
                false => self.records.raise_fatal(error),
            }
        }
    }

    /// Answers the waiting transactional call once the client has recorded the fatal error.
    pub fn on_fatal_recorded(&mut self) {
        if let Some((transactions, _)) = self.records.transactions_mut() {
            transactions.fail_call_with_fatal();
        }
    }

    // ---------------------------------------------------------------- statistics

    /// Counts the batches of a request that was passed to the connection.
    fn count_sent(&mut self, now: Instant, node: NodeId, parts: &mut [Part]) {
        let mut again = false;
        for part in parts {
            let Some(batch) = &mut part.slot.batch else { continue };
            let first = !std::mem::replace(&mut batch.sent, true);
            again |= !first;
            let (messages, bytes) = (batch.records.len() as u64, part.data.len() as u64);
            self.sent.add(messages, bytes);
            let id = part.slot.id;
            let Some(topic) = self.records.topic_mut(id.topic) else {
                continue;
            };
            if let Some(windows) = &mut topic.windows {
                windows.record(messages, bytes);
            }
            if let Some(partition_sender) = topic.partition_sender(id.partition) {
                partition_sender.sent.add(messages, bytes);
            }
            if first && let Some(times) = &mut self.queue_times {
                let produced = (0..batch.records.len()).filter_map(|i| batch.records.produced_at(i));
                produced.for_each(|at| times.record(now.since(at)));
            }
            if self.measures && first {
                self.broker_queues.entry(node).record_ages(batch.records.ages_us(now));
            }
        }
        if again {
            self.broker_queues.entry(node).count_retry();
        }
    }

    /// Starts or stops to measure the time for which records wait before they are sent.
    pub fn measure_queue_times(&mut self, wanted: bool) {
        if wanted != self.queue_times.is_some() {
            self.queue_times = wanted.then(DurationSum::default);
        }
    }

    /// Returns the times for which records have waited since the last call.
    pub fn take_queue_times(&mut self) -> DurationSum {
        self.queue_times.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the number of messages in a request in flight.
    pub fn messages_of(&self, request: u64) -> u64 {
        self.records.requests().messages_of(request)
    }

    /// Returns the counters of messages put into requests so far.
    pub fn sent(&self) -> Sent {
        self.sent
    }

    /// Writes the producer's statistics of brokers and topics; histograms cover the time since the last call.
    pub fn statistics(&mut self, cluster: &Cluster, survey: &mut Survey) {
        for (key, broker) in &mut survey.brokers {
            if key.purpose != Purpose::General {
                continue;
            }
            if let Some(broker_queue) = self.broker_queues.get_mut(key.node) {
                broker.txretries = broker_queue.retries();
                if let Some(latency) = broker_queue.take_ages() {
                    broker.int_latency = latency;
                }
            }
        }
        let in_flight = self.records.requests().messages_by_partition();
        let accumulator = self.records.accumulator().clone();
        for (index, queue) in accumulator.topics() {
            let name = queue.topic().shared_name();
            let (messages, bytes) = queue.unassigned();
            if let Some(to) = survey.partition(&name, PARTITION_UA) {
                (to.msgq_cnt, to.msgq_bytes, to.msgs) = (messages, bytes, messages);
            }
            for (partition, own) in queue.used_partitions() {
                let held = own.holds();
                if let Some(to) = survey.partition(&name, partition) {
                    (to.msgq_cnt, to.msgq_bytes, to.msgs) = (held.messages, held.bytes, held.ever);
                }
                if let Some(node) = cluster.leader(&name, partition) {
                    survey.delegate(&name, partition, node);
                }
            }
            self.topic_statistics(index, &name, &in_flight, survey);
        }
    }

    fn topic_statistics(&mut self, index: u32, name: &str, in_flight: &HashMap<PartitionId, u64>, survey: &mut Survey) {
        let idempotent = self.producer_id.is_some();
        let Some(topic) = self.records.topic_mut(index) else {
            return;
        };
        if let (Some(windows), Some(to)) = (&mut topic.windows, survey.topics.get_mut(name)) {
            (to.batchsize, to.batchcnt) = windows.take();
        }
        for (partition, partition_sender) in (0..).zip(&topic.partitions) {
            let Some(to) = survey.partition(name, partition) else {
                return;
            };
            (to.xmit_msgq_cnt, to.xmit_msgq_bytes) = sum(partition_sender.pending.iter().map(|b| &b.records));
            (to.txmsgs, to.txbytes) = (partition_sender.sent.messages, partition_sender.sent.bytes);
            let id = PartitionId {
                topic: index,
                partition,
            };
            to.msgs_inflight = in_flight.get(&id).copied().unwrap_or(0);
            if idempotent {
                partition_sender.sequences.write_stats(to);
            }
        }
    }

    /// Returns the statistics of an idempotent producer, without the times of its state changes.
    pub fn eos(&self) -> Option<Eos> {
        let producer_id = self.producer_id.as_ref()?;
        let (idemp_state, txn_state) = self.eos_states()?;
        let mut eos = Eos {
            idemp_state,
            txn_state,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        if let Some(transactions) = self.records.transactions() {
            transactions.write_stats(&mut eos);
        } else {
            let partitions = self.records.partitions();
            producer_id.write_stats(
                partitions
                    .filter_map(|partition_sender| partition_sender.sequences.epoch())
                    .max(),
                &mut eos,
            );
        }
        Some(eos)
    }

    /// Returns the states of an idempotent producer's id and of its transaction, by librdkafka's names.
    pub fn eos_states(&self) -> Option<(&'static str, &'static str)> {
        let producer_id = self.producer_id.as_ref()?;
        let states = match self.records.transactions() {
            Some(transactions) => transactions.public_states(),
            None => (producer_id.public_state(), "Init"),
        };
        match self.records.has_raised_fatal() {
            true => Some(("FatalError", states.1)),
            false => Some(states),
        }
    }
}

#[cfg(test)]
mod tests;
