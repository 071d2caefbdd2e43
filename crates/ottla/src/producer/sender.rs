//! The producer's manager: decides what goes to which broker.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;

use super::accumulator::Accumulator;
use super::in_flight::{InFlight, Requests, Slot};
use super::lane::{Lane, TopicLanes};
use super::timers::{TimerKind, Timers, fired};
use super::wire::{self, Part};
use super::{Command, PartitionId};
use crate::cluster::{Cluster, Ctx};
use crate::config::ClientConfig;
use crate::connection::{BrokerVersions, LinkKey, Owner, Purpose, Ready, Tag};
use crate::env::Instant;
use crate::error::{Error, ErrorCode};
use crate::event::{DebugContexts, Queue, level};
use crate::types::NodeId;

/// Partitions that have something for one broker.
#[derive(Debug, Default)]
struct Destination {
    ready: VecDeque<PartitionId>,
    /// An event of the link will tell when to try again.
    waiting: bool,
    /// Stands in [`Sender::dirty`].
    dirty: bool,
}

/// What requests of one kind have in common: their partitions can share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    version: i16,
    acks: i16,
    timeout_ms: i32,
}

/// What a ready partition had to give.
enum Taken {
    Part(Part, Class),
    Nothing,
    /// It has something, but for a request of another class.
    OtherClass,
    /// The request has no room for it.
    Full,
}

/// Said once in a client's life.
#[derive(Debug, Default)]
struct Said {
    acks: bool,
    codec: bool,
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
    pub(super) by_name: HashMap<Arc<str>, u32>,
    pub(super) requests: Requests,
    pub(super) timers: Timers,
    destinations: HashMap<NodeId, Destination>,
    /// Destinations to be served.
    dirty: Vec<NodeId>,
    scratch: Vec<PartitionId>,
    max_request: usize,
    request_timeout: Duration,
    /// With one request in flight a connection, order is kept across retries and leader changes, too.
    one_at_a_time: bool,
    pub(super) throttle_events: bool,
    said: Said,
}

impl Sender {
    /// A sender for what `accumulator` gathers; delivery reports go to `main_queue`.
    pub fn new(accumulator: Arc<Accumulator>, conf: &ClientConfig, main_queue: Arc<Queue>) -> Self {
        Sender {
            accumulator,
            main_queue,
            topics: Vec::new(),
            by_name: HashMap::new(),
            requests: Requests::default(),
            timers: Timers::default(),
            destinations: HashMap::new(),
            dirty: Vec::new(),
            scratch: Vec::new(),
            max_request: usize::try_from(conf.message_max_bytes).unwrap_or(usize::MAX),
            request_timeout: Duration::from_millis(conf.socket_timeout_ms.into()),
            one_at_a_time: conf.max_in_flight_requests_per_connection == 1,
            throttle_events: false,
            said: Said::default(),
        }
    }

    /// Has throttling by brokers reported as [`Event::Throttle`](crate::event::Event::Throttle).
    pub fn report_throttling(&mut self, report: bool) {
        self.throttle_events = report;
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
        while let Some(node) = self.dirty.pop() {
            self.serve(ctx, cluster, node);
        }
        let wake = self.timers.next();
        if self.accumulator.rest_until(wake) {
            wake
        } else {
            Some(ctx.now)
        }
    }

    /// Carries out a command.
    pub fn on_command(&mut self, ctx: &mut Ctx<'_>, _cluster: &mut Cluster, command: Command) {
        match command {
            Command::Purge {
                queue,
                in_flight,
                done,
            } => {
                if queue {
                    self.give_up_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
                }
                if in_flight {
                    self.give_up_in_flight(ctx.now, &Error::from(ErrorCode::L_PURGE_INFLIGHT));
                }
                done.fill(());
            }
        }
    }

    /// A link came up.
    pub fn on_link_up(&mut self, _ctx: &mut Ctx<'_>, _cluster: &mut Cluster, key: LinkKey) {
        self.revive(key);
    }

    /// A pause that a broker asked for is over.
    pub fn on_unthrottled(&mut self, key: LinkKey) {
        self.revive(key);
    }

    /// A link went down, or an attempt failed.
    pub fn on_link_down(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: LinkKey,
        error: Option<&Error>,
    ) {
        self.revive(key);
        if error.is_none() || key.purpose != Purpose::General {
            return;
        }
        // The partitions may have found another leader meanwhile.
        let Some(destination) = self.destinations.get(&key.node) else {
            return;
        };
        let mut last = None;
        for id in &destination.ready {
            if last != Some(id.topic)
                && let Some(topic) = self.topics.get(id.topic as usize).and_then(Option::as_ref)
            {
                cluster.stale(&topic.name, ctx.now);
            }
            last = Some(id.topic);
        }
    }

