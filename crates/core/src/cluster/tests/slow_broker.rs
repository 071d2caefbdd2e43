//! Brokers that do not answer must not keep the client from asking others.

use ottla_protocol::api::metadata::{MetadataResponse, MetadataResponseTopic};

use super::harness::*;
use crate::cluster::MetadataScope;
use crate::types::NodeId;

/// Three brokers known, one of them connected to, `t` known and led by broker 2.
fn three_brokers(settings: &[(&str, &str)]) -> World {
    let mut w = World::with("one,two,three", settings);
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&three(vec![topic("t", 1, &[(2, 5)])]));
    w.changes();
    w
}

fn three(topics: Vec<MetadataResponseTopic>) -> MetadataResponse {
    let mut response = metadata(topics);
    response.brokers.push(broker(3, "three"));
    response
}

fn leader(w: &World) -> Option<i32> {
    w.cluster.leader("t", 0).map(|n| n.0)
}

#[test]
fn a_frozen_broker_does_not_delay_metadata() {
    let mut w = three_brokers(&[]);
    w.frozen.insert(w.asked_ever[0].host.clone());
    w.answers = Some(three(vec![topic("t", 1, &[(3, 6)])]));
    w.cluster.request_refresh("t", w.now);
    let took = w.ms_until(100_000, |w| w.cluster.leader("t", 0) == Some(NodeId(3)));
    assert!(took.is_some_and(|ms| ms < 3000), "{took:?}");
}

#[test]
fn an_unresponsive_broker_is_avoided_after_its_connection_ends() {
    for pause_ms in 0..8 {
        let mut w = three_brokers(&[]);
        w.run_ms(pause_ms);
        let silent = w.asked_ever[0].host.clone();
        w.frozen.insert(silent.clone());
        w.cluster.request_refresh("t", w.now);
        w.run_ms(100);
        assert_eq!(w.asked_ever.last().map(|a| &a.host), Some(&silent));
        w.reset_all();
        w.answers = Some(three(vec![topic("t", 1, &[(3, 6)])]));
        let took = w.ms_until(100_000, |w| w.cluster.leader("t", 0) == Some(NodeId(3)));
        assert!(took.is_some_and(|ms| ms < 1000), "{took:?}");
        assert_ne!(w.asked_ever.last().map(|a| &a.host), Some(&silent));
    }
}

#[test]
fn a_frozen_bootstrap_broker_does_not_delay_the_start() {
    for frozen in ["one", "two", "three"] {
        let mut w = World::new("one,two,three");
        w.frozen.insert(frozen.into());
        w.answers = Some(three(vec![topic("t", 1, &[(3, 6)])]));
        w.cluster.watch(&name("t"), w.now);
        let took = w.ms_until(100_000, |w| w.cluster.leader("t", 0).is_some());
        assert!(took.is_some_and(|ms| ms < 3000), "{took:?}");
    }
}

/// A firewall that forgets its connections leaves every one of them dead, and the brokers well.
#[test]
fn with_only_late_connections_another_one_to_the_same_broker_is_used() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    let one = |epoch| MetadataResponse {
        brokers: vec![broker(1, "one")],
        ..metadata(vec![topic("t", 1, &[(1, epoch)])])
    };
    w.answer(&one(5));
    w.run_ms(100);
    w.frozen.insert("one".into());
    w.cluster.request_refresh("t", w.now);
    w.run_ms(1000);
    assert_eq!(w.asked.len(), 1);
    w.frozen.clear();
    w.answers = Some(one(6));
    let took = w.ms_until(100_000, |w| {
        w.cluster.topic("t").is_some_and(|t| t.partitions[0].leader_epoch == 6)
    });
    assert!(took.is_some_and(|ms| ms < 2000), "{took:?}");
}

#[test]
fn an_unreachable_address_does_not_delay_the_start() {
    let mut w = World::new("one,two,three");
    w.hangs = true;
    w.cluster.watch(&name("t"), w.now);
    w.run_ms(1000);
    assert_eq!(w.looked_up.len(), 1);
    w.hangs = false;
    w.answers = Some(three(vec![topic("t", 1, &[(3, 6)])]));
    let took = w.ms_until(100_000, |w| leader(w).is_some());
    assert!(took.is_some_and(|ms| ms < 1500), "{took:?}");
}

