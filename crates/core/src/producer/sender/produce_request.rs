//! Builds produce requests and sends them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::compression::Codec;

use super::Sender;
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, BrokerVersions, Ready};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::producer::PartitionId;
use crate::producer::batch::Batch;
use crate::producer::broker_queue::BrokerQueue;
use crate::producer::in_flight::{InFlight, Slot};
use crate::producer::partition_queue::PartitionQueue;
use crate::producer::partition_sender::{InFlightBatch, PartitionSender, TopicSettings};
use crate::producer::producer_id::ProducerIdState;
use crate::producer::transactions::Transactions;
use crate::producer::wire::{self, Part};
use crate::sys::Instant;
use crate::types::NodeId;

/// The minimum request timeout: records that are about to time out must not close a working connection.
const ANSWER_TIME_MIN: Duration = Duration::from_millis(100);
/// The time after the last Produce request to a leader in which a lost connection is re-established at once, so that the
/// next message need not wait for one. Brokers close idle connections after 10 minutes (`connections.max.idle.ms`).
const KEPT_AFTER_PRODUCE: Duration = Duration::from_secs(30 * 60);

/// The properties that all partitions of one request share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    version: i16,
    acks: i16,
    timeout_ms: i32,
}

/// Returns the class of a request for a partition's records: `Some(None)` without a common version, `None` while the
/// partition is not part of the transaction.
#[allow(clippy::option_option)] // two reasons to send nothing, with different consequences
fn class_of(
    transactions: Option<&mut Transactions>,
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

/// The contribution of a ready partition to a request.
#[allow(clippy::large_enum_variant)] // lives on the stack for one step
enum TakenPart {
    Part(Part, Class),
    Nothing,
    /// Its batch belongs in a request of another class.
    OtherClass,
    /// Its batch would exceed the request's size limit.
    Full,
    /// Its open batch keeps filling.
    Held,
}

impl Sender {
    /// Sends the ready batches of a broker while its connection accepts requests.
    pub(super) fn serve(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        let key = BrokerKey::general(node);
        // Waiting records are purged once the application can read the error.
        if self.records.is_fatal() {
            return;
        }
        loop {
            let unknown = self.producer_id.as_ref().is_some_and(|i| i.current().is_none());
            let Some(broker_queue) = self.broker_queues.get_mut(node).filter(|q| q.ready_len() > 0) else {
                return;
            };
            if unknown || broker_queue.is_saturated() {
                // The assignment of the id or the outcome of a request resumes the queue.
                return broker_queue.wait();
            }
            let max_unsent = ctx.conf.queue_buffering_backpressure_threshold.into();
            match ctx.connections.ready_for_bulk(key, ctx.now, max_unsent) {
                Ready::Yes(versions) => {
                    if !self.send_one(ctx, cluster, node, &versions) {
                        return;
                    }
                }
                Ready::Busy | Ready::Connecting => return broker_queue.wait(),
                Ready::Unknown => {
                    let ids = broker_queue.take_all();
                    return self.wait_for_broker(ctx, cluster, node, ids);
                }
            }
        }
    }

    /// Requests metadata for partitions whose leader has no known address, and tries them again after `retry.backoff.ms`.
    fn wait_for_broker(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, ids: VecDeque<PartitionId>) {
        let until = ctx.now.plus_ms(ctx.conf.retry_backoff_ms.into());
        for id in ids {
            let Some(topic) = self.records.topic_mut(id.topic) else {
                continue;
            };
            cluster.request_refresh(&topic.name, ctx.now);
            let Some(partition_sender) = topic.partition_sender(id.partition) else {
                continue;
            };
            partition_sender.leave_queue(node);
            self.records.block_until(id, until);
        }
        ctx.log.debug(DebugContexts::TOPIC, "PRODUCE", || {
            format!("leader {node} has no known address")
        });
    }

    /// Builds and sends one request. Returns false when no partition had a batch.
    fn send_one(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, versions: &BrokerVersions) -> bool {
        let mut parts = Vec::new();
        let mut class = None;
        let mut bytes = 0;
        let rounds = self.broker_queues.get(node).map_or(0, BrokerQueue::ready_len);
        for _ in 0..rounds {
            let Some(id) = self.broker_queues.get_mut(node).and_then(BrokerQueue::pop_ready) else {
                break;
            };
            let taken = self.take_part(ctx, cluster, node, versions, id, class, bytes);
            if matches!(taken, TakenPart::Held) {
                ctx.log.debug(DebugContexts::QUEUE, "HELD", || {
                    format!("{}: keeps filling: broker {node} is busy", self.records.tp_name(id))
                });
            }
            let Some(broker_queue) = self.broker_queues.get_mut(node) else {
                break;
            };
            match taken {
                TakenPart::Part(part, its_class) => {
                    bytes += part.data.len();
                    class = Some(its_class);
                    parts.push(part);
                }
                TakenPart::Nothing => {}
                TakenPart::OtherClass => broker_queue.push_last(id),
                TakenPart::Full => {
                    broker_queue.push_first(id);
                    break;
                }
                TakenPart::Held => broker_queue.hold(id),
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

    /// Takes a partition's next batch for a request to `node` that already has `bytes`.
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
        let Some(topic) = self.records.topic_mut(id.topic) else {
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
        let transactions = self.records.transactions_mut().map(|(t, _)| t);
        let this = class_of(transactions, versions, id, &name, settings, topic_id != Uuid::ZERO);
        let Some(this) = this else {
            // The partition is enqueued again when the transaction has added it.
            if let Some(partition_sender) = self.records.partition(id) {
                partition_sender.queued_on = None;
            }
            return TakenPart::Nothing;
        };
        if class.is_some() && class != this {
            return TakenPart::OtherClass;
        }
        if let Some(left_open) = self.close_for_request(node, id, bytes, settings.codec) {
            return left_open;
        }
        let waits = self.waits_for_job(id, this, settings);
        let Some(partition_sender) = self.records.partition(id) else {
            return TakenPart::Nothing;
        };
        if waits {
            partition_sender.queued_on = None;
            return TakenPart::Nothing;
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
            None => Err(no_common_version(node)),
        };
        if let Ok((_, data)) = &sealed
            && bytes > 0
            && bytes.saturating_add(data.len()) > max_request
        {
            partition_sender.put_back(batch);
            return TakenPart::Full;
        }
        match sealed {
            Ok((class, data)) => {
                let more = partition_sender.has_work(ctx.now) && !rules.one_at_a_time;
                partition_sender.queued_on = more.then_some(node);
                if more && let Some(broker_queue) = self.broker_queues.get_mut(node) {
                    broker_queue.push_last(id);
                }
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
                partition_sender.queued_on = None;
                self.fail_unsealed(ctx, cluster, id, batch, error);
                TakenPart::Nothing
            }
        }
    }

    /// Fails a batch that cannot be encoded. Enqueueing has the broker served again: no request is sent whose end would do so.
    fn fail_unsealed(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: PartitionId, batch: Batch, error: Error) {
        let status = batch.status();
        self.records.deliver(id, batch, Some(error), status, ctx.now);
        self.enqueue(ctx, cluster, id);
    }

    /// Closes a partition's open batch, if no other batch is pending, for a request to `node` that already has `bytes`.
    fn close_for_request(&mut self, node: NodeId, id: PartitionId, bytes: usize, codec: Codec) -> Option<TakenPart> {
        let accumulator = self.records.accumulator().clone();
        let partition_sender = self.records.partition(id).filter(|p| p.pending.is_empty())?;
        let would_queue = self.broker_queues.get(node).is_some_and(BrokerQueue::would_queue);
        let queue = accumulator.topic(id.topic).and_then(|t| t.partition(id.partition));
        let limit = (bytes > 0).then(|| self.max_request.saturating_sub(bytes));
        close_open(partition_sender, queue, would_queue, limit, codec)
    }

    /// Returns whether a partition's next batch waits for a job. The partition is tried again when a job ends.
    fn waits_for_job(&mut self, id: PartitionId, class: Option<Class>, settings: TopicSettings) -> bool {
        let Some(class) = class.filter(|c| wire::has_record_batches(c.version)) else {
            return false;
        };
        let codec = wire::codec_for(class.version, settings.codec);
        // With a gap, the batch to be sent need not be the first one.
        let partition_sender = self.records.partition(id).filter(|p| !p.sequences.has_gap());
        partition_sender.is_some_and(|p| self.sealing.must_wait(id, codec, settings.level, &mut p.pending))
    }

    /// Warns once per client when a broker's version forces other acks or another codec than configured.
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
        // A topic's partitions must be adjacent, and responses are matched by binary search.
        parts.sort_by_key(|p| p.slot.id);
        debug_assert!(
            parts.is_sorted_by(|a, b| a.slot.id < b.slot.id),
            "a partition is in a request once"
        );
        let transactional_id = self.records.transactions().map(Transactions::name);
        let request = wire::build(&parts, class.acks, class.timeout_ms, transactional_id);
        let (key, tag) = (BrokerKey::general(node), self.records.router_mut().next_tag());
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
                    if let (Some(partition_sender), Some(batch)) = (self.records.partition(slot.id), &slot.batch) {
                        partition_sender.in_flight.push(InFlightBatch {
                            request: tag.id,
                            first_id: batch.first_id,
                        });
                    }
                }
                self.records.requests_mut().insert(tag.id, InFlight { node, slots });
                if let Some((transactions, _)) = self.records.transactions_mut() {
                    transactions.on_sent();
                }
                self.broker_queues.entry(node).on_sent();
            }
            Err(error) => self.on_send_error(ctx, cluster, slots, &error),
        }
    }

    /// Returns the timeout of a request: `socket.timeout.ms`, or less when records time out before that
    /// (`message.timeout.ms`). On timeout the connection is closed, and the remaining records are sent again.
    fn request_timeout_of(&self, parts: &[Part], now: Instant) -> Duration {
        let expiry = |part: &Part| {
            let topic = self.records.topic(part.slot.id.topic)?;
            Some(part.slot.batch.as_ref()?.oldest()? + topic.settings.message_timeout?)
        };
        let left = parts.iter().filter_map(expiry).min().map(|at| at.since(now));
        self.request_timeout
            .min(left.map_or(Duration::MAX, |left| left.max(ANSWER_TIME_MIN)))
    }

    /// Handles a request that the connection did not accept: after a lost connection its batches are sent again, after
    /// any other error they fail.
    fn on_send_error(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, slots: Vec<Slot>, error: &Error) {
        for slot in slots {
            let Some(batch) = slot.batch else { continue };
            if error.code == ErrorCode::L_TRANSPORT {
                if let Some(partition_sender) = self.records.partition(slot.id) {
                    partition_sender.put_back(batch);
                }
                self.enqueue(ctx, cluster, slot.id);
            } else {
                let status = batch.status();
                self.records
                    .deliver(slot.id, batch, Some(error.clone()), status, ctx.now);
            }
        }
    }
}

