//! Filling produce requests and handing them to connections.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::compression::Codec;

use super::PartitionId;
use super::batch::Batch;
use super::in_flight::{InFlight, Slot};
use super::partition_queue::PartitionQueue;
use super::partition_sender::{InFlightBatch, PartitionSender, TopicSettings};
use super::producer_id::ProducerIdState;
use super::sender::Sender;
use super::timers::TimerKind;
use super::transactions::Transactions;
use super::wire::{self, Part};
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, BrokerVersions, Owner, Ready, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::sys::Instant;
use crate::types::NodeId;

/// The shortest time that a broker has to answer: records that are about to time out must not cost a connection that works.
const ANSWER_TIME_MIN: Duration = Duration::from_millis(100);
/// Time after the last Produce request to a leader in which its connection is made again when it is lost, so that the next
/// message need not wait for one. Brokers close idle connections after 10 minutes (`connections.max.idle.ms`).
const KEPT_AFTER_PRODUCE: Duration = Duration::from_secs(30 * 60);

/// What requests of one kind have in common: their partitions can share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    version: i16,
    acks: i16,
    timeout_ms: i32,
}

/// The class of a request for a partition's records, `Some(None)` without a version in common; `None` as long as the
/// partition is not part of the transaction.
#[allow(clippy::option_option)] // two reasons to send nothing, with different consequences
fn class_of(
    transactions: &mut Option<Box<Transactions>>,
    versions: &BrokerVersions,
    id: PartitionId,
    name: &Arc<str>,
    settings: TopicSettings,
    ids: bool,
) -> Option<Option<Class>> {
    let mut v2 = None;
    if let Some(transactions) = transactions {
        if !transactions.require_partition(id, name) {
            return None;
        }
        v2 = Some(transactions.is_v2());
    }
    let version = wire::pick_version(versions, ids, v2);
    Some(version.map(|version| Class {
        version,
        acks: wire::acks_for(version, settings.acks),
        timeout_ms: settings.request_timeout_ms,
    }))
}

/// What a ready partition had to give.
#[allow(clippy::large_enum_variant)] // lives on the stack for one step
enum TakenPart {
    Part(Part, Class),
    Nothing,
    /// It has something, but for a request of another class.
    OtherClass,
    /// The request has no room for it.
    Full,
    /// Its open batch may go on filling.
    QueuedCounts,
}

impl Sender {
    /// Sends what is ready for a broker, as long as its connection takes it.
    pub(super) fn serve(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        let key = BrokerKey::general(node);
        if let Some(broker_queue) = self.broker_queues.get_mut(&node) {
            broker_queue.dirty = false;
        }
        // What waits is purged once the application can ask for the error.
        if self.is_fatal() {
            return;
        }
        loop {
            let unknown = self.producer_id.as_ref().is_some_and(|i| i.current().is_none());
            let Some(broker_queue) = self.broker_queues.get_mut(&node).filter(|d| !d.ready.is_empty()) else {
                return;
            };
            if unknown || broker_queue.limiter.is_saturated() {
                // The id's arrival brings the destination back, or the outcome of a request.
                broker_queue.waiting = true;
                return;
            }
            let max_unsent = ctx.conf.queue_buffering_backpressure_threshold.into();
            match ctx.connections.ready_for_bulk(key, ctx.now, max_unsent) {
                Ready::Yes(versions) => {
                    if !self.send_one(ctx, cluster, node, &versions) {
                        return;
                    }
                }
                Ready::Busy | Ready::Connecting => {
                    broker_queue.waiting = true;
                    return;
                }
                Ready::Unknown => {
                    let mut ids = std::mem::take(&mut broker_queue.ready);
                    ids.append(&mut broker_queue.held);
                    return self.wait_for_broker(ctx, cluster, node, ids);
                }
            }
        }
    }

