//! What members of a classic group write to each other inside JoinGroup and SyncGroup: `ConsumerProtocolSubscription`
//! and `ConsumerProtocolAssignment`.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_protocol::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition as OfTopic,
};
use ottla_protocol::{DecodeError, EncodeError};

use super::assignor::{Assignment, Member};
use crate::types::TopicPartition;

/// What a member says when it joins.
#[derive(Debug, Clone, Default)]
pub(super) struct Subscription {
    pub(super) topics: Vec<String>,
    /// What it keeps while it joins (KIP-429).
    pub(super) owned: Vec<TopicPartition>,
    /// Since which generation (KIP-792), -1 for none.
    pub(super) generation: i32,
    /// `client.rack` (KIP-881).
    pub(super) rack: Option<String>,
    /// For the strategy.
    pub(super) user_data: Option<Bytes>,
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

/// Writes a subscription.
pub(super) fn write_subscription(subscription: Subscription) -> Result<Bytes, EncodeError> {
    let owned = subscription.owned.iter().map(|tp| (&*tp.topic, tp.partition));
    let message = ConsumerProtocolSubscription {
        owned_partitions: by_topic(owned),
        topics: subscription.topics,
        user_data: subscription.user_data,
        generation_id: subscription.generation,
        rack_id: subscription.rack,
        ..Default::default()
    };
    message.to_bytes(ConsumerProtocolSubscription::MAX_VERSION)
}

/// A member by its subscription; without any topic when that cannot be read, and then why.
pub(super) fn read_member(id: String, instance_id: Option<String>, metadata: Bytes) -> (Member, Option<DecodeError>) {
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
    for of_topic in message.owned_partitions {
        let tps = of_topic.partitions.into_iter();
        member.owned.extend(tps.map(|p| (of_topic.topic.clone(), p)));
    }
    member.generation = message.generation_id;
    member.rack = message.rack_id.filter(|rack| !rack.is_empty());
    (member, None)
}

/// Writes a member's share.
pub(super) fn write_share(share: &Assignment) -> Result<Bytes, EncodeError> {
    let tps = share
        .iter()
        .flat_map(|(topic, partitions)| partitions.iter().map(move |p| (topic.as_str(), *p)));
    let message = ConsumerProtocolAssignment {
        assigned_partitions: by_topic(tps),
        ..Default::default()
    };
    message.to_bytes(ConsumerProtocolAssignment::MAX_VERSION)
}

/// A share as the leader wrote it; nothing at all means no partitions.
pub(super) fn read_share(data: Bytes) -> Result<Assignment, DecodeError> {
    let mut share = Assignment::new();
    if data.is_empty() {
        return Ok(share);
    }
    for of_topic in ConsumerProtocolAssignment::from_bytes(data)?.assigned_partitions {
        share.entry(of_topic.topic).or_default().extend(of_topic.partitions);
    }
    Ok(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_written() {
        let subscription = Subscription {
            topics: vec!["a".into(), "b".into()],
            owned: vec![TopicPartition::new("b", 3), TopicPartition::new("b", 4)],
            generation: 7,
            rack: Some("east".into()),
            user_data: None,
        };
        let (member, error) = read_member("m".into(), None, write_subscription(subscription).unwrap());
        let wanted = Member {
            id: "m".into(),
            instance_id: None,
            topics: vec!["a".into(), "b".into()],
            owned: vec![("b".into(), 3), ("b".into(), 4)],
            generation: 7,
            rack: Some("east".into()),
        };
        assert_eq!((member, error), (wanted, None));
        let share: Assignment = [("a".to_string(), vec![0, 2])].into();
        assert_eq!(read_share(write_share(&share).unwrap()).unwrap(), share);
        assert!(read_share(Bytes::new()).unwrap().is_empty());
    }

    #[test]
    fn broken_messages_are_errors() {
        let whole = write_share(&[("topic".to_string(), vec![1, 2, 3])].into()).unwrap();
        for n in 1..whole.len() - 4 {
            assert!(read_share(whole.slice(..n)).is_err(), "{n}");
        }
        let huge = Bytes::from_static(&[0, 0, 0x7f, 0xff, 0xff, 0xff]);
        let (member, error) = read_member("m".into(), None, huge);
        assert!(error.is_some());
        assert_eq!((member.id.as_str(), member.topics.len()), ("m", 0));
    }
}