/// Closes a partition's open batch for a request with room for `left` bytes, `None` when the request is empty. The
/// batch stays open and keeps filling while the broker is busy, or when the request has no room for it: a closed batch
/// would go into the next request, alone if the others are held. The compressed size is known only once the batch is
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
        return Some(TakenPart::Held);
    }
    let queue = queue?;
    if codec == Codec::None && left.is_some_and(|left| queue.open_len() > left) {
        return Some(TakenPart::Full);
    }
    partition_sender.close_open_batch(queue);
    None
}

fn no_common_version(node: NodeId) -> Error {
    let text = format!("broker {node} and this client have no version of Produce in common");
    Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, text)
}

/// Logs that a batch leaves its queue.
fn log_dequeue(ctx: &Ctx<'_>, name: &str, id: PartitionId, batch: &Batch, more: bool) {
    ctx.log.debug(DebugContexts::QUEUE, "DEQUEUE", || {
        let waited = batch.oldest().map_or(0, |at| ctx.now.since(at).as_millis());
        let (partition, n) = (id.partition, batch.records.len());
        let behind = if more { ", more is waiting" } else { "" };
        format!("{name} [{partition}]: {n} message(s) leave the queue after {waited}ms{behind}")
    });
}

/// Returns the log line of a batch that is sent.
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
