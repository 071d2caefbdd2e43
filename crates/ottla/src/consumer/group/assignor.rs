//! Dividing partitions among the members of a classic group.
//!
//! The strategies are Kafka's; every member can be the leader that carries them out, so `range` and `roundrobin` must give
//! what other clients' leaders would. The sticky ones need only agree with them on what is balanced.

mod racks;
mod range;
mod sticky;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::actions::RebalanceProtocol;

/// A way to divide partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Topic by topic, each member a run of consecutive partitions.
    Range,
    /// All partitions of all topics dealt out in turn.
    RoundRobin,
    /// Balanced, with as few partitions as possible going from one member to another (KIP-54).
    Sticky,
    /// The same, and members keep their partitions while the group rebalances (KIP-429).
    CooperativeSticky,
}

impl Strategy {
    const ALL: [Strategy; 4] = [
        Strategy::Range,
        Strategy::RoundRobin,
        Strategy::Sticky,
        Strategy::CooperativeSticky,
    ];

    /// The strategy's name in the group protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Strategy::Range => "range",
            Strategy::RoundRobin => "roundrobin",
            Strategy::Sticky => "sticky",
            Strategy::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// How a group with this strategy hands partitions over.
    pub(super) fn protocol(self) -> RebalanceProtocol {
        match self {
            Strategy::Range | Strategy::RoundRobin | Strategy::Sticky => RebalanceProtocol::Eager,
            Strategy::CooperativeSticky => RebalanceProtocol::Cooperative,
        }
    }

    /// The strategy that has this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Strategy::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// A member as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Member {
    pub(super) id: String,
    /// `group.instance.id`: static members keep their order when their member ids change.
    pub(super) instance_id: Option<String>,
    pub(super) topics: Vec<String>,
    /// What it has, or had before it gave it up to join, as it says.
    pub(super) owned: Vec<(String, i32)>,
    /// The generation in which it got that, negative for unknown.
    pub(super) generation: i32,
    pub(super) rack: Option<String>,
}

impl Member {
    fn wants(&self, topic: &str) -> bool {
        self.topics.iter().any(|t| t == topic)
    }
}

/// What is divided of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Shape {
    /// Number of partitions.
    pub(super) count: i32,
    /// By partition, the racks of its replicas as far as they are known.
    pub(super) racks: Vec<BTreeSet<String>>,
}

/// Partitions by topic.
pub(super) type Assignment = BTreeMap<String, Vec<i32>>;

/// Divides the partitions of `topics` among `members`; gives each member's assignment by its id. The same members in another
/// order get the same.
pub(super) fn divide(
    strategy: Strategy,
    members: &[Member],
    topics: &BTreeMap<String, Shape>,
) -> BTreeMap<String, Assignment> {
    let mut order: Vec<&Member> = members.iter().collect();
    // Static members come first, by instance id, then the others by member id.
    order.sort_by_key(|m| (m.instance_id.is_none(), m.instance_id.clone(), m.id.clone()));
    let assignments = match strategy {
        Strategy::Range => range::divide(&order, topics),
        Strategy::RoundRobin => round_robin(&order, topics),
        Strategy::Sticky | Strategy::CooperativeSticky => sticky::divide(&order, topics),
    };
    let ids = order.iter().map(|m| m.id.clone());
    let mut assignments: BTreeMap<String, Assignment> = ids.zip(assignments).collect();
    if strategy == Strategy::CooperativeSticky {
        hold_back(&order, &mut assignments);
    }
    assignments
}

/// KIP-429: a partition that changes hands is given to nobody this time. Its owner gives it up and joins anew, and the
/// next division hands it over.
fn hold_back(order: &[&Member], assignments: &mut BTreeMap<String, Assignment>) {
    let mut owners: HashMap<(&str, i32), Vec<&str>> = HashMap::new();
    for member in order {
        for (topic, partition) in &member.owned {
            owners.entry((topic, *partition)).or_default().push(&member.id);
        }
    }
    for (id, assignment) in assignments {
        for (topic, partitions) in assignment.iter_mut() {
            partitions.retain(|p| {
                let owners = owners.get(&(topic.as_str(), *p));
                owners.is_none_or(|owners| owners.contains(&id.as_str()))
            });
        }
        assignment.retain(|_, partitions| !partitions.is_empty());
    }
}

fn round_robin(order: &[&Member], topics: &BTreeMap<String, Shape>) -> Vec<Assignment> {
    let mut assignments = vec![Assignment::new(); order.len()];
    let mut turn = 0;
    for (topic, shape) in topics {
        if !order.iter().any(|m| m.wants(topic)) {
            continue;
        }
        for partition in 0..shape.count {
            let next = (0..order.len()).map(|i| (turn + i) % order.len());
            let next = next.into_iter().find(|m| order.get(*m).is_some_and(|m| m.wants(topic)));
            if let Some(m) = next
                && let Some(assignment) = assignments.get_mut(m)
            {
                assignment.entry(topic.clone()).or_default().push(partition);
                turn = (m + 1) % order.len();
            }
        }
    }
    assignments
}
