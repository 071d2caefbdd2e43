//! Subscriptions by pattern.

use ottla_protocol::api::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};
use ottla_protocol::consumer_protocol::ConsumerProtocolSubscription;

use super::harness::*;
use crate::consumer::Command;
use crate::error::{Error, ErrorCode};
use crate::types::offset;

fn world() -> World {
    let settings = [
        ("topic.metadata.refresh.interval.ms", "2000"),
        ("topic.blacklist", "^logs-secret"),
        ("heartbeat.interval.ms", "1000"),
    ];
    let mut w = World::new(&settings, &[]);
    for topic in ["logs-a", "logs-b", "logs-secret", "old-logs-c", "named"] {
        w.add_topic(topic, &[1]);
    }
    w
}

fn subscribe(w: &mut World, topics: &[&str]) -> Result<(), Error> {
    let topics = topics.iter().map(|t| t.to_string()).collect();
    w.call(|reply| Command::Subscribe { topics, reply }).try_take().unwrap()
}

/// Completes a join with an empty assignment; returns the topics in JoinGroup.
fn join(w: &mut World) -> Vec<String> {
    let (asked, request) = w.expect::<JoinGroupRequest>();
    let response = JoinGroupResponse {
        generation_id: 1,
        protocol_name: Some("range".into()),
        leader: "another".into(),
        member_id: "me".into(),
        ..Default::default()
    };
    w.answer(&asked, &response);
    let (asked, _) = w.expect::<SyncGroupRequest>();
    w.answer(&asked, &SyncGroupResponse::default());
    topics_of(&request)
}

fn topics_of(request: &JoinGroupRequest) -> Vec<String> {
    let metadata = request.protocols[0].metadata.clone();
    ConsumerProtocolSubscription::from_bytes(metadata).unwrap().topics
}

/// Advances the time and answers heartbeats.
fn pass(w: &mut World, seconds: u32) {
    for _ in 0..seconds {
        w.run_ms(1000);
        while let Some((asked, _)) = w.next::<HeartbeatRequest>() {
            w.answer(&asked, &HeartbeatResponse::default());
        }
    }
}

#[test]
fn pattern_follows_created_and_deleted_topics() {
    let mut w = world();
    subscribe(&mut w, &["^logs-", "named"]).unwrap();
    w.run_ms(500);
    assert_eq!(join(&mut w), ["logs-a", "logs-b", "named"]);
    let asked = w.call(|reply| Command::Subscription { reply }).try_take().unwrap();
    assert_eq!(asked.unwrap(), ["^logs-", "named"]);
    pass(&mut w, 5);
    assert!(w.next::<JoinGroupRequest>().is_none(), "nothing has changed");
    w.add_topic("logs-d", &[1]);
    pass(&mut w, 4);
    assert_eq!(join(&mut w), ["logs-a", "logs-b", "logs-d", "named"]);
    w.model.remove("logs-a");
    pass(&mut w, 60);
    assert_eq!(join(&mut w), ["logs-b", "logs-d", "named"]);
    assert!(w.take().is_empty(), "logs-a is not named in the subscription");
}

#[test]
fn subscribing_again_matches_new_topics() {
    let mut w = world();
    subscribe(&mut w, &["^logs-"]).unwrap();
    w.run_ms(500);
    assert_eq!(join(&mut w), ["logs-a", "logs-b"]);
    w.add_topic("logs-d", &[1]);
    subscribe(&mut w, &["^logs-"]).unwrap();
    w.run_ms(500);
    let mut wanted = Vec::new();
    while let Some((_, request)) = w.next::<JoinGroupRequest>() {
        wanted.push(topics_of(&request));
    }
    assert_eq!(
        wanted,
        [["logs-a", "logs-b", "logs-d"]],
        "long before the next refresh, and at once"
    );
}

#[test]
fn new_pattern_is_matched_with_a_new_listing_before_joining() {
    let mut w = world();
    subscribe(&mut w, &["^logs-"]).unwrap();
    w.run_ms(500);
    assert_eq!(join(&mut w), ["logs-a", "logs-b"]);
    w.add_topic("named-2", &[1]);
    subscribe(&mut w, &["^named"]).unwrap();
    w.run_ms(500);
    assert_eq!(join(&mut w), ["named", "named-2"]);
    pass(&mut w, 5);
    assert!(w.next::<JoinGroupRequest>().is_none(), "one rebalance is enough");
}

#[test]
fn only_named_topics_are_reported_as_missing() {
    let mut w = world();
    subscribe(&mut w, &["^nothing-like-that", "missing"]).unwrap();
    pass(&mut w, 60);
    let unknown = Got::Error(ErrorCode::UNKNOWN_TOPIC_OR_PART, offset::INVALID);
    assert_eq!(w.take(), [unknown]);
    assert_eq!(join(&mut w), ["missing"]);
}

#[test]
fn invalid_pattern_is_refused() {
    let mut w = world();
    assert_eq!(
        subscribe(&mut w, &["^logs("]).unwrap_err().code,
        ErrorCode::L_INVALID_ARG
    );
    subscribe(&mut w, &["^logs-b"]).unwrap();
    w.run_ms(500);
    assert_eq!(join(&mut w), ["logs-b"]);
    subscribe(&mut w, &["named"]).unwrap();
    w.run_ms(500);
    assert_eq!(join(&mut w), ["named"]);
}
