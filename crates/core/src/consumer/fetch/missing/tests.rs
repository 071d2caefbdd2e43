//! Topics and partitions that brokers lack.

use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::api::join_group::JoinGroupRequest;

use crate::consumer::Command;
use crate::error::ErrorCode;
use crate::event::Event;
use crate::test_kit::{Got, World};
use crate::types::{PartitionOffset, TopicPartition};

fn world(settings: &[(&str, &str)]) -> World {
    let mut w = World::consumer(settings, &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", &[1]);
    w
}

fn errors(w: &mut World) -> Vec<ErrorCode> {
    let code = |got| match got {
        Got::Error(code, _) => Some(code),
        _ => None,
    };
    w.take().into_iter().filter_map(code).collect()
}

fn add(w: &mut World, partition: i32) {
    let partitions = vec![PartitionOffset::new(TopicPartition::new("t", partition), 0)];
    let reply = w.call(|reply| Command::IncrementalAssign { partitions, reply });
    reply.try_take().unwrap().unwrap();
}

#[test]
fn partition_missing_in_metadata_is_fetched_after_a_refresh() {
    let mut w = world(&[]);
    w.assign(&[("t", 0, 0)]).unwrap();
    w.run_ms(500);
    w.add_partition("t", 2);
    w.assign(&[("t", 1, 0)]).unwrap();
    w.run_ms(1000);
    assert_eq!(errors(&mut w), []);
    let fetched = std::iter::from_fn(|| w.next_fetch()).flat_map(|(_, _, parts)| parts);
    assert!(fetched.into_iter().any(|part| part == (1, 0)));
}

#[test]
fn unknown_partition_is_reported_after_a_refresh() {
    let mut w = world(&[]);
    w.assign(&[("t", 0, 0)]).unwrap();
    w.run_ms(500);
    // The topic is watched already: nothing about it changes.
    add(&mut w, 7);
    w.run_ms(2000);
    assert_eq!(errors(&mut w), [ErrorCode::L_UNKNOWN_PARTITION]);
    w.run_ms(60_000);
    assert_eq!(errors(&mut w), []);
    // Removed before the response, it is not reported.
    let partitions = vec![TopicPartition::new("t", 8)];
    add(&mut w, 8);
    let reply = w.call(|reply| Command::IncrementalUnassign { partitions, reply });
    reply.try_take().unwrap().unwrap();
    w.run_ms(2000);
    assert_eq!(errors(&mut w), []);
}

/// Both group protocols: a name that brokers refuse is an error of that topic, and the subscription continues.
#[test]
fn invalid_subscribed_topic_is_reported_once() {
    for protocol in ["classic", "consumer"] {
        let mut w = world(&[("group.protocol", protocol)]);
        w.subscribe(&["#!$", "t"]).unwrap();
        w.run_ms(1000);
        match protocol {
            "classic" => assert!(w.next::<JoinGroupRequest>().is_some()),
            _ => assert!(w.next::<ConsumerGroupHeartbeatRequest>().is_some()),
        }
        w.run_ms(30_000);
        let queue = w.shared.consumer_queue.clone();
        let notices = queue.extract(|event| matches!(event, Event::Partition(_)));
        let of = |event: &Event| match event {
            Event::Partition(notice) => (notice.tp.as_ref().map(|tp| tp.topic.to_string()), notice.error.code),
            _ => unreachable!("only notices were extracted"),
        };
        let reported: Vec<_> = notices.iter().map(of).collect();
        let want = [(Some("#!$".to_owned()), ErrorCode::TOPIC_EXCEPTION)];
        assert_eq!(reported, want, "{protocol}");
    }
}
