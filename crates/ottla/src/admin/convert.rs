//! Conversions of the core's outputs to results by key.

use ottla_core::admin::{
    AclBinding, BrokerLogDirs, ClientQuotaEntity, ClientQuotaResult, DeletedAcl, DeletedShareGroupOffsets,
    ElectionResult, FeatureResult, GroupDescription, GroupResult, ListedOffset, LogDir, MemberToRemove,
    ReassignmentResult, RemovedMember, ReplicaMoveResult, ResourceResult, ScramCredentialInfo, ShareGroupOffsets,
    ShareOffset, TopicDescription, TopicResult, UserScramCredentials, UserScramResult,
};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::{NodeId, PartitionOffset, TopicPartition};

use super::results::Results;
use super::types::{ConfigResource, StartOffset};

/// Returns the value unless there is an error.
fn unless<T>(error: Option<Error>, value: T) -> Result<T, Error> {
    error.map_or(Ok(value), Err)
}

pub(super) fn topics(rows: Vec<TopicResult>) -> Results<String, ()> {
    rows.into_iter().map(|row| (row.name, unless(row.error, ()))).collect()
}

pub(super) fn described_topics(rows: Vec<TopicDescription>) -> Results<String, TopicDescription> {
    let result = |mut row: TopicDescription| (row.name.clone(), unless(row.error.take(), row));
    rows.into_iter().map(result).collect()
}

pub(super) fn listed_offsets(rows: Vec<ListedOffset>) -> Results<TopicPartition, ListedOffset> {
    let result = |mut row: ListedOffset| (row.tp.clone(), unless(row.error.take(), row));
    rows.into_iter().map(result).collect()
}

pub(super) fn elections(rows: Vec<ElectionResult>) -> Results<TopicPartition, ()> {
    rows.into_iter().map(|row| (row.tp, unless(row.error, ()))).collect()
}

/// Returns the results of rows, with the value that `value` returns for a row without an error.
pub(super) fn partitions<V>(
    rows: Vec<PartitionOffset>,
    value: impl Fn(PartitionOffset) -> V,
) -> Results<TopicPartition, V> {
    let result = |row: PartitionOffset| match row.error {
        ErrorCode::NO_ERROR => (row.tp.clone(), Ok(value(row))),
        code => (row.tp, Err(code.into())),
    };
    rows.into_iter().map(result).collect()
}

pub(super) fn resources<V>(
    rows: Vec<ResourceResult>,
    value: impl Fn(ResourceResult) -> V,
) -> Results<ConfigResource, V> {
    let result = |mut row: ResourceResult| {
        let key = ConfigResource {
            kind: row.kind,
            name: row.name.clone(),
        };
        let error = row.error.take();
        (key, unless(error, row).map(&value))
    };
    rows.into_iter().map(result).collect()
}

pub(super) fn groups(rows: Vec<GroupResult>) -> Results<String, ()> {
    let result = |row: GroupResult| (row.group_id, unless(row.error, ()));
    rows.into_iter().map(result).collect()
}

pub(super) fn groups_of_partitions<V>(
    rows: Vec<GroupResult>,
    value: impl Fn(PartitionOffset) -> V,
) -> Results<String, Results<TopicPartition, V>> {
    let result = |row: GroupResult| {
        let found = row.partitions.unwrap_or_default();
        (
            row.group_id,
            unless(row.error, found).map(|rows| partitions(rows, &value)),
        )
    };
    rows.into_iter().map(result).collect()
}

/// Returns the results of the partitions of the only group.
///
/// # Errors
/// The group's error.
pub(super) fn only_group(rows: Vec<GroupResult>) -> Result<Results<TopicPartition, ()>, Error> {
    let all = groups_of_partitions(rows, |_| ());
    let only = all.into_iter().next().map(|(_, result)| result);
    only.unwrap_or_else(|| Err(Error::new(ErrorCode::L_FAIL, "there is no result for the group")))
}

pub(super) fn described_groups(rows: Vec<GroupDescription>) -> Results<String, GroupDescription> {
    let result = |mut row: GroupDescription| (row.group_id.clone(), unless(row.error.take(), row));
    rows.into_iter().map(result).collect()
}

pub(super) fn deleted_acls(rows: Vec<DeletedAcl>) -> Results<AclBinding, ()> {
    let result = |row: DeletedAcl| (row.binding, unless(row.error, ()));
    rows.into_iter().map(result).collect()
}

pub(super) fn credentials(rows: Vec<UserScramCredentials>) -> Results<String, Vec<ScramCredentialInfo>> {
    let result = |row: UserScramCredentials| (row.user, unless(row.error, row.credentials));
    rows.into_iter().map(result).collect()
}

pub(super) fn users(rows: Vec<UserScramResult>) -> Results<String, ()> {
    rows.into_iter().map(|row| (row.user, unless(row.error, ()))).collect()
}

pub(super) fn log_dirs(rows: Vec<BrokerLogDirs>) -> Results<NodeId, Vec<LogDir>> {
    let result = |row: BrokerLogDirs| (row.broker, unless(row.error, row.log_dirs));
    rows.into_iter().map(result).collect()
}

pub(super) fn replica_moves(rows: Vec<ReplicaMoveResult>) -> Results<(NodeId, TopicPartition), ()> {
    let result = |row: ReplicaMoveResult| ((row.broker, row.tp), unless(row.error, ()));
    rows.into_iter().map(result).collect()
}

pub(super) fn reassignments(rows: Vec<ReassignmentResult>) -> Results<TopicPartition, ()> {
    rows.into_iter().map(|row| (row.tp, unless(row.error, ()))).collect()
}

pub(super) fn quotas(rows: Vec<ClientQuotaResult>) -> Results<ClientQuotaEntity, ()> {
    rows.into_iter()
        .map(|row| (row.entity, unless(row.error, ())))
        .collect()
}

pub(super) fn features(rows: Vec<FeatureResult>) -> Results<String, ()> {
    rows.into_iter()
        .map(|row| (row.feature, unless(row.error, ())))
        .collect()
}

pub(super) fn removed_members(rows: Vec<RemovedMember>) -> Results<MemberToRemove, ()> {
    rows.into_iter()
        .map(|row| (row.member, unless(row.error, ())))
        .collect()
}

pub(super) fn share_offsets(
    rows: Vec<ShareGroupOffsets>,
) -> Results<String, Results<TopicPartition, Option<StartOffset>>> {
    let partition = |row: ShareOffset| {
        (
            row.row.tp.clone(),
            unless(row.error, StartOffset::from_row(&row.row, row.lag)),
        )
    };
    let group = |group: ShareGroupOffsets| {
        let partitions = group.partitions.into_iter().map(partition).collect();
        (group.group_id, unless(group.error, partitions))
    };
    rows.into_iter().map(group).collect()
}

/// Returns the results of the topics of the only group.
///
/// # Errors
/// The group's error.
pub(super) fn only_share_group(rows: Vec<DeletedShareGroupOffsets>) -> Result<Results<String, ()>, Error> {
    let only = rows.into_iter().next();
    let only = only.ok_or_else(|| Error::new(ErrorCode::L_FAIL, "there is no result for the group"))?;
    unless(only.error, topics(only.topics))
}
