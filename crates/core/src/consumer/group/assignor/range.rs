//! `range`: consecutive partitions of each topic for each member. With racks (KIP-881) partitions with a replica in the
//! member's rack come first, and topics with the same subscribers and number of partitions are assigned alike.

use std::collections::BTreeMap;

use super::model::{Assignment, Member, Shape};
use super::racks::Racks;

/// The unassigned partitions of a topic.
struct Rest {
    place: usize,
    count: usize,
    members: Vec<usize>,
    /// Unassigned partitions.
    left: Vec<usize>,
    given: BTreeMap<usize, Vec<usize>>,
    /// The number of partitions of each member,
    each: usize,
    /// and the number of members with one more.
    extra: usize,
}

impl Rest {
    /// Returns the number of further partitions that a member may get.
    fn room(&self, m: usize) -> usize {
        let most = self.each + usize::from(self.extra > 0);
        most.saturating_sub(self.given.get(&m).map_or(0, Vec::len))
    }

    fn give(&mut self, m: usize, partitions: &[usize]) {
        let given = self.given.entry(m).or_default();
        given.extend(partitions);
        if given.len() > self.each {
            self.extra = self.extra.saturating_sub(1);
        }
        self.left.retain(|p| !partitions.contains(p));
    }

    /// Assigns to each member in turn the first partitions that suit it.
    fn deal(&mut self, fit: impl Fn(usize, usize) -> bool) {
        for m in self.members.clone() {
            let fitting = self.left.iter().copied().filter(|p| fit(*p, m));
            let some: Vec<usize> = fitting.take(self.room(m)).collect();
            if !some.is_empty() {
                self.give(m, &some);
            }
        }
    }
}

/// Assigns to the members in `order`; returns the assignments in that order.
pub(super) fn divide(order: &[&Member], topics: &BTreeMap<String, Shape>) -> Vec<Assignment> {
    let racks = Racks::new(order, topics);
    let mut rests: Vec<(&String, Rest)> = Vec::new();
    for (place, (name, shape)) in topics.iter().enumerate() {
        let members = order.iter().enumerate().filter(|(_, m)| m.wants(name));
        let members: Vec<usize> = members.map(|(m, _)| m).collect();
        if members.is_empty() {
            continue;
        }
        let count = usize::try_from(shape.count).unwrap_or(0);
        let rest = Rest {
            place,
            count,
            left: (0..count).collect(),
            given: BTreeMap::new(),
            each: count / members.len(),
            extra: count % members.len(),
            members,
        };
        rests.push((name, rest));
    }
    if racks.matter() {
        deal_near(&mut rests, &racks);
    }
    let mut assignments = vec![Assignment::new(); order.len()];
    for (name, mut rest) in rests {
        rest.deal(|_, _| true);
        for (m, mut partitions) in rest.given {
            partitions.sort_unstable();
            let partitions = partitions.into_iter().filter_map(|p| i32::try_from(p).ok());
            if let Some(assignment) = assignments.get_mut(m) {
                assignment.insert(name.clone(), partitions.collect());
            }
        }
    }
    assignments
}

fn deal_near(rests: &mut [(&String, Rest)], racks: &Racks) {
    let mut alike: BTreeMap<(Vec<usize>, usize), Vec<usize>> = BTreeMap::new();
    for (at, (_, rest)) in rests.iter().enumerate() {
        alike.entry((rest.members.clone(), rest.count)).or_default().push(at);
    }
    for ((members, count), group) in alike {
        if let [only] = group.as_slice() {
            if let Some((_, rest)) = rests.get_mut(*only) {
                let place = rest.place;
                rest.deal(|p, m| racks.is_near(place, p, m));
            }
            continue;
        }
        for p in 0..count {
            let fits = |m: usize| {
                let mut of_group = group.iter().filter_map(|at| rests.get(*at));
                of_group.all(|(_, rest)| racks.is_near(rest.place, p, m) && rest.room(m) > 0)
            };
            let Some(m) = members.iter().copied().find(|m| fits(*m)) else {
                continue;
            };
            for at in &group {
                if let Some((_, rest)) = rests.get_mut(*at) {
                    rest.give(m, &[p]);
                }
            }
        }
    }
}
