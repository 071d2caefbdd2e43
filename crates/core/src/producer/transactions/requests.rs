//! Requests to the coordinators and the effects of their responses.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::api::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ottla_protocol::api::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use ottla_protocol::api::describe_transactions::DescribeTransactionsRequest;
use ottla_protocol::api::end_txn::EndTxnRequest;
use ottla_protocol::api::init_producer_id::InitProducerIdRequest;
use ottla_protocol::api::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ottla_protocol::{DecodeError, Message, Request as ProtocolRequest};

use super::markers::POLL_INTERVAL;
use super::table::{Consequence, RequestKind, consequence};
use super::{Offsets, Phase, Request, Transactions};
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, BrokerVersions, Outcome, Owner, Reply, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::request::ReadyBroker;

/// The first InitProducerId version that raises the epoch of an existing producer (KIP-360).
const FIRST_WITH_BUMP: i16 = 3;
/// The last AddPartitionsToTxn version for clients; later ones are for brokers.
const LAST_ADD_PARTITIONS: i16 = 3;
/// The first versions with transaction version 2 (KIP-890).
const FIRST_V2_END_TXN: i16 = 5;
const FIRST_V2_OFFSET_COMMIT: i16 = 5;
/// The first TxnOffsetCommit version with the group member (KIP-447).
const FIRST_WITH_MEMBER: i16 = 3;

/// Returns the highest common API version within the range of the transaction version; `v2`: transaction version 2, which
/// begins with API version `first_v2`.
fn pick<R: Message>(versions: &BrokerVersions, v2: bool, first_v2: i16) -> Option<i16> {
    match v2 {
        true => versions.pick::<R>().filter(|v| *v >= first_v2),
        false => versions.pick_up_to::<R>(first_v2 - 1),
    }
}

impl Transactions {
    /// Sends a request if its coordinator is known and connected; otherwise finds and connects the coordinator.
    pub(super) fn send(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, next_id: &mut u64, kind: RequestKind) {
        let connection = if kind == RequestKind::CommitOffsets {
            let (group, coordinator) = &mut self.group_coordinator;
            coordinator.connection(ctx, cluster, group, next_id)
        } else {
            self.coordinator.connection(ctx, cluster, &self.name, next_id)
        };
        if let Some(error) = self.coordinator.take_failure() {
            return self.on_error(ctx, RequestKind::FindCoordinator, error);
        }
        if let Some(error) = self.group_coordinator.1.take_failure() {
            return self.on_error(ctx, RequestKind::FindGroup, error);
        }
        let Some(ReadyBroker { key, versions }) = connection else {
            return;
        };
        if kind != RequestKind::CommitOffsets {
            self.transaction_version = versions.transaction_version();
            let init = versions.pick::<InitProducerIdRequest>();
            self.can_bump = init.is_some_and(|v| v >= FIRST_WITH_BUMP);
        }
        *next_id += 1;
        let id = *next_id;
        let sent = match kind {
            RequestKind::Init => self.send_init(ctx, key, &versions, id),
            RequestKind::AddPartitions => self.send_partitions(ctx, key, &versions, id),
            RequestKind::AddOffsets => self.send_group(ctx, key, &versions, id),
            RequestKind::CommitOffsets => self.send_offsets(ctx, key, &versions, id),
            RequestKind::Commit | RequestKind::Abort => {
                self.send_end(ctx, key, &versions, id, kind == RequestKind::Commit)
            }
            RequestKind::Describe => match versions.pick::<DescribeTransactionsRequest>() {
                None => return self.markers.disable(),
                version => self.send_describe(ctx, key, version, id),
            },
            RequestKind::FindCoordinator | RequestKind::FindGroup | RequestKind::Produce => return,
        };
        match sent {
            Ok(()) => {
                ctx.log.debug(DebugContexts::EOS, "TXN", || {
                    format!("{} to broker {}", kind.name(), key.node)
                });
                self.request = Some(Request {
                    id,
                    kind,
                    abandoned: false,
                });
            }
            Err(error) if error.code == ErrorCode::L_TRANSPORT => self.back_off(ctx),
            Err(error) => self.raise(error),
        }
    }

