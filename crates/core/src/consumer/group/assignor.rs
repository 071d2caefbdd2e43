//! Assignment of partitions to the members of a classic group.
//!
//! The strategies are Kafka's. Any member can be the leader, so `range` and `roundrobin` must compute the assignment of
//! other clients' leaders. The sticky strategies need only have the same notion of balance.

mod model;
mod racks;
mod range;
mod sticky;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use crate::consumer::rebalance_protocol::RebalanceProtocol;

pub(super) use model::{Assignment, Member, Shape};

/// An assignment strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Assigns each member consecutive partitions of each topic.
    Range,
    /// Assigns all partitions of all topics in turn.
    RoundRobin,
    /// Balances with as few moved partitions as possible (KIP-54).
    Sticky,
    /// Like `Sticky`; members keep their partitions during a rebalance (KIP-429).
    CooperativeSticky,
}

impl Strategy {
    const ALL: [Strategy; 4] = [
        Strategy::Range,
        Strategy::RoundRobin,
        Strategy::Sticky,
        Strategy::CooperativeSticky,
    ];

    /// Returns the strategy's name in JoinGroup.
    pub(super) fn name(self) -> &'static str {
        match self {
            Strategy::Range => "range",
            Strategy::RoundRobin => "roundrobin",
            Strategy::Sticky => "sticky",
            Strategy::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// Returns the rebalance protocol of groups with this strategy.
    pub(super) fn protocol(self) -> RebalanceProtocol {
        match self {
            Strategy::Range | Strategy::RoundRobin | Strategy::Sticky => RebalanceProtocol::Eager,
            Strategy::CooperativeSticky => RebalanceProtocol::Cooperative,
        }
    }

    /// Returns the strategy with this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Strategy::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// Assigns the partitions of `topics` to `members`; returns the assignments by member id. The order of members does not
/// matter.
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

/// Removes partitions that move between members (KIP-429). Their owners revoke them and join again, and the next assignment
/// contains them.
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
