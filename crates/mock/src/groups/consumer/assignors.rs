//! The server-side assignors. Both keep what members have as far as balance allows.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::Uuid;

use super::partitions::Partitions;

/// A member as input of an assignor.
pub(super) struct Candidate<'a> {
    /// The existing topics of its subscription.
    pub(super) topics: BTreeSet<Uuid>,
    /// The member's part of the last target assignment.
    pub(super) current: &'a Partitions,
}

/// Returns the candidates' assignments in their order. The counts are the topics' numbers of partitions.
pub(super) type Assign = fn(&[Candidate<'_>], &BTreeMap<Uuid, i32>) -> Vec<Partitions>;

/// The assignors by name. The first is the default (`group.consumer.assignors`).
pub(super) const ASSIGNORS: &[(&str, Assign)] = &[("uniform", uniform), ("range", range)];

pub(crate) fn assignor_names() -> impl Iterator<Item = &'static str> {
    ASSIGNORS.iter().map(|(name, _)| *name)
}

/// Spreads the partitions of all topics evenly: no move of a single partition would bring the sizes of two assignments
/// closer together.
fn uniform(members: &[Candidate<'_>], topics: &BTreeMap<Uuid, i32>) -> Vec<Partitions> {
    let all = topics
        .iter()
        .flat_map(|(topic, count)| (0..*count).map(|p| (*topic, p)));
    let mut free: Partitions = all.collect();
    let mut assignments: Vec<Partitions> = Vec::new();
    for member in members {
        let kept = member
            .current
            .iter()
            .filter(|tp| member.topics.contains(&tp.0) && free.contains(tp));
        let kept: Partitions = kept.copied().collect();
        free = &free - &kept;
        assignments.push(kept);
    }
    // The candidate with the fewest partitions that subscribes to the topic; the first of several.
    let least = |assignments: &[Partitions], topic: Uuid| {
        let able = (0..).zip(members).filter(|(_, m)| m.topics.contains(&topic));
        able.map(|(at, _)| at).min_by_key(|at| size(assignments, *at))
    };
    for tp in free {
        if let Some(assignment) = least(&assignments, tp.0).and_then(|at| assignments.get_mut(at)) {
            assignment.insert(tp);
        }
    }
    // Each move reduces the sum of squares, so the loop ends.
    while let Some((from, tp, to)) = improvement(&assignments, least) {
        for (at, assignment) in assignments.iter_mut().enumerate() {
            match at {
                _ if at == from => _ = assignment.remove(&tp),
                _ if at == to => _ = assignment.insert(tp),
                _ => {}
            }
        }
    }
    assignments
}

fn size(assignments: &[Partitions], at: usize) -> usize {
    assignments.get(at).map_or(0, Partitions::len)
}

/// Finds a partition whose move brings two assignments closer together, beginning with the largest assignments.
fn improvement(
    assignments: &[Partitions],
    least: impl Fn(&[Partitions], Uuid) -> Option<usize>,
) -> Option<(usize, (Uuid, i32), usize)> {
    let mut fullest: Vec<_> = (0..).zip(assignments).collect();
    fullest.sort_by_key(|(_, assignment)| std::cmp::Reverse(assignment.len()));
    fullest.into_iter().find_map(|(from, assignment)| {
        assignment.iter().rev().find_map(|tp| {
            let to = least(assignments, tp.0).filter(|to| size(assignments, *to) + 1 < assignment.len())?;
            Some((from, *tp, to))
        })
    })
}

/// Assigns each member of a topic a range of its partitions, so that equal numbers of several topics go together.
fn range(members: &[Candidate<'_>], topics: &BTreeMap<Uuid, i32>) -> Vec<Partitions> {
    let mut assignments = vec![Partitions::new(); members.len()];
    for (topic, count) in topics {
        let of_topic = members
            .iter()
            .zip(&mut assignments)
            .filter(|(m, _)| m.topics.contains(topic));
        let mut of_topic: Vec<_> = of_topic.collect();
        let Some(number) = i32::try_from(of_topic.len()).ok().filter(|n| *n > 0) else {
            continue;
        };
        let quota = usize::try_from(count / number).unwrap_or(0);
        // The number of members that receive one more partition.
        let mut extra = count % number;
        let mut free: BTreeSet<i32> = (0..*count).collect();
        let mut unfilled = Vec::new();
        for (at, (member, assignment)) in of_topic.iter_mut().enumerate() {
            let current = member
                .current
                .iter()
                .filter(|tp| tp.0 == *topic && free.contains(&tp.1));
            let current: Vec<i32> = current.map(|tp| tp.1).collect();
            let keeps_extra = current.len() > quota && extra > 0;
            extra -= i32::from(keeps_extra);
            let kept = &current[..current.len().min(quota + usize::from(keeps_extra))];
            for partition in kept {
                free.remove(partition);
                assignment.insert((*topic, *partition));
            }
            if !keeps_extra {
                unfilled.push((at, quota - kept.len()));
            }
        }
        for (at, mut missing) in unfilled {
            if extra > 0 {
                extra -= 1;
                missing += 1;
            }
            let Some((_, assignment)) = of_topic.get_mut(at) else {
                continue;
            };
            for _ in 0..missing {
                assignment.extend(free.pop_first().map(|partition| (*topic, partition)));
            }
        }
    }
    assignments
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid([1; 16]);
    const B: Uuid = Uuid([2; 16]);

    fn all_once(assignments: &[Partitions], topics: &BTreeMap<Uuid, i32>) {
        let subscribed_names: usize = topics.values().map(|c| *c as usize).sum();
        let given: Partitions = assignments.iter().flatten().copied().collect();
        assert_eq!(
            (given.len(), assignments.iter().map(Partitions::len).sum()),
            (subscribed_names, subscribed_names)
        );
    }

    /// All members subscribe to both topics.
    fn assignments(assign: Assign, current: &[Partitions], topics: &BTreeMap<Uuid, i32>) -> Vec<Partitions> {
        let candidates = current.iter().map(|current| Candidate {
            topics: topics.keys().copied().collect(),
            current,
        });
        let assignments = assign(&candidates.collect::<Vec<_>>(), topics);
        all_once(&assignments, topics);
        assignments
    }

    fn moved(before: &[Partitions], after: &[Partitions]) -> usize {
        before.iter().zip(after).map(|(b, a)| (b - a).len()).sum()
    }

    /// The difference between the largest and the smallest assignment, counted by `counts`.
    fn spread(assignments: &[Partitions], counts: impl Fn(&(Uuid, i32)) -> bool) -> usize {
        let sizes = assignments
            .iter()
            .map(|assignment| assignment.iter().filter(|tp| counts(tp)).count());
        sizes.clone().max().unwrap() - sizes.min().unwrap()
    }

    #[test]
    fn uniform_keeps_assignments_even_on_join_and_leave() {
        let topics = BTreeMap::from([(A, 7), (B, 4)]);
        for (name, assign) in ASSIGNORS {
            let mut current = vec![Partitions::new()];
            for members in [1usize, 2, 3, 5, 4, 2, 11, 13] {
                current.resize(members, Partitions::new());
                let next = assignments(*assign, &current, &topics);
                match *name {
                    "uniform" => assert!(spread(&next, |_| true) <= 1, "{next:?}"),
                    _ => assert!(
                        topics.keys().all(|topic| spread(&next, |tp| tp.0 == *topic) <= 1),
                        "{next:?}"
                    ),
                }
                assert_eq!(moved(&next, &assignments(*assign, &next, &topics)), 0);
                current = next;
            }
        }
    }

    #[test]
    fn uniform_moves_only_the_partitions_of_the_new_member() {
        let topics = BTreeMap::from([(A, 12)]);
        for (_, assign) in ASSIGNORS {
            let three = assignments(*assign, &vec![Partitions::new(); 3], &topics);
            let mut four = three.clone();
            four.push(Partitions::new());
            assert_eq!(moved(&three, &assignments(*assign, &four, &topics)), 3);
        }
    }

    #[test]
    fn range_assigns_the_same_partitions_of_all_topics() {
        let topics = BTreeMap::from([(A, 5), (B, 5)]);
        for assignment in assignments(range, &vec![Partitions::new(); 2], &topics) {
            let of = |topic| assignment.iter().filter(move |tp| tp.0 == topic).map(|tp| tp.1);
            assert!(of(A).eq(of(B)));
        }
    }

    #[test]
    fn assignments_follow_subscriptions() {
        let topics = BTreeMap::from([(A, 6), (B, 2)]);
        let old = Partitions::from([(B, 0), (B, 1)]);
        for (_, assign) in ASSIGNORS {
            let none = Partitions::new();
            let candidates = [
                Candidate {
                    topics: BTreeSet::from([A]),
                    current: &old,
                },
                Candidate {
                    topics: BTreeSet::from([A, B]),
                    current: &none,
                },
                Candidate {
                    topics: BTreeSet::new(),
                    current: &none,
                },
            ];
            let assignments = assign(&candidates, &topics);
            all_once(&assignments, &topics);
            assert!(assignments[0].iter().all(|tp| tp.0 == A));
            assert!(assignments[2].is_empty());
        }
        let candidates = [
            Candidate {
                topics: BTreeSet::from([A]),
                current: &old,
            },
            Candidate {
                topics: BTreeSet::from([A, B]),
                current: &Partitions::new(),
            },
        ];
        assert_eq!(
            uniform(&candidates, &topics)
                .iter()
                .map(Partitions::len)
                .collect::<Vec<_>>(),
            [4, 4]
        );
    }
}
