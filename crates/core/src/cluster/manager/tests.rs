//! Refreshes of metadata and the effects of responses.

use std::collections::HashSet;

use ottla_mock::{ApiKey, BrokerId, ErrorCode as BrokerError};
use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::MetadataRequest;

use crate::cluster::{Change, MetadataScope, NodeInfo};
use crate::connection::BrokerKey;
use crate::error::ErrorCode;
use crate::test_kit::metadata::{metadata, topic, topics_of};
use crate::test_kit::{MetadataClient, World};
use crate::types::{ClientKind, NodeId};

const ONE: &str = "broker1:9001";
const THREE: &str = "broker1:9001,broker2:9002,broker3:9003";

/// A world that knows `t`, led by broker 2, and brokers 1 and 2.
fn known() -> World<MetadataClient> {
    known_with(ONE, &[])
}

fn known_with(bootstrap: &str, settings: &[(&str, &str)]) -> World<MetadataClient> {
    let mut w = World::of(ClientKind::Producer, bootstrap, settings, |c| c.brokers = 2, 4);
    w.add_topic("t", &[2]);
    w.watch("t");
    w.drive();
    w
}

fn leader(w: &World<MetadataClient>) -> Option<NodeId> {
    w.core.cluster.leader("t", 0)
}

#[test]
fn metadata_is_requested_from_one_broker() {
    let mut w = World::new(THREE, &[]);
    w.add_topic("t", &[2]);
    w.watch("t");
    w.drive();
    let asked = w.asked_ever();
    assert_eq!((w.net.connected_nodes().len(), asked.len()), (1, 1));
    assert_eq!(topics_of(&asked[0]), Some(vec!["t".to_string()]));
    assert_eq!(w.changes(), ["t"]);
    assert_eq!(leader(&w), Some(NodeId(2)));
    assert_eq!(
        w.net.connected_nodes().len(),
        1,
        "the brokers that metadata named are connected to when they are needed"
    );
}

#[test]
fn bootstrap_brokers_are_picked_at_random() {
    let mut first = HashSet::new();
    for seed in 0..40 {
        let mut w = World::of(ClientKind::Producer, THREE, &[], |_| {}, seed);
        w.drive();
        first.insert(w.net.looked_up[0].clone());
    }
    assert_eq!(first.len(), 3);
}

#[test]
fn untried_brokers_come_first_and_an_outage_is_reported_once() {
    let mut w = World::new(THREE, &[]);
    w.take_down(&[1, 2, 3]);
    w.run_ms(5_000);
    let mut tried = w.net.looked_up[..3].to_vec();
    tried.sort();
    assert_eq!(tried, ["broker1", "broker2", "broker3"]);
    let down: Vec<String> = w.changes();
    assert_eq!(down.len(), 1, "{down:?}");
    assert!(
        down[0].contains("3/3 brokers are down: All broker connections are down"),
        "{down:?}"
    );
    // Seconds of outage cost few attempts.
    assert!(w.net.looked_up.len() < 60, "{}", w.net.looked_up.len());
    w.bring_up();
    w.run_ms(12_000);
    let connections = &w.core.connections;
    assert!(connections.keys().any(|k| connections.is_up(k)));
}

