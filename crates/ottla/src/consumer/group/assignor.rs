//! Dividing partitions among the members of a classic group.
//!
//! The strategies are Kafka's `range` and `roundrobin`; every member can be the leader that carries them out, so they
//! must give what other clients' leaders would.

use std::collections::{BTreeMap, HashMap};

use super::orders::RebalanceProtocol;

/// A way to divide partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Topic by topic, each member a run of consecutive partitions.
    Range,
    /// All partitions of all topics dealt out in turn.
    RoundRobin,
    /// Balanced, with as few partitions as possible going from one member to another, and members keep their partitions
    /// while the group rebalances (KIP-429).
    CooperativeSticky,
}

impl Strategy {
    /// The strategy's name in the group protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Strategy::Range => "range",
            Strategy::RoundRobin => "roundrobin",
            Strategy::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// How a group with this strategy hands partitions over.
    pub(super) fn protocol(self) -> RebalanceProtocol {
        match self {
            Strategy::Range | Strategy::RoundRobin => RebalanceProtocol::Eager,
            Strategy::CooperativeSticky => RebalanceProtocol::Cooperative,
        }
    }

    /// The strategy that has this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Strategy::Range, Strategy::RoundRobin, Strategy::CooperativeSticky]
            .into_iter()
            .find(|s| s.name() == name)
    }
}

/// A member as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Member {
    pub(super) id: String,
    /// `group.instance.id`: static members keep their order when their member ids change.
    pub(super) instance_id: Option<String>,
    pub(super) topics: Vec<String>,
    /// What it has, as it says.
    pub(super) owned: Vec<(String, i32)>,
    /// The generation in which it got that, negative for unknown.
    pub(super) generation: i32,
    pub(super) rack: Option<String>,
}

/// Partitions by topic.
pub(super) type Assignment = BTreeMap<String, Vec<i32>>;

/// Divides the partitions of `counts` (topic to partition count) among `members`; gives each member's share by its id.
pub(super) fn divide(
    strategy: Strategy,
    members: &[Member],
    counts: &BTreeMap<String, i32>,
) -> BTreeMap<String, Assignment> {
    let mut order: Vec<&Member> = members.iter().collect();
    // Static members come first, by instance id, then the others by member id.
    order.sort_by_key(|m| (m.instance_id.is_none(), m.instance_id.clone(), m.id.clone()));
    let mut shares: BTreeMap<String, Assignment> = members.iter().map(|m| (m.id.clone(), Assignment::new())).collect();
    match strategy {
        Strategy::Range => range(&order, counts, &mut shares),
        Strategy::RoundRobin => round_robin(&order, counts, &mut shares),
        Strategy::CooperativeSticky => {
            round_robin(&order, counts, &mut shares);
            hold_back(&order, &mut shares);
        }
    }
    shares
}

/// KIP-429: a partition that changes hands is given to nobody this time. Its owner gives it up and joins anew, and the
/// next division hands it over.
fn hold_back(order: &[&Member], shares: &mut BTreeMap<String, Assignment>) {
    let mut owners: HashMap<(&str, i32), Vec<&str>> = HashMap::new();
    for member in order {
        for (topic, partition) in &member.owned {
            owners.entry((topic, *partition)).or_default().push(&member.id);
        }
    }
    for (id, share) in shares {
        for (topic, partitions) in share.iter_mut() {
            partitions.retain(|p| {
                let owners = owners.get(&(topic.as_str(), *p));
                owners.is_none_or(|owners| owners.contains(&id.as_str()))
            });
        }
        share.retain(|_, partitions| !partitions.is_empty());
    }
}

fn subscribed(member: &Member, topic: &str) -> bool {
    member.topics.iter().any(|t| t == topic)
}

fn give(shares: &mut BTreeMap<String, Assignment>, member: &Member, topic: &str, partition: i32) {
    if let Some(share) = shares.get_mut(&member.id) {
        share.entry(topic.to_owned()).or_default().push(partition);
    }
}

