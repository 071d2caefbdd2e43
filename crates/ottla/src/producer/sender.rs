//! The producer's manager: decides what goes to which broker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::accumulator::Accumulator;
use super::broker_queue::BrokerQueue;
use super::in_flight::Requests;
use super::partition_sender::{InFlightRules, PartitionSender, TopicSender};
use super::producer_id::ProducerIdState;
use super::statistics::{BatchWindows, Sent};
use super::timers::{TimerKind, Timers, fired};
use super::transactions::Transactions;
use super::{Command, PartitionId};
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Purpose};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::Queue;
use crate::interceptor::Interceptor;
use crate::stats::DurationSum;
use crate::sys::{Instant, earliest};
use crate::types::{NameMap, NodeId, Topic};

/// Memory that was not needed for this long goes back to the system.
const TRIM_INTERVAL: Duration = Duration::from_secs(5);

/// Said once in a client's life.
#[derive(Debug, Default)]
pub(super) struct Warned {
    pub(super) acks: bool,
    pub(super) codec: bool,
}

/// Groups ready partitions by leader, sends their batches, and settles what comes back.
///
/// A manager: [`poll`](Self::poll) after anything happened; the `on_*` functions tell it what did.
#[derive(Debug)]
pub struct Sender {
    pub(super) accumulator: Arc<Accumulator>,
    pub(super) main_queue: Arc<Queue>,
    /// By the topic's place in the client's table.
    pub(super) topics: Vec<Option<TopicSender>>,
    pub(super) by_name: NameMap<u32>,
    pub(super) requests: Requests,
    pub(super) timers: Timers,
    pub(super) broker_queues: BTreeMap<NodeId, BrokerQueue>,
    /// Destinations to be served.
    pub(super) dirty: Vec<NodeId>,
    scratch: Vec<PartitionId>,
    /// When memory that is no longer needed is given back.
    trim_at: Option<Instant>,
    pub(super) max_request: usize,
    pub(super) request_timeout: Duration,
    /// With one request in flight a connection, order is kept across retries and leader changes, too.
    pub(super) one_at_a_time: bool,
    /// An idempotent producer's id.
    pub(super) producer_id: Option<ProducerIdState>,
    /// With a `transactional.id`.
    pub(super) transactions: Option<Box<Transactions>>,
    /// `enable.gapless.guarantee`; a transaction with a gap is aborted anyway.
    pub(super) gapless: bool,
    /// This manager has raised a fatal error: nothing is sent any more.
    pub(super) fatal: bool,
    /// The fatal error, until the client was told.
    pub(super) raised: Option<Error>,
    pub(super) warned: Warned,
    /// Hears of every delivery report.
    pub(super) interceptor: Option<Arc<dyn Interceptor>>,
    /// What was put into requests.
    pub(super) sent: Sent,
    /// Messages and batches are measured for statistics (`statistics.interval.ms`).
    pub(super) measures: bool,
    /// How long records wait, while client metrics ask for it.
    pub(super) queue_times: Option<DurationSum>,
}

impl Sender {
    /// A sender for what `accumulator` gathers; delivery reports go to `main_queue`.
    pub fn new(accumulator: Arc<Accumulator>, conf: &ClientConfig, main_queue: Arc<Queue>) -> Self {
        let is_transactional = !conf.transactional_id.is_empty();
        let transactions = is_transactional.then(|| Box::new(Transactions::new(conf, accumulator.clone())));
        let producer_id = || match is_transactional {
            true => ProducerIdState::external(),
            false => ProducerIdState::default(),
        };
        Sender {
            accumulator,
            main_queue,
            topics: Vec::new(),
            by_name: NameMap::default(),
            requests: Requests::default(),
            timers: Timers::default(),
            broker_queues: BTreeMap::new(),
            dirty: Vec::new(),
            scratch: Vec::new(),
            trim_at: None,
            max_request: usize::try_from(conf.message_max_bytes).unwrap_or(usize::MAX),
            request_timeout: Duration::from_millis(conf.socket_timeout_ms.into()),
            one_at_a_time: conf.max_in_flight_requests_per_connection == 1,
            producer_id: conf.enable_idempotence.then(producer_id),
            transactions,
            gapless: conf.enable_gapless_guarantee && !is_transactional,
            fatal: false,
            raised: None,
            warned: Warned::default(),
            interceptor: None,
            sent: Sent::default(),
            measures: conf.statistics_interval_ms > 0,
            queue_times: None,
        }
    }

    /// Tells `interceptor` of every delivery report, wanted or not.
    #[must_use]
    pub fn with_interceptor(self, interceptor: Option<Arc<dyn Interceptor>>) -> Self {
        Sender { interceptor, ..self }
    }

    // ---------------------------------------------------------------- driver

