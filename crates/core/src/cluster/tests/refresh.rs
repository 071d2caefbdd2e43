//! Refreshes of metadata and the effects of responses.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use ottla_protocol::Uuid;

use super::harness::*;
use crate::cluster::{Change, MetadataScope, NodeInfo};
use crate::connection::BrokerKey;
use crate::error::ErrorCode;
use crate::log::{DebugContexts, LogLine, Logger};
use crate::sys::Rng;
use crate::types::{ClientKind, NodeId};

#[test]
fn metadata_is_requested_from_one_broker() {
    let mut w = World::new("one,two,three");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    assert_eq!((w.conns.len(), w.asked.len()), (1, 1));
    let topics = w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    assert_eq!(topics, Some(vec!["t".to_string()]));
    assert_eq!(w.changes(), ["t"]);
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(2)));
    assert_eq!(
        w.conns.len(),
        1,
        "the brokers that metadata named are connected to when they are needed"
    );
}

#[test]
fn bootstrap_brokers_are_picked_at_random() {
    let mut first = HashSet::new();
    for seed in 0..40 {
        let mut w = World::new("one,two,three");
        w.rng = Rng::from_seed(seed);
        w.settle();
        first.insert(w.looked_up[0].clone());
    }
    assert_eq!(first.len(), 3);
}

#[test]
fn untried_brokers_come_first_and_an_outage_is_reported_once() {
    let mut w = World::new("one,two,three");
    w.refused = true;
    w.run_ms(5_000);
    let mut tried = w.looked_up[..3].to_vec();
    tried.sort();
    assert_eq!(tried, ["one", "three", "two"]);
    let down: Vec<String> = w.changes();
    assert_eq!(down.len(), 1, "{down:?}");
    assert!(
        down[0].contains("3/3 brokers are down: All broker connections are down"),
        "{down:?}"
    );
    // Seconds of outage cost few attempts.
    assert!(w.looked_up.len() < 60, "{}", w.looked_up.len());
    w.refused = false;
    w.run_ms(12_000);
    assert!(w.connections.keys().any(|k| w.connections.is_up(k)));
}

#[test]
fn an_older_leader_epoch_is_ignored() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.cluster.request_refresh("t", w.now);
    w.run_ms(500);
    w.answer(&metadata(vec![topic("t", 1, &[(1, 4)])]));
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(2)));
    // The leader epochs of a recreated topic start over.
    w.cluster.request_refresh("t", w.now);
    w.run_ms(500);
    w.answer(&metadata(vec![topic("t", 9, &[(1, 0)])]));
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(1)));
    assert_eq!(w.cluster.topic_by_id(Uuid([9; 16])).map(|n| &**n), Some("t"));
    assert_eq!(w.cluster.topic_by_id(Uuid([1; 16])), None);
}

#[test]
fn a_topic_without_leader_is_refreshed_at_growing_intervals() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    let mut asked = 0;
    for _ in 0..200 {
        w.run_ms(50);
        if !w.asked.is_empty() {
            asked += 1;
            w.answer(&metadata(vec![topic("t", 1, &[(-1, 1)])]));
        }
    }
    assert!((10..60).contains(&asked), "{asked} requests in 10 s");
    w.run_ms(2_000);
    w.answer(&metadata(vec![topic("t", 1, &[(1, 2)])]));
    w.changes();
    w.run_ms(60_000);
    assert!(w.asked.is_empty(), "complete metadata is left alone");
}

/// Returns the address of broker 3 in a leader hint.
fn three() -> NodeInfo {
    NodeInfo {
        host: "three".into(),
        port: 1,
        rack: None,
    }
}

#[test]
fn a_leader_hint_needs_a_newer_epoch() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.changes();
    let mut ctx = ctx!(w);
    assert!(!w.cluster.update_leader(&mut ctx, "t", 0, NodeId(1), 5, None));
    assert!(
        !w.cluster.update_leader(&mut ctx, "t", 0, NodeId(7), 6, None),
        "nobody knows broker 7"
    );
    assert!(w.cluster.update_leader(&mut ctx, "t", 0, NodeId(3), 6, Some(three())));
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(3)));
    let mut changes = w.changes();
    changes.dedup();
    assert_eq!(changes, ["t"]);
}

