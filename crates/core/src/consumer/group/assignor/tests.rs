//! Golden cases from Kafka's own tests, and what must hold for any group.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

type Assignments = BTreeMap<String, Assignment>;

fn member(id: &str, topics: &[&str]) -> Member {
    Member {
        id: id.into(),
        topics: topics.iter().map(|t| t.to_string()).collect(),
        generation: -1,
        ..Member::default()
    }
}

fn counts(rows: &[(&str, i32)]) -> BTreeMap<String, Shape> {
    let shape = |count: i32| Shape {
        count,
        racks: Vec::new(),
    };
    rows.iter().map(|(t, n)| (t.to_string(), shape(*n))).collect()
}

/// Topics whose replicas are in `racks` racks in turn, as in Kafka's tests.
fn in_racks(rows: &[(&str, i32)], replicas: usize, racks: usize) -> BTreeMap<String, Shape> {
    let mut next = 0;
    let mut topics = BTreeMap::new();
    for (name, count) in rows {
        let of = |p: usize| (0..replicas).map(|r| format!("rack{}", (p + r) % racks)).collect();
        let n = usize::try_from(*count).unwrap();
        let shape = Shape {
            count: *count,
            racks: (next..next + n).map(of).collect(),
        };
        next += n;
        topics.insert(name.to_string(), shape);
    }
    topics
}

fn assignment(all: &Assignments, id: &str) -> String {
    let rows = all[id].iter();
    let names = rows.flat_map(|(t, ps)| ps.iter().map(move |p| format!("{t}-{p}")));
    names.collect::<Vec<_>>().join(", ")
}

#[test]
fn range_assigns_the_remainder_to_the_first_members() {
    let members = [member("b", &["x", "y"]), member("a", &["x", "y"])];
    let all = divide(Strategy::Range, &members, &counts(&[("x", 3), ("y", 3)]));
    assert_eq!(assignment(&all, "a"), "x-0, x-1, y-0, y-1");
    assert_eq!(assignment(&all, "b"), "x-2, y-2");
}

#[test]
fn round_robin_assigns_across_topics_and_skips_unsubscribed_members() {
    // The example of Kafka's documentation: t0 has 1, t1 has 2, t2 has 3 partitions.
    let members = [
        member("C0", &["t0"]),
        member("C1", &["t0", "t1"]),
        member("C2", &["t0", "t1", "t2"]),
    ];
    let topics = counts(&[("t0", 1), ("t1", 2), ("t2", 3)]);
    let all = divide(Strategy::RoundRobin, &members, &topics);
    assert_eq!(assignment(&all, "C0"), "t0-0");
    assert_eq!(assignment(&all, "C1"), "t1-0");
    assert_eq!(assignment(&all, "C2"), "t1-1, t2-0, t2-1, t2-2");
}

#[test]
fn static_members_keep_their_order() {
    let mut late = member("zzz", &["x"]);
    late.instance_id = Some("i".into());
    let members = [member("aaa", &["x"]), late];
    let all = divide(Strategy::Range, &members, &counts(&[("x", 2)]));
    assert_eq!(assignment(&all, "zzz"), "x-0");
}

/// Members 0, 1, 2 … in racks 0, 1, 2 …
fn range_in_racks(
    rows: &[(&str, i32)],
    (replicas, racks): (usize, usize),
    members: &[(usize, &[&str])],
    expected: &[&str],
) {
    let made = members.iter().enumerate().map(|(i, (rack, topics))| Member {
        rack: Some(format!("rack{rack}")),
        ..member(&format!("consumer{i}"), topics)
    });
    let made: Vec<Member> = made.collect();
    let all = divide(Strategy::Range, &made, &in_racks(rows, replicas, racks));
    let got: Vec<String> = made.iter().map(|m| assignment(&all, &m.id)).collect();
    assert_eq!(got, expected, "{replicas} replicas in {racks} racks");
}