#[test]
fn an_older_leader_epoch_is_ignored() {
    let mut w = World::new(ONE, &[]);
    w.hold(ApiKey::METADATA);
    w.watch("t");
    w.drive();
    w.answer_last(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.refresh("t");
    w.run_ms(500);
    w.answer_last(&metadata(vec![topic("t", 1, &[(1, 4)])]));
    assert_eq!(leader(&w), Some(NodeId(2)));
    // The leader epochs of a recreated topic start over.
    w.refresh("t");
    w.run_ms(500);
    w.answer_last(&metadata(vec![topic("t", 9, &[(1, 0)])]));
    assert_eq!(leader(&w), Some(NodeId(1)));
    let cluster = &w.core.cluster;
    assert_eq!(cluster.topic_by_id(Uuid([9; 16])).map(|n| &**n), Some("t"));
    assert_eq!(cluster.topic_by_id(Uuid([1; 16])), None);
}

#[test]
fn a_recreated_topic_replaces_the_former_one() {
    let mut w = known();
    let before = w.brokers().topic_id("t").unwrap();
    w.move_leader("t", 0, 2);
    w.refresh("t");
    w.run_ms(500);
    w.recreate_topic("t", &[1]);
    w.refresh("t");
    w.run_ms(500);
    assert_eq!(leader(&w), Some(NodeId(1)));
    let after = w.brokers().topic_id("t").unwrap();
    let cluster = &w.core.cluster;
    assert_eq!(cluster.topic_by_id(after).map(|n| &**n), Some("t"));
    assert_eq!(cluster.topic_by_id(before), None);
}

#[test]
fn a_topic_without_leader_is_refreshed_at_growing_intervals() {
    let mut w = World::new(ONE, &[]);
    w.add_topic("t", &[-1]);
    w.watch("t");
    w.run_ms(10_000);
    let asked = w.asked_ever().len();
    assert!((10..60).contains(&asked), "{asked} requests in 10 s");
    w.move_leader("t", 0, 1);
    w.run_ms(2_000);
    w.changes();
    assert_eq!(leader(&w), Some(NodeId(1)));
    let asked = w.asked_ever().len();
    w.run_ms(60_000);
    assert_eq!(w.asked_ever().len(), asked, "complete metadata is left alone");
}

/// Returns the address of broker 3 in a leader hint.
fn three() -> NodeInfo {
    NodeInfo {
        host: "broker3".into(),
        port: 9003,
        rack: None,
    }
}

/// Applies a leader hint; returns whether it was accepted.
fn hint(w: &mut World<MetadataClient>, leader: i32, epoch: i32, address: Option<NodeInfo>) -> bool {
    let (cluster, _, mut ctx) = w.core.parts(w.now);
    cluster.update_leader(&mut ctx, "t", 0, NodeId(leader), epoch, address)
}

#[test]
fn a_leader_hint_needs_a_newer_epoch() {
    let mut w = known();
    w.changes();
    assert!(!hint(&mut w, 1, 0, None));
    assert!(!hint(&mut w, 7, 1, None), "broker 7 is unknown");
    assert!(hint(&mut w, 3, 1, Some(three())));
    assert_eq!(leader(&w), Some(NodeId(3)));
    let mut changes = w.changes();
    changes.dedup();
    assert_eq!(changes, ["t"]);
}

#[test]
fn a_new_broker_in_a_leader_hint_announces_every_topic_that_it_leads() {
    let mut w = World::new(ONE, &[]);
    w.hold(ApiKey::METADATA);
    for topic in ["t", "u"] {
        w.watch(topic);
    }
    w.drive();
    // No broker list contains broker 3 yet: a fetch from it waits.
    w.answer_last(&metadata(vec![topic("t", 1, &[(2, 0)]), topic("u", 2, &[(3, 0)])]));
    w.changes();
    assert!(hint(&mut w, 3, 1, Some(three())));
    let changes = w.changes();
    assert!(changes.iter().any(|name| name == "u"), "{changes:?}");
}

#[test]
fn calls_fail_at_their_deadline_with_the_last_error() {
    let mut w = World::new(ONE, &[]);
    w.take_down(&[1, 2, 3]);
    let reply = w.call_metadata(MetadataScope::AllTopics, 700);
    w.run_ms(699);
    assert!(reply.try_take().is_none());
    w.run_ms(2);
    let error = reply.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TRANSPORT);
    assert!(error.message.contains("Connection refused"), "{error}");
}

#[test]
fn a_call_keeps_its_deadline_while_a_connection_hangs() {
    let mut w = World::new(ONE, &[]);
    w.net.connects_hang = true;
    let reply = w.call_metadata(MetadataScope::AllTopics, 200);
    let end = w.now.plus_ms(200);
    while w.now < end {
        let wake = w.drive().expect("there is a deadline");
        assert!(wake <= end, "sleeps past the deadline");
        w.run_to(wake);
    }
    assert!(reply.try_take().is_some_and(|r| r.is_err()));
}

