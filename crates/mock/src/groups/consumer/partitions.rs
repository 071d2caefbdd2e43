//! Sets of partitions.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::Uuid;

/// Partitions of topics, by topic id.
pub(crate) type Partitions = BTreeSet<(Uuid, i32)>;

/// Groups partitions by topic.
pub(crate) fn by_topic(partitions: &Partitions) -> BTreeMap<Uuid, Vec<i32>> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(*topic).or_default().push(*partition);
    }
    topics
}
