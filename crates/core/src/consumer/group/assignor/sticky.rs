//! `sticky`: members get nearly equal numbers of partitions, and as few as possible move (KIP-54).
//!
//! First members keep their partitions. Then unassigned partitions go to the members with the fewest. Then partitions move
//! from the members with the most to those with the fewest, through other members where the two share no topic. This is the
//! search for an optimal semi-matching: the assignment is balanced when no such chain is left. A member first releases
//! partitions that it did not own before.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::model::{Assignment, Member, Shape};
use super::racks::Racks;

/// Assigns to the members in `order`; returns the assignments in that order.
pub(super) fn divide(order: &[&Member], topics: &BTreeMap<String, Shape>) -> Vec<Assignment> {
    let racks = Racks::new(order, topics);
    let mut kept = Board::new(order, topics, &racks);
    kept.settle(false);
    if !racks.matter() {
        return kept.assignments();
    }
    // Moves for the sake of racks are only kept if more partitions have a near replica; otherwise the next assignment would
    // revert them.
    let mut moved = Board::new(order, topics, &racks);
    moved.settle(true);
    match moved.near() > kept.near() {
        true => moved.assignments(),
        false => kept.assignments(),
    }
}

/// A topic to assign.
#[derive(Debug)]
struct Topic<'a> {
    name: &'a str,
    /// The index in the list of topics, for racks.
    place: usize,
    /// The index of its first partition in the list of all.
    first: usize,
    count: usize,
    /// The index of its set of subscribers.
    audience: usize,
}

/// The owners of all partitions.
#[derive(Debug)]
struct Board<'a> {
    racks: &'a Racks,
    topics: Vec<Topic<'a>>,
    /// The topic of each partition.
    topic_of: Vec<usize>,
    owner: Vec<Option<usize>>,
    /// The previous owner of each partition.
    prior: Vec<Option<usize>>,
    /// The partitions of each member.
    held: Vec<BTreeSet<usize>>,
    /// The number of partitions of each member by topic.
    held_of: Vec<BTreeMap<usize, usize>>,
    /// The members of each set of subscribers, those with the fewest partitions first.
    audiences: Vec<BTreeSet<(usize, usize)>>,
    /// The sets of subscribers of each member.
    memberships: Vec<Vec<usize>>,
}

impl<'a> Board<'a> {
    fn new(order: &[&Member], shapes: &'a BTreeMap<String, Shape>, racks: &'a Racks) -> Self {
        let mut subscribers: HashMap<&str, BTreeSet<usize>> = HashMap::new();
        for (m, member) in order.iter().enumerate() {
            for topic in &member.topics {
                subscribers.entry(topic).or_default().insert(m);
            }
        }
        let mut board = Board {
            racks,
            topics: Vec::new(),
            topic_of: Vec::new(),
            owner: Vec::new(),
            prior: Vec::new(),
            held: vec![BTreeSet::new(); order.len()],
            held_of: vec![BTreeMap::new(); order.len()],
            audiences: Vec::new(),
            memberships: vec![Vec::new(); order.len()],
        };
        let mut known: BTreeMap<BTreeSet<usize>, usize> = BTreeMap::new();
        for (place, (name, shape)) in shapes.iter().enumerate() {
            let Some(members) = subscribers.remove(name.as_str()) else {
                continue;
            };
            let next = known.len();
            let audience = *known.entry(members.clone()).or_insert(next);
            if audience == next {
                for &m in &members {
                    board.memberships[m].push(audience);
                }
                board.audiences.push(members.into_iter().map(|m| (0, m)).collect());
            }
            let (first, count) = (board.topic_of.len(), usize::try_from(shape.count).unwrap_or(0));
            board.topic_of.resize(first + count, board.topics.len());
            board.topics.push(Topic {
                name,
                place,
                first,
                count,
                audience,
            });
        }
        board.owner = vec![None; board.topic_of.len()];
        board.prior = board.claims(order);
        board
    }

