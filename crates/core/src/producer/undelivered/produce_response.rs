//! The outcomes of produce requests: acknowledgements, retries, splits and errors.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ApiKey;
use ottla_protocol::api::produce::{NodeEndpoint, PartitionProduceResponse, ProduceRequest, ProduceResponse};

use super::UndeliveredRecords;
use crate::cluster::{Cluster, NodeInfo};
use crate::connection::{BrokerKey, Outcome, Reply};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::producer::batch::{Batch, Preparation};
use crate::producer::in_flight::InFlight;
use crate::producer::retry_policy::{RetryDecision, classify, is_sequence_error};
use crate::producer::transactions::{self, Transactions};
use crate::producer::{PartitionId, wire};
use crate::request::decode;
use crate::types::{NodeId, PersistStatus, offset};

impl UndeliveredRecords {
    /// Handles the outcome of a produce request that was removed from the requests in flight.
    pub(in crate::producer) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        id: u64,
        mut request: InFlight,
        outcome: Outcome,
    ) {
        match outcome {
            Outcome::Sent => {
                for slot in request.slots {
                    if let Some(batch) = slot.batch {
                        // Without acknowledgements (acks=0) the broker may have lost it.
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
            Outcome::Reply(reply) => match decode::<ProduceRequest>(ctx, key, &reply) {
                Ok(response) => self.on_response(ctx, cluster, key, &reply, response, request),
                Err(error) => self.fail_all(ctx, cluster, &mut request, &error, true),
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
    }

    /// Handles a request without a response. When nothing was written to the socket, the attempt does not count.
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
                self.index_of(&topic.name)
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
        // Formatting an error for each response would cost as much as decoding it.
        if request.slots.iter().all(|s| s.batch.is_none()) {
            return;
        }
        let error = Error::new(
            ErrorCode::L_BAD_MSG,
            format!("the response of broker {} does not contain the partition", request.node),
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
            if let (Some(stamp), Some(partition_sender)) = (batch.stamp, self.partition(id)) {
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
            // The leader may have changed while the batch was in flight, so that the new one is known already.
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

    /// Handles a batch that was rejected because of single records (KIP-467). Returns it if the response names none of
    /// its records.
    ///
    /// A broker accepts or rejects a batch as a whole, and names the invalid records. Those are reported with the
    /// broker's message for each; the others are sent again without them, in the same order. If no retry is left, or if
    /// an earlier attempt may have written the whole batch under its sequence numbers, the others are reported with
    /// [`L_INVALID_DIFFERENT_RECORD`](ErrorCode::L_INVALID_DIFFERENT_RECORD).
    fn on_record_errors(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: PartitionId,
        mut batch: Batch,
        part: &PartitionProduceResponse,
        error: &Error,
    ) -> Option<Batch> {
        let left = batch.left_in_flight;
        let in_request = 0..left + batch.records.len();
        let named: BTreeMap<usize, &str> = part
            .record_errors
            .iter()
            .filter_map(|e| {
                let index = usize::try_from(e.batch_index).ok()?;
                let words = e.batch_index_error_message.as_deref().unwrap_or(&error.message);
                in_request.contains(&index).then_some((index, words))
            })
            .collect();
        if named.is_empty() {
            return Some(batch);
        }
        let numbered = batch.stamp.is_some();
        let status = batch.status();
        for words in named.values().copied().collect::<BTreeSet<&str>>() {
            let refused = Batch {
                records: batch.records.select(|i| named.get(&(i + left)) == Some(&words)),
                broker_id: batch.broker_id,
                stamp: batch.stamp,
                ..Batch::default()
            };
            if !refused.records.is_empty() {
                self.deliver(id, refused, Some(Error::new(error.code, words)), status, ctx.now);
            }
        }
        batch.records = batch.records.select(|i| !named.contains_key(&(i + left)));
        batch.sealed = None;
        batch.preparation = Preparation::None;
        let text = "another record of the same batch was refused";
        let innocent = Error::new(ErrorCode::L_INVALID_DIFFERENT_RECORD, text);
        let decision = match numbered && batch.maybe_persisted {
            true => RetryDecision::Fail,
            false => {
                batch.stamp = None;
                RetryDecision::Retry
            }
        };
        self.on_rejected(ctx, id, batch, decision, false, &innocent, true);
        None
    }

    /// Handles a batch whose sequence number does not follow the last one that the broker has of this producer.
    ///
    /// Mostly a batch before it failed, and it is sent again behind that one. When every batch before it is settled,
    /// the broker has lost an acknowledged batch, or a batch before it was abandoned. With new numbers it can be
    /// written nevertheless, unless an earlier attempt may have written it already.
    fn on_sequence_error(&mut self, ctx: &mut Ctx<'_>, id: PartitionId, mut batch: Batch, error: &Error) {
        if batch.records.is_empty() {
            return;
        }
        let fatal = self.is_fatal();
        let Some(partition_sender) = self.partition(id) else {
            return;
        };
        if !partition_sender.is_first_unresolved(batch.first_id) && !fatal {
            return self.put_back(id, batch);
        }
        let lost = partition_sender.sequences.mark_gap();
        let transactional = batch.stamp.is_some_and(|s| s.transactional);
        // A transaction fails with its own error.
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
                // No broker has it under its numbers, and none will accept it under them. A later batch that may be in
                // the log is sent alone, under its old numbers.
                batch.stamp = None;
                batch.sealed = None;
                RetryDecision::RetryUncounted
            }
        };
        self.on_rejected(ctx, id, batch, decision, false, error, false);
    }

    /// Retries, splits or fails a batch that was not acknowledged. With `at_once` a retry does not wait.
    #[allow(clippy::too_many_arguments)] // one decision with all that it depends on
    fn on_rejected(
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
            // All records expired while the request was in flight. An empty batch, put back, would be sent, and would
            // hide the ages of the batches behind it.
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
                    self.block(id, ctx.now + transactions::concurrent_txn_backoff(failed));
                } else if !at_once {
                    let pause = ctx.retry_delay(failed);
                    self.block(id, ctx.now + pause);
                }
            }
            _ => {
                let status = batch.status();
                self.deliver(id, batch, Some(error.clone()), status, ctx.now);
            }
        }
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
}

/// Applies the leader that a response names (KIP-951). Returns whether it is a newer one.
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

#[cfg(test)]
mod tests;
