//! TxnOffsetCommit (key 28), versions 0 to 5: commits offsets of a group as part of a producer's transaction. They take
//! effect when the transaction commits. Until its end a fetch of stable offsets fails for them (KIP-447).
//!
//! From version 3 on the consumer's member id and generation or epoch are checked where the request has them (KIP-447).
//! The group's offsets must be in the transaction (KIP-890): otherwise INVALID_TXN_STATE, or TRANSACTION_ABORTABLE in
//! version 4; from version 5 on the request adds them. Errors, the same for all partitions: NOT_COORDINATOR and
//! injected errors of the group's coordinator, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND for a share group,
//! UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION (for a stale epoch of the consumer protocol, too), FENCED_INSTANCE_ID,
//! INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, CONCURRENT_TRANSACTIONS, COORDINATOR_NOT_AVAILABLE or
//! COORDINATOR_LOAD_IN_PROGRESS also while the transaction's coordinator is unavailable. Per partition:
//! UNKNOWN_TOPIC_OR_PARTITION, OFFSET_METADATA_TOO_LARGE.

use ottla_protocol::api::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::handler::{Answer, AnswerOf, Handler};
use super::k08_offset_commit::check_partition_for_commit;
use crate::cluster::Cluster;
use crate::groups::{CommittedOffset, Committer};
use crate::request::Context;
use crate::topics::TopicRef;
use crate::transactions::{Participant, TransactionSupport, TransactionalWrite};

pub(crate) struct TxnOffsetCommit;

impl Handler for TxnOffsetCommit {
    type Request = TxnOffsetCommitRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: TxnOffsetCommitRequest) -> AnswerOf<Self> {
        if let Err(error) = check(cluster, context, &request) {
            return Self::refuse(cluster, context, request, error);
        }
        let group = request.group_id.clone();
        let producer = (request.producer_id, request.producer_epoch);
        let committer = Committer {
            member: request.member_id.clone(),
            generation: request.generation_id,
            broker: context.broker,
            connection: context.connection,
        };
        respond(context, request, |topic, asked| {
            let committed = commit(cluster, &group, producer, &committer, topic, asked);
            committed.err().unwrap_or(ErrorCode::NONE)
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: TxnOffsetCommitRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_, _| error)
    }
}

fn respond(
    context: &Context,
    request: TxnOffsetCommitRequest,
    mut commit: impl FnMut(&str, &TxnOffsetCommitRequestPartition) -> ErrorCode,
) -> Answer<TxnOffsetCommitResponse> {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| TxnOffsetCommitResponsePartition {
            partition_index: asked.partition_index,
            error_code: commit(&topic.name, asked).0,
            ..Default::default()
        });
        TxnOffsetCommitResponseTopic {
            partitions: partitions.collect(),
            name: topic.name.clone(),
            ..Default::default()
        }
    });
    Answer::Respond(TxnOffsetCommitResponse {
        throttle_time_ms: context.throttle_time_ms,
        topics: topics.collect(),
        ..Default::default()
    })
}

/// Checks that the transaction contains the group's offsets, and that the group accepts the commit.
fn check(cluster: &mut Cluster, context: &Context, request: &TxnOffsetCommitRequest) -> Result<(), ErrorCode> {
    let (id, epoch) = (request.producer_id, request.producer_epoch);
    if request.group_id.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    cluster
        .state
        .check_group_coordinator(context.broker, &request.group_id)?;
    cluster.check_no_share_group(&request.group_id)?;
    let found = cluster.groups.get(&request.group_id);
    if found.is_none_or(|group| !group.offsets.has_open_transaction(id, epoch)) {
        let joins = TransactionalWrite {
            transactional_id: &request.transactional_id,
            producer_id: id,
            epoch,
            support: TransactionSupport::of_offset_commit(context.version),
        };
        let joined = cluster
            .transaction_coordinator()
            .prepare_write(&joins, Participant::Offsets(request.group_id.clone()));
        joined.map_err(|error| match error {
            // The group's coordinator does not report the move of the transaction's.
            ErrorCode::NOT_COORDINATOR => ErrorCode::COORDINATOR_NOT_AVAILABLE,
            error => error,
        })?;
    }
    if cluster.groups.get(&request.group_id).is_none() && request.generation_id >= 0 {
        return Err(ErrorCode::ILLEGAL_GENERATION);
    }
    let group = cluster.groups.get_or_create(&cluster.state, &request.group_id);
    group.check_transactional_commit(&mut cluster.state, request)?;
    match group.offsets.is_fenced(id, epoch) {
        true => Err(ErrorCode::INVALID_PRODUCER_EPOCH),
        false => Ok(()),
    }
}

fn commit(
    cluster: &mut Cluster,
    group: &str,
    producer: (i64, i16),
    committer: &Committer,
    topic: &str,
    asked: &TxnOffsetCommitRequestPartition,
) -> Result<(), ErrorCode> {
    let index = asked.partition_index;
    let metadata = asked.committed_metadata.clone().unwrap_or_default();
    let topic_ref = TopicRef::Name(topic.to_owned());
    check_partition_for_commit(cluster, ApiKey::TXN_OFFSET_COMMIT, &topic_ref, index, &metadata)?;
    let committed = CommittedOffset {
        offset: asked.committed_offset,
        leader_epoch: asked.committed_leader_epoch,
        metadata,
    };
    if let Some(group) = cluster.groups.get_mut(group) {
        let offsets = &mut group.offsets;
        offsets.commit_in_transaction(producer, topic, index, committed, committer.clone());
    }
    Ok(())
}