    /// Returns the previous owner of each partition. Of two members that send it the later generation counts (KIP-341); of
    /// the same generation neither.
    fn claims(&self, order: &[&Member]) -> Vec<Option<usize>> {
        let index: HashMap<&str, usize> = self
            .topics
            .iter()
            .enumerate()
            .map(|(t, topic)| (topic.name, t))
            .collect();
        let mut best: Vec<Option<(i32, Option<usize>)>> = vec![None; self.topic_of.len()];
        for (m, member) in order.iter().enumerate() {
            for (name, partition) in &member.owned {
                let Some(&t) = index.get(name.as_str()) else { continue };
                let (Ok(p), topic) = (usize::try_from(*partition), &self.topics[t]) else {
                    continue;
                };
                if p >= topic.count || !self.memberships[m].contains(&topic.audience) {
                    continue;
                }
                let claim = &mut best[topic.first + p];
                match claim {
                    Some((generation, who)) if *generation == member.generation => {
                        *who = who.filter(|who| *who == m);
                    }
                    Some((generation, _)) if *generation > member.generation => {}
                    _ => *claim = Some((member.generation, Some(m))),
                }
            }
        }
        best.into_iter().map(|claim| claim.and_then(|(_, who)| who)).collect()
    }

    /// Balances the assignment. `for_racks`: partitions first move to members with a near replica.
    fn settle(&mut self, for_racks: bool) {
        for p in 0..self.prior.len() {
            if let Some(m) = self.prior[p]
                && !(for_racks && !self.is_near(p, m) && self.nearest(p).is_some())
            {
                self.give(p, m);
            }
        }
        let mut topics: Vec<usize> = (0..self.topics.len()).collect();
        // Partitions with the fewest subscribers first.
        topics.sort_by_key(|t| self.audiences[self.topics[*t].audience].len());
        for t in topics {
            let Topic { first, count, .. } = self.topics[t];
            for p in first..first + count {
                let least = self.audience_of(p).first().map(|(_, m)| *m);
                if self.owner[p].is_none()
                    && let Some(m) = self.nearest(p).or(least)
                {
                    self.give(p, m);
                }
            }
        }
        while self.level() || self.audiences.len() > 1 && self.level_by_chains() {}
    }

    // ---------------------------------------------------------------- queries

    fn audience_of(&self, p: usize) -> &BTreeSet<(usize, usize)> {
        &self.audiences[self.topics[self.topic_of[p]].audience]
    }

    fn is_near(&self, p: usize, m: usize) -> bool {
        let topic = &self.topics[self.topic_of[p]];
        self.racks.is_near(topic.place, p - topic.first, m)
    }

    /// Returns the member with the fewest partitions among those with a near replica.
    fn nearest(&self, p: usize) -> Option<usize> {
        let mut members = self.audience_of(p).iter().map(|(_, m)| *m);
        members.find(|m| self.is_near(p, *m))
    }

    /// Returns the number of partitions with a replica near their owner.
    fn near(&self) -> usize {
        let owned = self.owner.iter().enumerate();
        owned.filter(|(p, m)| m.is_some_and(|m| self.is_near(*p, m))).count()
    }

    fn load(&self, m: usize) -> usize {
        self.held[m].len()
    }

    /// Returns the best partition to move: one that `to` owned before, else one that `from` did not, else one with a replica
    /// near `to`.
    fn choose(&self, from: usize, to: usize) -> Option<usize> {
        let mine = self.held[from].iter().copied();
        let fit = mine.filter(|p| self.audience_of(*p).contains(&(self.load(to), to)));
        fit.max_by_key(|p| {
            let comes_home = self.prior[*p] == Some(to);
            let is_loose = self.prior[*p] != Some(from);
            let t = self.topic_of[*p];
            let spread = self.held_of[from].get(&t).copied().unwrap_or(0);
            (comes_home, is_loose, self.is_near(*p, to), spread, *p)
        })
    }