#[test]
fn a_new_broker_in_a_leader_hint_announces_every_topic_that_it_leads() {
    let mut w = World::new("one");
    for topic in ["t", "u"] {
        w.cluster.watch(&name(topic), w.now);
    }
    w.settle();
    // No broker list contains broker 3 yet: a fetch from it waits.
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)]), topic("u", 2, &[(3, 5)])]));
    w.changes();
    let mut ctx = ctx!(w);
    assert!(w.cluster.update_leader(&mut ctx, "t", 0, NodeId(3), 6, Some(three())));
    let changes = w.changes();
    assert!(changes.iter().any(|name| name == "u"), "{changes:?}");
}

#[test]
fn calls_fail_at_their_deadline_with_the_last_error() {
    let mut w = World::new("one");
    w.refused = true;
    let reply = w.call(MetadataScope::AllTopics, 700);
    w.run_ms(699);
    assert!(reply.try_take().is_none());
    w.run_ms(2);
    let error = reply.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TRANSPORT);
    assert!(error.message.contains("Connection refused"), "{error}");
}

#[test]
fn a_call_keeps_its_deadline_while_a_connection_hangs() {
    let mut w = World::new("one");
    w.hangs = true;
    let reply = w.call(MetadataScope::AllTopics, 200);
    let end = w.now.plus_ms(200);
    while w.now < end {
        let wake = w.settle().expect("there is a deadline");
        assert!(wake <= end, "sleeps past the deadline");
        w.now = wake;
    }
    w.settle();
    assert!(reply.try_take().is_some_and(|r| r.is_err()));
}

#[test]
fn a_broker_missing_from_the_broker_list_is_removed() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.cluster.request_refresh("t", w.now);
    w.run_ms(500);
    let mut response = metadata(vec![topic("t", 1, &[(1, 6)])]);
    response.brokers.pop();
    w.answer(&response);
    assert!(w.cluster.node(NodeId(2)).is_none());
    assert!(w.connections.address(BrokerKey::general(NodeId(2))).is_none());
}

#[test]
fn an_outage_of_all_brokers_triggers_a_rebootstrap() {
    for (strategy, forgets) in [("rebootstrap", true), ("none", false)] {
        let mut w = World::with("boot", &[("metadata.recovery.strategy", strategy)]);
        w.cluster.watch(&name("t"), w.now);
        w.settle();
        w.answer(&metadata(vec![topic("t", 1, &[(-1, 5)])]));
        w.looked_up.clear();
        w.refused = true;
        w.reset_all();
        w.run_ms(20_000);
        assert_eq!(w.cluster.node(NodeId(1)).is_none(), forgets, "{strategy}");
        assert_eq!(
            w.looked_up.iter().any(|h| h == "boot"),
            forgets,
            "{strategy}: {:?}",
            w.looked_up
        );
    }
}

#[test]
fn blacklisted_topics_stay_unknown() {
    let mut w = World::with("one", &[("topic.blacklist", "^secret")]);
    w.cluster.watch(&name("secret-1"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("secret-1", 1, &[(1, 5)])]));
    assert!(w.cluster.topic("secret-1").is_none());
}

#[test]
fn a_leader_missing_from_the_broker_list_is_refreshed_soon() {
    let mut w = World::new("one");
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.cluster.request_refresh("t", w.now);
    w.run_ms(500);
    // A broker that lags behind names an older leader, and not the present one's address.
    let mut lagging = metadata(vec![topic("t", 1, &[(1, 4)])]);
    lagging.brokers.pop();
    w.answer(&lagging);
    assert_eq!(w.cluster.leader("t", 0), Some(NodeId(2)));
    w.changes();
    w.run_ms(1_000);
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    assert_eq!(w.changes(), ["t"], "whoever waited for the address hears of it");
}

