//! The times of refreshes, and how long something is looked for.

use ottla_mock::ApiKey;

use crate::cluster::MetadataScope;
use crate::test_kit::metadata::{metadata, topics_of};
use crate::test_kit::{MetadataClient, World};

/// A world that knows `t`, led by broker 2.
fn known(settings: &[(&str, &str)]) -> World<MetadataClient> {
    let mut w = World::new("broker1:9001", settings);
    w.add_topic("t", &[2]);
    w.watch("t");
    w.drive();
    w.changes();
    w
}

fn leader(w: &World<MetadataClient>) -> Option<i32> {
    w.core.cluster.leader("t", 0).map(|n| n.0)
}

/// Returns the number of metadata requests in a time.
fn asked_in(w: &mut World<MetadataClient>, ms: u64) -> usize {
    let before = w.asked_ever().len();
    w.run_ms(ms);
    w.asked_ever().len() - before
}

#[test]
fn request_refresh_repeats_until_there_is_news() {
    let mut w = known(&[]);
    // Clients notice the end of a leader before the controller does.
    let now = w.now;
    w.core.cluster.request_refresh("t", now);
    let asked = asked_in(&mut w, 20_000);
    assert!((18..26).contains(&asked), "{asked} requests in 20 s");
    w.move_leader("t", 0, 1);
    // An election may take this long where several brokers went: waiting for its end must not take as long again.
    let took = w.run_until(100_000, |w| leader(w) == Some(1));
    assert!(took.is_some_and(|ms| ms <= 1_100), "{took:?}");
    assert!(asked_in(&mut w, 200_000) <= 1, "there was news");
}

#[test]
fn request_refresh_without_news_ends_at_the_ordinary_interval() {
    let mut w = known(&[]);
    let now = w.now;
    w.core.cluster.request_refresh("t", now);
    let asked = asked_in(&mut w, 900_000);
    assert!((30..50).contains(&asked), "{asked} requests in 15 minutes");
}

#[test]
fn metadata_is_refreshed_within_metadata_max_age_ms() {
    for (interval, age, every) in [("-1", "20000", 20), ("60000", "20000", 20), ("10000", "50000", 10)] {
        let mut w = known(&[
            ("topic.metadata.refresh.interval.ms", interval),
            ("metadata.max.age.ms", age),
        ]);
        w.run_ms(5000);
        let asked = asked_in(&mut w, 200_000);
        assert!(
            (200 / every - 1..=200 / every + 1).contains(&asked),
            "{interval}/{age}: {asked}"
        );
    }
}

#[test]
fn unwatched_topics_are_not_refreshed() {
    let mut w = World::new("broker1:9001", &[("topic.metadata.refresh.interval.ms", "5000")]);
    for topic in ["t", "u"] {
        w.add_topic(topic, &[2]);
        w.watch(topic);
    }
    w.run_ms(1000);
    w.core.cluster.unwatch("u");
    let before = w.asked_ever().len();
    w.refresh("u");
    w.run_ms(30_000);
    let asked = w.asked_ever();
    assert!(asked.len() > before);
    let names = asked[before..].iter().flat_map(|a| topics_of(a).unwrap());
    assert!(names.into_iter().all(|n| n == "t"));
}

#[test]
fn missing_topics_are_not_kept() {
    let mut w = known(&[]);
    let reply = w.call_metadata(MetadataScope::Topics(vec!["no-such".into()]), 1000);
    w.drive();
    w.changes();
    assert!(reply.try_take().is_some_and(|r| r.is_ok()));
    assert!(w.core.cluster.topic("no-such").is_none());
    // For a watched topic the time is kept since when it is missing.
    w.watch("no-such");
    w.run_ms(20);
    let since = w.core.cluster.topic("no-such").unwrap().missing_since;
    assert!(since.is_some());
    assert!(asked_in(&mut w, 5000) > 0, "it is asked for again");
    assert_eq!(w.core.cluster.topic("no-such").unwrap().missing_since, since);
    w.core.cluster.unwatch("no-such");
    assert!(w.core.cluster.topic("no-such").is_none());
}

#[test]
fn a_topic_missing_from_a_listing_is_requested_by_name() {
    let mut w = known(&[
        ("topic.metadata.refresh.sparse", "false"),
        ("topic.metadata.refresh.interval.ms", "5000"),
    ]);
    let first = w.take_asked(0);
    assert_eq!(
        topics_of(&first),
        Some(vec!["t".into()]),
        "asking by name may create it"
    );
    w.hold(ApiKey::METADATA);
    w.run_until(6000, |w| !w.asked().is_empty()).expect("the interval");
    w.brokers().delete_topic("t").unwrap();
    assert_eq!(w.serve_last(), None);
    w.run_until(1000, |w| !w.asked().is_empty())
        .expect("a request for the missing topic");
    assert_eq!(w.serve_last(), Some(vec!["t".into()]));
    assert!(w.core.cluster.topic("t").unwrap().missing_since.is_some());
}

#[test]
fn unanswered_refreshes_trigger_a_rebootstrap() {
    use crate::types::NodeId;
    for (strategy, forgets) in [("rebootstrap", true), ("none", false)] {
        let mut w = known(&[
            ("metadata.recovery.strategy", strategy),
            ("metadata.recovery.rebootstrap.trigger.ms", "10000"),
            // Brokers that keep their connections open and never answer.
            ("socket.timeout.ms", "300000"),
            ("api.version.request.timeout.ms", "300000"),
        ]);
        (1..=3).for_each(|node| _ = w.freeze(node));
        w.refresh("t");
        w.run_ms(9_900);
        assert!(w.core.cluster.node(NodeId(1)).is_some());
        w.run_ms(200);
        assert_eq!(w.core.cluster.node(NodeId(1)).is_none(), forgets, "{strategy}");
    }
}

#[test]
fn a_request_behind_a_long_poll_delays_the_rebootstrap() {
    use crate::types::NodeId;
    let settings = [
        ("metadata.recovery.rebootstrap.trigger.ms", "300"),
        ("fetch.wait.max.ms", "500"),
    ];
    let mut w = World::new("boot:9003", &settings);
    w.hold(ApiKey::METADATA);
    w.watch("t");
    w.drive();
    w.answer_last(&metadata(vec![crate::test_kit::metadata::topic("t", 1, &[(2, 5)])]));
    // A request in flight on the only connection takes the part of the long poll.
    let _before = w.call_metadata(MetadataScope::AllTopics, 60_000);
    w.drive();
    w.refresh("t");
    w.run_ms(700);
    assert!(w.core.cluster.node(NodeId(1)).is_some());
    w.run_ms(200);
    assert!(
        w.core.cluster.node(NodeId(1)).is_none(),
        "silence is noticed in the end"
    );
}