#[test]
fn a_broker_missing_from_the_broker_list_is_removed() {
    let mut w = known();
    assert!(w.core.cluster.node(NodeId(2)).is_some());
    w.move_leader("t", 0, 1);
    w.brokers().stop_broker(BrokerId(2));
    w.refresh("t");
    w.run_ms(500);
    assert!(w.core.cluster.node(NodeId(2)).is_none());
    assert!(w.core.connections.address(BrokerKey::general(NodeId(2))).is_none());
}

#[test]
fn an_outage_of_all_brokers_triggers_a_rebootstrap() {
    for (strategy, forgets) in [("rebootstrap", true), ("none", false)] {
        let mut w = World::new("boot:9001", &[("metadata.recovery.strategy", strategy)]);
        w.add_topic("t", &[-1]);
        w.watch("t");
        w.drive();
        w.net.looked_up.clear();
        w.take_down(&[1, 2, 3]);
        w.run_ms(20_000);
        assert_eq!(w.core.cluster.node(NodeId(1)).is_none(), forgets, "{strategy}");
        assert_eq!(
            w.net.looked_up.iter().any(|h| h == "boot"),
            forgets,
            "{strategy}: {:?}",
            w.net.looked_up
        );
    }
}

#[test]
fn blacklisted_topics_stay_unknown() {
    let mut w = World::new(ONE, &[("topic.blacklist", "^secret")]);
    w.add_topic("secret-1", &[1]);
    w.watch("secret-1");
    w.drive();
    assert!(!w.asked_ever().is_empty());
    assert!(w.core.cluster.topic("secret-1").is_none());
}

