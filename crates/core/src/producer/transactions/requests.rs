//! Requests to the coordinators and the effects of their responses.

use std::collections::BTreeMap;

use ottla_protocol::Request as ProtocolRequest;
use ottla_protocol::api::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ottla_protocol::api::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use ottla_protocol::api::describe_transactions::DescribeTransactionsRequest;
use ottla_protocol::api::end_txn::EndTxnRequest;
use ottla_protocol::api::init_producer_id::InitProducerIdRequest;
use ottla_protocol::api::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};

use super::markers::POLL_INTERVAL;
use super::table::{Consequence, RequestKind, consequence};
use super::{Offsets, Phase, Request, Transactions};
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, Outcome, Reply, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::request::{Attempts, CoordinatorType, ReadyBroker, Target, decode, response_of, unsupported};

impl Transactions {
    /// Returns the coordinator that requests of a kind are for.
    pub(super) fn target(&self, kind: RequestKind) -> Target {
        match kind {
            RequestKind::CommitOffsets => Target::Coordinator(CoordinatorType::Group, self.group.clone()),
            _ => Target::Coordinator(CoordinatorType::Transaction, self.name.clone()),
        }
    }

    /// Sends a request if its coordinator is known and connected; otherwise finds and connects the coordinator.
    pub(super) fn send(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router, kind: RequestKind) {
        let target = self.target(kind);
        let broker = match router.connection(ctx, cluster, &target, &mut Attempts::default()) {
            Ok(Some(broker)) => broker,
            Ok(None) => return,
            Err(error) => {
                let lookup = match kind {
                    RequestKind::CommitOffsets => RequestKind::FindGroup,
                    _ => RequestKind::FindCoordinator,
                };
                return self.on_error(ctx, cluster, router, (lookup, error));
            }
        };
        if kind != RequestKind::CommitOffsets {
            self.transaction_version = broker.versions.transaction_version();
            let init = broker.version::<InitProducerIdRequest>();
            self.can_bump = init.is_ok_and(|v| v >= InitProducerIdRequest::EPOCH_BUMP_SINCE);
        }
        let tag = router.next_tag();
        let sent = match kind {
            RequestKind::Init => self.send_init(ctx, &broker, tag),
            RequestKind::AddPartitions => self.send_partitions(ctx, &broker, tag),
            RequestKind::AddOffsets => self.send_group(ctx, &broker, tag),
            RequestKind::CommitOffsets => self.send_offsets(ctx, &broker, tag),
            RequestKind::Commit | RequestKind::Abort => self.send_end(ctx, &broker, tag, kind == RequestKind::Commit),
            RequestKind::Describe => match broker.version::<DescribeTransactionsRequest>() {
                Err(_) => return self.markers.disable(),
                version => self.send_describe(ctx, &broker, version, tag),
            },
            RequestKind::FindCoordinator | RequestKind::FindGroup | RequestKind::Produce => return,
        };
        match sent {
            Ok(()) => {
                ctx.log.debug(DebugContexts::EOS, "TXN", || {
                    format!("{} to broker {}", kind.name(), broker.key.node)
                });
                self.request = Some(Request {
                    id: tag.id,
                    kind,
                    abandoned: false,
                });
            }
            Err(error) if error.code == ErrorCode::L_TRANSPORT => self.retry(ctx, kind, error),
            Err(error) => self.raise(error),
        }
    }

    /// Returns the lowest and the highest version of an API within the transaction version; transaction version 2 begins
    /// with API version `first_v2`.
    fn version_range(&self, first_v2: i16) -> (i16, i16) {
        match self.v2 {
            true => (first_v2, i16::MAX),
            false => (0, first_v2 - 1),
        }
    }

    fn send_init(&mut self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, tag: Tag) -> Result<(), Error> {
        let version = broker.version::<InitProducerIdRequest>();
        let (producer_id, producer_epoch) = match self.phase {
            Phase::Initialising => (-1, -1),
            _ => self.producer.unwrap_or((-1, -1)),
        };
        if producer_id >= 0 && !self.can_bump {
            let text = "the brokers do not support a new epoch after an error: it needs Kafka 2.5 or later";
            return Err(unsupported(text));
        }
        let request = InitProducerIdRequest {
            transactional_id: Some(self.name.clone()),
            transaction_timeout_ms: self.timeout_ms,
            producer_id,
            producer_epoch,
            ..Default::default()
        };
        send(ctx, broker, tag, &request, version)
    }

