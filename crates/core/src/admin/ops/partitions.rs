//! Partitions of requests and responses, which contain them by topic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::types::TopicPartition;

/// Returns partitions by topic, each with its value.
pub(super) fn by_topic<'a, T>(
    partitions: impl IntoIterator<Item = (&'a TopicPartition, T)>,
) -> BTreeMap<Arc<str>, Vec<(i32, T)>> {
    let mut topics: BTreeMap<Arc<str>, Vec<(i32, T)>> = BTreeMap::new();
    for (tp, value) in partitions {
        topics.entry(tp.topic.clone()).or_default().push((tp.partition, value));
    }
    topics
}

/// Returns whether an item occurs twice.
pub(super) fn has_duplicate<T: Ord>(items: impl IntoIterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    items.into_iter().any(|item| !seen.insert(item))
}