/// RangeAssignorTest, testRackAwareAssignmentWith*.
#[test]
fn range_prefers_racks_and_assigns_equal_topics_alike() {
    let three: &[&str] = &["t1", "t2", "t3"];
    let equal = [(0, three), (1, three), (2, three)];
    let rows = [("t1", 6), ("t2", 7), ("t3", 2)];
    let plain = [
        "t1-0, t1-1, t2-0, t2-1, t2-2, t3-0",
        "t1-2, t1-3, t2-3, t2-4, t3-1",
        "t1-4, t1-5, t2-5, t2-6",
    ];
    let one = [
        "t1-0, t1-3, t2-0, t2-3, t2-6",
        "t1-1, t1-4, t2-1, t2-4, t3-0",
        "t1-2, t1-5, t2-2, t2-5, t3-1",
    ];
    let two = [
        "t1-0, t1-2, t2-0, t2-2, t2-3, t3-1",
        "t1-1, t1-3, t2-1, t2-4, t3-0",
        "t1-4, t1-5, t2-5, t2-6",
    ];
    range_in_racks(&rows, (1, 3), &equal, &one);
    range_in_racks(&rows, (2, 3), &equal, &two);
    range_in_racks(&rows, (2, 2), &equal, &plain);
    let unequal: [(usize, &[&str]); 3] = [(0, three), (1, three), (2, &["t1", "t3"])];
    let one = [
        "t1-0, t1-3, t2-0, t2-2, t2-3, t2-6",
        "t1-1, t1-4, t2-1, t2-4, t2-5, t3-0",
        "t1-2, t1-5, t3-1",
    ];
    range_in_racks(&rows, (1, 3), &unequal, &one);
    let rows = [("t1", 5), ("t2", 5), ("t3", 5)];
    let plain = [
        "t1-0, t1-1, t2-0, t2-1, t3-0, t3-1",
        "t1-2, t1-3, t2-2, t2-3, t3-2, t3-3",
        "t1-4, t2-4, t3-4",
    ];
    range_in_racks(&rows, (1, 3), &equal, &plain);
    range_in_racks(&rows, (2, 3), &equal, &plain);
    let two = [
        "t1-2, t2-0, t2-1, t2-3, t3-2",
        "t1-0, t1-3, t2-2, t2-4, t3-0, t3-3",
        "t1-1, t1-4, t3-1, t3-4",
    ];
    range_in_racks(&rows, (2, 3), &unequal, &two);
    let (a, b): (&[&str], &[&str]) = (&["t1", "t2"], &["t3", "t4"]);
    let rows = [("t1", 6), ("t2", 6), ("t3", 2), ("t4", 2)];
    let apart = [
        "t1-0, t1-2, t1-4, t2-0, t2-2, t2-4",
        "t1-1, t1-3, t1-5, t2-1, t2-3, t2-5",
        "t3-1, t4-1",
        "t3-0, t4-0",
    ];
    range_in_racks(&rows, (1, 2), &[(0, a), (1, a), (1, b), (0, b)], &apart);
}

/// AbstractStickyAssignorTest: cases with one right answer.
#[test]
fn sticky_without_history_is_round_robin() {
    let both = &["topic1", "topic2"];
    let members = [member("consumer1", both), member("consumer2", both)];
    let all = divide(Strategy::Sticky, &members, &counts(&[("topic1", 3), ("topic2", 3)]));
    assert_eq!(assignment(&all, "consumer1"), "topic1-0, topic1-2, topic2-1");
    assert_eq!(assignment(&all, "consumer2"), "topic1-1, topic2-0, topic2-2");
    let members = [
        member("consumer1", &["topic1"]),
        member("consumer2", both),
        member("consumer3", &["topic1"]),
    ];
    let all = divide(Strategy::Sticky, &members, &counts(&[("topic1", 3), ("topic2", 2)]));
    assert_eq!(assignment(&all, "consumer1"), "topic1-0, topic1-2");
    assert_eq!(assignment(&all, "consumer2"), "topic2-0, topic2-1");
    assert_eq!(assignment(&all, "consumer3"), "topic1-1");
}

fn own(member: &mut Member, rows: &[(&str, &[i32])], generation: i32) {
    let rows = rows.iter().flat_map(|(t, ps)| ps.iter().map(|p| (t.to_string(), *p)));
    member.owned = rows.collect();
    member.generation = generation;
}

/// The example of KIP-54: C1 leaves, and what the others have stays where it is.
#[test]
fn sticky_moves_only_partitions_of_a_leaving_member() {
    let all = &["t0", "t1", "t2", "t3"];
    let mut members = [member("C0", all), member("C2", all)];
    own(&mut members[0], &[("t0", &[0]), ("t1", &[1]), ("t3", &[0])], 1);
    own(&mut members[1], &[("t1", &[0]), ("t2", &[1])], 1);
    let topics = counts(&[("t0", 2), ("t1", 2), ("t2", 2), ("t3", 2)]);
    let assignments = divide(Strategy::Sticky, &members, &topics);
    assert_eq!(assignment(&assignments, "C0"), "t0-0, t1-1, t2-0, t3-0");
    assert_eq!(assignment(&assignments, "C2"), "t0-1, t1-0, t2-1, t3-1");
}

