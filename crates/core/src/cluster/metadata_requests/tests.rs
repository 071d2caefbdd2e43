//! Brokers that do not answer must not keep the client from asking others.

use ottla_mock::{ApiKey, FaultAction, RuleId};
use ottla_protocol::api::metadata::MetadataResponse;

use crate::cluster::MetadataScope;
use crate::test_kit::metadata::{metadata, topic, topics_of};
use crate::test_kit::{MetadataClient, World};
use crate::types::{ClientKind, NodeId};

const THREE: &str = "broker1:9001,broker2:9002,broker3:9003";

/// Three brokers known, one of them connected to, `t` known and led by broker 2.
fn three_brokers(settings: &[(&str, &str)]) -> World<MetadataClient> {
    let mut w = World::new(THREE, settings);
    w.add_topic("t", &[2]);
    w.watch("t");
    w.drive();
    w.changes();
    w
}

/// As [`three_brokers`], with held metadata requests.
fn held(settings: &[(&str, &str)]) -> World<MetadataClient> {
    let mut w = three_brokers(settings);
    w.take_asked(0);
    w.hold(ApiKey::METADATA);
    w
}

/// One broker, which leads `t`.
fn one_broker() -> World<MetadataClient> {
    let mut w = World::of(ClientKind::Producer, "broker1:9001", &[], |c| c.brokers = 1, 4);
    w.add_topic("t", &[1]);
    w.watch("t");
    w.drive();
    w.changes();
    w.take_asked(0);
    w
}

fn leader(w: &World<MetadataClient>) -> Option<i32> {
    w.core.cluster.leader("t", 0).map(|n| n.0)
}

fn epoch(w: &World<MetadataClient>) -> Option<i32> {
    Some(w.core.cluster.topic("t")?.partition(0)?.leader_epoch)
}

/// Advances the time until broker 3 is known as leader.
fn until_moved(w: &mut World<MetadataClient>) -> Option<u64> {
    w.run_until(100_000, |w| leader(w) == Some(3))
}

#[test]
fn a_frozen_broker_does_not_delay_metadata() {
    let mut w = three_brokers(&[]);
    let node = w.asked_ever()[0].node;
    w.freeze(node);
    w.move_leader("t", 0, 3);
    w.refresh("t");
    let took = until_moved(&mut w);
    assert!(took.is_some_and(|ms| ms < 3000), "{took:?}");
}

#[test]
fn an_unresponsive_broker_is_avoided_after_its_connection_ends() {
    for pause_ms in 0..8 {
        let mut w = three_brokers(&[]);
        w.run_ms(pause_ms);
        let silent = w.asked_ever()[0].node;
        w.freeze(silent);
        w.refresh("t");
        w.run_ms(100);
        assert_eq!(w.asked_ever().last().map(|a| a.node), Some(silent));
        w.disconnect_all();
        w.move_leader("t", 0, 3);
        let took = until_moved(&mut w);
        assert!(took.is_some_and(|ms| ms < 1000), "{took:?}");
        assert_ne!(w.asked_ever().last().map(|a| a.node), Some(silent));
    }
}

#[test]
fn a_frozen_bootstrap_broker_does_not_delay_the_start() {
    for frozen in [1, 2, 3] {
        let mut w = World::new(THREE, &[]);
        w.add_topic("t", &[3]);
        w.freeze(frozen);
        w.watch("t");
        let took = until_moved(&mut w);
        assert!(took.is_some_and(|ms| ms < 3000), "{took:?}");
    }
}

/// A firewall that forgets its connections leaves every one of them dead, and the brokers well.
#[test]
fn with_only_late_connections_another_one_to_the_same_broker_is_used() {
    let mut w = one_broker();
    w.run_ms(100);
    let frozen: RuleId = w.freeze(1);
    w.refresh("t");
    w.run_ms(1000);
    assert_eq!(w.asked().len(), 1);
    w.brokers().remove_rule(frozen);
    w.move_leader("t", 0, 1);
    let took = w.run_until(100_000, |w| epoch(w) == Some(1));
    assert!(took.is_some_and(|ms| ms < 2000), "{took:?}");
}

#[test]
fn an_unreachable_address_does_not_delay_the_start() {
    let mut w = World::new(THREE, &[]);
    w.add_topic("t", &[3]);
    w.net.connects_hang = true;
    w.watch("t");
    w.run_ms(1000);
    assert_eq!(w.net.looked_up.len(), 1);
    w.net.connects_hang = false;
    let took = until_moved(&mut w);
    assert!(took.is_some_and(|ms| ms < 1500), "{took:?}");
}