    fn send_init(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        versions: &BrokerVersions,
        id: u64,
    ) -> Result<(), Error> {
        let version = versions.pick::<InitProducerIdRequest>();
        let (producer_id, producer_epoch) = match self.phase {
            Phase::Initialising => (-1, -1),
            _ => self.producer.unwrap_or((-1, -1)),
        };
        if producer_id >= 0 && !self.can_bump {
            return Err(unsupported("a new epoch after an error: it needs Kafka 2.5 or later"));
        }
        let request = InitProducerIdRequest {
            transactional_id: Some(self.name.clone()),
            transaction_timeout_ms: self.timeout_ms,
            producer_id,
            producer_epoch,
            ..Default::default()
        };
        send(ctx, key, id, &request, version)
    }

    fn send_partitions(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        versions: &BrokerVersions,
        id: u64,
    ) -> Result<(), Error> {
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
        let version = versions.pick_up_to::<AddPartitionsToTxnRequest>(LAST_ADD_PARTITIONS);
        send(ctx, key, id, &request, version)?;
        self.adding = self.to_add.keys().copied().collect();
        self.started = true;
        Ok(())
    }

    fn send_group(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        versions: &BrokerVersions,
        id: u64,
    ) -> Result<(), Error> {
        let (producer_id, producer_epoch) = self.producer.unwrap_or((-1, -1));
        let request = AddOffsetsToTxnRequest {
            transactional_id: self.name.clone(),
            producer_id,
            producer_epoch,
            group_id: self.group_coordinator.0.clone(),
            ..Default::default()
        };
        let version = versions.pick::<AddOffsetsToTxnRequest>();
        send(ctx, key, id, &request, version)?;
        self.started = true;
        Ok(())
    }

    fn send_offsets(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        versions: &BrokerVersions,
        id: u64,
    ) -> Result<(), Error> {
        let Some(offsets) = &self.offsets else { return Ok(()) };
        let version = pick::<TxnOffsetCommitRequest>(versions, self.v2, FIRST_V2_OFFSET_COMMIT);
        let request = self.offsets_request(offsets, version.unwrap_or(0));
        send(ctx, key, id, &request, version)?;
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
        if version < FIRST_WITH_MEMBER {
            return base;
        }
        TxnOffsetCommitRequest {
            generation_id: offsets.group.generation,
            member_id: offsets.group.member_id.clone(),
            group_instance_id: offsets.group.group_instance_id.clone(),
            ..base
        }
    }

    fn send_end(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        versions: &BrokerVersions,
        id: u64,
        committed: bool,
    ) -> Result<(), Error> {
        let (producer_id, producer_epoch) = self.producer.unwrap_or((-1, -1));
        let request = EndTxnRequest {
            transactional_id: self.name.clone(),
            producer_id,
            producer_epoch,
            committed,
            ..Default::default()
        };
        let version = pick::<EndTxnRequest>(versions, self.v2, FIRST_V2_END_TXN);
        send(ctx, key, id, &request, version)?;
        self.ending = true;
        Ok(())
    }

    fn send_describe(&self, ctx: &mut Ctx<'_>, key: BrokerKey, version: Option<i16>, id: u64) -> Result<(), Error> {
        let request = DescribeTransactionsRequest {
            transactional_ids: vec![self.name.clone()],
            ..Default::default()
        };
        send(ctx, key, id, &request, version)
    }