/// KIP-341: an older claim does not count against a newer one, and of two in one generation neither counts.
#[test]
fn later_generation_of_owned_partitions_counts() {
    let mut members = [member("a", &["x"]), member("b", &["x"]), member("c", &["x"])];
    own(&mut members[0], &[("x", &[0, 1, 2])], 4);
    own(&mut members[1], &[("x", &[0, 2])], 5);
    own(&mut members[2], &[("x", &[3, 4, 5])], 5);
    let all = divide(Strategy::Sticky, &members, &counts(&[("x", 6)]));
    assert_eq!(assignment(&all, "b"), "x-0, x-2");
    assert_eq!(all["a"]["x"].len(), 2);
    assert!(all["a"]["x"].contains(&1));
    let held_back = divide(Strategy::CooperativeSticky, &members, &counts(&[("x", 6)]));
    assert_eq!(assignment(&held_back, "a"), "x-1", "one more is on its way from c");
}

// -------------------------------------------------------------------- any group

struct Group {
    members: Vec<Member>,
    topics: BTreeMap<String, Shape>,
    next_id: usize,
}

impl Group {
    fn apply_effects(rng: &mut fastrand::Rng, most: usize, uniform: bool, racks: bool) -> Self {
        let mut topics = BTreeMap::new();
        for t in 0..rng.usize(1..=3) {
            let count = rng.usize(0..=most);
            let shape = Shape {
                count: i32::try_from(count).unwrap(),
                racks: match racks {
                    true => (0..count).map(|_| Self::draw_racks(rng)).collect(),
                    false => Vec::new(),
                },
            };
            topics.insert(format!("t{t}"), shape);
        }
        let mut group = Group {
            members: Vec::new(),
            topics,
            next_id: 0,
        };
        for _ in 0..rng.usize(1..=3) {
            group.join(rng, uniform, racks);
        }
        group
    }

    fn draw_racks(rng: &mut fastrand::Rng) -> BTreeSet<String> {
        (0..rng.usize(0..=2)).map(|_| format!("r{}", rng.usize(0..3))).collect()
    }

    fn join(&mut self, rng: &mut fastrand::Rng, uniform: bool, racks: bool) {
        // Ids are not ordered.
        let id = format!("m{}-{}", rng.u8(..), self.next_id);
        self.next_id += 1;
        let names = self.topics.keys().filter(|_| uniform || rng.f32() < 0.6);
        self.members.push(Member {
            id,
            topics: names.cloned().collect(),
            generation: -1,
            rack: (racks && rng.f32() < 0.8).then(|| format!("r{}", rng.usize(0..3))),
            ..Member::default()
        });
    }

    /// Something happens to the group.
    fn disturb(&mut self, rng: &mut fastrand::Rng, uniform: bool, racks: bool) {
        match rng.usize(0..4) {
            0 if self.members.len() < 4 => self.join(rng, uniform, racks),
            1 if self.members.len() > 1 => {
                let at = rng.usize(..self.members.len());
                self.members.remove(at);
            }
            2 => {
                let grown = rng.usize(..self.topics.len());
                let shape = self.topics.values_mut().nth(grown).unwrap();
                shape.count += 1;
                if racks {
                    shape.racks.push(Self::draw_racks(rng));
                }
            }
            _ if !uniform => {
                let at = rng.usize(..self.members.len());
                let names = self.topics.keys().filter(|_| rng.bool());
                self.members[at].topics = names.cloned().collect();
            }
            _ => {}
        }
    }

    /// Sets the owned partitions of each member to its assignment.
    fn take(&mut self, assignments: &Assignments, generation: i32) {
        for member in &mut self.members {
            let assignment = assignments[&member.id].iter();
            member.owned = assignment
                .flat_map(|(t, ps)| ps.iter().map(|p| (t.clone(), *p)))
                .collect();
            member.generation = generation;
        }
    }

    fn partitions(&self) -> Vec<(String, i32)> {
        let wanted = self
            .topics
            .iter()
            .filter(|(t, _)| self.members.iter().any(|m| m.wants(t)));
        wanted
            .flat_map(|(t, s)| (0..s.count).map(move |p| (t.clone(), p)))
            .collect()
    }

    /// Every partition of a subscribed topic has one owner, which subscribes to it.
    fn check_valid(&self, assignments: &Assignments) {
        let mut given: Vec<(String, i32)> = Vec::new();
        for member in &self.members {
            for (topic, partitions) in &assignments[&member.id] {
                assert!(member.wants(topic), "{} got {topic}", member.id);
                given.extend(partitions.iter().map(|p| (topic.clone(), *p)));
            }
        }
        given.sort();
        assert_eq!(given, self.partitions());
    }