#[test]
fn connections_to_any_broker_are_opened_one_by_one_up_to_a_limit() {
    let five = format!("{THREE},broker4:9004,broker5:9005");
    let mut w = World::new(&five, &[("socket.connection.setup.timeout.ms", "60000")]);
    w.net.connects_hang = true;
    w.watch("t");
    for expected in [1, 2, 3, 3, 3] {
        w.run_ms(1990);
        assert_eq!(w.net.looked_up.len(), expected);
    }
}

#[test]
fn requests_to_a_busy_cluster_are_bounded() {
    let mut w = World::of(ClientKind::Producer, "broker1:9001", &[], |c| c.brokers = 20, 4);
    w.add_topic("t", &[2]);
    w.watch("t");
    w.drive();
    w.take_asked(0);
    // Connections were negotiated before the brokers froze.
    let before = w.asked_ever().len();
    (1..=20).for_each(|node| _ = w.freeze(node));
    for ms in (0..55_000).step_by(10) {
        let now = w.now;
        w.core.cluster.request_refresh("t", now);
        w.run_ms(10);
        let mut nodes: Vec<i32> = w.asked().iter().map(|a| a.node).collect();
        nodes.sort_unstable();
        assert!(
            nodes.windows(2).all(|w| w[0] != w[1]),
            "one request a broker: {nodes:?} at {ms} ms"
        );
        assert!(nodes.len() <= 5, "{nodes:?} at {ms} ms");
    }
    assert!(w.asked_ever().len() - before <= 5);
}

#[test]
fn a_single_slow_broker_gets_one_more_connection() {
    let mut w = one_broker();
    w.hold(ApiKey::METADATA);
    w.refresh("t");
    w.run_ms(50_000);
    assert_eq!((w.asked().len(), w.net.connected_nodes().len()), (2, 2));
    w.move_leader("t", 0, 1);
    w.serve_last();
    assert_eq!(epoch(&w), Some(1));
}

/// Returns a world in which a broker has not answered a request for four seconds, and another one was asked.
fn overdue() -> World<MetadataClient> {
    let mut w = held(&[]);
    w.refresh("t");
    w.run_ms(4000);
    let asked = w.asked();
    assert_eq!(asked.len(), 2, "the second one goes to another broker");
    assert_ne!(asked[0].node, asked[1].node);
    assert!(asked[1].at.since(asked[0].at).as_millis() < 2500);
    w
}

#[test]
fn a_late_response_does_not_replace_newer_metadata() {
    let mut w = overdue();
    w.recreate_topic("t", &[3, 3]);
    w.serve_last();
    assert_eq!(leader(&w), Some(3));
    w.changes();
    // The response of the first broker has the former topic and former brokers.
    let mut old = metadata(vec![topic("t", 1, &[(2, 7)])]);
    old.brokers.truncate(1);
    w.answer_last(&old);
    assert_eq!(leader(&w), Some(3));
    assert_eq!(w.core.cluster.topic("t").unwrap().partition_count(), 2);
    assert!(w.core.cluster.node(NodeId(3)).is_some());
    assert!(w.changes().is_empty());
}

#[test]
fn a_late_response_brings_newer_leaders_of_the_same_topic_id() {
    let mut w = overdue();
    w.serve_last();
    assert_eq!(leader(&w), Some(2));
    w.move_leader("t", 0, 3);
    w.serve_last();
    assert_eq!(leader(&w), Some(3));
}

#[test]
fn a_late_response_without_a_leader_is_followed_by_a_refresh() {
    let mut w = overdue();
    w.move_leader("t", 0, 3);
    w.serve_last();
    w.move_leader("t", 0, -1);
    w.serve_last();
    assert_eq!(leader(&w), None);
    assert!(w.asked().is_empty());
    w.run_ms(1000);
    assert_eq!(w.asked().len(), 1, "who leads now?");
}

/// Makes the client connect to a second broker, as the first one does not answer in time.
fn connect_to_two(w: &mut World<MetadataClient>) {
    w.refresh("t");
    w.run_ms(2500);
    while !w.asked().is_empty() {
        w.serve_last();
        w.run_ms(0);
    }
    assert_eq!(w.net.connected_nodes().len(), 2);
}