    fn send_partitions(&mut self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, tag: Tag) -> Result<(), Error> {
        let (producer_id, epoch) = self.producer.unwrap_or((-1, -1));
        let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
        for (at, name) in &self.to_add {
            topics.entry(name).or_default().push(at.partition);
        }
        let topics = topics.into_iter().map(|(name, partitions)| AddPartitionsToTxnTopic {
            name: name.to_owned(),
            partitions,
            ..Default::default()
        });
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.name.clone(),
            v3_and_below_producer_id: producer_id,
            v3_and_below_producer_epoch: epoch,
            v3_and_below_topics: topics.collect(),
            ..Default::default()
        };
        let version = broker.version_within::<AddPartitionsToTxnRequest>(0, AddPartitionsToTxnRequest::CLIENTS_UNTIL);
        send(ctx, broker, tag, &request, version)?;
        self.adding = self.to_add.keys().copied().collect();
        self.started = true;
        Ok(())
    }

    fn send_group(&mut self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, tag: Tag) -> Result<(), Error> {
        let (producer_id, producer_epoch) = self.producer.unwrap_or((-1, -1));
        let request = AddOffsetsToTxnRequest {
            transactional_id: self.name.clone(),
            producer_id,
            producer_epoch,
            group_id: self.group.clone(),
            ..Default::default()
        };
        let version = broker.version::<AddOffsetsToTxnRequest>();
        send(ctx, broker, tag, &request, version)?;
        self.started = true;
        Ok(())
    }

    fn send_offsets(&mut self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, tag: Tag) -> Result<(), Error> {
        let Some(offsets) = &self.offsets else { return Ok(()) };
        let (lowest, highest) = self.version_range(TxnOffsetCommitRequest::TRANSACTION_V2_SINCE);
        let version = broker.version_within::<TxnOffsetCommitRequest>(lowest, highest);
        let request = self.offsets_request(offsets, *version.as_ref().unwrap_or(&0));
        send(ctx, broker, tag, &request, version)?;
        self.started = true;
        Ok(())
    }

    fn offsets_request(&self, offsets: &Offsets, version: i16) -> TxnOffsetCommitRequest {
        let (producer_id, producer_epoch) = self.producer.unwrap_or((-1, -1));
        let mut topics: BTreeMap<&str, Vec<TxnOffsetCommitRequestPartition>> = BTreeMap::new();
        for row in &offsets.rows {
            let metadata = row.metadata.as_deref().unwrap_or_default();
            topics
                .entry(&row.tp.topic)
                .or_default()
                .push(TxnOffsetCommitRequestPartition {
                    partition_index: row.tp.partition,
                    committed_offset: row.offset,
                    committed_leader_epoch: row.leader_epoch,
                    committed_metadata: Some(String::from_utf8_lossy(metadata).into_owned()),
                    ..Default::default()
                });
        }
        let topics = topics
            .into_iter()
            .map(|(name, partitions)| TxnOffsetCommitRequestTopic {
                name: name.to_owned(),
                partitions,
                ..Default::default()
            });
        let base = TxnOffsetCommitRequest {
            transactional_id: self.name.clone(),
            group_id: offsets.group.group_id.clone(),
            producer_id,
            producer_epoch,
            topics: topics.collect(),
            ..Default::default()
        };
        if version < TxnOffsetCommitRequest::MEMBER_SINCE {
            return base;
        }
        TxnOffsetCommitRequest {
            generation_id: offsets.group.generation,
            member_id: offsets.group.member_id.clone(),
            group_instance_id: offsets.group.group_instance_id.clone(),
            ..base
        }
    }

    fn send_end(&mut self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, tag: Tag, committed: bool) -> Result<(), Error> {
        let (producer_id, producer_epoch) = self.producer.unwrap_or((-1, -1));
        let request = EndTxnRequest {
            transactional_id: self.name.clone(),
            producer_id,
            producer_epoch,
            committed,
            ..Default::default()
        };
        let (lowest, highest) = self.version_range(EndTxnRequest::TRANSACTION_V2_SINCE);
        let version = broker.version_within::<EndTxnRequest>(lowest, highest);
        send(ctx, broker, tag, &request, version)?;
        self.ending = true;
        Ok(())
    }

    fn send_describe(
        &self,
        ctx: &mut Ctx<'_>,
        broker: &ReadyBroker,
        version: Result<i16, Error>,
        tag: Tag,
    ) -> Result<(), Error> {
        let request = DescribeTransactionsRequest {
            transactional_ids: vec![self.name.clone()],
            ..Default::default()
        };
        send(ctx, broker, tag, &request, version)
    }

    /// Returns whether the request in flight has this id.
    pub(in crate::producer) fn is_in_flight(&self, id: u64) -> bool {
        self.request.as_ref().is_some_and(|request| request.id == id)
    }

    /// Handles the outcome of the request in flight.
    pub(in crate::producer) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        (key, outcome): (BrokerKey, Outcome),
    ) {
        let Some(request) = self.request.take() else { return };
        if request.kind == RequestKind::Describe {
            return self.on_described(ctx, key, outcome);
        }
        let reply = match outcome {
            Outcome::Reply(reply) => reply,
            Outcome::Failed(failure) => {
                self.has_late_request |= failure.written && !self.v2 && request.kind != RequestKind::Init;
                self.commit_lost |= failure.written && request.kind == RequestKind::Commit;
                if failure.written && request.kind == RequestKind::Init {
                    self.accumulator.count_unanswered_init();
                }
                return self.retry(ctx, request.kind, failure.error);
            }
            Outcome::Sent => return,
        };
        let answer = match read(ctx, key, request.kind, &reply) {
            Ok(answer) => answer,
            Err(error) => return self.retry(ctx, request.kind, error),
        };
        ctx.log.debug(DebugContexts::EOS, "TXN", || {
            format!("{}: {}", request.kind.name(), answer.code.name())
        });
        if answer.code.is_ok() {
            self.attempts.reset();
            self.attempts.schedule(ctx.now);
            self.on_done(&request, answer.producer);
            if matches!(request.kind, RequestKind::Commit | RequestKind::Abort) {
                self.markers.observe_rtt(reply.rtt);
                self.markers.begin(ctx.now);
            }
        } else {
            if request.kind == RequestKind::Init && may_be_done(answer.code) {
                self.accumulator.count_unanswered_init();
            }
            // NOT_COORDINATOR: the broker may have lost that role while the written result was being replicated.
            self.commit_lost |= request.kind == RequestKind::Commit
                && (may_be_done(answer.code) || answer.code == ErrorCode::NOT_COORDINATOR);
            let text = match answer.at {
                Some(at) => format!("{}: {}", at, answer.code.description()),
                None => answer.code.description().into_owned(),
            };
            let error = Error::new(answer.code, text);
            self.on_error(ctx, cluster, router, (request.kind, error));
        }
    }

    /// Handles the outcome of DescribeTransactions.
    fn on_described(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, outcome: Outcome) {
        if let Outcome::Reply(reply) = &outcome {
            self.markers.observe_rtt(reply.rtt);
        }
        let Ok(response) = response_of::<DescribeTransactionsRequest>(ctx, key, outcome) else {
            return self.markers.end();
        };
        let mut states = response.transaction_states.iter();
        let state = states.find(|s| s.transactional_id == self.name);
        match state.map(|s| (ErrorCode::from(s.error_code), s.transaction_state.as_str())) {
            Some((ErrorCode::NO_ERROR, "PrepareCommit" | "PrepareAbort")) => {
                self.attempts.schedule(ctx.now + POLL_INTERVAL)
            }
            Some((ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, _)) => self.markers.disable(),
            _ => self.markers.end(),
        }
    }

    /// Applies a successful response.
    fn on_done(&mut self, request: &Request, producer: Option<(i64, i16)>) {
        self.assigned_count += u64::from(producer.is_some());
        match request.kind {
            RequestKind::Init => {
                let before = self.producer;
                self.producer = producer.or(before);
                // Another producer may have used the transactional.id meanwhile. After an abort the application continues
                // from the committed state, which shows that; here it would continue without noticing.
                if self.bump_before_next && is_forgotten(before, self.producer) {
                    let text = "InitProducerId returned another producer id: the coordinator has lost this producer's state, \
                                and another one may have used its transactional.id since";
                    return self.raise(Error::new(ErrorCode::INVALID_PRODUCER_ID_MAPPING, text));
                }
                match self.phase {
                    Phase::Initialising => self.finish(),
                    _ => {
                        self.started = false;
                        self.forgotten = false;
                        self.bump_on_abort = false;
                        self.bump_before_next = false;
                        self.has_late_request = false;
                    }
                }
            }
            RequestKind::AddPartitions => {
                for at in std::mem::take(&mut self.adding) {
                    // A partition that is no longer in `to_add` was dropped with the transaction.
                    if self.to_add.remove(&at).is_some() {
                        self.added.insert(at);
                        self.newly_added.push(at);
                    }
                }
            }
            // The next call may be for another group.
            RequestKind::AddOffsets if !request.abandoned => {
                self.groups.insert(self.group.clone());
            }
            RequestKind::CommitOffsets if !request.abandoned => {
                self.offsets = None;
                self.end_call(Ok(()));
            }
            RequestKind::Commit => {
                self.producer = producer.or(self.producer);
                self.finish();
            }
            RequestKind::Abort => {
                self.started = false;
                if let Some(next) = producer {
                    self.producer = Some(next);
                    self.bump_on_abort = false;
                }
            }
            RequestKind::AddOffsets | RequestKind::CommitOffsets => {}
            RequestKind::Describe | RequestKind::FindCoordinator | RequestKind::FindGroup | RequestKind::Produce => {}
        }
    }
}