    /// Squares of the members' numbers of partitions, and partitions that have another owner than before.
    fn cost(&self, assignments: &Assignments) -> (usize, usize) {
        let loads = assignments.values().map(|s| s.values().map(Vec::len).sum::<usize>());
        let mut moves = 0;
        for member in &self.members {
            let kept = |(t, p): &&(String, i32)| assignments[&member.id].get(t).is_some_and(|ps| ps.contains(p));
            let there = |(t, p): &&(String, i32)| member.wants(t) && *p < self.topics[t].count;
            moves += member.owned.iter().filter(there).filter(|tp| !kept(tp)).count();
        }
        (loads.map(|n| n * n).sum(), moves)
    }

    /// The least cost that any division has.
    fn optimum(&self) -> (usize, usize) {
        let partitions = self.partitions();
        let mut best = (usize::MAX, usize::MAX);
        let mut choice = vec![0; partitions.len()];
        'next: loop {
            let fits = partitions
                .iter()
                .zip(&choice)
                .all(|((t, _), m): (_, &usize)| self.members[*m].wants(t));
            if fits {
                let mut loads = vec![0; self.members.len()];
                let mut moves = 0;
                for (tp, m) in partitions.iter().zip(&choice) {
                    loads[*m] += 1;
                    let owner = self.members.iter().position(|o| o.wants(&tp.0) && o.owned.contains(tp));
                    moves += usize::from(owner.is_some_and(|o| o != *m));
                }
                best = best.min((loads.iter().map(|n| n * n).sum(), moves));
            }
            for digit in &mut choice {
                *digit += 1;
                if *digit < self.members.len() {
                    continue 'next;
                }
                *digit = 0;
            }
            return best;
        }
    }

    fn near(&self, assignments: &Assignments) -> usize {
        let mut near = 0;
        for member in &self.members {
            for (topic, partitions) in &assignments[&member.id] {
                let racks = &self.topics[topic].racks;
                let is_near = |p: &&i32| {
                    let rack = member.rack.as_ref();
                    rack.is_none_or(|rack| racks[usize::try_from(**p).unwrap()].contains(rack))
                };
                near += partitions.iter().filter(is_near).count();
            }
        }
        near
    }
}

#[test]
fn sticky_is_balanced_with_the_fewest_moves() {
    let mut rng = fastrand::Rng::with_seed(54);
    let mut moved = 0;
    for round in 0..600 {
        let uniform = round % 2 == 0;
        let mut group = Group::apply_effects(&mut rng, 3, uniform, false);
        for generation in 0..6 {
            let assignments = divide(Strategy::Sticky, &group.members, &group.topics);
            group.check_valid(&assignments);
            if group.partitions().len() <= 6 {
                let cost = group.cost(&assignments);
                assert_eq!(
                    cost,
                    group.optimum(),
                    "{:?} {:?}: {assignments:?}",
                    group.members,
                    group.topics
                );
                moved += cost.1;
            }
            group.take(&assignments, generation);
            let again = divide(Strategy::Sticky, &group.members, &group.topics);
            assert_eq!(again, assignments, "nothing has happened");
            group.disturb(&mut rng, uniform, false);
        }
    }
    assert!(moved > 100, "{moved}");
}

#[test]
fn assignment_does_not_depend_on_member_order() {
    let mut rng = fastrand::Rng::with_seed(341);
    for round in 0..300 {
        let (uniform, racks) = (round % 2 == 0, round % 3 == 0);
        let mut group = Group::apply_effects(&mut rng, 9, uniform, racks);
        for generation in 0..4 {
            for strategy in Strategy::ALL {
                let assignments = divide(strategy, &group.members, &group.topics);
                let mut shuffled = group.members.clone();
                rng.shuffle(&mut shuffled);
                for member in &mut shuffled {
                    rng.shuffle(&mut member.topics);
                    rng.shuffle(&mut member.owned);
                }
                assert_eq!(divide(strategy, &shuffled, &group.topics), assignments, "{strategy:?}");
                if strategy != Strategy::CooperativeSticky {
                    group.check_valid(&assignments);
                }
            }
            let assignments = divide(Strategy::Sticky, &group.members, &group.topics);
            group.take(&assignments, generation);
            group.disturb(&mut rng, uniform, racks);
        }
    }
}