    // ---------------------------------------------------------------- moves

    fn give(&mut self, p: usize, to: usize) {
        let t = self.topic_of[p];
        if let Some(from) = self.owner[p].replace(to) {
            let before = self.load(from);
            self.held[from].remove(&p);
            self.reload(from, before);
            if let Some(n) = self.held_of[from].get_mut(&t) {
                *n -= 1;
                if *n == 0 {
                    self.held_of[from].remove(&t);
                }
            }
        }
        let before = self.load(to);
        self.held[to].insert(p);
        self.reload(to, before);
        *self.held_of[to].entry(t).or_default() += 1;
    }

    fn reload(&mut self, m: usize, before: usize) {
        let now = self.load(m);
        for a in &self.memberships[m] {
            self.audiences[*a].remove(&(before, m));
            self.audiences[*a].insert((now, m));
        }
    }

    /// Moves partitions to members with at least two fewer, from those with the most first; returns false if none can move.
    fn level(&mut self) -> bool {
        let mut any = false;
        let mut loads: BTreeSet<(usize, usize)> = (0..self.held.len()).map(|m| (self.load(m), m)).collect();
        // A member without a possible move is skipped for the rest of this round.
        while let Some((load, from)) = loads.pop_last() {
            let topics = self.held_of[from].keys();
            let least = topics.filter_map(|t| self.audiences[self.topics[*t].audience].first());
            let Some(&(least, to)) = least.min().filter(|(least, _)| least + 2 <= load) else {
                continue;
            };
            let Some(p) = self.choose(from, to) else { continue };
            self.give(p, to);
            any = true;
            loads.insert((load - 1, from));
            if loads.remove(&(least, to)) {
                loads.insert((least + 1, to));
            }
        }
        any
    }

    /// Like that, through other members in between.
    fn level_by_chains(&mut self) -> bool {
        let mut members: Vec<usize> = (0..self.held.len()).collect();
        members.sort_by_key(|m| std::cmp::Reverse(self.load(*m)));
        for from in members {
            let Some(chain) = self.chain(from) else { continue };
            for pair in chain.windows(2).rev() {
                let [from, to] = *pair else { continue };
                if let Some(p) = self.choose(from, to) {
                    self.give(p, to);
                }
            }
            return true;
        }
        false
    }

    /// Returns the shortest chain from `from` to a member with at least two fewer, in which each can move a partition to the
    /// next.
    fn chain(&self, from: usize) -> Option<Vec<usize>> {
        let mut came_from: Vec<Option<usize>> = vec![None; self.held.len()];
        let mut seen = vec![false; self.audiences.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(m) = queue.pop_front() {
            let reached: BTreeSet<usize> = self.held_of[m].keys().map(|t| self.topics[*t].audience).collect();
            for audience in reached {
                if std::mem::replace(&mut seen[audience], true) {
                    continue;
                }
                for &(_, next) in &self.audiences[audience] {
                    if next == from || came_from[next].is_some() {
                        continue;
                    }
                    came_from[next] = Some(m);
                    if self.load(next) + 2 <= self.load(from) {
                        let mut chain = vec![next];
                        while let Some(before) = chain.last().and_then(|m| came_from[*m]) {
                            chain.push(before);
                        }
                        chain.reverse();
                        return Some(chain);
                    }
                    queue.push_back(next);
                }
            }
        }
        None
    }

    fn assignments(&self) -> Vec<Assignment> {
        let assignment = |held: &BTreeSet<usize>| {
            let mut assignment = Assignment::new();
            for p in held {
                let topic = &self.topics[self.topic_of[*p]];
                let partition = i32::try_from(p - topic.first).unwrap_or(i32::MAX);
                assignment.entry(topic.name.to_owned()).or_default().push(partition);
            }
            assignment
        };
        self.held.iter().map(assignment).collect()
    }
}
