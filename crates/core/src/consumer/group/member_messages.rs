//! The messages of members of a classic group to each other inside JoinGroup and SyncGroup: `ConsumerProtocolSubscription`
//! and `ConsumerProtocolAssignment`.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_protocol::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, StickyUserData, TopicPartition as OfTopic,
};
use ottla_protocol::{DecodeError, EncodeError};

use super::assignor::{Assignment, Member, Strategy};
use crate::consumer::rebalance_protocol::RebalanceProtocol;
use crate::types::TopicPartition;

/// A member's subscription in JoinGroup.
#[derive(Debug, Clone, Default)]
pub(super) struct MemberSubscription {
    pub(super) topics: Vec<String>,
    /// The last assignment: kept while it joins (KIP-429), or revoked before.
    pub(super) owned: Vec<TopicPartition>,
    /// The generation of that assignment (KIP-792), -1 for none.
    pub(super) generation: i32,
    /// `client.rack` (KIP-881).
    pub(super) rack: Option<String>,
}

fn by_topic<'a>(tps: impl IntoIterator<Item = (&'a str, i32)>) -> Vec<OfTopic> {
    let mut all: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in tps {
        all.entry(topic).or_default().push(partition);
    }
    let topics = all.into_iter().map(|(topic, partitions)| OfTopic {
        topic: topic.to_owned(),
        partitions,
        ..Default::default()
    });
    topics.collect()
}

/// Encodes a subscription for `strategy`.
pub(super) fn write_subscription(strategy: Strategy, subscription: &MemberSubscription) -> Result<Bytes, EncodeError> {
    let generation = subscription.generation;
    let owned = by_topic(subscription.owned.iter().map(|tp| (&*tp.topic, tp.partition)));
    let has_memory = generation >= 0;
    let user_data = match strategy {
        Strategy::Range | Strategy::RoundRobin => None,
        Strategy::Sticky => has_memory
            .then(|| StickyUserData {
                previous_assignment: owned.clone(),
                generation,
                ..Default::default()
            })
            .map(|data| data.to_bytes())
            .transpose()?,
        // Java clients before 3.5 read the generation from here.
        Strategy::CooperativeSticky => Some(Bytes::copy_from_slice(&generation.to_be_bytes())),
    };
    let keeps = strategy.protocol() == RebalanceProtocol::Cooperative;
    let message = ConsumerProtocolSubscription {
        owned_partitions: if keeps { owned } else { Vec::new() },
        topics: subscription.topics.clone(),
        user_data,
        generation_id: if keeps { generation } else { -1 },
        rack_id: subscription.rack.clone(),
        ..Default::default()
    };
    message.to_bytes(ConsumerProtocolSubscription::MAX_VERSION)
}

/// Decodes a member's subscription. If that fails, returns the member without topics, and the error.
pub(super) fn read_member(
    strategy: Strategy,
    (id, instance_id): (String, Option<String>),
    metadata: Bytes,
) -> (Member, Option<DecodeError>) {
    let mut member = Member {
        id,
        instance_id,
        ..Member::default()
    };
    let message = match ConsumerProtocolSubscription::from_bytes(metadata) {
        Ok(message) => message,
        Err(e) => return (member, Some(e)),
    };
    member.topics = message.topics;
    member.rack = message.rack_id.filter(|rack| !rack.is_empty());
    let user_data = message.user_data.unwrap_or_default();
    let owned = match strategy {
        // Malformed user data counts as none.
        Strategy::Sticky => {
            let data = StickyUserData::from_bytes(user_data).unwrap_or_default();
            member.generation = data.generation;
            data.previous_assignment
        }
        _ => {
            member.generation = match message.generation_id {
                -1 => generation_in(&user_data),
                generation => generation,
            };
            message.owned_partitions
        }
    };
    for of_topic in owned {
        let tps = of_topic.partitions.into_iter();
        member.owned.extend(tps.map(|p| (of_topic.topic.clone(), p)));
    }
    (member, None)
}

/// Returns the generation in the user data of `cooperative-sticky`: Java writes nothing else, librdkafka the user data of
/// `sticky`.
fn generation_in(user_data: &Bytes) -> i32 {
    match <[u8; 4]>::try_from(user_data.as_ref()) {
        Ok(bytes) => i32::from_be_bytes(bytes),
        Err(_) => StickyUserData::from_bytes(user_data.clone()).map_or(-1, |data| data.generation),
    }
}

