//! Results of operations on groups.

use std::collections::{BTreeMap, HashMap};

use super::partitions::has_duplicate;
use crate::admin::operation::row_of;
use crate::error::{Error, ErrorCode};
use crate::request::{CoordinatorType, Target};
use crate::types::{PartitionOffset, TopicPartition, offset};

/// The outcome for one group.
#[derive(Debug, Clone)]
pub struct GroupResult {
    /// The group's id.
    pub group_id: String,
    /// The partitions with their offsets and errors; `None` for a group with an error, and for operations without.
    pub partitions: Option<Vec<PartitionOffset>>,
    /// The group's error; `None` on success.
    pub error: Option<Error>,
}

/// Checks that a call names groups, each once. `purpose` is the verb of the operation.
///
/// # Errors
/// `_INVALID_ARG`.
pub(super) fn check_group_names(groups: &[String], purpose: &str) -> Result<(), Error> {
    if groups.is_empty() {
        return Err(Error::invalid_arg(format!("No groups to {purpose}")));
    }
    match has_duplicate(groups) {
        true => Err(Error::invalid_arg("Duplicate groups not allowed")),
        false => Ok(()),
    }
}

/// Checks that a call names groups, each once.
///
/// # Errors
/// `_INVALID_ARG`.
pub(super) fn check_groups_once<'a>(groups: impl Iterator<Item = &'a String> + Clone) -> Result<(), Error> {
    if groups.clone().next().is_none() {
        return Err(Error::invalid_arg("No groups are named"));
    }
    match has_duplicate(groups) {
        true => Err(Error::invalid_arg("Duplicate groups not allowed")),
        false => Ok(()),
    }
}

/// Checks that a call names partitions of a group, each once.
///
/// # Errors
/// `_INVALID_ARG`.
pub(super) fn check_partitions_once<'a>(
    partitions: impl Iterator<Item = &'a TopicPartition> + Clone,
) -> Result<(), Error> {
    if partitions.clone().next().is_none() {
        return Err(Error::invalid_arg("No partitions are named"));
    }
    match has_duplicate(partitions) {
        true => Err(Error::invalid_arg("Duplicate partitions not allowed")),
        false => Ok(()),
    }
}

/// Returns the target of a group's requests.
pub(super) fn coordinator(group_id: &str) -> Target {
    Target::Coordinator(CoordinatorType::Group, group_id.to_owned())
}

/// Returns whether a coordinator's error for partitions of a group is one of the group as a whole, after which the group is
/// asked again.
pub(super) fn is_of_group(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR
    )
}

/// Returns the results of these partitions in their order; partitions that `results` lacks have an error.
pub(super) fn partitions_in_order<'a>(
    asked: impl Iterator<Item = &'a TopicPartition>,
    results: Vec<PartitionOffset>,
) -> Vec<PartitionOffset> {
    let mut results: HashMap<TopicPartition, PartitionOffset> =
        results.into_iter().map(|row| (row.tp.clone(), row)).collect();
    let row = |tp: &TopicPartition| {
        results.remove(tp).unwrap_or_else(|| PartitionOffset {
            error: ErrorCode::L_BAD_MSG,
            ..PartitionOffset::new(tp.clone(), offset::INVALID)
        })
    };
    asked.map(row).collect()
}

/// Returns the outcomes in the order of the call; `partitions` returns those of a group's row, if it has any.
pub(super) fn in_order<'a, R: Clone>(
    groups: impl Iterator<Item = &'a String>,
    rows: &BTreeMap<String, Result<R, Error>>,
    partitions: impl Fn(R) -> Option<Vec<PartitionOffset>>,
) -> Vec<GroupResult> {
    let result = |group_id: &String| {
        let row = row_of(rows, group_id);
        GroupResult {
            group_id: group_id.clone(),
            error: row.as_ref().err().cloned(),
            partitions: row.ok().and_then(&partitions),
        }
    };
    groups.map(result).collect()
}

#[cfg(test)]
mod tests;
