//! Results of operations on topics.

use crate::admin::operation::row_of;
use crate::error::Error;
use std::collections::BTreeMap;

/// The outcome for one topic.
#[derive(Debug, Clone)]
pub struct TopicResult {
    /// The topic's name.
    pub name: String,
    /// The error with the broker's message; `None` on success.
    pub error: Option<Error>,
}

/// Returns the outcomes in the order of the call.
pub(super) fn in_order<'a>(
    names: impl Iterator<Item = &'a String>,
    rows: &BTreeMap<String, Result<(), Error>>,
) -> Vec<TopicResult> {
    let result = |name: &String| TopicResult {
        name: name.clone(),
        error: row_of(rows, name).err(),
    };
    names.map(result).collect()
}

/// Returns the error of a call that has nothing to do.
///
/// # Errors
/// `_INVALID_ARG` if `is_empty`.
pub(super) fn check_not_empty(name: &str, is_empty: bool) -> Result<(), Error> {
    match is_empty {
        true => Err(Error::invalid_arg(format!("{name} names nothing"))),
        false => Ok(()),
    }
}
