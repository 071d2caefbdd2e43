//! OffsetCommit (key 8), versions 2 to 10.
//!
//! Members commit in their generation or, in groups of the consumer protocol, in their epoch (KIP-848, version 9 and
//! later). Without member and generation any client may commit while the group has no members. From version 10 on
//! topics have ids. Offsets are kept until their topic or group is deleted. Errors: NOT_COORDINATOR, UNKNOWN_MEMBER_ID,
//! ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION for members
//! of the consumer protocol before version 9, GROUP_ID_NOT_FOUND (version 9 and later; ILLEGAL_GENERATION before) for a
//! generation of an unknown group, GROUP_ID_NOT_FOUND for a share group, per partition UNKNOWN_TOPIC_OR_PARTITION,
//! UNKNOWN_TOPIC_ID and OFFSET_METADATA_TOO_LARGE.
//!
//! Omitted: retention times (versions 2 to 4); assignment epochs, which allow a commit in an earlier epoch for
//! partitions that the member owned then (KIP-1251).

use ottla_protocol::api::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::groups::{CommittedOffset, Committer};
use crate::history::CommitRecord;
use crate::request::Context;
use crate::topics::TopicRef;

pub(crate) struct OffsetCommit;

impl Handler for OffsetCommit {
    type Request = OffsetCommitRequest;

    const MIN_VERSION: i16 = 2;

    fn handle(cluster: &mut Cluster, context: &Context, request: OffsetCommitRequest) -> AnswerOf<Self> {
        if let Err(error) = check(cluster, context, &request) {
            return Self::refuse(cluster, context, request, error);
        }
        let group = request.group_id.clone();
        let committer = Committer {
            member: request.member_id.clone(),
            generation: request.generation_id_or_member_epoch,
            broker: context.broker,
            connection: context.connection,
        };
        respond(context, request, |topic, partition| {
            match commit(cluster, &group, &committer, topic, partition) {
                Ok(()) => ErrorCode::NONE,
                Err(error) => error,
            }
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: OffsetCommitRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_, _| error)
    }
}

fn respond(
    context: &Context,
    request: OffsetCommitRequest,
    mut commit: impl FnMut(&TopicRef, &OffsetCommitRequestPartition) -> ErrorCode,
) -> Answer<OffsetCommitResponse> {
    let topics = request.topics.into_iter().map(|topic| {
        let name = match context.version {
            ..10 => TopicRef::Name(topic.name),
            _ => TopicRef::Id(topic.topic_id),
        };
        let partitions = topic.partitions.iter().map(|partition| OffsetCommitResponsePartition {
            partition_index: partition.partition_index,
            error_code: commit(&name, partition).0,
            ..Default::default()
        });
        OffsetCommitResponseTopic {
            partitions: partitions.collect(),
            topic_id: name.id(),
            name: name.name(),
            ..Default::default()
        }
    });
    Answer::Respond(OffsetCommitResponse {
        topics: topics.collect(),
        throttle_time_ms: context.throttle_time_ms,
        ..Default::default()
    })
}

/// Checks that the group accepts the commit. Creates an empty group on its first commit.
fn check(cluster: &mut Cluster, context: &Context, request: &OffsetCommitRequest) -> Result<(), ErrorCode> {
    cluster
        .state
        .check_group_coordinator(context.broker, &request.group_id)?;
    cluster.check_no_share_group(&request.group_id)?;
    let generation = request.generation_id_or_member_epoch;
    if cluster.groups.get(&request.group_id).is_none() && generation >= 0 {
        return Err(match context.version {
            9.. => ErrorCode::GROUP_ID_NOT_FOUND,
            _ => ErrorCode::ILLEGAL_GENERATION,
        });
    }
    let group = cluster.groups.get_or_create(&cluster.state, &request.group_id);
    group.check_commit(&mut cluster.state, context.version, request)
}

fn commit(
    cluster: &mut Cluster,
    group: &str,
    committer: &Committer,
    topic: &TopicRef,
    asked: &OffsetCommitRequestPartition,
) -> Result<(), ErrorCode> {
    let index = asked.partition_index;
    let metadata = asked.committed_metadata.clone().unwrap_or_default();
    let name = check_partition_for_commit(cluster, ApiKey::OFFSET_COMMIT, topic, index, &metadata)?;
    let committed = CommittedOffset {
        offset: asked.committed_offset,
        leader_epoch: asked.committed_leader_epoch,
        metadata,
    };
    let before = cluster.committed_offset(group, &name, index);
    cluster.state.history.commits.push(|| CommitRecord {
        group: group.to_owned(),
        member: committer.member.clone(),
        generation: committer.generation,
        topic: name.clone(),
        partition: index,
        offset: committed.offset,
        before,
        broker: committer.broker,
        connection: committer.connection,
        producer_id: None,
    });
    if let Some(group) = cluster.groups.get_mut(group) {
        group.offsets.commit(&name, index, committed);
    }
    Ok(())
}

/// Checks that an offset can be committed for a partition, and returns the topic's name.
pub(super) fn check_partition_for_commit(
    cluster: &Cluster,
    api: ApiKey,
    topic: &TopicRef,
    index: i32,
    metadata: &str,
) -> Result<String, ErrorCode> {
    let found = cluster.state.topics.find(topic).ok_or_else(|| topic.unknown_error())?;
    found.partition(index).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    cluster.state.faults.check_partition(api, &found.name, index)?;
    match metadata.len() > cluster.state.config.offset_metadata_max_bytes {
        true => Err(ErrorCode::OFFSET_METADATA_TOO_LARGE),
        false => Ok(found.name.clone()),
    }
}