#[test]
fn racks_keep_balance_and_add_near_replicas() {
    let mut rng = fastrand::Rng::with_seed(881);
    let (mut with, mut without) = (0, 0);
    for round in 0..300 {
        let uniform = round % 2 == 0;
        let mut group = Group::apply_effects(&mut rng, 8, uniform, true);
        for generation in 0..4 {
            let assignments = divide(Strategy::Sticky, &group.members, &group.topics);
            group.check_valid(&assignments);
            let blind: Vec<Member> = group
                .members
                .iter()
                .cloned()
                .map(|m| Member { rack: None, ..m })
                .collect();
            let plain = divide(Strategy::Sticky, &blind, &group.topics);
            assert_eq!(group.cost(&assignments).0, group.cost(&plain).0);
            with += group.near(&assignments);
            without += group.near(&plain);
            group.take(&assignments, generation);
            let mut last = assignments;
            for _ in 0..20 {
                let again = divide(Strategy::Sticky, &group.members, &group.topics);
                if again == last {
                    break;
                }
                assert!(
                    group.near(&again) > group.near(&last),
                    "moves that bring nothing nearer"
                );
                group.take(&again, generation);
                last = again;
            }
            group.disturb(&mut rng, uniform, true);
        }
    }
    assert!(with > without + without / 20, "{with} {without}");
}

/// KIP-429: no partition goes from one live member to another in one step, and two steps are enough.
#[test]
fn cooperative_revokes_before_partitions_move() {
    let mut rng = fastrand::Rng::with_seed(429);
    let mut handed_over = 0;
    for round in 0..400 {
        let uniform = round % 2 == 0;
        let mut group = Group::apply_effects(&mut rng, 8, uniform, false);
        let mut generation = 0;
        for _ in 0..6 {
            let aim = divide(Strategy::Sticky, &group.members, &group.topics);
            let assignments = divide(Strategy::CooperativeSticky, &group.members, &group.topics);
            for member in &group.members {
                for other in group.members.iter().filter(|o| o.id != member.id) {
                    for (t, p) in &other.owned {
                        let taken = assignments[&member.id].get(t).is_some_and(|ps| ps.contains(p));
                        assert!(!taken, "{} has {t}-{p}, and {} got it", other.id, member.id);
                    }
                }
            }
            handed_over += usize::from(aim != assignments);
            generation += 1;
            group.take(&assignments, generation);
            let second = divide(Strategy::CooperativeSticky, &group.members, &group.topics);
            group.check_valid(&second);
            assert_eq!(
                group.cost(&second),
                (group.cost(&aim).0, 0),
                "balanced, and nothing goes back"
            );
            generation += 1;
            group.take(&second, generation);
            assert_eq!(
                divide(Strategy::CooperativeSticky, &group.members, &group.topics),
                second
            );
            group.disturb(&mut rng, uniform, false);
        }
    }
    assert!(handed_over > 200, "{handed_over}");
}

/// 200 members, 40 topics with 50 partitions each; half of the members subscribed to half of the topics only. Times five, in
/// an optimised build, it takes a second or two.
#[test]
fn large_groups_are_assigned_in_time() {
    let names: Vec<String> = (0..40).map(|t| format!("topic-{t:03}")).collect();
    let shape = Shape {
        count: 50,
        racks: Vec::new(),
    };
    let topics: BTreeMap<String, Shape> = names.iter().map(|t| (t.clone(), shape.clone())).collect();
    for uniform in [true, false] {
        let wants = |m: usize| match uniform || m.is_multiple_of(2) {
            true => names.clone(),
            false => names[..20].to_vec(),
        };
        let make = |m: usize| Member {
            id: format!("member-{m}"),
            topics: wants(m),
            generation: -1,
            ..Member::default()
        };
        let mut group = Group {
            members: (0..199).map(make).collect(),
            topics: topics.clone(),
            next_id: 0,
        };
        let begin = std::time::Instant::now();
        let first = divide(Strategy::CooperativeSticky, &group.members, &group.topics);
        group.check_valid(&first);
        group.take(&first, 1);
        group.members.push(make(199));
        group.members.remove(0);
        let second = divide(Strategy::Sticky, &group.members, &group.topics);
        let took = begin.elapsed();
        group.check_valid(&second);
        let loads: Vec<usize> = second.values().map(|s| s.values().map(Vec::len).sum()).collect();
        assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1);
        assert!(group.cost(&second).1 <= 20, "{:?}", group.cost(&second));
        println!("uniform {uniform}: {took:?}");
        assert!(took.as_secs() < 30, "{took:?}");
    }
}
