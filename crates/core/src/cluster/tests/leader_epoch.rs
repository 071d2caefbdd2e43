//! Which answers are believed, and how long something is looked for.

use super::harness::*;
use crate::connection::BrokerKey;
use crate::types::NodeId;

/// `t` known at leader epoch 5 of broker 2, from brokers that speak Metadata up to `version`.
fn known(version: i16, bootstrap: &str) -> World {
    let mut w = World::new(bootstrap);
    w.version = version;
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.changes();
    w
}

fn leader(w: &World) -> Option<i32> {
    w.cluster.leader("t", 0).map(|n| n.0)
}

/// Requests the topic and answers with this response.
fn hear(w: &mut World, id: u8, leader: i32, epoch: i32) {
    w.cluster.request_refresh("t", w.now);
    w.ms_until(5000, |w| !w.asked.is_empty()).expect("it is asked for");
    w.answer(&metadata(vec![topic("t", id, &[(leader, epoch)])]));
}

#[test]
fn a_contradiction_from_the_same_broker_is_accepted() {
    // Without topic ids, a topic made again begins with leader epoch 0.
    let mut w = known(9, "one");
    hear(&mut w, 0, 2, 5); // from broker 1, no bootstrap address any more
    assert_eq!(leader(&w), Some(2));
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(1));
}

#[test]
fn an_older_epoch_without_topic_ids_is_a_contradiction_and_refreshed() {
    let mut w = known(9, "boot");
    // The bootstrap address may lead to any broker: its word is not the word of a broker.
    let begin = w.now;
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(2), "not believed at once");
    let mut asked = 0;
    while leader(&w) == Some(2) {
        w.ms_until(5000, |w| !w.asked.is_empty())
            .expect("it is asked for again and again");
        asked += 1;
        w.answer(&metadata(vec![topic("t", 0, &[(1, 0)])]));
    }
    let ms = w.now.since(begin).as_millis();
    assert!((30_000..33_000).contains(&ms), "believed after {ms} ms");
    assert!((20..60).contains(&asked), "{asked} requests");
}

#[test]
fn a_contradiction_from_a_quorum_of_brokers_is_accepted() {
    let mut w = known(9, "boot");
    let _ = w.connections.ready(BrokerKey::general(NodeId(1)), w.now);
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(2), "one broker may lag behind");
    let _ = w.connections.ready(BrokerKey::general(NodeId(2)), w.now);
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(1));
    let hosts: Vec<&str> = w.asked_ever.iter().map(|a| &*a.host).collect();
    assert_eq!(
        hosts,
        ["boot", "one", "two"],
        "the other broker is asked for its opinion"
    );
}

#[test]
fn a_response_with_the_known_leader_ends_a_contradiction() {
    let mut w = known(9, "boot");
    hear(&mut w, 0, 1, 4);
    assert!(w.cluster.topic("t").unwrap().is_incomplete());
    hear(&mut w, 0, 2, 5);
    assert!(!w.cluster.topic("t").unwrap().is_incomplete());
    assert_eq!(leader(&w), Some(2));
}

#[test]
fn the_response_after_a_missing_topic_is_accepted() {
    let mut w = known(9, "boot");
    w.cluster.request_refresh("t", w.now);
    w.run_ms(500);
    let mut missing = topic("t", 0, &[]);
    missing.error_code = ottla_protocol::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0;
    w.answer(&metadata(vec![missing]));
    assert_eq!(leader(&w), None);
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(1));
}

#[test]
fn partitions_outlast_a_transient_topic_error() {
    use ottla_protocol::ErrorCode as E;
    for (version, error, stays) in [
        (12, E::LEADER_NOT_AVAILABLE, true),
        (12, E::KAFKA_STORAGE_ERROR, true),
        (9, E::REQUEST_TIMED_OUT, true),
        (12, E::UNKNOWN_SERVER_ERROR, true),
        (12, E::TOPIC_AUTHORIZATION_FAILED, false),
        (12, E::UNKNOWN_TOPIC_OR_PARTITION, false),
    ] {
        let mut w = known(version, "boot");
        w.cluster.request_refresh("t", w.now);
        w.run_ms(500);
        let mut failing = topic("t", 0, &[]);
        failing.error_code = error.0;
        w.answer(&metadata(vec![failing]));
        let meta = w.cluster.topic("t").unwrap();
        assert_eq!((leader(&w), meta.error), (stays.then_some(2), error.into()), "{error}");
        assert!(meta.is_incomplete(), "it is asked for again");
        if stays {
            hear(&mut w, 1, 1, 4);
            assert_eq!(leader(&w), Some(2), "{error}: leader epochs do not go back");
            hear(&mut w, 1, 1, 6);
            assert_eq!(leader(&w), Some(1), "{error}");
            assert!(!w.cluster.topic("t").unwrap().is_incomplete());
        }
    }
}

#[test]
fn leader_epochs_before_metadata_v9_are_ignored() {
    for version in [7, 8] {
        let mut w = known(version, "boot");
        assert_eq!(w.cluster.topic("t").unwrap().partition(0).unwrap().leader_epoch, -1);
        hear(&mut w, 0, 1, 4);
        assert_eq!(leader(&w), Some(1), "version {version}");
    }
}

