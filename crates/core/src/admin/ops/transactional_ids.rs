//! Transactional ids as parts of calls.

use super::partitions::has_duplicate;
use crate::error::Error;
use crate::request::{CoordinatorType, Target};

/// Returns the target of a transactional id's requests.
pub(super) fn coordinator(transactional_id: &str) -> Target {
    Target::Coordinator(CoordinatorType::Transaction, transactional_id.to_owned())
}

/// Checks the transactional ids of a call; `verb` names the operation.
///
/// # Errors
/// `_INVALID_ARG` without ids, and for empty ids and duplicates.
pub(super) fn check(transactional_ids: &[String], verb: &str) -> Result<(), Error> {
    if transactional_ids.is_empty() {
        return Err(Error::invalid_arg(format!("No transactional ids to {verb}")));
    }
    if transactional_ids.iter().any(String::is_empty) {
        return Err(Error::invalid_arg("Empty transactional ids not allowed"));
    }
    match has_duplicate(transactional_ids) {
        true => Err(Error::invalid_arg("Duplicate transactional ids not allowed")),
        false => Ok(()),
    }
}