#[test]
fn connections_to_any_broker_are_opened_one_by_one_up_to_a_limit() {
    let mut w = World::with(
        "one,two,three,four,five",
        &[("socket.connection.setup.timeout.ms", "60000")],
    );
    w.hangs = true;
    w.cluster.watch(&name("t"), w.now);
    for expected in [1, 2, 3, 3, 3] {
        w.run_ms(1990);
        assert_eq!(w.looked_up.len(), expected);
    }
}

#[test]
fn requests_to_a_busy_cluster_are_bounded() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    let mut many = metadata(vec![topic("t", 1, &[(2, 5)])]);
    many.brokers = (1..=20).map(|id| broker(id, &format!("host-{id}"))).collect();
    w.answer(&many);
    w.frozen.extend((1..=20).map(|id| format!("host-{id}")));
    w.frozen.insert("one".into());
    // Connections were negotiated before the brokers froze.
    let before = w.asked_ever.len();
    for ms in (0..55_000).step_by(10) {
        w.cluster.request_refresh("t", w.now);
        w.run_ms(10);
        let mut hosts: Vec<&str> = w.asked.iter().map(|a| &*a.host).collect();
        hosts.sort_unstable();
        assert!(
            hosts.windows(2).all(|w| w[0] != w[1]),
            "one request a broker: {hosts:?} at {ms} ms"
        );
        assert!(hosts.len() <= 5, "{hosts:?} at {ms} ms");
    }
    assert!(w.asked_ever.len() - before <= 5);
}

#[test]
fn a_single_slow_broker_gets_one_more_connection() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    let mut alone = metadata(vec![topic("t", 1, &[(1, 5)])]);
    alone.brokers.truncate(1);
    w.answer(&alone);
    w.cluster.request_refresh("t", w.now);
    w.run_ms(50_000);
    assert_eq!((w.asked.len(), w.conns.len()), (2, 2));
    alone.topics = vec![topic("t", 1, &[(1, 6)])];
    w.answer(&alone);
    assert_eq!(w.cluster.topic("t").unwrap().partition(0).unwrap().leader_epoch, 6);
}

#[test]
fn a_late_response_does_not_replace_newer_metadata() {
    let mut w = three_brokers(&[]);
    w.cluster.request_refresh("t", w.now);
    w.run_ms(4000);
    assert_eq!(w.asked.len(), 2, "the second one goes to another broker");
    assert_ne!(w.asked[0].host, w.asked[1].host);
    assert!(w.asked[1].at.since(w.asked[0].at).as_millis() < 2500);
    w.answer_at(1, &three(vec![topic("t", 2, &[(3, 0), (3, 0)])]));
    assert_eq!(leader(&w), Some(3));
    w.changes();
    // The response of the first broker has the former topic and former brokers.
    let mut old = metadata(vec![topic("t", 1, &[(2, 7)])]);
    old.brokers.truncate(1);
    w.answer_at(0, &old);
    assert_eq!(leader(&w), Some(3));
    assert_eq!(w.cluster.topic("t").unwrap().partition_count(), 2);
    assert!(w.cluster.node(NodeId(3)).is_some());
    assert!(w.changes().is_empty());
}

#[test]
fn a_late_response_brings_newer_leaders_of_the_same_topic_id() {
    let mut w = three_brokers(&[]);
    w.cluster.request_refresh("t", w.now);
    w.run_ms(4000);
    w.answer_at(1, &three(vec![topic("t", 1, &[(2, 5)])]));
    w.answer_at(0, &three(vec![topic("t", 1, &[(3, 6)])]));
    assert_eq!(leader(&w), Some(3));
}

#[test]
fn a_late_response_without_a_leader_is_followed_by_a_refresh() {
    let mut w = three_brokers(&[]);
    w.cluster.request_refresh("t", w.now);
    w.run_ms(4000);
    w.answer_at(1, &three(vec![topic("t", 1, &[(3, 6)])]));
    w.answer_at(0, &three(vec![topic("t", 1, &[(-1, 7)])]));
    assert_eq!(leader(&w), None);
    assert!(w.asked.is_empty());
    w.run_ms(1000);
    assert_eq!(w.asked.len(), 1, "who leads now?");
}