    /// Has the partitions that wait for this link tried again.
    pub(super) fn revive(&mut self, key: LinkKey) {
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

    pub(super) fn lane(&mut self, id: PartitionId) -> Option<&mut Lane> {
        self.topic_mut(id.topic)?.lane(id.partition)
    }

    /// Looks at a partition or a topic that application threads have put into the ready list.
    fn intake(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: PartitionId) {
        let accumulator = self.accumulator.clone();
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
        let (now, linger, flushing) = (
            ctx.now,
            accumulator.limits().linger,
            accumulator.is_flushing(),
        );
        if id.partition >= queue.count() {
            return self.give_up_homeless(ctx, id);
        }
        let Some(topic) = self
            .topics
            .get_mut(id.topic as usize)
            .and_then(Option::as_mut)
        else {
            return;
        };
        let timeout = topic.delivering.message_timeout;
        let Some(lane) = topic.lane(id.partition) else {
            return;
        };
        let opened = partition.collect(&mut lane.pending, false);
        lane.open_due = opened.is_some_and(|at| flushing || at + linger <= now);
        if let Some(at) = opened.filter(|_| !lane.open_due) {
            self.timers
                .arm(&mut lane.armed, TimerKind::Linger, id, at + linger);
        }
        let oldest = lane
            .pending
            .front()
            .and_then(super::batch::Batch::oldest)
            .or(opened);
        if let (Some(timeout), Some(at)) = (timeout, oldest) {
            self.timers
                .arm(&mut lane.armed, TimerKind::Expiry, id, at + timeout);
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
        let topic = TopicLanes::new(queue.topic().clone(), ctx.conf);
        cluster.watch(&topic.name, ctx.now);
        self.by_name.insert(topic.name.clone(), index);
        let at = index as usize;
        if at >= self.topics.len() {
            self.topics.resize_with(at + 1, || None);
        }
        if let Some(slot) = self.topics.get_mut(at) {
            *slot = Some(topic);
        }
    }

    /// Puts a partition that can send into its leader's ready list. Without a leader it waits for metadata, which the
    /// cluster asks for again and again while a leader is missing.
    pub(super) fn enqueue(&mut self, ctx: &Ctx<'_>, cluster: &Cluster, id: PartitionId) {
        let one_at_a_time = self.one_at_a_time;
        let Some(topic) = self
            .topics
            .get_mut(id.topic as usize)
            .and_then(Option::as_mut)
        else {
            return;
        };
        let name = topic.name.clone();
        let Some(lane) = topic.lane(id.partition) else {
            return;
        };
        let full = one_at_a_time && !lane.in_flight.is_empty();
        if lane.queued_on.is_some() || full || !lane.has_work(ctx.now) {
            return;
        }
        let Some(node) = cluster.leader(&name, id.partition) else {
            return;
        };
        lane.queued_on = Some(node);
        let destination = self.destinations.entry(node).or_default();
        destination.ready.push_back(id);
        if !destination.waiting && !destination.dirty {
            destination.dirty = true;
            self.dirty.push(node);
        }
    }

    /// Notes a fired linger or backoff timer.
    pub(super) fn on_send_timer(
        &mut self,
        ctx: &Ctx<'_>,
        cluster: &Cluster,
        kind: TimerKind,
        id: PartitionId,
    ) {
        let accumulator = self.accumulator.clone();
        let Some(lane) = self.lane(id) else { return };
        fired(&mut lane.armed, kind);
        match kind {
            TimerKind::Linger => {
                // The batch that the timer was armed for may be gone and a younger one be open.
                let Some(queue) = accumulator
                    .topic(id.topic)
                    .and_then(|t| t.partition(id.partition))
                else {
                    return;
                };
                let opened = queue.collect(&mut lane.pending, false);
                let due = opened.map(|at| at + accumulator.limits().linger);
                lane.open_due = due.is_some_and(|at| at <= ctx.now || accumulator.is_flushing());
                if let Some(at) = due.filter(|at| *at > ctx.now && !accumulator.is_flushing())
                    && let Some(topic) = self
                        .topics
                        .get_mut(id.topic as usize)
                        .and_then(Option::as_mut)
                    && let Some(lane) = topic.lane(id.partition)
                {
                    self.timers.arm(&mut lane.armed, TimerKind::Linger, id, at);
                }
            }
            _ => {
                if lane.blocked_until.is_some_and(|until| until <= ctx.now) {
                    lane.blocked_until = None;
                }
            }
        }
        self.enqueue(ctx, cluster, id);
    }

    // ---------------------------------------------------------------- sending

    /// Sends what is ready for a broker, as long as its link takes it.
    fn serve(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        let key = LinkKey::general(node);
        if let Some(destination) = self.destinations.get_mut(&node) {
            destination.dirty = false;
        }
        loop {
            let Some(destination) = self
                .destinations
                .get_mut(&node)
                .filter(|d| !d.ready.is_empty())
            else {
                return;
            };
            match ctx.links.ready(key, ctx.now) {
                Ready::Yes(versions) => {
                    if !self.send_one(ctx, cluster, node, &versions) {
                        return;
                    }
                }
                Ready::Busy | Ready::Connecting => {
                    destination.waiting = true;
                    return;
                }
                Ready::Unknown => {
                    let ids = std::mem::take(&mut destination.ready);
                    return self.wait_for_broker(ctx, cluster, node, ids);
                }
            }
        }
    }

    /// Metadata names a leader without an address: asks for metadata and tries again a little later.
    fn wait_for_broker(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        node: NodeId,
        ids: VecDeque<PartitionId>,
    ) {
        let until = ctx.now.plus_ms(ctx.conf.retry_backoff_ms.into());
        for id in ids {
            let Some(topic) = self
                .topics
                .get_mut(id.topic as usize)
                .and_then(Option::as_mut)
            else {
                continue;
            };
            cluster.stale(&topic.name, ctx.now);
            let Some(lane) = topic.lane(id.partition) else {
                continue;
            };
            lane.queued_on = None;
            lane.blocked_until = Some(until);
            self.timers
                .arm(&mut lane.armed, TimerKind::Backoff, id, until);
        }
        ctx.log.debug(DebugContexts::TOPIC, "PRODUCE", || {
            format!("leader {node} has no known address")
        });
    }

    /// Fills and sends one request; false when nothing was ready after all.
    fn send_one(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        node: NodeId,
        versions: &BrokerVersions,
    ) -> bool {
        let mut parts = Vec::new();
        let mut class = None;
        let mut bytes = 0;
        let rounds = self.destinations.get(&node).map_or(0, |d| d.ready.len());
        for _ in 0..rounds {
            let Some(id) = self
                .destinations
                .get_mut(&node)
                .and_then(|d| d.ready.pop_front())
            else {
                break;
            };
            let taken = self.take_part(ctx, cluster, node, versions, id, class, bytes);
            let Some(destination) = self.destinations.get_mut(&node) else {
                break;
            };
            match taken {
                Taken::Part(part, its_class) => {
                    bytes += part.data.len();
                    class = Some(its_class);
                    parts.push(part);
                }
                Taken::Nothing => {}
                Taken::OtherClass => destination.ready.push_back(id),
                Taken::Full => {
                    destination.ready.push_front(id);
                    break;
                }
            }
        }
        match class {
            Some(class) => {
                self.transmit(ctx, cluster, node, parts, class);
                true
            }
            None => false,
        }
    }

    /// Takes a partition's next batch for a request to `node` that has `bytes` already.
    #[allow(clippy::too_many_arguments)] // the state of one request being filled
    fn take_part(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        node: NodeId,
        versions: &BrokerVersions,
        id: PartitionId,
        class: Option<Class>,
        bytes: usize,
    ) -> Taken {
        let (max_request, one_at_a_time) = (self.max_request, self.one_at_a_time);
        let accumulator = self.accumulator.clone();
        let Some(topic) = self
            .topics
            .get_mut(id.topic as usize)
            .and_then(Option::as_mut)
        else {
            return Taken::Nothing;
        };
        let (name, delivering) = (topic.name.clone(), topic.delivering);
        let Some(lane) = topic.lane(id.partition) else {
            return Taken::Nothing;
        };
        let topic_id = cluster.topic(&name).map_or(Uuid::ZERO, |t| t.id);
        let full = one_at_a_time && !lane.in_flight.is_empty();
        if cluster.leader(&name, id.partition) != Some(node) || full || !lane.has_work(ctx.now) {
            lane.queued_on = None;
            self.enqueue(ctx, cluster, id);
            return Taken::Nothing;
        }
        let version = wire::pick_version(versions, topic_id != Uuid::ZERO);
        let this = version.map(|version| Class {
            version,
            acks: wire::acks_for(version, delivering.acks),
            timeout_ms: delivering.request_timeout_ms,
        });
        if class.is_some() && class != this {
            return Taken::OtherClass;
        }
        if lane.pending.is_empty() {
            lane.open_due = false;
            if let Some(queue) = accumulator
                .topic(id.topic)
                .and_then(|t| t.partition(id.partition))
            {
                let _ = queue.collect(&mut lane.pending, true);
            }
        }
        let Some(mut batch) = lane.pending.pop_front() else {
            lane.queued_on = None;
            return Taken::Nothing;
        };
        let sealed = match this {
            Some(class) => wire::seal(
                &mut batch,
                class.version,
                delivering.codec,
                delivering.level,
            )
            .map(|d| (class, d)),
            None => Err(Error::new(
                ErrorCode::L_UNSUPPORTED_FEATURE,
                format!("broker {node} and this client have no version of Produce in common"),
            )),
        };
        if let Ok((_, data)) = &sealed
            && bytes > 0
            && bytes.saturating_add(data.len()) > max_request
        {
            lane.pending.push_front(batch);
            return Taken::Full;
        }
        let more = lane.has_work(ctx.now) && !one_at_a_time;
        lane.queued_on = more.then_some(node);
        if more && let Some(destination) = self.destinations.get_mut(&node) {
            destination.ready.push_back(id);
        }
        match sealed {
            Ok((class, data)) => {
                batch.broker_id = node.0;
                batch.left_in_flight = 0;
                self.say_what_changed(ctx, class, delivering);
                let slot = Slot {
                    id,
                    topic_id,
                    batch: Some(batch),
                };
                Taken::Part(Part { slot, name, data }, class)
            }
            Err(error) => {
                let status = batch.status();
                self.deliver(id, batch, Some(error), status, ctx.now);
                self.enqueue(ctx, cluster, id);
                Taken::Nothing
            }
        }
    }

    /// Says once where a broker makes the client do something else than it was configured to.
    fn say_what_changed(
        &mut self,
        ctx: &Ctx<'_>,
        class: Class,
        delivering: super::lane::Delivering,
    ) {
        if class.acks != delivering.acks && !std::mem::replace(&mut self.said.acks, true) {
            ctx.log.log(level::WARNING, "ACKS", || {
                format!(
                    "acks={}: brokers since 0.11 wait for the leader (1) or for all in-sync replicas (all), not for a \
                     number of them: using all",
                    delivering.acks
                )
            });
        }
        let codec = wire::codec_for(class.version, delivering.codec);
        if codec != delivering.codec && !std::mem::replace(&mut self.said.codec, true) {
            ctx.log.log(level::WARNING, "COMPRESSION", || {
                format!(
                    "the broker is too old for {}: sending uncompressed",
                    delivering.codec
                )
            });
        }
    }

    fn transmit(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        node: NodeId,
        mut parts: Vec<Part>,
        class: Class,
    ) {
        // Topics must be together, and responses are matched by binary search.
        parts.sort_by_key(|p| p.slot.id);
        let request = wire::build(&parts, class.acks, class.timeout_ms);
        let (key, id) = (LinkKey::general(node), self.requests.next_id());
        let tag = Tag {
            owner: Owner::Producer,
            id,
        };
        let (now, timeout) = (ctx.now, self.request_timeout);
        let sent = if class.acks == 0 {
            ctx.links
                .send_unanswered(key, now, tag, &request, class.version, timeout)
        } else {
            ctx.links
                .send(key, now, tag, &request, class.version, timeout)
        };
        ctx.log.debug(DebugContexts::MSG, "PRODUCE", || {
            format!(
                "{} partition(s), acks={}, version {} to broker {node}",
                parts.len(),
                class.acks,
                class.version
            )
        });
        let slots: Vec<Slot> = parts.into_iter().map(|p| p.slot).collect();
        match sent {
            Ok(()) => {
                for slot in &slots {
                    if let Some(lane) = self.lane(slot.id) {
                        lane.in_flight.push(id);
                    }
                }
                self.requests.insert(id, InFlight { node, slots });
            }
            Err(error) => self.unsent(ctx, cluster, slots, &error),
        }
    }

    /// A request could not be handed to the link: a link that has just gone is waited for, anything else is final.
    fn unsent(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        slots: Vec<Slot>,
        error: &Error,
    ) {
        for slot in slots {
            let Some(batch) = slot.batch else { continue };
            if error.code == ErrorCode::L_TRANSPORT {
                if let Some(lane) = self.lane(slot.id) {
                    lane.put_back(batch);
                }
                self.enqueue(ctx, cluster, slot.id);
            } else {
                let status = batch.status();
                self.deliver(slot.id, batch, Some(error.clone()), status, ctx.now);
            }
        }
    }
}
