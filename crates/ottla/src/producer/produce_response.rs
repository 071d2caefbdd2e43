//! What became of produce requests: acknowledgements, retries, splits and errors.

use std::time::Duration;

use ottla_protocol::ApiKey;
use ottla_protocol::api::produce::{NodeEndpoint, PartitionProduceResponse, ProduceRequest, ProduceResponse};

use super::batch::Batch;
use super::in_flight::InFlight;
use super::retry_policy::{RetryDecision, classify, is_sequence_error};
use super::sender::Sender;
use super::timers::{TimerKind, retry_delay};
use super::transactions::{self, Transactions};
use super::{PartitionId, wire};
use crate::cluster::{Cluster, NodeInfo};
use crate::connection::{BrokerKey, Outcome, Reply};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Delivery, DeliveryMode, Event, Reservation};
use crate::log::{DebugContexts, level};
use crate::sys::Instant;
use crate::types::{NodeId, PersistStatus, offset};

impl Sender {
    /// What became of a request of this manager.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, id: u64, outcome: Outcome) {
        if self.on_producer_id_outcome(ctx, key, id, &outcome)
            || self.on_transaction_outcome(ctx, cluster, key, id, &outcome)
        {
            return;
        }
        let Some(mut request) = self.requests.remove(id) else {
            return;
        };
        let partitions: Vec<PartitionId> = request.slots.iter().map(|s| s.id).collect();
        for at in &partitions {
            if let Some(partition_sender) = self.partition_sender(*at) {
                partition_sender.in_flight.retain(|b| b.request != id);
            }
        }
        if let Some(broker_queue) = self.broker_queues.get_mut(&request.node) {
            let took = match &outcome {
                Outcome::Reply(reply) => Some(reply.rtt),
                _ => None,
            };
            broker_queue.limiter.on_done(took, ctx.now);
        }
        self.release_held(request.node);
        self.resume_broker(key);
        match outcome {
            Outcome::Sent => {
                for slot in request.slots {
                    if let Some(batch) = slot.batch {
                        // Handed to the kernel and never confirmed.
                        self.acknowledge(
                            slot.id,
                            batch,
                            offset::INVALID,
                            None,
                            PersistStatus::PossiblyPersisted,
                            ctx,
                        );
                    }
                }
            }
            Outcome::Reply(reply) => match reply.decode::<ProduceRequest>() {
                Ok(response) => self.on_response(ctx, cluster, key, &reply, response, request),
                Err(e) => {
                    let error = ctx.connections.fail_unreadable(key, "Produce", e, ctx.now);
                    self.fail_all(ctx, cluster, &mut request, &error, true);
                }
            },
            Outcome::Failed(failure) => {
                let mut error = failure.error;
                if error.message.is_empty() {
                    error.message = error.code.description().into_owned();
                }
                for batch in request.slots.iter().filter_map(|s| s.batch.as_ref()) {
                    request.withdraw(ctx, id, batch);
                }
                self.fail_all(ctx, cluster, &mut request, &error, failure.written);
            }
        }
        for at in partitions {
            // The topic may have been made anew with fewer partitions while the request was under way.
            if self
                .accumulator
                .topic(at.topic)
                .is_some_and(|queue| at.partition >= queue.count())
            {
                self.fail_without_partition(ctx, at);
            } else {
                self.enqueue(ctx, cluster, at);
            }
        }
    }

    /// No response came. When nothing was written, the attempt does not count.
    fn fail_all(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        request: &mut InFlight,
        error: &Error,
        written: bool,
    ) {
        let mut last = None;
        for slot in &mut request.slots {
            let Some(mut batch) = slot.batch.take() else {
                continue;
            };
            batch.maybe_persisted |= written;
            let batch = self.without_expired(ctx.now, slot.id, batch);
            if last != Some(slot.id.topic)
                && let Some(topic) = self.topic_mut(slot.id.topic)
            {
                // The leader may have moved.
                cluster.request_refresh(&topic.name, ctx.now);
                last = Some(slot.id.topic);
            }
            self.on_rejected(
                ctx,
                slot.id,
                batch,
                if written {
                    RetryDecision::Retry
                } else {
                    RetryDecision::Resend
                },
                written,
                error,
                false,
            );
        }
    }

    fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        reply: &Reply,
        response: ProduceResponse,
        mut request: InFlight,
    ) {
        let api = (ApiKey::PRODUCE, reply.version);
        ctx.connections
            .on_throttle_time(key, api, response.throttle_time_ms, ctx.now);
        for topic in &response.responses {
            let index = if wire::is_by_id(reply.version) {
                request
                    .slots
                    .iter()
                    .find(|s| s.topic_id == topic.topic_id)
                    .map(|s| s.id.topic)
            } else {
                self.by_name.get(topic.name.as_str()).copied()
            };
            let Some(index) = index else { continue };
            for part in &topic.partition_responses {
                let id = PartitionId {
                    topic: index,
                    partition: part.index,
                };
                let Ok(at) = request.slots.binary_search_by_key(&id, |s| s.id) else {
                    continue;
                };
                let batch = request.slots.get_mut(at).and_then(|s| s.batch.take());
                if let Some(batch) = batch {
                    self.on_partition_response(ctx, cluster, id, batch, part, &response.node_endpoints);
                }
            }
        }
        // A text for each response would cost as much as reading it.
        if request.slots.iter().all(|s| s.batch.is_none()) {
            return;
        }
        let error = Error::new(
            ErrorCode::L_BAD_MSG,
            format!("the response of broker {} says nothing of the partition", request.node),
        );
        for slot in request.slots {
            if let Some(batch) = slot.batch {
                self.on_rejected(ctx, slot.id, batch, RetryDecision::Retry, true, &error, false);
            }
        }
    }

    fn on_partition_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        id: PartitionId,
        batch: Batch,
        part: &PartitionProduceResponse,
        endpoints: &[NodeEndpoint],
    ) {
        let code = ErrorCode::from(part.error_code);
        let is_duplicate = batch.stamp.is_some() && code == ErrorCode::DUPLICATE_SEQUENCE_NUMBER;
        if code.is_ok() || is_duplicate {
            if let (Some(stamp), Some(partition_sender)) = (batch.stamp, self.partition_sender(id)) {
                let records = (batch.first_id, batch.records.len());
                partition_sender.sequences.on_acknowledged(stamp, records, ctx.now);
            }
            let time = (part.log_append_time_ms >= 0).then_some(part.log_append_time_ms);
            return self.acknowledge(id, batch, part.base_offset, time, PersistStatus::Persisted, ctx);
        }
        if batch.stamp.is_some() && is_sequence_error(code) {
            let error = Error::new(code, part.error_message.clone().unwrap_or_default());
            return self.on_sequence_error(ctx, id, batch, &error);
        }
        let acks = self.topic_mut(id.topic).map_or(-1, |t| t.settings.acks);
        let (decision, may_be_written) = classify(code, part, acks);
        let error = Error::new(code, part.error_message.clone().unwrap_or_default());
        let Some(name) = self.topic_mut(id.topic).map(|t| t.name.clone()) else {
            return;
        };
        let mut moved = false;
        if code.action().refreshes_metadata() {
            // Another leader is known already when the batch was under way while it changed.
            let known = cluster
                .leader(&name, id.partition)
                .is_some_and(|l| l.0 != batch.broker_id);
            moved = follow_hint(ctx, cluster, &name, part, endpoints) || known;
            if !moved {
                cluster.request_refresh(&name, ctx.now);
            }
        }
        let batch = match (decision, part.record_errors.is_empty()) {
            (RetryDecision::Fail, false) => self.on_record_errors(ctx, id, batch, part, &error),
            _ => Some(batch),
        };
        if let Some(batch) = batch {
            self.on_rejected(ctx, id, batch, decision, may_be_written, &error, moved);
        }
    }

    /// The broker finds that a batch does not follow what it has of this producer.
    ///
    /// Mostly a batch before it failed, and it is sent again behind that one. When nothing before it is unsettled, the
    /// broker has lost what went before, or that was given up: with new numbers the batch can be written all the same,
    /// unless an earlier attempt may have written it already.
    fn on_sequence_error(&mut self, ctx: &mut Ctx<'_>, id: PartitionId, mut batch: Batch, error: &Error) {
        if batch.records.is_empty() {
            return;
        }
        let fatal = self.is_fatal();
        let Some(partition_sender) = self.partition_sender(id) else {
            return;
        };
        if !partition_sender.is_first_unresolved(batch.first_id) && !fatal {
            return self.put_back(id, batch);
        }
        let lost = !std::mem::replace(&mut partition_sender.sequences.gap, true);
        let transactional = batch.stamp.is_some_and(|s| s.transactional);
        // A transaction fails for it, and says so.
        if lost && !transactional && !fatal {
            ctx.log.log(level::WARNING, "SEQUENCE", || {
                let name = self.tp_name(id);
                format!("{name}: the broker does not have what it acknowledged before ({error})")
            });
            if self.gapless {
                self.raise_fatal(error.clone());
            }
        }
        let decision = match batch.maybe_persisted || transactional {
            true => RetryDecision::Fail,
            false => {
                // Nobody has it under its numbers, and nobody will take it under them. What comes behind it and may be in
                // the log is asked for alone.
                batch.stamp = None;
                batch.sealed = None;
                RetryDecision::RetryUncounted
            }
        };
        self.on_rejected(ctx, id, batch, decision, false, error, false);
    }

    /// A batch was not acknowledged: retries it, splits it, or gives it up. `at_once`: a retry need not wait.
    #[allow(clippy::too_many_arguments)] // one decision with all that it depends on
    pub(super) fn on_rejected(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: PartitionId,
        mut batch: Batch,
        decision: RetryDecision,
        may_be_written: bool,
        error: &Error,
        at_once: bool,
    ) {
        if batch.records.is_empty() {
            // They expired while the request was under way. Put back, the empty batch would be sent, and would hide the
            // ages of those behind it.
            return;
        }
        batch.maybe_persisted |= may_be_written;
        batch.last_error = Some(error.code);
        batch.left_in_flight = 0;
        let max_retries = ctx.conf.message_send_max_retries;
        let is_aborting = self.is_fatal() || self.transactions.as_deref().is_some_and(Transactions::is_aborting);
        let decision = if is_aborting { RetryDecision::Fail } else { decision };
        ctx.log.debug(DebugContexts::MSG, "MSGSET", || {
            let (name, n) = (self.tp_name(id), batch.records.len());
            let retry = batch.retries;
            format!("{name}: MessageSet with {n} message(s) encountered an error: {error} ({decision:?}, {retry} retries before)")
        });
        match decision {
            RetryDecision::Split if batch.records.len() > 1 => {
                let front = batch.split_front(batch.records.len() / 2);
                for half in [front, batch] {
                    self.put_back(id, half);
                }
            }
            RetryDecision::Resend => self.put_back(id, batch),
            _ if decision.allows(batch.retries, max_retries) => {
                batch.retries += u32::from(decision.counts());
                batch.attempts += 1;
                if decision == RetryDecision::Reencode {
                    batch.sealed = None;
                }
                let failed = batch.attempts - 1;
                self.put_back(id, batch);
                if error.code == ErrorCode::CONCURRENT_TRANSACTIONS {
                    self.block(ctx, id, transactions::concurrent_txn_backoff(failed));
                } else if !at_once {
                    let pause = retry_delay(ctx, failed);
                    self.block(ctx, id, pause);
                }
            }
            _ => {
                let status = batch.status();
                self.deliver(id, batch, Some(error.clone()), status, ctx.now);
            }
        }
    }

    /// Puts a batch where its records belong and sees to its timeout.
    fn put_back(&mut self, id: PartitionId, batch: Batch) {
        let oldest = batch.oldest();
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let timeout = topic.settings.message_timeout;
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        partition_sender.put_back(batch);
        if let (Some(at), Some(timeout)) = (oldest, timeout) {
            self.timers
                .arm(&mut partition_sender.armed, TimerKind::Expiry, id, at + timeout);
        }
    }

    /// Has a partition wait before its next attempt.
    fn block(&mut self, ctx: &mut Ctx<'_>, id: PartitionId, pause: Duration) {
        let until = ctx.now + pause;
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        let until = partition_sender.blocked_until.map_or(until, |before| before.max(until));
        partition_sender.blocked_until = Some(until);
        self.timers
            .arm(&mut partition_sender.armed, TimerKind::Backoff, id, until);
    }

    fn acknowledge(
        &mut self,
        id: PartitionId,
        batch: Batch,
        base_offset: i64,
        log_append_time: Option<i64>,
        status: PersistStatus,
        ctx: &Ctx<'_>,
    ) {
        let skipped = i64::try_from(batch.left_in_flight).unwrap_or(0);
        let base_offset = if base_offset >= 0 {
            base_offset + skipped
        } else {
            offset::INVALID
        };
        ctx.log.debug(DebugContexts::MSG, "MSGSET", || {
            let (name, n) = (self.tp_name(id), batch.records.len());
            format!("{name}: MessageSet with {n} message(s) delivered at offset {base_offset} ({status:?})")
        });
        self.report(id, batch, None, status, base_offset, log_append_time, ctx.now);
    }

    /// Reports records that were not delivered.
    pub(super) fn deliver(
        &mut self,
        id: PartitionId,
        batch: Batch,
        error: Option<Error>,
        status: PersistStatus,
        now: Instant,
    ) {
        if let Some(error) = &error {
            if let Some(stamp) = batch.stamp {
                if let Some(partition_sender) = self.partition_sender(id) {
                    partition_sender.sequences.on_abandoned(stamp, batch.records.len());
                }
                self.on_sequenced_failure(id, error);
            }
            self.on_undelivered(batch.records.len(), batch.stamp.is_some(), error);
        }
        self.report(id, batch, error, status, offset::INVALID, None, now);
    }

    /// Records that have numbers will not be written, or nobody will know: what follows needs new numbers.
    fn on_sequenced_failure(&mut self, id: PartitionId, error: &Error) {
        let by_choice = matches!(
            error.code,
            ErrorCode::L_MSG_TIMED_OUT
                | ErrorCode::L_PURGE_QUEUE
                | ErrorCode::L_PURGE_INFLIGHT
                | ErrorCode::L_DESTROY
                | ErrorCode::L_FATAL
        );
        if self.gapless && !by_choice {
            self.raise_fatal(Error::new(
                ErrorCode::L_GAPLESS_GUARANTEE,
                format!(
                    "a record of partition {} was not delivered ({error}): writing those behind it would leave a gap",
                    id.partition
                ),
            ));
        }
    }

    /// Makes the delivery report; what nobody wants to hear of is forgotten, which frees its room at once.
    #[allow(clippy::too_many_arguments)] // the fields of a report
    fn report(
        &mut self,
        id: PartitionId,
        batch: Batch,
        error: Option<Error>,
        status: PersistStatus,
        base_offset: i64,
        log_append_time: Option<i64>,
        now: Instant,
    ) {
        let Some(queue) = self.accumulator.topic(id.topic) else {
            return;
        };
        if batch.records.is_empty() {
            return;
        }
        if let Some(partition) = queue.partition(id.partition) {
            partition.on_settled(&batch.records);
        }
        let wanted = match self.accumulator.mode() {
            DeliveryMode::All => true,
            DeliveryMode::ErrorsOnly => error.is_some(),
            DeliveryMode::None => false,
        };
        let delivery = Delivery {
            topic: queue.topic().clone(),
            partition: id.partition,
            broker_id: batch.broker_id,
            error,
            status,
            base_offset,
            log_append_time,
            done_at: now,
            records: batch.records,
            buffer_memory: self.accumulator.buffer_memory().clone(),
            released: Reservation::default(),
        };
        if let Some(interceptor) = &self.interceptor {
            interceptor.on_settled(&delivery);
        }
        if wanted {
            self.main_queue.push(Event::Delivery(delivery));
        }
    }
}

/// Takes the leader that a response names (KIP-951); true when it is news.
fn follow_hint(
    ctx: &mut Ctx<'_>,
    cluster: &mut Cluster,
    name: &str,
    part: &PartitionProduceResponse,
    endpoints: &[NodeEndpoint],
) -> bool {
    let hint = &part.current_leader;
    if hint.leader_id < 0 {
        return false;
    }
    let endpoint = endpoints.iter().find(|e| e.node_id == hint.leader_id);
    let address = endpoint.and_then(|e| {
        Some(NodeInfo {
            host: e.host.clone(),
            port: u16::try_from(e.port).ok()?,
            rack: e.rack.clone(),
        })
    });
    cluster.update_leader(
        ctx,
        name,
        part.index,
        NodeId(hint.leader_id),
        hint.leader_epoch,
        address,
    )
}