    /// Metadata names a leader without an address: asks for metadata and tries again a little later.
    fn wait_for_broker(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, ids: VecDeque<PartitionId>) {
        let until = ctx.now.plus_ms(ctx.conf.retry_backoff_ms.into());
        for id in ids {
            let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
                continue;
            };
            cluster.request_refresh(&topic.name, ctx.now);
            let Some(partition_sender) = topic.partition_sender(id.partition) else {
                continue;
            };
            partition_sender.leave_queue(node);
            partition_sender.blocked_until = Some(until);
            self.timers
                .arm(&mut partition_sender.armed, TimerKind::Backoff, id, until);
        }
        ctx.log.debug(DebugContexts::TOPIC, "PRODUCE", || {
            format!("leader {node} has no known address")
        });
    }

    /// Fills and sends one request; false when nothing was ready after all.
    fn send_one(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, versions: &BrokerVersions) -> bool {
        let mut parts = Vec::new();
        let mut class = None;
        let mut bytes = 0;
        let rounds = self.broker_queues.get(&node).map_or(0, |d| d.ready.len());
        for _ in 0..rounds {
            let Some(id) = self.broker_queues.get_mut(&node).and_then(|d| d.ready.pop_front()) else {
                break;
            };
            let taken = self.take_part(ctx, cluster, node, versions, id, class, bytes);
            if matches!(taken, TakenPart::QueuedCounts) {
                ctx.log.debug(DebugContexts::QUEUE, "HELD", || {
                    format!("{}: goes on filling: broker {node} is busy", self.tp_name(id))
                });
            }
            let Some(broker_queue) = self.broker_queues.get_mut(&node) else {
                break;
            };
            match taken {
                TakenPart::Part(part, its_class) => {
                    bytes += part.data.len();
                    class = Some(its_class);
                    parts.push(part);
                }
                TakenPart::Nothing => {}
                TakenPart::OtherClass => broker_queue.ready.push_back(id),
                TakenPart::Full => {
                    broker_queue.ready.push_front(id);
                    break;
                }
                TakenPart::QueuedCounts => broker_queue.held.push_back(id),
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
    ) -> TakenPart {
        let (max_request, rules) = (self.max_request, self.in_flight_rules());
        let numbered = self.producer_id.as_ref().and_then(ProducerIdState::current);
        let accumulator = self.accumulator.clone();
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return TakenPart::Nothing;
        };
        let (name, settings) = (topic.name.clone(), topic.settings);
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return TakenPart::Nothing;
        };
        let topic_id = cluster.topic(&name).map_or(Uuid::ZERO, |t| t.id);
        let full = partition_sender.is_full(rules, node, ctx.now);
        if cluster.leader(&name, id.partition) != Some(node) || full || !partition_sender.has_work(ctx.now) {
            partition_sender.queued_on = None;
            self.enqueue(ctx, cluster, id);
            return TakenPart::Nothing;
        }
        let ids = topic_id != Uuid::ZERO;
        let Some(this) = class_of(&mut self.transactions, versions, id, &name, settings, ids) else {
            // The transaction takes the partition in first, which brings it back.
            partition_sender.queued_on = None;
            return TakenPart::Nothing;
        };
        if class.is_some() && class != this {
            return TakenPart::OtherClass;
        }
        if partition_sender.pending.is_empty() {
            let would_queue = self.broker_queues.get(&node).is_some_and(|d| d.limiter.would_queue());
            let queue = accumulator.topic(id.topic).and_then(|t| t.partition(id.partition));
            let limit = (bytes > 0).then(|| max_request.saturating_sub(bytes));
            if let Some(left_open) = close_open(partition_sender, queue, would_queue, limit, settings.codec) {
                return left_open;
            }
        }
        if let Some(numbered) = numbered
            && !partition_sender.assign_to_front(numbered)
        {
            if let Some(producer_id) = &mut self.producer_id {
                producer_id.renew();
            }
            return TakenPart::Full;
        }
        let Some(mut batch) = partition_sender.take_next() else {
            partition_sender.queued_on = None;
            return TakenPart::Nothing;
        };
        let sealed = match this {
            Some(class) => wire::seal(&mut batch, class.version, settings.codec, settings.level).map(|d| (class, d)),
            None => Err(Error::new(
                ErrorCode::L_UNSUPPORTED_FEATURE,
                format!("broker {node} and this client have no version of Produce in common"),
            )),
        };
        if let Ok((_, data)) = &sealed
            && bytes > 0
            && bytes.saturating_add(data.len()) > max_request
        {
            partition_sender.put_back(batch);
            return TakenPart::Full;
        }
        let more = partition_sender.has_work(ctx.now) && !rules.one_at_a_time;
        partition_sender.queued_on = more.then_some(node);
        if more && let Some(broker_queue) = self.broker_queues.get_mut(&node) {
            broker_queue.ready.push_back(id);
        }
        match sealed {
            Ok((class, data)) => {
                log_dequeue(ctx, &name, id, &batch, more);
                batch.broker_id = node.0;
                partition_sender.sent_to = Some(node);
                batch.left_in_flight = 0;
                self.warn_of_downgrade(ctx, class, settings);
                let slot = Slot {
                    id,
                    topic_id,
                    batch: Some(batch),
                };
                TakenPart::Part(Part { slot, name, data }, class)
            }
            Err(error) => {
                let status = batch.status();
                self.deliver(id, batch, Some(error), status, ctx.now);
                self.enqueue(ctx, cluster, id);
                TakenPart::Nothing
            }
        }
    }

    /// Says once where a broker makes the client do something else than it was configured to.
    fn warn_of_downgrade(&mut self, ctx: &Ctx<'_>, class: Class, settings: TopicSettings) {
        if class.acks != settings.acks && !std::mem::replace(&mut self.warned.acks, true) {
            ctx.log.log(level::WARNING, "ACKS", || {
                format!(
                    "acks={}: brokers since 0.11 wait for the leader (1) or for all in-sync replicas (all), not for a \
                     number of them: using all",
                    settings.acks
                )
            });
        }
        let codec = wire::codec_for(class.version, settings.codec);
        if codec != settings.codec && !std::mem::replace(&mut self.warned.codec, true) {
            ctx.log.log(level::WARNING, "COMPRESSION", || {
                format!("the broker is too old for {}: sending uncompressed", settings.codec)
            });
        }
    }

    fn transmit(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, mut parts: Vec<Part>, class: Class) {
        // Topics must be together, and responses are matched by binary search.
        parts.sort_by_key(|p| p.slot.id);
        debug_assert!(
            parts.is_sorted_by(|a, b| a.slot.id < b.slot.id),
            "a partition is in a request once"
        );
        let transactional_id = self.transactions.as_deref().map(Transactions::name);
        let request = wire::build(&parts, class.acks, class.timeout_ms, transactional_id);
        let (key, id) = (BrokerKey::general(node), self.requests.next_id());
        let tag = Tag {
            owner: Owner::Producer,
            id,
        };
        let (now, timeout) = (ctx.now, self.request_timeout_of(&parts, ctx.now));
        let sent = if class.acks == 0 {
            ctx.connections
                .send_unanswered(key, now, tag, &request, class.version, timeout)
        } else {
            ctx.connections.send(key, now, tag, &request, class.version, timeout)
        };
        ctx.connections.keep(key, now + KEPT_AFTER_PRODUCE);
        for part in &parts {
            ctx.log
                .debug(DebugContexts::MSG, "PRODUCE", || describe_part(part, class, node));
        }
        if sent.is_ok() {
            self.count_sent(now, node, &mut parts);
        }
        let slots: Vec<Slot> = parts.into_iter().map(|p| p.slot).collect();
        match sent {
            Ok(()) => {
                for slot in &slots {
                    if let (Some(partition_sender), Some(batch)) = (self.partition_sender(slot.id), &slot.batch) {
                        partition_sender.in_flight.push(InFlightBatch {
                            request: id,
                            first_id: batch.first_id,
                        });
                    }
                }
                self.requests.insert(id, InFlight { node, slots });
                if let Some(transactions) = &mut self.transactions {
                    transactions.on_sent();
                }
                self.broker_queues.entry(node).or_default().limiter.on_sent();
            }
            Err(error) => self.on_send_error(ctx, cluster, slots, &error),
        }
    }

    /// Returns how long the broker has to answer a request: `socket.timeout.ms`, or less when records time out before that
    /// (`message.timeout.ms`). When this has passed, the connection is closed, and the records that are left are sent again.
    fn request_timeout_of(&self, parts: &[Part], now: Instant) -> Duration {
        let expiry = |part: &Part| {
            let topic = self.topics.get(part.slot.id.topic as usize)?.as_ref()?;
            Some(part.slot.batch.as_ref()?.oldest()? + topic.settings.message_timeout?)
        };
        let left = parts.iter().filter_map(expiry).min().map(|at| at.since(now));
        self.request_timeout
            .min(left.map_or(Duration::MAX, |left| left.max(ANSWER_TIME_MIN)))
    }

    /// A request could not be handed to the connection: a connection that has just gone is waited for, anything else is final.
    fn on_send_error(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, slots: Vec<Slot>, error: &Error) {
        for slot in slots {
            let Some(batch) = slot.batch else { continue };
            if error.code == ErrorCode::L_TRANSPORT {
                if let Some(partition_sender) = self.partition_sender(slot.id) {
                    partition_sender.put_back(batch);
                }
                self.enqueue(ctx, cluster, slot.id);
            } else {
                let status = batch.status();
                self.deliver(slot.id, batch, Some(error.clone()), status, ctx.now);
            }
        }
    }
}

