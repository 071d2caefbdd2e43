//! The producer's manager: decides what goes to which broker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::accumulator::Accumulator;
use super::destination::Destination;
use super::identity::Identity;
use super::in_flight::Requests;
use super::lane::{InFlightRules, Lane, TopicLanes};
use super::statistics::{BatchWindows, Sent};
use super::timers::{TimerKind, Timers, fired};
use super::transactions::Transactions;
use super::{Command, PartitionId};
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Purpose};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Interceptor, Queue};
use crate::stats::DurationSum;
use crate::sys::{Instant, earliest};
use crate::types::{NameMap, NodeId, Topic};

/// Memory that was not needed for this long goes back to the system.
const TRIM_INTERVAL: Duration = Duration::from_secs(5);

/// Said once in a client's life.
#[derive(Debug, Default)]
pub(super) struct Said {
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
    pub(super) topics: Vec<Option<TopicLanes>>,
    pub(super) by_name: NameMap<u32>,
    pub(super) requests: Requests,
    pub(super) timers: Timers,
    pub(super) destinations: BTreeMap<NodeId, Destination>,
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
    pub(super) identity: Option<Identity>,
    /// With a `transactional.id`.
    pub(super) transactions: Option<Box<Transactions>>,
    /// `enable.gapless.guarantee`; a transaction with a gap is aborted anyway.
    pub(super) gapless: bool,
    /// This manager has raised a fatal error: nothing is sent any more.
    pub(super) fatal: bool,
    /// The fatal error, until the client was told.
    pub(super) raised: Option<Error>,
    pub(super) said: Said,
    /// Hears of every delivery report.
    pub(super) watcher: Option<Arc<dyn Interceptor>>,
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
        let identity = || match is_transactional {
            true => Identity::given(),
            false => Identity::default(),
        };
        Sender {
            accumulator,
            main_queue,
            topics: Vec::new(),
            by_name: NameMap::default(),
            requests: Requests::default(),
            timers: Timers::default(),
            destinations: BTreeMap::new(),
            dirty: Vec::new(),
            scratch: Vec::new(),
            trim_at: None,
            max_request: usize::try_from(conf.message_max_bytes).unwrap_or(usize::MAX),
            request_timeout: Duration::from_millis(conf.socket_timeout_ms.into()),
            one_at_a_time: conf.max_in_flight_requests_per_connection == 1,
            identity: conf.enable_idempotence.then(identity),
            transactions,
            gapless: conf.enable_gapless_guarantee && !is_transactional,
            fatal: false,
            raised: None,
            said: Said::default(),
            watcher: None,
            sent: Sent::default(),
            measures: conf.statistics_interval_ms > 0,
            queue_times: None,
        }
    }

    /// Tells `watcher` of every delivery report, wanted or not.
    #[must_use]
    pub fn watched_by(self, watcher: Option<Arc<dyn Interceptor>>) -> Self {
        Sender { watcher, ..self }
    }

    // ---------------------------------------------------------------- driver

    /// Takes in what the application produced, handles timers, sends what can be sent. Gives the time to be called
    /// again at the latest.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        let mut ids = std::mem::take(&mut self.scratch);
        self.accumulator.take_ready(&mut ids);
        for id in ids.drain(..) {
            self.intake(ctx, cluster, id);
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
        self.seek_identity(ctx, cluster);
        self.serve_all(ctx, cluster);
        let ending = self.drive_transaction(ctx, cluster);
        self.serve_all(ctx, cluster);
        let seeking = self.identity.as_ref().and_then(|i| i.wake(ctx.now));
        let wake = earliest(earliest(self.timers.next(), seeking), ending);
        let wake = earliest(wake, self.trim(ctx.now));
        if self.accumulator.rest_until(wake) {
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
                    self.give_up_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
                }
                if in_flight {
                    self.give_up_in_flight(ctx, &Error::from(ErrorCode::L_PURGE_INFLIGHT));
                }
                done.fill(());
            }
        }
    }

    /// A connection came up.
    pub fn on_connection_up(&mut self, _ctx: &mut Ctx<'_>, _cluster: &mut Cluster, key: BrokerKey) {
        self.revive(key);
    }

    /// A pause that a broker asked for is over.
    pub fn on_unthrottled(&mut self, key: BrokerKey) {
        self.revive(key);
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
        self.revive(key);
        if error.is_none() || key.purpose != Purpose::General {
            return;
        }
        // The partitions may have found another leader meanwhile.
        let Some(destination) = self.destinations.get(&key.node) else {
            return;
        };
        let mut last = None;
        for id in destination.ready.iter().chain(&destination.held) {
            if last != Some(id.topic)
                && let Some(topic) = self.topics.get(id.topic as usize).and_then(Option::as_ref)
            {
                cluster.request_refresh(&topic.name, ctx.now);
            }
            last = Some(id.topic);
        }
    }

    /// Has the partitions that wait for this connection tried again.
    pub(super) fn revive(&mut self, key: BrokerKey) {
        if key.purpose != Purpose::General {
            return;
        }
        if let Some(destination) = self.destinations.get_mut(&key.node) {
            destination.waiting = false;
            if !destination.dirty && !destination.ready.is_empty() {
                destination.dirty = true;
                self.dirty.push(key.node);
            }
        }
    }

    // ---------------------------------------------------------------- intake

    pub(super) fn topic_mut(&mut self, index: u32) -> Option<&mut TopicLanes> {
        self.topics.get_mut(index as usize)?.as_mut()
    }

    /// `topic [partition]`, for logs.
    pub(super) fn tp_name(&self, id: PartitionId) -> String {
        let topic = self.topics.get(id.topic as usize).and_then(Option::as_ref);
        format!("{} [{}]", topic.map_or("?", |t| &t.name), id.partition)
    }

    pub(super) fn lane(&mut self, id: PartitionId) -> Option<&mut Lane> {
        self.topic_mut(id.topic)?.lane(id.partition)
    }

    /// Looks at a partition or a topic that application threads have put into the ready list.
    fn intake(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: PartitionId) {
        let accumulator = self.accumulator.clone();
        if accumulator.is_fatal() {
            // The call that produced it has checked for the error before it was raised.
            return self.give_up_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
        }
        let Some(queue) = accumulator.topic(id.topic) else {
            return;
        };
        self.adopt(ctx, cluster, id.topic);
        if id.is_topic() {
            return self.refresh_topic(ctx, cluster, id.topic);
        }
        let Some(partition) = queue.partition(id.partition) else {
            return;
        };
        let (now, linger, flushing) = (ctx.now, accumulator.limits().linger, accumulator.is_flushing());
        if id.partition >= queue.count() {
            return self.give_up_homeless(ctx, id);
        }
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let timeout = topic.delivering.message_timeout;
        let Some(lane) = topic.lane(id.partition) else {
            return;
        };
        let opened = partition.collect(&mut lane.pending, false);
        lane.open_due = opened.is_some_and(|at| flushing || at + linger <= now);
        if let Some(at) = opened.filter(|_| !lane.open_due) {
            self.timers.arm(&mut lane.armed, TimerKind::Linger, id, at + linger);
        }
        let oldest = lane.pending.front().and_then(super::batch::Batch::oldest).or(opened);
        if let (Some(timeout), Some(at)) = (timeout, oldest) {
            self.timers.arm(&mut lane.armed, TimerKind::Expiry, id, at + timeout);
        }
        self.enqueue(ctx, cluster, id);
    }

    /// Makes a topic this manager's own and has its metadata kept fresh.
    pub(super) fn adopt(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, index: u32) {
        if self.topic_mut(index).is_some() {
            return;
        }
        let Some(queue) = self.accumulator.topic(index) else {
            return;
        };
        let mut topic = TopicLanes::new(queue.topic(), ctx.conf);
        if self.measures {
            topic.windows = BatchWindows::new(self.max_request, self.accumulator.limits().records);
        }
        cluster.watch(&topic.name, ctx.now);
        if let Some(identity) = &mut self.identity {
            identity.want();
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
        self.adopt(ctx, cluster, topic);
        let id = PartitionId { topic, partition };
        if let Some(lane) = self.lane(id) {
            lane.paused = paused;
            self.enqueue(ctx, cluster, id);
        }
    }

    pub(super) fn in_flight_rules(&self) -> InFlightRules {
        InFlightRules {
            one_at_a_time: self.one_at_a_time,
            idempotent: self.identity.is_some(),
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
        let Some(lane) = topic.lane(id.partition) else {
            return;
        };
        if let Some(node) = lane.queued_on {
            // A full batch has nothing to wait for.
            if lane.held && !lane.pending.is_empty() {
                lane.held = false;
                self.make_ready(node, id);
            }
            return;
        }
        if !lane.has_work(ctx.now) {
            return;
        }
        let Some(node) = cluster.leader(&name, id.partition) else {
            return;
        };
        if lane.is_full(rules, node, ctx.now) {
            return;
        }
        lane.queued_on = Some(node);
        self.make_ready(node, id);
    }

    fn make_ready(&mut self, node: NodeId, id: PartitionId) {
        let destination = self.destinations.entry(node).or_default();
        destination.ready.push_back(id);
        if !destination.waiting && !destination.dirty {
            destination.dirty = true;
            self.dirty.push(node);
        }
    }

    /// Takes a topic's partitions out of the ready lists of brokers that lead them no more.
    pub(super) fn recall_moved(&mut self, cluster: &Cluster, index: u32) {
        let Some(topic) = self.topics.get_mut(index as usize).and_then(Option::as_mut) else {
            return;
        };
        let name = topic.name.clone();
        for (node, destination) in &mut self.destinations {
            let mut stays = |id: &PartitionId| {
                if id.topic != index || cluster.leader(&name, id.partition) == Some(*node) {
                    return true;
                }
                if let Some(lane) = topic.lane(id.partition) {
                    lane.leave_list(*node);
                }
                false
            };
            destination.ready.retain(&mut stays);
            destination.held.retain(&mut stays);
        }
    }

    /// The broker has answered, or will not: partitions that waited for that can send.
    pub(super) fn let_go(&mut self, node: NodeId) {
        let Some(destination) = self.destinations.get_mut(&node).filter(|d| !d.pace.has_line()) else {
            return;
        };
        for id in std::mem::take(&mut destination.held) {
            let is_held = |lane: &&mut Lane| lane.held && lane.queued_on == Some(node);
            if let Some(lane) = self.lane(id).filter(is_held) {
                lane.held = false;
                self.make_ready(node, id);
            }
        }
    }

    /// Handles a fired linger or backoff timer.
    pub(super) fn on_send_timer(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, kind: TimerKind, id: PartitionId) {
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let Some(lane) = topic.lane(id.partition) else { return };
        fired(&mut lane.armed, kind);
        if kind == TimerKind::Linger {
            // The batch that the timer was armed for may be gone and a younger one be open.
            return self.intake(ctx, cluster, id);
        }
        match lane.blocked_until {
            Some(until) if until > ctx.now => {
                self.timers.arm(&mut lane.armed, TimerKind::Backoff, id, until);
            }
            _ => {
                lane.blocked_until = None;
                self.enqueue(ctx, cluster, id);
            }
        }
    }
}
