//! Access control entries and filters for them.

use std::collections::BTreeMap;

use crate::admin::operation::{Keys, row_of};
use crate::admin::ops::acl_operation::AclOperation;
use crate::error::Error;
use crate::request::unsupported;

/// The type of a resource in an access control entry, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AclResourceType(pub i8);

/// The meaning of a resource's name (KIP-290), by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternType(pub i8);

impl PatternType {
    /// In filters: entries of any type with exactly this name.
    pub const ANY: Self = Self(1);
    /// In filters: entries that apply to the name.
    pub const MATCH: Self = Self(2);
    /// Exactly this name; `*` for all.
    pub const LITERAL: Self = Self(3);
    /// Names that begin with it.
    pub const PREFIXED: Self = Self(4);
}

/// The effect of an access control entry, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PermissionType(pub i8);

/// An access control entry: a principal is allowed, or forbidden, an operation on a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AclBinding {
    /// The type of the resource.
    pub resource_type: AclResourceType,
    /// The resource's name.
    pub name: String,
    /// The meaning of the name.
    pub pattern_type: PatternType,
    /// The principal, such as `User:alice`.
    pub principal: String,
    /// The client's host; `*` for any.
    pub host: String,
    /// The operation.
    pub operation: AclOperation,
    /// The effect.
    pub permission_type: PermissionType,
}

/// A filter for access control entries. Number 1 of each type matches any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AclFilter {
    /// The type of the resource.
    pub resource_type: AclResourceType,
    /// The resource's name; `None` for any.
    pub name: Option<String>,
    /// The meaning of the name.
    pub pattern_type: PatternType,
    /// The principal; `None` for any.
    pub principal: Option<String>,
    /// The client's host; `None` for any.
    pub host: Option<String>,
    /// The operation.
    pub operation: AclOperation,
    /// The effect.
    pub permission_type: PermissionType,
}

/// The first version of the requests with types of patterns (KIP-290).
const PATTERN_TYPES_SINCE: i16 = 1;

/// Checks that the broker's version has these types of patterns. Version 0 has names only.
///
/// # Errors
/// `_UNSUPPORTED_FEATURE`.
pub(super) fn check_patterns(
    version: i16,
    patterns: impl IntoIterator<Item = PatternType>,
    allowed: &[PatternType],
) -> Result<(), Error> {
    let is_missing = |pattern: &PatternType| version < PATTERN_TYPES_SINCE && !allowed.contains(pattern);
    match patterns.into_iter().any(|pattern| is_missing(&pattern)) {
        true => Err(unsupported(
            "the broker has no types of patterns in access control entries (KIP-290): that requires Kafka 2.0",
        )),
        false => Ok(()),
    }
}

/// Checks that a call has entries or filters, of this name.
///
/// # Errors
/// `_INVALID_ARG`.
pub(super) fn check_not_empty<T>(items: &[T], what: &str) -> Result<(), Error> {
    match items.is_empty() {
        true => Err(Error::invalid_arg(format!("No {what}"))),
        false => Ok(()),
    }
}

/// Returns the entries or filters of a request: those of the call that have these indexes.
pub(super) fn requested<'a, T>(of_call: &'a [T], keys: &'a [usize]) -> impl Iterator<Item = &'a T> + Clone {
    keys.iter().filter_map(|index| of_call.get(*index))
}

/// Returns the keys of a call's entries or filters: their indexes.
pub(super) fn indexes<T>(of_call: &[T]) -> Keys<usize> {
    Keys::Known((0..of_call.len()).collect())
}

/// Returns the results in the order of the call.
pub(super) fn in_order<R: Clone>(rows: &BTreeMap<usize, Result<R, Error>>, count: usize) -> Vec<Result<R, Error>> {
    (0..count).map(|index| row_of(rows, &index)).collect()
}

#[cfg(test)]
mod tests;