/// Returns whether the coordinator has lost the state of producer `before`: it has assigned another producer id instead of
/// raising the epoch. A new id is also assigned when the epochs of the old one are used up, which is not counted here; the
/// last epoch is reserved for fencing.
fn is_forgotten(before: Option<(i64, i16)>, now: Option<(i64, i16)>) -> bool {
    let differs = |(before, now): ((i64, i16), (i64, i16))| before.0 != now.0 && before.1 < i16::MAX - 1;
    before.zip(now).is_some_and(differs)
}

/// The result that a response contains.
struct Answer {
    code: ErrorCode,
    /// The partition of the code.
    at: Option<String>,
    producer: Option<(i64, i16)>,
}

impl Answer {
    fn new(code: i16, producer: Option<(i64, i16)>) -> Self {
        Answer {
            code: code.into(),
            at: None,
            producer,
        }
    }

    /// Returns the result of the partition whose error has the most severe consequence.
    fn worst<'a>(kind: RequestKind, rows: impl Iterator<Item = (&'a str, i32, i16)>) -> Self {
        let mut answer = Answer::new(0, None);
        let mut worst = Consequence::Done;
        for (topic, partition, code) in rows {
            let this = consequence(kind, code.into());
            if this > worst {
                worst = this;
                answer.code = code.into();
                answer.at = Some(format!("{topic} [{partition}]"));
            }
        }
        answer
    }
}