/// Encodes a member's assignment.
pub(super) fn write_assignment(assignment: &Assignment) -> Result<Bytes, EncodeError> {
    let tps = assignment
        .iter()
        .flat_map(|(topic, partitions)| partitions.iter().map(move |p| (topic.as_str(), *p)));
    let message = ConsumerProtocolAssignment {
        assigned_partitions: by_topic(tps),
        ..Default::default()
    };
    message.to_bytes(ConsumerProtocolAssignment::MAX_VERSION)
}

/// Decodes an assignment; empty data means no partitions.
pub(super) fn read_assignment(data: Bytes) -> Result<Assignment, DecodeError> {
    let mut assignment = Assignment::new();
    if data.is_empty() {
        return Ok(assignment);
    }
    for of_topic in ConsumerProtocolAssignment::from_bytes(data)?.assigned_partitions {
        assignment
            .entry(of_topic.topic)
            .or_default()
            .extend(of_topic.partitions);
    }
    Ok(assignment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(strategy: Strategy, metadata: Bytes) -> Member {
        let (member, error) = read_member(strategy, ("m".into(), None), metadata);
        assert_eq!(error, None);
        member
    }

    #[test]
    fn messages_round_trip() {
        let subscription = MemberSubscription {
            topics: vec!["a".into(), "b".into()],
            owned: vec![TopicPartition::new("b", 3), TopicPartition::new("b", 4)],
            generation: 7,
            rack: Some("east".into()),
        };
        let whole = Member {
            id: "m".into(),
            instance_id: None,
            topics: vec!["a".into(), "b".into()],
            owned: vec![("b".into(), 3), ("b".into(), 4)],
            generation: 7,
            rack: Some("east".into()),
        };
        for strategy in [Strategy::Sticky, Strategy::CooperativeSticky] {
            let metadata = write_subscription(strategy, &subscription).unwrap();
            assert_eq!(read(strategy, metadata), whole, "{strategy:?}");
        }
        let metadata = write_subscription(Strategy::Range, &subscription).unwrap();
        let nothing = Member {
            owned: Vec::new(),
            generation: -1,
            ..whole
        };
        assert_eq!(read(Strategy::Range, metadata), nothing);
        let assignment: Assignment = [("a".to_string(), vec![0, 2])].into();
        assert_eq!(
            read_assignment(write_assignment(&assignment).unwrap()).unwrap(),
            assignment
        );
        assert!(read_assignment(Bytes::new()).unwrap().is_empty());
    }

    #[test]
    fn only_cooperative_members_send_owned_partitions() {
        let subscription = MemberSubscription {
            owned: vec![TopicPartition::new("b", 3)],
            generation: 7,
            ..MemberSubscription::default()
        };
        let read = |strategy| {
            let metadata = write_subscription(strategy, &subscription).unwrap();
            ConsumerProtocolSubscription::from_bytes(metadata).unwrap()
        };
        let eager = read(Strategy::Sticky);
        assert_eq!((eager.owned_partitions.len(), eager.generation_id), (0, -1));
        let cooperative = read(Strategy::CooperativeSticky);
        assert_eq!((cooperative.owned_partitions.len(), cooperative.generation_id), (1, 7));
        assert_eq!(cooperative.user_data.unwrap().as_ref(), [0, 0, 0, 7]);
    }

    /// Version 1 has no generation field: Java before 3.5 and librdkafka send it in the user data.
    #[test]
    fn generation_is_read_from_user_data_of_older_members() {
        let sticky = StickyUserData {
            generation: 9,
            ..Default::default()
        };
        for user_data in [Bytes::from_static(&[0, 0, 0, 9]), sticky.to_bytes().unwrap()] {
            let message = ConsumerProtocolSubscription {
                user_data: Some(user_data),
                ..Default::default()
            };
            let member = read(Strategy::CooperativeSticky, message.to_bytes(1).unwrap());
            assert_eq!(member.generation, 9);
        }
    }

    #[test]
    fn malformed_messages_are_errors() {
        let whole = write_assignment(&[("topic".to_string(), vec![1, 2, 3])].into()).unwrap();
        for n in 1..whole.len() - 4 {
            assert!(read_assignment(whole.slice(..n)).is_err(), "{n}");
        }
        let huge = Bytes::from_static(&[0, 0, 0x7f, 0xff, 0xff, 0xff]);
        let (member, error) = read_member(Strategy::Range, ("m".into(), None), huge);
        assert!(error.is_some());
        assert_eq!((member.id.as_str(), member.topics.len()), ("m", 0));
    }
}