    /// Takes in what the application produced, handles timers, sends what can be sent. Gives the time to be called
    /// again at the latest.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        let mut ids = std::mem::take(&mut self.scratch);
        self.accumulator.take_ready(&mut ids);
        for id in ids.drain(..) {
            self.on_ready(ctx, cluster, id);
        }
        self.scratch = ids;
        while let Some((kind, id)) = self.timers.pop_due(ctx.now) {
            self.on_timer(ctx, cluster, kind, id);
        }
        if self.accumulator.is_flushing() {
            for id in self.timers.take_all(TimerKind::Linger) {
                self.on_timer(ctx, cluster, TimerKind::Linger, id);
            }
        }
        self.request_producer_id(ctx, cluster);
        self.serve_all(ctx, cluster);
        let ending = self.drive_transaction(ctx, cluster);
        self.serve_all(ctx, cluster);
        let seeking = self.producer_id.as_ref().and_then(|i| i.wake(ctx.now));
        let wake = earliest(earliest(self.timers.next(), seeking), ending);
        let wake = earliest(wake, self.trim(ctx.now));
        if self.accumulator.set_wake_time(wake) {
            wake
        } else {
            Some(ctx.now)
        }
    }

    fn serve_all(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        while let Some(node) = self.dirty.pop() {
            self.serve(ctx, cluster, node);
        }
    }

    /// Gives unused memory back now and then, as long as there may be any.
    fn trim(&mut self, now: Instant) -> Option<Instant> {
        if self.trim_at.is_none_or(|at| at <= now) {
            let left = self.accumulator.pool().trim() || self.accumulator.outstanding() > 0;
            self.trim_at = left.then(|| now + TRIM_INTERVAL);
        }
        self.trim_at
    }

    /// Whether the last produce request under way has ended since the last call.
    pub fn take_all_answered(&mut self) -> bool {
        self.requests.take_all_ended()
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
                    self.fail_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
                }
                if in_flight {
                    self.fail_in_flight(ctx, &Error::from(ErrorCode::L_PURGE_INFLIGHT));
                }
                done.fill(());
            }
        }
    }

    /// A connection came up.
    pub fn on_connection_up(&mut self, _ctx: &mut Ctx<'_>, _cluster: &mut Cluster, key: BrokerKey) {
        self.resume_broker(key);
    }

    /// A pause that a broker asked for is over.
    pub fn on_unthrottled(&mut self, key: BrokerKey) {
        self.resume_broker(key);
    }

    /// A connection went down, or an attempt failed.
    pub fn on_connection_down(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        error: Option<&Error>,
    ) {
        if let Some(transactions) = &mut self.transactions {
            transactions.on_connection_down(ctx, key, error);
        }
        self.resume_broker(key);
        if error.is_none() || key.purpose != Purpose::General {
            return;
        }
        // The partitions may have found another leader meanwhile.
        let Some(broker_queue) = self.broker_queues.get(&key.node) else {
            return;
        };
        let mut last = None;
        for id in broker_queue.ready.iter().chain(&broker_queue.held) {
            if last != Some(id.topic)
                && let Some(topic) = self.topics.get(id.topic as usize).and_then(Option::as_ref)
            {
                cluster.request_refresh(&topic.name, ctx.now);
            }
            last = Some(id.topic);
        }
    }

    /// Has the partitions that wait for this connection tried again.
    pub(super) fn resume_broker(&mut self, key: BrokerKey) {
        if key.purpose != Purpose::General {
            return;
        }
        if let Some(broker_queue) = self.broker_queues.get_mut(&key.node) {
            broker_queue.waiting = false;
            if !broker_queue.dirty && !broker_queue.ready.is_empty() {
                broker_queue.dirty = true;
                self.dirty.push(key.node);
            }
        }
    }

    // ---------------------------------------------------------------- intake

    pub(super) fn topic_mut(&mut self, index: u32) -> Option<&mut TopicSender> {
        self.topics.get_mut(index as usize)?.as_mut()
    }

    /// `topic [partition]`, for logs.
    pub(super) fn tp_name(&self, id: PartitionId) -> String {
        let topic = self.topics.get(id.topic as usize).and_then(Option::as_ref);
        format!("{} [{}]", topic.map_or("?", |t| &t.name), id.partition)
    }

    pub(super) fn partition_sender(&mut self, id: PartitionId) -> Option<&mut PartitionSender> {
        self.topic_mut(id.topic)?.partition_sender(id.partition)
    }

    /// Looks at a partition or a topic that application threads have put into the ready list.
    fn on_ready(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: PartitionId) {
        let accumulator = self.accumulator.clone();
        if accumulator.is_fatal() {
            // The call that produced it has checked for the error before it was raised.
            return self.fail_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
        }
        let Some(queue) = accumulator.topic(id.topic) else {
            return;
        };
        self.register_topic(ctx, cluster, id.topic);
        if id.is_topic() {
            return self.refresh_topic(ctx, cluster, id.topic);
        }
        let Some(partition) = queue.partition(id.partition) else {
            return;
        };
        let (now, linger, flushing) = (ctx.now, accumulator.limits().linger, accumulator.is_flushing());
        if id.partition >= queue.count() {
            return self.fail_without_partition(ctx, id);
        }
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let timeout = topic.settings.message_timeout;
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        let opened = partition.collect(&mut partition_sender.pending, false);
        partition_sender.open_due = opened.is_some_and(|at| flushing || at + linger <= now);
        if let Some(at) = opened.filter(|_| !partition_sender.open_due) {
            self.timers
                .arm(&mut partition_sender.armed, TimerKind::Linger, id, at + linger);
        }
        let oldest = partition_sender
            .pending
            .front()
            .and_then(super::batch::Batch::oldest)
            .or(opened);
        if let (Some(timeout), Some(at)) = (timeout, oldest) {
            self.timers
                .arm(&mut partition_sender.armed, TimerKind::Expiry, id, at + timeout);
        }
        self.enqueue(ctx, cluster, id);
    }

    /// Makes a topic this manager's own and has its metadata kept fresh.
    pub(super) fn register_topic(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, index: u32) {
        if self.topic_mut(index).is_some() {
            return;
        }
        let Some(queue) = self.accumulator.topic(index) else {
            return;
        };
        let mut topic = TopicSender::new(queue.topic(), ctx.conf);
        if self.measures {
            topic.windows = BatchWindows::new(self.max_request, self.accumulator.limits().records);
        }
        cluster.watch(&topic.name, ctx.now);
        if let Some(producer_id) = &mut self.producer_id {
            producer_id.require();
        }
        self.by_name.insert(topic.name.clone(), index);
        let at = index as usize;
        if at >= self.topics.len() {
            self.topics.resize_with(at + 1, || None);
        }
        if let Some(slot) = self.topics.get_mut(at) {
            *slot = Some(topic);
        }
    }

    /// Stops sending to a partition, or goes on. What is under way comes back and waits.
    fn pause(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, topic: &Arc<Topic>, partition: i32, paused: bool) {
        self.accumulator.announce(topic);
        let topic = u32::try_from(topic.index()).unwrap_or(u32::MAX);
        self.register_topic(ctx, cluster, topic);
        let id = PartitionId { topic, partition };
        if let Some(partition_sender) = self.partition_sender(id) {
            partition_sender.paused = paused;
            self.enqueue(ctx, cluster, id);
        }
    }

    pub(super) fn in_flight_rules(&self) -> InFlightRules {
        InFlightRules {
            one_at_a_time: self.one_at_a_time,
            idempotent: self.producer_id.is_some(),
        }
    }

    /// Puts a partition that can send into its leader's ready list. Without a leader it waits for metadata, which the
    /// cluster asks for again and again while a leader is missing.
    pub(super) fn enqueue(&mut self, ctx: &Ctx<'_>, cluster: &Cluster, id: PartitionId) {
        let rules = self.in_flight_rules();
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let name = topic.name.clone();
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        if let Some(node) = partition_sender.queued_on {
            // A full batch has nothing to wait for.
            if partition_sender.held && !partition_sender.pending.is_empty() {
                partition_sender.held = false;
                self.make_ready(node, id);
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
        self.make_ready(node, id);
    }

    fn make_ready(&mut self, node: NodeId, id: PartitionId) {
        let broker_queue = self.broker_queues.entry(node).or_default();
        broker_queue.ready.push_back(id);
        if !broker_queue.waiting && !broker_queue.dirty {
            broker_queue.dirty = true;
            self.dirty.push(node);
        }
    }

    /// Takes a topic's partitions out of the ready lists of brokers that lead them no more.
    pub(super) fn remove_moved_partitions(&mut self, cluster: &Cluster, index: u32) {
        let Some(topic) = self.topics.get_mut(index as usize).and_then(Option::as_mut) else {
            return;
        };
        let name = topic.name.clone();
        for (node, broker_queue) in &mut self.broker_queues {
            let mut stays = |id: &PartitionId| {
                if id.topic != index || cluster.leader(&name, id.partition) == Some(*node) {
                    return true;
                }
                if let Some(partition_sender) = topic.partition_sender(id.partition) {
                    partition_sender.leave_queue(*node);
                }
                false
            };
            broker_queue.ready.retain(&mut stays);
            broker_queue.held.retain(&mut stays);
        }
    }

    /// The broker has answered, or will not: partitions that waited for that can send.
    pub(super) fn release_held(&mut self, node: NodeId) {
        let Some(broker_queue) = self.broker_queues.get_mut(&node).filter(|d| !d.limiter.would_queue()) else {
            return;
        };
        for id in std::mem::take(&mut broker_queue.held) {
            let is_held = |partition_sender: &&mut PartitionSender| {
                partition_sender.held && partition_sender.queued_on == Some(node)
            };
            if let Some(partition_sender) = self.partition_sender(id).filter(is_held) {
                partition_sender.held = false;
                self.make_ready(node, id);
            }
        }
    }

    /// Handles a fired linger or backoff timer.
    pub(super) fn on_send_timer(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, kind: TimerKind, id: PartitionId) {
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        fired(&mut partition_sender.armed, kind);
        if kind == TimerKind::Linger {
            // The batch that the timer was armed for may be gone and a younger one be open.
            return self.on_ready(ctx, cluster, id);
        }
        match partition_sender.blocked_until {
            Some(until) if until > ctx.now => {
                self.timers
                    .arm(&mut partition_sender.armed, TimerKind::Backoff, id, until);
            }
            _ => {
                partition_sender.blocked_until = None;
                self.enqueue(ctx, cluster, id);
            }
        }
    }
}