#[test]
fn a_leader_missing_from_the_broker_list_is_refreshed_soon() {
    let mut w = World::new(ONE, &[]);
    w.hold(ApiKey::METADATA);
    w.watch("t");
    w.drive();
    w.answer_last(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.refresh("t");
    w.run_ms(500);
    // A broker that lags behind names an older leader, and not the present one's address.
    let mut lagging = metadata(vec![topic("t", 1, &[(1, 4)])]);
    lagging.brokers.pop();
    w.answer_last(&lagging);
    assert_eq!(leader(&w), Some(NodeId(2)));
    w.changes();
    w.run_ms(1_000);
    w.answer_last(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    assert_eq!(w.changes(), ["t"], "a manager may wait for the address");
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
        let mut w = World::of(kind, ONE, &settings, |_| {}, 4);
        w.brokers().set_api_versions(ApiKey::METADATA, Some((0, version)));
        w.watch("t");
        w.drive();
        let request: MetadataRequest = w.asked_ever()[0].decode();
        assert_eq!(
            request.allow_auto_topic_creation, creates,
            "{kind:?} {setting:?} version {version}"
        );
    }
}

const CANONICAL: &[(&str, &str)] = &[("client.dns.lookup", "resolve_canonical_bootstrap_servers_only")];
const SEED: &str = "seed:9001";

#[test]
fn canonical_names_replace_bootstrap_names() {
    let mut w = World::new(SEED, CANONICAL);
    w.drive();
    let looked_up = &w.net.looked_up;
    assert_eq!(looked_up[0], "seed");
    assert!(looked_up.len() > 1, "a broker is connected to");
    assert!(
        looked_up[1..].iter().all(|h| h == "seed-a" || h == "seed-b"),
        "{looked_up:?}"
    );
}

#[test]
fn a_bootstrap_name_without_canonical_names_is_looked_up_again() {
    let mut w = World::new(SEED, CANONICAL);
    w.net.nameless.insert("seed".into());
    w.drive();
    assert_eq!(w.net.looked_up, ["seed"]);
    let change = w.core.cluster.next_change();
    assert!(matches!(&change, Some(Change::AllBrokersDown(e)) if e.message.contains("Failed to resolve 'seed:9001'")));
    w.net.nameless.clear();
    w.sleep();
    assert_eq!(w.net.looked_up[1], "seed");
    assert!(
        w.net.looked_up[2..].iter().any(|h| h.starts_with("seed-")),
        "{:?}",
        w.net.looked_up
    );
}

#[test]
fn canonical_look_ups_are_repeated_within_reconnect_backoff_max_ms() {
    let mut settings = CANONICAL.to_vec();
    settings.extend([("reconnect.backoff.ms", "1000"), ("reconnect.backoff.max.ms", "1000")]);
    let mut w = World::new(SEED, &settings);
    w.net.nameless.insert("seed".into());
    for _ in 0..20 {
        let begin = w.now;
        w.sleep();
        assert!(w.now.since(begin).as_millis() <= 1000, "{:?}", w.now.since(begin));
    }
    assert!(w.net.looked_up.len() >= 20, "{:?}", w.net.looked_up);
}

#[test]
fn an_invalid_topic_name_is_refreshed_at_the_ordinary_interval() {
    let mut w = World::new(ONE, &[]);
    w.watch("#!$");
    w.run_ms(30_000);
    assert!(w.changes().contains(&"#!$".to_owned()));
    let error = w.core.cluster.topic("#!$").unwrap().error;
    assert_eq!(error, BrokerError::INVALID_TOPIC_EXCEPTION.into());
    let asked = w.asked_ever().len();
    assert!(asked <= 2, "{asked} requests");
}

#[test]
fn a_change_of_leader_is_logged_with_both_brokers() {
    let mut w = known();
    w.move_leader("t", 0, 1);
    w.refresh("t");
    w.run_ms(1000);
    let said = w.log();
    assert!(said.contains("t [0]: leader is 2 (epoch 0)"), "{said}");
    assert!(
        said.contains("t [0]: migrating from broker 2 to 1 (leader is 1, epoch 1)"),
        "{said}"
    );
}

// ---------------------------------------------------------------- brokers that come and go

#[test]
fn requests_to_a_departed_broker_may_be_answered() {
    let mut w = known();
    w.take_asked(0);
    w.hold(ApiKey::METADATA);
    // A call waits at a broker that another one names no more.
    let connection = BrokerKey::general(NodeId(1));
    assert!(w.core.connections.is_up(connection));
    let now = w.now;
    let _ = w.core.connections.ready(BrokerKey::general(NodeId(2)), now);
    w.drive();
    let reply = w.call_metadata(MetadataScope::AllTopics, 60_000);
    w.drive();
    let called = w.asked()[0].node;
    let other = 3 - called;
    let leaving = BrokerKey::general(NodeId(called));
    w.refresh("t");
    w.run_until(3000, |w| w.asked().len() == 2)
        .expect("the other broker is asked");
    let mut without = metadata(vec![topic("t", 1, &[(other, 6)])]);
    without.brokers.retain(|b| b.node_id == other);
    let asked = w.take_asked(1);
    assert_eq!(asked.node, other);
    w.answer(&asked, &without);
    assert!(w.core.cluster.node(leaving.node).is_none());
    assert!(w.core.connections.is_up(leaving), "a request waits for its answer");
    w.answer_last(&metadata(Vec::new()));
    w.changes();
    assert!(reply.try_take().is_some_and(|r| r.is_ok()));
    // The late answer is older than the list that does not name the broker.
    assert!(w.core.cluster.node(leaving.node).is_none());
    assert!(w.core.connections.address(leaving).is_none());
}

#[test]
fn a_changed_address_is_connected_to() {
    let mut w = known();
    let key = BrokerKey::general(NodeId(1));
    assert!(w.core.connections.is_up(key));
    w.brokers().set_address(BrokerId(1), "elsewhere", 9001);
    w.refresh("t");
    w.run_ms(500);
    assert!(!w.core.connections.is_up(key));
    let now = w.now;
    let _ = w.core.connections.ready(key, now);
    w.drive();
    assert_eq!(w.net.looked_up.last().map(String::as_str), Some("elsewhere"));
    assert!(w.core.connections.is_up(key));
}
