//! Subscriptions by pattern.

use ottla_protocol::ApiKey;
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::consumer_protocol::ConsumerProtocolSubscription;

use crate::consumer::Command;
use crate::error::ErrorCode;
use crate::test_kit::{Got, World};
use crate::types::offset;

fn world() -> World {
    let settings = [
        ("topic.metadata.refresh.interval.ms", "2000"),
        ("topic.blacklist", "^logs-secret"),
        ("heartbeat.interval.ms", "1000"),
    ];
    let mut w = World::consumer(&settings, &[]);
    for topic in ["logs-a", "logs-b", "logs-secret", "old-logs-c", "named"] {
        w.add_topic(topic, &[1]);
    }
    w
}

/// Subscribes, and advances the time until the group has a generation.
fn subscribe(w: &mut World, topics: &[&str]) {
    w.subscribe(topics).unwrap();
    w.run_ms(500);
}

/// Returns the topics in the JoinGroup requests that the test has not looked at, which must all have the same.
fn joined(w: &mut World) -> Vec<String> {
    let mut all: Vec<Vec<String>> = w
        .drain::<JoinGroupRequest>()
        .iter()
        .map(|(_, r)| topics_of(r))
        .collect();
    all.dedup();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn topics_of(request: &JoinGroupRequest) -> Vec<String> {
    let metadata = request.protocols[0].metadata.clone();
    ConsumerProtocolSubscription::from_bytes(metadata).unwrap().topics
}

#[test]
fn pattern_follows_created_and_deleted_topics() {
    let mut w = world();
    subscribe(&mut w, &["^logs-", "named"]);
    assert_eq!(joined(&mut w), ["logs-a", "logs-b", "named"]);
    let asked = w.call(|reply| Command::Subscription { reply }).try_take().unwrap();
    assert_eq!(asked.unwrap(), ["^logs-", "named"]);
    w.run_ms(5000);
    assert!(w.next::<JoinGroupRequest>().is_none(), "nothing has changed");
    w.add_topic("logs-d", &[1]);
    w.run_ms(4000);
    assert_eq!(joined(&mut w), ["logs-a", "logs-b", "logs-d", "named"]);
    w.brokers().delete_topic("logs-a").unwrap();
    w.run_ms(60_000);
    assert_eq!(joined(&mut w), ["logs-b", "logs-d", "named"]);
    assert!(w.take().is_empty(), "logs-a is not named in the subscription");
}

#[test]
fn subscribing_again_matches_new_topics() {
    let mut w = world();
    subscribe(&mut w, &["^logs-"]);
    assert_eq!(joined(&mut w), ["logs-a", "logs-b"]);
    w.add_topic("logs-d", &[1]);
    let before = w.count(ApiKey::JOIN_GROUP);
    subscribe(&mut w, &["^logs-"]);
    assert_eq!(
        joined(&mut w),
        ["logs-a", "logs-b", "logs-d"],
        "long before the next refresh"
    );
    assert_eq!(w.count(ApiKey::JOIN_GROUP), before + 1, "at once");
}

#[test]
fn new_pattern_is_matched_with_a_new_listing_before_joining() {
    let mut w = world();
    subscribe(&mut w, &["^logs-"]);
    assert_eq!(joined(&mut w), ["logs-a", "logs-b"]);
    w.add_topic("named-2", &[1]);
    subscribe(&mut w, &["^named"]);
    assert_eq!(joined(&mut w), ["named", "named-2"]);
    w.run_ms(5000);
    assert!(w.next::<JoinGroupRequest>().is_none(), "one rebalance is enough");
}

#[test]
fn only_named_topics_are_reported_as_missing() {
    let mut w = world();
    subscribe(&mut w, &["^nothing-like-that", "missing"]);
    w.run_ms(60_000);
    let unknown = Got::Error(ErrorCode::UNKNOWN_TOPIC_OR_PART, offset::INVALID);
    assert_eq!(w.take(), [unknown]);
    assert_eq!(joined(&mut w), ["missing"]);
}

#[test]
fn invalid_pattern_is_refused() {
    let mut w = world();
    let refused = w.subscribe(&["^logs("]).unwrap_err();
    assert_eq!(refused.code, ErrorCode::L_INVALID_ARG);
    subscribe(&mut w, &["^logs-b"]);
    assert_eq!(joined(&mut w), ["logs-b"]);
    subscribe(&mut w, &["named"]);
    assert_eq!(joined(&mut w), ["named"]);
}