#[test]
fn an_urgent_topic_does_not_wait_for_a_listing() {
    let mut w = three_brokers(&[
        ("topic.metadata.refresh.sparse", "false"),
        ("topic.metadata.refresh.interval.ms", "10000"),
    ]);
    // Two brokers are connected.
    w.cluster.request_refresh("t", w.now);
    w.run_ms(2500);
    while !w.asked.is_empty() {
        w.answer(&three(vec![topic("t", 1, &[(2, 5)])]));
        w.run_ms(0);
    }
    assert_eq!(w.conns.len(), 2);
    w.answers = Some(three(vec![topic("t", 1, &[(2, 6)])]));
    w.cluster.request_refresh("t", w.now);
    w.run_ms(50);
    w.answers = None;
    let asked = w.ms_until(20_000, |w| w.asked.iter().any(|a| a.topics.is_none()));
    assert!(asked.is_some(), "every topic is asked for at the interval");
    w.run_ms(100);
    w.cluster.request_refresh("t", w.now);
    w.run_ms(20);
    let names: Vec<_> = w.asked.iter().map(|a| a.topics.clone()).collect();
    assert_eq!(names, [None, Some(vec!["t".to_string()])]);
    assert_ne!(w.asked[0].host, w.asked[1].host);
}

#[test]
fn a_frozen_broker_does_not_delay_a_call() {
    let mut w = three_brokers(&[]);
    w.frozen.insert(w.asked_ever[0].host.clone());
    w.answers = Some(three(Vec::new()));
    let reply = w.call(MetadataScope::AllTopics, 10_000);
    let answered = |w: &mut World| {
        w.changes();
        reply.try_take().is_some_and(|r| r.is_ok())
    };
    let took = w.ms_until(10_000, answered);
    assert!(took.is_some_and(|ms| ms < 3000), "{took:?}");
}

#[test]
fn a_lost_response_to_a_call_without_deadline_is_noticed() {
    let mut w = World::new("one");
    let mut alone = metadata(vec![topic("t", 1, &[(1, 5)])]);
    alone.brokers.truncate(1);
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&alone);
    let reply = w.call(MetadataScope::AllTopics, 100_000_000);
    w.settle();
    assert_eq!(w.asked.len(), 1);
    w.answers = Some(alone);
    let answered = |w: &mut World| {
        w.changes();
        reply.try_take().is_some_and(|r| r.is_ok())
    };
    let took = w.ms_until(100_000, answered);
    assert!(took.is_some_and(|ms| ms < 61_000), "{took:?}");
    assert_eq!(w.conns.len(), 2);
}

fn listing(w: &World) -> Option<usize> {
    w.asked.iter().position(|a| a.topics.is_none())
}

#[test]
fn an_overtaken_listing_is_repeated() {
    let mut w = three_brokers(&[]);
    // Two brokers are connected.
    w.cluster.request_refresh("t", w.now);
    w.run_ms(2500);
    while !w.asked.is_empty() {
        w.answer(&three(vec![topic("t", 1, &[(2, 5)])]));
        w.run_ms(0);
    }
    w.cluster.list_all(w.now, true);
    w.run_ms(200);
    assert_eq!(listing(&w), Some(0));
    w.cluster.request_refresh("t", w.now);
    w.run_ms(500);
    let last = w.asked.len() - 1;
    assert_ne!(w.asked[0].host, w.asked[last].host);
    w.answer_at(last, &three(vec![topic("t", 1, &[(2, 5)])]));
    w.answer_at(0, &three(vec![]));
    assert_eq!(w.cluster.listings(), 0, "`t` may have come since");
    assert_eq!(w.cluster.topic_names().count(), 1);
    w.run_ms(1000);
    let again = listing(&w).unwrap();
    w.answer_at(again, &three(vec![]));
    assert_eq!(w.cluster.listings(), 1);
}

#[test]
fn a_rebootstrap_repeats_the_listing() {
    let mut w = World::new("one");
    // The first version in which brokers can request it.
    w.version = 13;
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.cluster.list_all(w.now, true);
    w.run_ms(200);
    // The second time there is no broker to remove.
    for _ in 0..2 {
        let at = listing(&w).unwrap();
        let refused = MetadataResponse {
            error_code: ottla_protocol::ErrorCode::REBOOTSTRAP_REQUIRED.0,
            ..Default::default()
        };
        w.answer_at(at, &refused);
        w.run_ms(1000);
        // Brokers have one request each: the one by name may come first.
        while listing(&w).is_none() {
            w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
            w.run_ms(1000);
        }
    }
}

#[test]
fn a_metadata_call_returns_after_its_response_is_applied() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(1, 5)])]));
    w.changes();
    let call = w.call(MetadataScope::AllTopics, 5000);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 6)])]));
    assert!(call.try_take().is_none(), "the new leader is not passed on yet");
    assert_eq!(w.changes(), ["t"]);
    assert!(call.try_take().is_some_and(|r| r.is_ok()));
}