fn range(order: &[&Member], counts: &BTreeMap<String, i32>, shares: &mut BTreeMap<String, Assignment>) {
    for (topic, &count) in counts {
        let members: Vec<&&Member> = order.iter().filter(|m| subscribed(m, topic)).collect();
        let n = i32::try_from(members.len()).unwrap_or(i32::MAX);
        if n == 0 {
            continue;
        }
        let (each, extra) = (count / n, count % n);
        let mut next = 0;
        for (i, member) in members.into_iter().enumerate() {
            let length = each + i32::from(i32::try_from(i).is_ok_and(|i| i < extra));
            for partition in next..next + length {
                give(shares, member, topic, partition);
            }
            next += length;
        }
    }
}

fn round_robin(order: &[&Member], counts: &BTreeMap<String, i32>, shares: &mut BTreeMap<String, Assignment>) {
    let mut turn = 0;
    for (topic, &count) in counts {
        if !order.iter().any(|m| subscribed(m, topic)) {
            continue;
        }
        for partition in 0..count {
            let next = (0..order.len()).filter_map(|i| order.get((turn + i) % order.len()).map(|m| (i, m)));
            if let Some((skipped, member)) = next.into_iter().find(|(_, m)| subscribed(m, topic)) {
                give(shares, member, topic, partition);
                turn = (turn + skipped + 1) % order.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: &str, topics: &[&str]) -> Member {
        Member {
            id: id.into(),
            topics: topics.iter().map(|t| t.to_string()).collect(),
            generation: -1,
            ..Member::default()
        }
    }

    fn counts(rows: &[(&str, i32)]) -> BTreeMap<String, i32> {
        rows.iter().map(|(t, n)| (t.to_string(), *n)).collect()
    }

    fn share(all: &BTreeMap<String, Assignment>, id: &str) -> Vec<(String, Vec<i32>)> {
        all[id].clone().into_iter().collect()
    }

    #[test]
    fn range_gives_the_first_members_one_more() {
        let members = [member("b", &["x", "y"]), member("a", &["x", "y"])];
        let all = divide(Strategy::Range, &members, &counts(&[("x", 3), ("y", 3)]));
        assert_eq!(share(&all, "a"), [("x".into(), vec![0, 1]), ("y".into(), vec![0, 1])]);
        assert_eq!(share(&all, "b"), [("x".into(), vec![2]), ("y".into(), vec![2])]);
    }

    #[test]
    fn round_robin_deals_across_topics_and_skips_who_did_not_subscribe() {
        // The example of Kafka's documentation: t0 has 1, t1 has 2, t2 has 3 partitions.
        let members = [
            member("C0", &["t0"]),
            member("C1", &["t0", "t1"]),
            member("C2", &["t0", "t1", "t2"]),
        ];
        let all = divide(
            Strategy::RoundRobin,
            &members,
            &counts(&[("t0", 1), ("t1", 2), ("t2", 3)]),
        );
        assert_eq!(share(&all, "C0"), [("t0".into(), vec![0])]);
        assert_eq!(share(&all, "C1"), [("t1".into(), vec![0])]);
        assert_eq!(
            share(&all, "C2"),
            [("t1".into(), vec![1]), ("t2".into(), vec![0, 1, 2])]
        );
    }

    #[test]
    fn static_members_keep_their_place() {
        let mut late = member("zzz", &["x"]);
        late.instance_id = Some("i".into());
        let all = divide(Strategy::Range, &[member("aaa", &["x"]), late], &counts(&[("x", 2)]));
        assert_eq!(share(&all, "zzz"), [("x".into(), vec![0])]);
    }

    #[test]
    fn every_partition_has_one_owner() {
        let members: Vec<Member> = (0..7)
            .map(|i| member(&format!("m{i}"), if i % 2 == 0 { &["x"] } else { &["x", "y"] }))
            .collect();
        for strategy in [Strategy::Range, Strategy::RoundRobin] {
            let all = divide(strategy, &members, &counts(&[("x", 23), ("y", 5), ("nobody", 3)]));
            let mut seen: Vec<(String, i32)> = Vec::new();
            for s in all.values() {
                seen.extend(s.iter().flat_map(|(t, ps)| ps.iter().map(|p| (t.clone(), *p))));
            }
            seen.sort();
            let mut wanted: Vec<(String, i32)> = (0..23).map(|p| ("x".into(), p)).collect();
            wanted.extend((0..5).map(|p| ("y".to_string(), p)));
            wanted.sort();
            assert_eq!(seen, wanted, "{strategy:?}");
        }
    }
}