#[test]
fn a_replaced_topic_id_is_a_contradiction() {
    let mut w = known(12, "boot");
    hear(&mut w, 2, 1, 0);
    assert_eq!(leader(&w), Some(1), "a topic made again");
    w.changes();
    hear(&mut w, 1, 2, 5);
    assert_eq!(leader(&w), Some(1), "a broker that lags behind");
    assert!(w.changes().is_empty());
    hear(&mut w, 3, 2, 0);
    assert_eq!(leader(&w), Some(2), "an id that was never seen is new");
}

#[test]
fn a_replaced_topic_id_is_accepted_from_a_quorum() {
    let mut w = known(12, "boot");
    // This broker lagged behind, which the client could not detect.
    hear(&mut w, 2, 1, 0);
    let begin = w.now;
    while leader(&w) == Some(1) {
        hear(&mut w, 1, 2, 5);
        w.run_ms(500);
        assert!(w.now.since(begin).as_millis() < 35_000);
    }
}

// ---------------------------------------------------------------- how long something is looked for

#[test]
fn request_refresh_repeats_until_there_is_news() {
    let mut w = known(12, "one");
    w.answers = Some(metadata(vec![topic("t", 1, &[(2, 5)])]));
    let before = w.asked_ever.len();
    // Clients notice the end of a leader before the controller does.
    w.cluster.request_refresh("t", w.now);
    w.run_ms(20_000);
    let asked = w.asked_ever.len() - before;
    assert!((18..26).contains(&asked), "{asked} requests in 20 s");
    w.answers = Some(metadata(vec![topic("t", 1, &[(1, 6)])]));
    // An election may take this long where several brokers went: waiting for its end must not take as long again.
    let took = w.ms_until(100_000, |w| leader(w) == Some(1));
    assert!(took.is_some_and(|ms| ms <= 1_100), "{took:?}");
    let before = w.asked_ever.len();
    w.run_ms(200_000);
    assert!(w.asked_ever.len() - before <= 1, "there was news");
}

#[test]
fn request_refresh_without_news_ends_at_the_ordinary_interval() {
    let mut w = known(12, "one");
    w.answers = Some(metadata(vec![topic("t", 1, &[(2, 5)])]));
    let before = w.asked_ever.len();
    w.cluster.request_refresh("t", w.now);
    w.run_ms(900_000);
    let asked = w.asked_ever.len() - before;
    assert!((30..50).contains(&asked), "{asked} requests in 15 minutes");
}

#[test]
fn metadata_is_refreshed_within_metadata_max_age_ms() {
    for (interval, age, every) in [("-1", "20000", 20), ("60000", "20000", 20), ("10000", "50000", 10)] {
        let mut w = World::with(
            "one",
            &[
                ("topic.metadata.refresh.interval.ms", interval),
                ("metadata.max.age.ms", age),
            ],
        );
        w.answers = Some(metadata(vec![topic("t", 1, &[(2, 5)])]));
        w.cluster.watch(&name("t"), w.now);
        w.run_ms(5000);
        let before = w.asked_ever.len();
        w.run_ms(200_000);
        let asked = w.asked_ever.len() - before;
        assert!(
            (200 / every - 1..=200 / every + 1).contains(&asked),
            "{interval}/{age}: {asked}"
        );
    }
}

#[test]
fn unwatched_topics_are_not_refreshed() {
    let mut w = World::with("one", &[("topic.metadata.refresh.interval.ms", "5000")]);
    w.cluster.watch(&name("t"), w.now);
    w.cluster.watch(&name("u"), w.now);
    w.answers = Some(metadata(vec![topic("t", 1, &[(2, 5)]), topic("u", 2, &[(2, 5)])]));
    w.run_ms(1000);
    w.cluster.unwatch("u");
    w.cluster.request_refresh("u", w.now);
    let before = w.asked_ever.len();
    w.run_ms(30_000);
    assert!(w.asked_ever.len() > before);
    let names = w.asked_ever[before..].iter().flat_map(|a| a.topics.clone().unwrap());
    assert!(names.into_iter().all(|n| n == "t"));
}

#[test]
fn missing_topics_are_not_kept() {
    let mut w = known(12, "one");
    let mut missing = topic("no-such", 0, &[]);
    missing.error_code = ottla_protocol::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0;
    let reply = w.call(crate::cluster::MetadataScope::Topics(vec!["no-such".into()]), 1000);
    w.settle();
    w.answer(&metadata(vec![missing.clone()]));
    w.changes();
    assert!(reply.try_take().is_some_and(|r| r.is_ok()));
    assert!(w.cluster.topic("no-such").is_none());
    // For a watched topic the time is kept since when it is missing.
    w.cluster.watch(&name("no-such"), w.now);
    w.run_ms(20);
    w.answer(&metadata(vec![missing.clone()]));
    let since = w.cluster.topic("no-such").unwrap().missing_since;
    w.ms_until(5000, |w| !w.asked.is_empty())
        .expect("it is asked for again");
    w.answer(&metadata(vec![missing]));
    assert_eq!(w.cluster.topic("no-such").unwrap().missing_since, since);
    w.cluster.unwatch("no-such");
    assert!(w.cluster.topic("no-such").is_none());
}