/// Closes a partition's open batch for a request with so many bytes `left`, `None` when the request is empty. As long as it
/// is open it goes on filling, and so it stays while the broker is busy, or when the request has no room for it: closed it
/// would be the next request's, and alone there when the others are held. How small a codec makes it shows only once it is
/// closed.
fn close_open(
    partition_sender: &mut PartitionSender,
    queue: Option<&PartitionQueue>,
    would_queue: bool,
    left: Option<usize>,
    codec: Codec,
) -> Option<TakenPart> {
    if would_queue {
        partition_sender.held = true;
        return Some(TakenPart::QueuedCounts);
    }
    let queue = queue?;
    if codec == Codec::None && left.is_some_and(|left| queue.open_len() > left) {
        return Some(TakenPart::Full);
    }
    partition_sender.close_open_batch(queue);
    None
}

/// A batch leaves its queue.
fn log_dequeue(ctx: &Ctx<'_>, name: &str, id: PartitionId, batch: &Batch, more: bool) {
    ctx.log.debug(DebugContexts::QUEUE, "DEQUEUE", || {
        let waited = batch.oldest().map_or(0, |at| ctx.now.since(at).as_millis());
        let (partition, n) = (id.partition, batch.records.len());
        let behind = if more { ", more is waiting" } else { "" };
        format!("{name} [{partition}]: {n} message(s) leave the queue after {waited}ms{behind}")
    });
}

/// What goes to a broker, for the log.
fn describe_part(part: &Part, class: Class, node: NodeId) -> String {
    let (batch, id) = (part.slot.batch.as_ref(), part.slot.id);
    let (n, attempt) = batch.map_or((0, 1), |b| (b.records.len(), b.attempts + 1));
    let numbers = batch.and_then(|b| b.stamp).map(|s| {
        format!(
            ", producer id {}, epoch {}, sequence {}",
            s.producer_id, s.epoch, s.base_sequence
        )
    });
    format!(
        "{} [{}]: MessageSet with {n} message(s), {} bytes, to broker {node} (attempt {attempt}, acks={}, version {}{})",
        part.name,
        id.partition,
        part.data.len(),
        class.acks,
        class.version,
        numbers.unwrap_or_default()
    )
}
