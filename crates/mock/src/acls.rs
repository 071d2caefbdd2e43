//! The access control entries, which are kept and answered but not enforced.

use std::collections::BTreeSet;

/// Returns the bit field of these operations (KIP-430).
const fn bits(operations: &[i8]) -> i32 {
    let mut bits = 0;
    let mut rest = operations;
    while let [operation, others @ ..] = rest {
        bits |= 1 << *operation;
        rest = others;
    }
    bits
}

/// The operations on topics: read, write, create, delete, alter, describe, describe and alter configs. Clients may perform
/// all, as without an authorizer.
pub(crate) const TOPIC_OPERATIONS: i32 = bits(&[3, 4, 5, 6, 7, 8, 10, 11]);
/// The operations on groups: read, delete, describe, describe and alter configs.
pub(crate) const GROUP_OPERATIONS: i32 = bits(&[3, 6, 8, 10, 11]);
/// The operations on the cluster: create, alter, describe, cluster action, describe and alter configs, idempotent write.
pub(crate) const CLUSTER_OPERATIONS: i32 = bits(&[5, 7, 8, 9, 10, 11, 12]);

/// An access control entry, with the protocol's numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acl {
    /// The type of the resource.
    pub resource_type: i8,
    /// The resource's name.
    pub name: String,
    /// The meaning of the name (KIP-290).
    pub pattern_type: i8,
    /// The principal, such as `User:alice`.
    pub principal: String,
    /// The client's host, `*` for any.
    pub host: String,
    /// The operation.
    pub operation: i8,
    /// The effect.
    pub permission_type: i8,
}

/// A filter. Number 1 of each type, and `None`, match any.
#[derive(Debug, Clone)]
pub(crate) struct AclFilter {
    pub(crate) resource_type: i8,
    pub(crate) name: Option<String>,
    pub(crate) pattern_type: i8,
    pub(crate) principal: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) operation: i8,
    pub(crate) permission_type: i8,
}

const ANY: i8 = 1;
const MATCH: i8 = 2;
const LITERAL: i8 = 3;
const PREFIXED: i8 = 4;

impl Acl {
    /// Returns true if every part of the entry is one that an entry can have.
    pub(crate) fn is_valid(&self) -> bool {
        let is_concrete = |number: i8| number > ANY;
        let is_pattern = matches!(self.pattern_type, LITERAL | PREFIXED);
        let numbers = [self.resource_type, self.operation, self.permission_type];
        is_pattern && numbers.into_iter().all(is_concrete) && !self.name.is_empty() && self.principal.contains(':')
    }
}

impl AclFilter {
    fn matches(&self, acl: &Acl) -> bool {
        let number = |filter: i8, number: i8| filter == ANY || filter == number;
        let text = |filter: &Option<String>, text: &str| filter.as_ref().is_none_or(|filter| filter == text);
        number(self.resource_type, acl.resource_type)
            && number(self.operation, acl.operation)
            && number(self.permission_type, acl.permission_type)
            && text(&self.principal, &acl.principal)
            && text(&self.host, &acl.host)
            && self.matches_pattern(acl)
    }

    fn matches_pattern(&self, acl: &Acl) -> bool {
        let is_name = self.name.as_ref().is_none_or(|name| *name == acl.name);
        match (self.pattern_type, &self.name) {
            (MATCH, Some(name)) => match acl.pattern_type {
                PREFIXED => name.starts_with(&acl.name),
                _ => acl.name == "*" || acl.name == *name,
            },
            (ANY | MATCH, _) => is_name,
            (pattern_type, _) => pattern_type == acl.pattern_type && is_name,
        }
    }
}

/// All entries, in order.
#[derive(Debug, Default)]
pub(crate) struct Acls(BTreeSet<Acl>);

impl Acls {
    /// Adds an entry; one that exists is the same entry.
    pub(crate) fn add(&mut self, acl: Acl) {
        self.0.insert(acl);
    }

    /// Returns all entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Acl> {
        self.0.iter()
    }

    /// Returns the entries that match.
    pub(crate) fn matching<'a>(&'a self, filter: &'a AclFilter) -> impl Iterator<Item = &'a Acl> {
        self.0.iter().filter(|acl| filter.matches(acl))
    }

    /// Removes and returns the entries that match.
    pub(crate) fn remove(&mut self, filter: &AclFilter) -> Vec<Acl> {
        self.0.extract_if(.., |acl| filter.matches(acl)).collect()
    }
}
