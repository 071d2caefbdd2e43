//! Replicas in the racks of members (KIP-881).

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Member, Shape};

/// The racks of members and replicas.
#[derive(Debug)]
pub(super) struct Racks {
    /// By member, if racks matter.
    of_member: Vec<Option<usize>>,
    /// By topic and partition.
    of_partition: Vec<Vec<BTreeSet<usize>>>,
    matter: bool,
}

impl Racks {
    pub(super) fn new(order: &[&Member], topics: &BTreeMap<String, Shape>) -> Self {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let partitions = topics.values().flat_map(|shape| &shape.racks);
        for rack in partitions.flatten() {
            let next = numbers.len();
            numbers.entry(rack).or_insert(next);
        }
        let of_member = order.iter().map(|m| Some(numbers.get(m.rack.as_deref()?).copied()));
        let of_member: Vec<Option<Option<usize>>> = of_member.collect();
        let of_partition: Vec<Vec<BTreeSet<usize>>> = topics
            .values()
            .map(|shape| {
                let known = shape.racks.iter();
                known.map(|racks| racks.iter().filter_map(|r| numbers.get(r.as_str()).copied()).collect())
            })
            .map(Iterator::collect)
            .collect();
        // Racks do not matter if no member is in a replica's rack, or if every rack has a replica of every partition.
        let meets = of_member.iter().flatten().any(Option::is_some);
        let everywhere = of_partition.iter().flatten().all(|racks| racks.len() == numbers.len());
        Racks {
            // All racks without a replica get one common number.
            of_member: of_member
                .iter()
                .map(|m| m.map(|rack| rack.unwrap_or(usize::MAX)))
                .collect(),
            of_partition,
            matter: meets && !everywhere,
        }
    }

    /// Returns true if racks distinguish assignments.
    pub(super) fn matter(&self) -> bool {
        self.matter
    }

    /// Returns true if a partition of the topic with index `topic` has a replica in the member's rack, or if the member has
    /// no rack.
    pub(super) fn is_near(&self, topic: usize, partition: usize, member: usize) -> bool {
        if !self.matter {
            return true;
        }
        let Some(Some(rack)) = self.of_member.get(member) else {
            return true;
        };
        let racks = self.of_partition.get(topic).and_then(|topic| topic.get(partition));
        racks.is_some_and(|racks| racks.contains(rack))
    }
}
