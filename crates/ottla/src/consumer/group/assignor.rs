//! Dividing partitions among the members of a classic group, and how members write down what they want and get.
//!
//! The strategies are Kafka's `range` and `roundrobin`; every member can be the leader that carries them out, so they
//! must give what other clients' leaders would.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_protocol::{DecodeError, DecodeErrorKind, Reader, Writer};

/// A way to divide partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Topic by topic, each member a run of consecutive partitions.
    Range,
    /// All partitions of all topics dealt out in turn.
    RoundRobin,
}

impl Strategy {
    /// The strategy's name in the group protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Strategy::Range => "range",
            Strategy::RoundRobin => "roundrobin",
        }
    }

    /// The strategy that has this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Strategy::Range, Strategy::RoundRobin]
            .into_iter()
            .find(|s| s.name() == name)
    }
}

/// A member as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) id: String,
    /// `group.instance.id`: static members keep their order when their member ids change.
    pub(super) instance_id: Option<String>,
    pub(super) topics: Vec<String>,
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
    }
    shares
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

// -------------------------------------------------------------------- ConsumerProtocol messages

/// The version in which subscriptions and assignments are written. Later ones carry what cooperative and rack-aware
/// strategies need.
const WRITTEN_VERSION: i16 = 0;

fn put_string(w: &mut Writer, text: &str) {
    // A topic name or member id is far shorter; a longer one could not have come here.
    let length = i16::try_from(text.len()).unwrap_or(i16::MAX);
    w.put_i16(length);
    w.put_slice(
        text.as_bytes()
            .get(..usize::try_from(length).unwrap_or(0))
            .unwrap_or_default(),
    );
}

fn put_count(w: &mut Writer, count: usize) {
    w.put_i32(i32::try_from(count).unwrap_or(i32::MAX));
}

/// A member's subscription.
pub(super) fn encode_subscription(topics: &[String]) -> Bytes {
    let mut w = Writer::new();
    w.put_i16(WRITTEN_VERSION);
    put_count(&mut w, topics.len());
    for topic in topics {
        put_string(&mut w, topic);
    }
    w.put_i32(-1);
    w.finish().into_bytes()
}

fn count(r: &mut Reader) -> Result<usize, DecodeError> {
    let n = r.read_i32()?;
    // Every element takes two bytes at least: no count may promise more than is there.
    let fits = usize::try_from(n.max(0)).unwrap_or(usize::MAX) <= r.remaining() / 2;
    match usize::try_from(n) {
        Ok(n) if fits => Ok(n),
        Ok(n) => Err(DecodeError::new(
            r.position(),
            DecodeErrorKind::Truncated {
                needed: n,
                remaining: r.remaining(),
            },
        )),
        Err(_) => Ok(0),
    }
}

/// The topics of a member's subscription, in whatever version; later fields are passed over.
pub(super) fn decode_subscription(data: Bytes) -> Result<Vec<String>, DecodeError> {
    let mut r = Reader::new(data);
    r.read_i16()?;
    let n = count(&mut r)?;
    (0..n)
        .map(|_| r.read_nullable_string().map(Option::unwrap_or_default))
        .collect()
}

/// A member's share.
pub(super) fn encode_assignment(share: &Assignment) -> Bytes {
    let mut w = Writer::new();
    w.put_i16(WRITTEN_VERSION);
    put_count(&mut w, share.len());
    for (topic, partitions) in share {
        put_string(&mut w, topic);
        put_count(&mut w, partitions.len());
        for partition in partitions {
            w.put_i32(*partition);
        }
    }
    w.put_i32(-1);
    w.finish().into_bytes()
}

/// A share as the leader wrote it; nothing at all means no partitions.
pub(super) fn decode_assignment(data: Bytes) -> Result<Assignment, DecodeError> {
    let mut share = Assignment::new();
    if data.is_empty() {
        return Ok(share);
    }
    let mut r = Reader::new(data);
    r.read_i16()?;
    for _ in 0..count(&mut r)? {
        let topic = r.read_nullable_string()?.unwrap_or_default();
        let n = count(&mut r)?;
        let partitions: Result<Vec<i32>, DecodeError> = (0..n).map(|_| r.read_i32()).collect();
        share.entry(topic).or_default().extend(partitions?);
    }
    Ok(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: &str, topics: &[&str]) -> Member {
        Member {
            id: id.into(),
            instance_id: None,
            topics: topics.iter().map(|t| t.to_string()).collect(),
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

    #[test]
    fn messages_come_back_as_written() {
        let topics = vec!["a".to_string(), "b".to_string()];
        assert_eq!(decode_subscription(encode_subscription(&topics)).unwrap(), topics);
        let share: Assignment = [("a".to_string(), vec![0, 2]), ("b".to_string(), vec![])].into();
        assert_eq!(decode_assignment(encode_assignment(&share)).unwrap(), share);
        assert!(decode_assignment(Bytes::new()).unwrap().is_empty());
    }

    #[test]
    fn broken_messages_are_errors() {
        let whole = encode_assignment(&[("topic".to_string(), vec![1, 2, 3])].into());
        for n in 1..whole.len() - 4 {
            assert!(decode_assignment(whole.slice(..n)).is_err(), "{n}");
        }
        let huge = Bytes::from_static(&[0, 0, 0x7f, 0xff, 0xff, 0xff]);
        assert!(decode_subscription(huge).is_err());
    }
}