    /// Handles the outcome of a request. Returns false if `id` is no request of this manager.
    pub(in crate::producer) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        id: u64,
        outcome: &Outcome,
    ) -> bool {
        if self.coordinator.on_outcome(ctx, key, id, outcome)
            || self.group_coordinator.1.on_outcome(ctx, key, id, outcome)
        {
            return true;
        }
        let Some(request) = self.request.take_if(|r| r.id == id) else {
            return false;
        };
        if request.kind == RequestKind::Describe {
            self.on_described(ctx, key, outcome);
            return true;
        }
        let reply = match outcome {
            Outcome::Reply(reply) => reply,
            Outcome::Failed(failure) => {
                self.last = Some((request.kind, failure.error.clone()));
                self.has_late_request |= failure.written && !self.v2 && request.kind != RequestKind::Init;
                self.commit_lost |= failure.written && request.kind == RequestKind::Commit;
                if failure.written && request.kind == RequestKind::Init {
                    self.accumulator.count_unanswered_init();
                }
                self.back_off(ctx);
                return true;
            }
            Outcome::Sent => return true,
        };
        let answer = match self.read(request.kind, reply) {
            Ok(answer) => answer,
            Err(e) => {
                ctx.connections.fail_unreadable(key, request.kind.name(), e, ctx.now);
                self.back_off(ctx);
                return true;
            }
        };
        ctx.log.debug(DebugContexts::EOS, "TXN", || {
            format!("{}: {}", request.kind.name(), answer.code.name())
        });
        if answer.code.is_ok() {
            self.tries = 0;
            self.retry_at = ctx.now;
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
            self.on_error(ctx, request.kind, Error::new(answer.code, text));
        }
        true
    }

    /// Handles the outcome of DescribeTransactions.
    pub(super) fn on_described(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, outcome: &Outcome) {
        let Outcome::Reply(reply) = outcome else {
            return self.markers.end();
        };
        self.markers.observe_rtt(reply.rtt);
        let response = match reply.decode::<DescribeTransactionsRequest>() {
            Ok(response) => response,
            Err(e) => {
                ctx.connections.fail_unreadable(key, "DescribeTransactions", e, ctx.now);
                return self.markers.end();
            }
        };
        let mut states = response.transaction_states.iter();
        let state = states.find(|s| s.transactional_id == self.name);
        match state.map(|s| (ErrorCode::from(s.error_code), s.transaction_state.as_str())) {
            Some((ErrorCode::NO_ERROR, "PrepareCommit" | "PrepareAbort")) => self.retry_at = ctx.now + POLL_INTERVAL,
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
                self.groups.insert(self.group_coordinator.0.clone());
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

    fn read(&self, kind: RequestKind, reply: &Reply) -> Result<Answer, DecodeError> {
        let known = |id: i64, epoch: i16| (id >= 0 && epoch >= 0).then_some((id, epoch));
        Ok(match kind {
            RequestKind::Init => {
                let r = reply.decode::<InitProducerIdRequest>()?;
                Answer::new(r.error_code, known(r.producer_id, r.producer_epoch))
            }
            RequestKind::AddPartitions => {
                let r = reply.decode::<AddPartitionsToTxnRequest>()?;
                let rows = r.results_by_topic_v3_and_below.iter().flat_map(|t| {
                    let rows = t.results_by_partition.iter();
                    rows.map(|p| (t.name.as_str(), p.partition_index, p.partition_error_code))
                });
                Answer::worst(kind, rows)
            }
            RequestKind::AddOffsets => Answer::new(reply.decode::<AddOffsetsToTxnRequest>()?.error_code, None),
            RequestKind::CommitOffsets => {
                let r = reply.decode::<TxnOffsetCommitRequest>()?;
                let rows = r.topics.iter().flat_map(|t| {
                    let rows = t.partitions.iter();
                    rows.map(|p| (t.name.as_str(), p.partition_index, p.error_code))
                });
                Answer::worst(kind, rows)
            }
            _ => {
                let r = reply.decode::<EndTxnRequest>()?;
                Answer::new(r.error_code, known(r.producer_id, r.producer_epoch))
            }
        })
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

fn unsupported(what: &str) -> Error {
    let text = format!("the brokers do not support {what}");
    Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, text)
}

fn send<R: ProtocolRequest>(
    ctx: &mut Ctx<'_>,
    key: BrokerKey,
    id: u64,
    request: &R,
    version: Option<i16>,
) -> Result<(), Error> {
    let version = version.ok_or_else(|| unsupported("transactions: they need Kafka 0.11 or later"))?;
    let timeout = Duration::from_millis(ctx.conf.socket_timeout_ms.into());
    let tag = Tag {
        owner: Owner::Producer,
        id,
    };
    ctx.connections.send(key, ctx.now, tag, request, version, timeout)
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
        transactions.group_coordinator.0 = "next".into();
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