#[test]
fn auto_creation_follows_allow_auto_create_topics() {
    use ClientKind::{Consumer, Producer};
    for (kind, setting, version, creates) in [
        (Producer, None, 12, true),
        (Producer, Some("false"), 12, false),
        (Consumer, None, 12, false),
        (Consumer, Some("true"), 12, true),
        // The version has no flag for it.
        (Consumer, None, 3, true),
    ] {
        let settings: Vec<(&str, &str)> = setting.map(|s| ("allow.auto.create.topics", s)).into_iter().collect();
        let mut w = World::of(kind, "one", &settings);
        w.version = version;
        w.cluster.watch(&name("t"), w.now);
        w.settle();
        assert_eq!(w.asked[0].creates, creates, "{kind:?} {setting:?} version {version}");
    }
}

const CANONICAL: &[(&str, &str)] = &[("client.dns.lookup", "resolve_canonical_bootstrap_servers_only")];

#[test]
fn canonical_names_replace_bootstrap_names() {
    let mut w = World::with("seed:9092", CANONICAL);
    w.settle();
    assert_eq!(w.looked_up[0], "seed");
    assert!(w.looked_up.len() > 1, "a broker is connected to");
    assert!(
        w.looked_up[1..].iter().all(|h| h == "seed-a" || h == "seed-b"),
        "{:?}",
        w.looked_up
    );
}

#[test]
fn a_bootstrap_name_without_canonical_names_is_looked_up_again() {
    let mut w = World::with("seed:9092", CANONICAL);
    w.nameless = true;
    w.settle();
    assert_eq!(w.looked_up, ["seed"]);
    let change = w.cluster.next_change();
    assert!(matches!(&change, Some(Change::AllBrokersDown(e)) if e.message.contains("Failed to resolve 'seed:9092'")));
    w.nameless = false;
    w.now = w.settle().expect("it is tried again");
    w.settle();
    assert_eq!(w.looked_up[1], "seed");
    assert!(
        w.looked_up[2..].iter().any(|h| h.starts_with("seed-")),
        "{:?}",
        w.looked_up
    );
}

#[test]
fn canonical_look_ups_are_repeated_within_reconnect_backoff_max_ms() {
    let mut settings = CANONICAL.to_vec();
    settings.extend([("reconnect.backoff.ms", "1000"), ("reconnect.backoff.max.ms", "1000")]);
    let mut w = World::with("seed:9092", &settings);
    w.nameless = true;
    for _ in 0..20 {
        let next = w.settle().expect("it is tried again");
        assert!(next.since(w.now).as_millis() <= 1000, "{:?}", next.since(w.now));
        w.now = next;
    }
    assert!(w.looked_up.len() >= 20, "{:?}", w.looked_up);
}

#[test]
fn an_invalid_topic_name_is_refreshed_at_the_ordinary_interval() {
    let mut w = World::new("one");
    let mut refused = topic("#!$", 0, &[]);
    refused.error_code = ottla_protocol::ErrorCode::INVALID_TOPIC_EXCEPTION.0;
    w.answers = Some(metadata(vec![refused]));
    w.cluster.watch(&name("#!$"), w.now);
    w.run_ms(30_000);
    assert!(w.changes().contains(&"#!$".to_owned()));
    assert!(w.asked_ever.len() <= 2, "{} requests", w.asked_ever.len());
}

#[test]
fn a_change_of_leader_is_logged_with_both_brokers() {
    let mut w = World::new("one");
    let lines = Arc::new(Mutex::new(Vec::new()));
    let to = lines.clone();
    let sink = Arc::new(move |line: LogLine| to.lock().unwrap().push(line.message));
    w.log = Logger::new(sink, 7, DebugContexts::TOPIC);
    w.cluster.watch(&name("t"), w.now);
    w.settle();
    w.answer(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.cluster.request_refresh(&name("t"), w.now);
    w.run_ms(1000);
    w.answer(&metadata(vec![topic("t", 1, &[(1, 6)])]));
    let said = lines.lock().unwrap().join("\n");
    assert!(said.contains("t [0]: leader is 2 (epoch 5)"), "{said}");
    assert!(
        said.contains("t [0]: migrating from broker 2 to 1 (leader is 1, epoch 6)"),
        "{said}"
    );
}
