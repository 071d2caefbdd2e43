//! The input and the output of an assignment.

use std::collections::{BTreeMap, BTreeSet};

/// A member of the group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::consumer::group) struct Member {
    pub(in crate::consumer::group) id: String,
    /// `group.instance.id`: static members keep their order when their member ids change.
    pub(in crate::consumer::group) instance_id: Option<String>,
    pub(in crate::consumer::group) topics: Vec<String>,
    /// The partitions that it owns, or revoked before joining, as it has sent them.
    pub(in crate::consumer::group) owned: Vec<(String, i32)>,
    /// The generation in which they were assigned, negative if it is unknown.
    pub(in crate::consumer::group) generation: i32,
    pub(in crate::consumer::group) rack: Option<String>,
}

impl Member {
    pub(super) fn wants(&self, topic: &str) -> bool {
        self.topics.iter().any(|t| t == topic)
    }
}

/// The partitions of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::consumer::group) struct Shape {
    /// Number of partitions.
    pub(in crate::consumer::group) count: i32,
    /// The known racks of each partition's replicas.
    pub(in crate::consumer::group) racks: Vec<BTreeSet<String>>,
}

/// Partitions by topic.
pub(in crate::consumer::group) type Assignment = BTreeMap<String, Vec<i32>>;
