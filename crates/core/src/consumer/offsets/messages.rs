//! OffsetCommit and OffsetFetch in all versions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::api::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics, OffsetFetchResponse,
};

use super::commit_identity::GroupIdentity;
use crate::cluster::is_coordinator_error;
use crate::error::{Error, ErrorCode};
use crate::types::{PartitionOffset, TopicPartition};

/// Builds the request that commits `rows`.
pub(super) fn commit_request<'a>(
    rows: impl Iterator<Item = &'a PartitionOffset>,
    identity: &GroupIdentity<'_>,
    version: i16,
) -> OffsetCommitRequest {
    let mut topics: BTreeMap<&str, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
    for row in rows {
        topics
            .entry(&row.tp.topic)
            .or_default()
            .push(OffsetCommitRequestPartition {
                partition_index: row.tp.partition,
                committed_offset: row.offset,
                committed_leader_epoch: row.leader_epoch,
                committed_metadata: Some(
                    row.metadata
                        .as_deref()
                        .map(|m| String::from_utf8_lossy(m).into_owned())
                        .unwrap_or_default(),
                ),
                ..Default::default()
            });
    }
    OffsetCommitRequest {
        group_id: identity.group_id.to_owned(),
        generation_id_or_member_epoch: identity.member.generation,
        member_id: identity.member.member_id.clone(),
        group_instance_id: identity
            .instance_id
            .filter(|_| version >= OffsetCommitRequest::STATIC_MEMBERS_SINCE)
            .map(str::to_owned),
        topics: topics
            .into_iter()
            .map(|(name, partitions)| OffsetCommitRequestTopic {
                name: name.to_owned(),
                partitions,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

/// Builds the request for the committed offsets of `tps`.
pub(super) fn fetch_request<'a>(
    tps: impl Iterator<Item = &'a TopicPartition>,
    identity: &GroupIdentity<'_>,
    version: i16,
    stable: bool,
) -> OffsetFetchRequest {
    let mut topics: BTreeMap<&str, BTreeSet<i32>> = BTreeMap::new();
    for tp in tps {
        topics.entry(&tp.topic).or_default().insert(tp.partition);
    }
    let topics = topics
        .into_iter()
        .map(|(name, set)| (name.to_owned(), set.into_iter().collect::<Vec<i32>>()));
    if version >= OffsetFetchRequest::GROUP_LIST_SINCE {
        let topics = topics.map(|(name, partition_indexes)| OffsetFetchRequestTopics {
            name,
            partition_indexes,
            ..Default::default()
        });
        let member =
            Some(identity.member).filter(|m| m.incarnation.is_some() && version >= OffsetFetchRequest::MEMBER_SINCE);
        return OffsetFetchRequest {
            groups: vec![OffsetFetchRequestGroup {
                group_id: identity.group_id.to_owned(),
                member_id: member.map(|m| m.member_id.clone()),
                member_epoch: member.map_or(-1, |m| m.generation),
                topics: Some(topics.collect()),
                ..Default::default()
            }],
            require_stable: stable,
            ..Default::default()
        };
    }
    let topics = topics.map(|(name, partition_indexes)| OffsetFetchRequestTopic {
        name,
        partition_indexes,
        ..Default::default()
    });
    OffsetFetchRequest {
        group_id: identity.group_id.to_owned(),
        topics: Some(topics.collect()),
        require_stable: stable,
        ..Default::default()
    }
}

/// A partition's part of an OffsetFetch response of any version.
pub(super) struct Committed {
    pub(super) offset: i64,
    pub(super) leader_epoch: i32,
    pub(super) metadata: Option<Vec<u8>>,
    pub(super) error: ErrorCode,
}

/// Returns the response's rows by topic and partition.
///
/// # Errors
/// The error of the group or of the whole response.
pub(super) fn rows_of(response: OffsetFetchResponse) -> Result<HashMap<(String, i32), Committed>, Error> {
    let mut rows = HashMap::new();
    let mut error: ErrorCode = response.error_code.into();
    for topic in response.topics {
        for p in topic.partitions {
            rows.insert(
                (topic.name.clone(), p.partition_index),
                Committed {
                    offset: p.committed_offset,
                    leader_epoch: p.committed_leader_epoch,
                    metadata: p.metadata.filter(|m| !m.is_empty()).map(String::into_bytes),
                    error: p.error_code.into(),
                },
            );
        }
    }
    for group in response.groups {
        if group.error_code != 0 {
            error = group.error_code.into();
        }
        for topic in group.topics {
            for p in topic.partitions {
                rows.insert(
                    (topic.name.clone(), p.partition_index),
                    Committed {
                        offset: p.committed_offset,
                        leader_epoch: p.committed_leader_epoch,
                        metadata: p.metadata.filter(|m| !m.is_empty()).map(String::into_bytes),
                        error: p.error_code.into(),
                    },
                );
            }
        }
    }
    if !error.is_ok() {
        return Err(Error::from(error));
    }
    // Old brokers set an error of the whole response in every partition.
    match rows.values().find(|r| is_coordinator_error(r.error)) {
        Some(row) => Err(Error::from(row.error)),
        None => Ok(rows),
    }
}