#[test]
fn a_topic_missing_from_a_listing_is_requested_by_name() {
    let settings = [
        ("topic.metadata.refresh.sparse", "false"),
        ("topic.metadata.refresh.interval.ms", "5000"),
    ];
    let mut w = World::with("one", &settings);
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    let first = w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    assert_eq!(first, Some(vec!["t".into()]), "asking by name may create it");
    w.ms_until(6000, |w| !w.asked.is_empty()).expect("the interval");
    assert_eq!(w.answer(&metadata(Vec::new())), None);
    w.ms_until(1000, |w| !w.asked.is_empty())
        .expect("what has become of it?");
    let mut missing = topic("t", 0, &[]);
    missing.error_code = ottla_protocol::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0;
    assert_eq!(w.answer(&metadata(vec![missing])), Some(vec!["t".into()]));
    assert!(w.cluster.topic("t").unwrap().missing_since.is_some());
}

// ---------------------------------------------------------------- brokers that come and go

#[test]
fn requests_to_a_departed_broker_may_be_answered() {
    let mut w = known(12, "one");
    // A call waits at broker 1, which another broker names no more.
    let connection = BrokerKey::general(NodeId(1));
    assert!(w.connections.is_up(connection));
    let _ = w.connections.ready(BrokerKey::general(NodeId(2)), w.now);
    w.settle();
    let reply = w.call(crate::cluster::MetadataScope::AllTopics, 60_000);
    w.settle();
    let (asked, other) = (w.asked[0].host.clone(), if w.asked[0].host == "one" { 2 } else { 1 });
    let leaving = BrokerKey::general(NodeId(3 - other));
    w.cluster.request_refresh("t", w.now);
    w.ms_until(3000, |w| w.asked.len() == 2)
        .expect("the other broker is asked");
    let mut without = metadata(vec![topic("t", 1, &[(other, 6)])]);
    without.brokers.retain(|b| b.node_id == other);
    assert_ne!(w.asked[1].host, asked);
    w.answer_at(1, &without);
    assert!(w.cluster.node(leaving.node).is_none());
    assert!(w.connections.is_up(leaving), "somebody waits for its answer");
    w.answer_at(0, &metadata(Vec::new()));
    w.changes();
    assert!(reply.try_take().is_some_and(|r| r.is_ok()));
    // The late answer is older than the list that does not name the broker.
    assert!(w.cluster.node(leaving.node).is_none());
    assert!(w.connections.address(leaving).is_none());
}

#[test]
fn a_changed_address_is_connected_to() {
    let mut w = known(12, "one");
    let mut moved = metadata(vec![topic("t", 1, &[(2, 5)])]);
    moved.brokers[0].host = "elsewhere".into();
    w.cluster.request_refresh("t", w.now);
    w.run_ms(500);
    w.answer(&moved);
    assert!(!w.connections.is_up(BrokerKey::general(NodeId(1))));
    let _ = w.connections.ready(BrokerKey::general(NodeId(1)), w.now);
    w.settle();
    assert_eq!(w.looked_up.last().map(String::as_str), Some("elsewhere"));
    assert!(w.connections.is_up(BrokerKey::general(NodeId(1))));
}

#[test]
fn unanswered_refreshes_trigger_a_rebootstrap() {
    for (strategy, forgets) in [("rebootstrap", true), ("none", false)] {
        let mut w = World::with(
            "boot",
            &[
                ("metadata.recovery.strategy", strategy),
                ("metadata.recovery.rebootstrap.trigger.ms", "10000"),
                // Brokers that keep their connections open and never answer.
                ("socket.timeout.ms", "300000"),
                ("api.version.request.timeout.ms", "300000"),
            ],
        );
        w.cluster.watch(&name("t"), w.now);
        w.settle();
        w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
        w.frozen.extend(["one", "two", "boot"].map(String::from));
        w.cluster.request_refresh("t", w.now);
        w.run_ms(9_900);
        assert!(w.cluster.node(NodeId(1)).is_some());
        w.run_ms(200);
        assert_eq!(w.cluster.node(NodeId(1)).is_none(), forgets, "{strategy}");
    }
}

#[test]
fn a_request_behind_a_long_poll_delays_the_rebootstrap() {
    let settings = [
        ("metadata.recovery.rebootstrap.trigger.ms", "300"),
        ("fetch.wait.max.ms", "500"),
    ];
    let mut w = World::with("boot", &settings);
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    // A request in flight on the only connection takes the part of the long poll.
    let _before = w.call(crate::cluster::MetadataScope::AllTopics, 60_000);
    w.settle();
    w.cluster.request_refresh("t", w.now);
    w.run_ms(700);
    assert!(w.cluster.node(NodeId(1)).is_some());
    w.run_ms(200);
    assert!(w.cluster.node(NodeId(1)).is_none(), "silence is noticed in the end");
}
