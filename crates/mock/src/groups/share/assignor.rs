//! The assignor of share groups. All partitions are assigned, and members have about the same number of them. With more
//! members than partitions, several members share a partition. Members keep what they have as far as balance allows.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::Uuid;

use crate::groups::consumer::Partitions;

/// The assignor's name, as in ShareGroupDescribe.
pub(super) const NAME: &str = "simple";

/// A member as input of the assignor.
pub(super) struct Candidate<'a> {
    /// The existing topics of its subscription.
    pub(super) topics: BTreeSet<Uuid>,
    /// The member's part of the last target assignment.
    pub(super) current: &'a Partitions,
}

/// Returns the candidates' assignments in their order. `assignable` has the partitions that may be assigned. Members
/// with the same subscription balance all its partitions; otherwise each topic is balanced on its own.
pub(super) fn assign(members: &[Candidate<'_>], assignable: &Partitions) -> Vec<Partitions> {
    let mut assignments = vec![Partitions::new(); members.len()];
    let Some(first) = members.first() else {
        return assignments;
    };
    if members.iter().all(|member| member.topics == first.topics) {
        let partitions = assignable.iter().filter(|(topic, _)| first.topics.contains(topic));
        let partitions: Vec<_> = partitions.copied().collect();
        let everyone: Vec<usize> = (0..members.len()).collect();
        assign_pool(members, &partitions, &everyone, &mut assignments);
        return assignments;
    }
    let mut topics: BTreeMap<Uuid, Vec<(Uuid, i32)>> = BTreeMap::new();
    for partition in assignable {
        topics.entry(partition.0).or_default().push(*partition);
    }
    for (topic, partitions) in topics {
        let subscribers = (0..).zip(members).filter(|(_, m)| m.topics.contains(&topic));
        let subscribers: Vec<usize> = subscribers.map(|(at, _)| at).collect();
        assign_pool(members, &partitions, &subscribers, &mut assignments);
    }
    assignments
}

/// Assigns partitions to some of the members.
fn assign_pool(
    members: &[Candidate<'_>],
    partitions: &[(Uuid, i32)],
    subscribers: &[usize],
    assignments: &mut [Partitions],
) {
    if partitions.is_empty() || subscribers.is_empty() {
        return;
    }
    let sharing = subscribers.len().div_ceil(partitions.len());
    // The total is spread so that the numbers of any two members differ by one at most.
    let total = sharing * partitions.len();
    let share = |index: usize| (total * index).div_ceil(subscribers.len());
    let mut holders: BTreeMap<(Uuid, i32), usize> = partitions.iter().map(|p| (*p, 0)).collect();
    let mut unfilled = Vec::new();
    for (index, &at) in subscribers.iter().enumerate() {
        let desired = share(index + 1) - share(index);
        let mut kept = Partitions::new();
        for partition in members.get(at).into_iter().flat_map(|m| m.current) {
            if let Some(count) = holders.get_mut(partition)
                && *count < sharing
                && kept.len() < desired
            {
                *count += 1;
                kept.insert(*partition);
            }
        }
        if kept.len() < desired {
            unfilled.push((at, desired - kept.len()));
        }
        if let Some(assignment) = assignments.get_mut(at) {
            assignment.extend(kept);
        }
    }
    for (partition, count) in holders {
        let mut missing = sharing - count;
        // Members take turns. One that has the partition already is passed over.
        let mut passed = 0;
        while missing > 0 && passed < unfilled.len() {
            let (at, left) = unfilled.remove(0);
            let is_new = assignments.get_mut(at).is_some_and(|a| a.insert(partition));
            match is_new {
                true => {
                    missing -= 1;
                    passed = 0;
                }
                false => passed += 1,
            }
            let left = left - usize::from(is_new);
            if left > 0 {
                unfilled.push((at, left));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: Uuid = Uuid([1; 16]);
    const OTHER: Uuid = Uuid([2; 16]);

    fn partitions(topic: Uuid, count: i32) -> Partitions {
        (0..count).map(|p| (topic, p)).collect()
    }

    /// Assigns partitions to members with these topics and current assignments.
    fn run(members: &[(&[Uuid], Partitions)], assignable: &Partitions) -> Vec<Partitions> {
        let candidates = members.iter().map(|(topics, current)| Candidate {
            topics: topics.iter().copied().collect(),
            current,
        });
        assign(&candidates.collect::<Vec<_>>(), assignable)
    }

    fn sizes(assignments: &[Partitions]) -> Vec<usize> {
        assignments.iter().map(Partitions::len).collect()
    }

    #[test]
    fn partitions_are_spread_evenly_and_all_covered() {
        for (members, count, expected) in [
            (1, 4, vec![4]),
            (2, 3, vec![2, 1]),
            (3, 3, vec![1, 1, 1]),
            (3, 2, vec![2, 1, 1]),
            (5, 1, vec![1, 1, 1, 1, 1]),
        ] {
            let new = vec![(&[TOPIC][..], Partitions::new()); members];
            let assignments = run(&new, &partitions(TOPIC, count));
            assert_eq!(sizes(&assignments), expected, "{members} members, {count} partitions");
            let covered: Partitions = assignments.into_iter().flatten().collect();
            assert_eq!(covered, partitions(TOPIC, count));
        }
    }

    #[test]
    fn members_keep_partitions_as_far_as_balance_allows() {
        let kept: Partitions = [(TOPIC, 1), (TOPIC, 3)].into();
        let assignments = run(
            &[(&[TOPIC], kept.clone()), (&[TOPIC], Partitions::new())],
            &partitions(TOPIC, 4),
        );
        assert_eq!(assignments, [kept, [(TOPIC, 0), (TOPIC, 2)].into()]);
        let all = partitions(TOPIC, 4);
        let assignments = run(&[(&[TOPIC], all.clone()), (&[TOPIC], Partitions::new())], &all);
        assert_eq!(sizes(&assignments), [2, 2]);
    }

    #[test]
    fn topics_are_balanced_separately_when_subscriptions_differ() {
        let none = Partitions::new;
        let members = [
            (&[TOPIC][..], none()),
            (&[OTHER][..], none()),
            (&[TOPIC, OTHER][..], none()),
        ];
        let assignable = &partitions(TOPIC, 4) | &partitions(OTHER, 2);
        let assignments = run(&members, &assignable);
        assert_eq!(sizes(&assignments), [2, 1, 3]);
        assert!(assignments[0].iter().all(|(topic, _)| *topic == TOPIC));
        assert!(assignments[1].iter().all(|(topic, _)| *topic == OTHER));
    }
}