/// Reads a response.
///
/// # Errors
/// Those of [`decode`].
fn read(ctx: &mut Ctx<'_>, key: BrokerKey, kind: RequestKind, reply: &Reply) -> Result<Answer, Error> {
    let known = |id: i64, epoch: i16| (id >= 0 && epoch >= 0).then_some((id, epoch));
    Ok(match kind {
        RequestKind::Init => {
            let r = decode::<InitProducerIdRequest>(ctx, key, reply)?;
            Answer::new(r.error_code, known(r.producer_id, r.producer_epoch))
        }
        RequestKind::AddPartitions => {
            let r = decode::<AddPartitionsToTxnRequest>(ctx, key, reply)?;
            let rows = r.results_by_topic_v3_and_below.iter().flat_map(|t| {
                let rows = t.results_by_partition.iter();
                rows.map(|p| (t.name.as_str(), p.partition_index, p.partition_error_code))
            });
            Answer::worst(kind, rows)
        }
        RequestKind::AddOffsets => {
            let r = decode::<AddOffsetsToTxnRequest>(ctx, key, reply)?;
            Answer::new(r.error_code, None)
        }
        RequestKind::CommitOffsets => {
            let r = decode::<TxnOffsetCommitRequest>(ctx, key, reply)?;
            let rows = r.topics.iter().flat_map(|t| {
                let rows = t.partitions.iter();
                rows.map(|p| (t.name.as_str(), p.partition_index, p.error_code))
            });
            Answer::worst(kind, rows)
        }
        _ => {
            let r = decode::<EndTxnRequest>(ctx, key, reply)?;
            Answer::new(r.error_code, known(r.producer_id, r.producer_epoch))
        }
    })
}

fn send<R: ProtocolRequest>(
    ctx: &mut Ctx<'_>,
    broker: &ReadyBroker,
    tag: Tag,
    request: &R,
    version: Result<i16, Error>,
) -> Result<(), Error> {
    let text = "the brokers do not support transactions: they need Kafka 0.11 or later";
    let version = version.map_err(|_| unsupported(text))?;
    let timeout = ctx.socket_timeout();
    broker.send(ctx, tag, request, version, timeout)
}

/// Returns whether a coordinator that responds with this code may have executed the request: replication of its log took
/// too long.
fn may_be_done(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::REQUEST_TIMED_OUT | ErrorCode::COORDINATOR_NOT_AVAILABLE
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::World;

    #[test]
    fn add_offsets_response_of_an_ended_call_does_not_add_the_next_calls_group() {
        let w = World::producer(&[("transactional.id", "tid")], &[]);
        let accumulator = w.shared.producer.clone().unwrap();
        let mut transactions = Transactions::new(&w.shared.conf, accumulator);
        transactions.group = "next".into();
        let mut added_after = |abandoned| {
            let request = Request {
                id: 1,
                kind: RequestKind::AddOffsets,
                abandoned,
            };
            transactions.on_done(&request, None);
            transactions.groups.contains("next")
        };
        assert!(!added_after(true));
        assert!(added_after(false));
    }
}