#[test]
fn an_urgent_topic_does_not_wait_for_a_listing() {
    let mut w = held(&[
        ("topic.metadata.refresh.sparse", "false"),
        ("topic.metadata.refresh.interval.ms", "10000"),
    ]);
    connect_to_two(&mut w);
    w.move_leader("t", 0, 2);
    w.refresh("t");
    w.run_ms(50);
    while !w.asked().is_empty() {
        w.serve_last();
    }
    let is_listing = |w: &mut World<MetadataClient>| w.asked().iter().any(|a| topics_of(a).is_none());
    let asked = w.run_until(20_000, is_listing);
    assert!(asked.is_some(), "every topic is asked for at the interval");
    w.run_ms(100);
    w.refresh("t");
    w.run_ms(20);
    let asked = w.asked();
    let names: Vec<_> = asked.iter().map(topics_of).collect();
    assert_eq!(names, [None, Some(vec!["t".to_string()])]);
    assert_ne!(asked[0].node, asked[1].node);
}

#[test]
fn a_frozen_broker_does_not_delay_a_call() {
    let mut w = three_brokers(&[]);
    let node = w.asked_ever()[0].node;
    w.freeze(node);
    let reply = w.call_metadata(MetadataScope::AllTopics, 10_000);
    let answered = |w: &mut World<MetadataClient>| {
        w.changes();
        reply.try_take().is_some_and(|r| r.is_ok())
    };
    let took = w.run_until(10_000, answered);
    assert!(took.is_some_and(|ms| ms < 3000), "{took:?}");
}

#[test]
fn a_lost_response_to_a_call_without_deadline_is_noticed() {
    let mut w = one_broker();
    w.fault_next(ApiKey::METADATA, FaultAction::Ignore);
    let reply = w.call_metadata(MetadataScope::AllTopics, 100_000_000);
    w.drive();
    assert_eq!(w.asked().len(), 1);
    let answered = |w: &mut World<MetadataClient>| {
        w.changes();
        reply.try_take().is_some_and(|r| r.is_ok())
    };
    let took = w.run_until(100_000, answered);
    assert!(took.is_some_and(|ms| ms < 61_000), "{took:?}");
    assert_eq!(w.net.connected_nodes().len(), 2);
}

fn listing(w: &World<MetadataClient>) -> Option<usize> {
    w.asked().iter().position(|a| topics_of(a).is_none())
}

#[test]
fn an_overtaken_listing_is_repeated() {
    let mut w = held(&[]);
    connect_to_two(&mut w);
    let now = w.now;
    w.core.cluster.list_all(now, true);
    w.run_ms(200);
    assert_eq!(listing(&w), Some(0));
    w.refresh("t");
    w.run_ms(500);
    let asked = w.asked();
    assert_ne!(asked[0].node, asked.last().unwrap().node);
    w.serve_last();
    // The other broker has not heard of `t`.
    let all = w.take_asked(0);
    w.answer(&all, &metadata(vec![]));
    assert_eq!(w.core.cluster.listings(), 0, "`t` may have come since");
    assert_eq!(w.core.cluster.topic_names().count(), 1);
    w.run_ms(1000);
    let again = w.take_asked(listing(&w).unwrap());
    w.answer(&again, &metadata(vec![]));
    assert_eq!(w.core.cluster.listings(), 1);
}

#[test]
fn a_rebootstrap_repeats_the_listing() {
    let mut w = World::new("broker1:9001", &[]);
    w.add_topic("t", &[2]);
    w.watch("t");
    w.hold(ApiKey::METADATA);
    w.drive();
    w.serve_last();
    let now = w.now;
    w.core.cluster.list_all(now, true);
    w.run_ms(200);
    // The second time there is no broker to remove.
    for _ in 0..2 {
        let at = listing(&w).unwrap();
        let asked = w.take_asked(at);
        assert!(asked.version >= 13, "the first version in which brokers can request it");
        let refused = MetadataResponse {
            error_code: ottla_protocol::ErrorCode::REBOOTSTRAP_REQUIRED.0,
            ..Default::default()
        };
        w.answer(&asked, &refused);
        w.run_ms(1000);
        // Brokers have one request each: the one by name may come first.
        while listing(&w).is_none() {
            w.serve_last();
            w.run_ms(1000);
        }
    }
}

#[test]
fn a_metadata_call_returns_after_its_response_is_applied() {
    let mut w = World::new("broker1:9001", &[]);
    w.add_topic("t", &[1]);
    w.watch("t");
    w.drive();
    w.changes();
    w.move_leader("t", 0, 2);
    let call = w.call_metadata(MetadataScope::AllTopics, 5000);
    w.drive();
    assert!(call.try_take().is_none(), "the new leader is not passed on yet");
    assert_eq!(w.changes(), ["t"]);
    assert!(call.try_take().is_some_and(|r| r.is_ok()));
}
