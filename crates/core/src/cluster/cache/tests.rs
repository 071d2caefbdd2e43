//! The rules by which a response replaces what is known. Responses that contradict each other come from brokers that lag
//! behind or lack topic ids; they are scripted.

use ottla_mock::ApiKey;
use ottla_protocol::ErrorCode as E;

use crate::connection::BrokerKey;
use crate::test_kit::metadata::{metadata, topic};
use crate::test_kit::{MetadataClient, World};
use crate::types::NodeId;

/// The address of broker 1, as in metadata.
const ONE: &str = "broker1:9001";
/// The address of broker 3, which metadata does not name: a bootstrap address may lead to any broker.
const BOOT: &str = "boot:9003";

/// `t` known at leader epoch 5 of broker 2, from brokers that speak Metadata up to `version`.
fn known(version: i16, bootstrap: &str) -> World<MetadataClient> {
    let mut w = World::new(bootstrap, &[]);
    w.brokers().set_api_versions(ApiKey::METADATA, Some((0, version)));
    w.hold(ApiKey::METADATA);
    w.watch("t");
    w.drive();
    w.answer_last(&metadata(vec![topic("t", 1, &[(2, 5)])]));
    w.changes();
    w
}

fn leader(w: &World<MetadataClient>) -> Option<i32> {
    w.core.cluster.leader("t", 0).map(|n| n.0)
}

fn is_incomplete(w: &World<MetadataClient>) -> bool {
    w.core.cluster.topic("t").unwrap().is_incomplete()
}

/// Advances the time until the topic is requested.
fn await_request(w: &mut World<MetadataClient>) {
    w.run_until(5000, |w| !w.asked().is_empty())
        .expect("the topic is requested");
}

/// Requests the topic and answers with this response.
fn hear(w: &mut World<MetadataClient>, id: u8, leader: i32, epoch: i32) {
    w.refresh("t");
    await_request(w);
    w.answer_last(&metadata(vec![topic("t", id, &[(leader, epoch)])]));
}

#[test]
fn a_contradiction_from_the_same_broker_is_accepted() {
    // Without topic ids, a topic made again begins with leader epoch 0.
    let mut w = known(9, ONE);
    hear(&mut w, 0, 2, 5); // from broker 1, no bootstrap address any more
    assert_eq!(leader(&w), Some(2));
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(1));
}

#[test]
fn an_older_epoch_without_topic_ids_is_a_contradiction_and_refreshed() {
    let mut w = known(9, BOOT);
    // The bootstrap address may lead to any broker: its word is not the word of a broker.
    let begin = w.now;
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(2), "not believed at once");
    let mut asked = 0;
    while leader(&w) == Some(2) {
        await_request(&mut w);
        asked += 1;
        w.answer_last(&metadata(vec![topic("t", 0, &[(1, 0)])]));
    }
    let ms = w.now.since(begin).as_millis();
    assert!((30_000..33_000).contains(&ms), "believed after {ms} ms");
    assert!((20..60).contains(&asked), "{asked} requests");
}

#[test]
fn a_contradiction_from_a_quorum_of_brokers_is_accepted() {
    let mut w = known(9, BOOT);
    let now = w.now;
    let _ = w.core.connections.ready(BrokerKey::general(NodeId(1)), now);
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(2), "one broker may lag behind");
    let now = w.now;
    let _ = w.core.connections.ready(BrokerKey::general(NodeId(2)), now);
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(1));
    let nodes: Vec<i32> = w.asked_ever().iter().map(|a| a.node).collect();
    assert_eq!(nodes, [3, 1, 2], "the other broker is asked for its opinion");
}

#[test]
fn a_response_with_the_known_leader_ends_a_contradiction() {
    let mut w = known(9, BOOT);
    hear(&mut w, 0, 1, 4);
    assert!(is_incomplete(&w));
    hear(&mut w, 0, 2, 5);
    assert!(!is_incomplete(&w));
    assert_eq!(leader(&w), Some(2));
}

#[test]
fn the_response_after_a_missing_topic_is_accepted() {
    let mut w = known(9, BOOT);
    w.refresh("t");
    w.run_ms(500);
    // The cluster has no such topic.
    w.serve_last();
    assert_eq!(leader(&w), None);
    hear(&mut w, 0, 1, 0);
    assert_eq!(leader(&w), Some(1));
}

#[test]
fn partitions_outlast_a_transient_topic_error() {
    for (version, error, stays) in [
        (12, E::LEADER_NOT_AVAILABLE, true),
        (12, E::KAFKA_STORAGE_ERROR, true),
        (9, E::REQUEST_TIMED_OUT, true),
        (12, E::UNKNOWN_SERVER_ERROR, true),
        (12, E::TOPIC_AUTHORIZATION_FAILED, false),
        (12, E::UNKNOWN_TOPIC_OR_PARTITION, false),
    ] {
        let mut w = known(version, BOOT);
        w.refresh("t");
        w.run_ms(500);
        let mut failing = topic("t", 0, &[]);
        failing.error_code = error.0;
        w.answer_last(&metadata(vec![failing]));
        let known_error = w.core.cluster.topic("t").unwrap().error;
        assert_eq!((leader(&w), known_error), (stays.then_some(2), error.into()), "{error}");
        assert!(is_incomplete(&w), "it is asked for again");
        if stays {
            hear(&mut w, 1, 1, 4);
            assert_eq!(leader(&w), Some(2), "{error}: leader epochs do not go back");
            hear(&mut w, 1, 1, 6);
            assert_eq!(leader(&w), Some(1), "{error}");
            assert!(!is_incomplete(&w));
        }
    }
}

#[test]
fn leader_epochs_before_metadata_v9_are_ignored() {
    for version in [7, 8] {
        let mut w = known(version, BOOT);
        let partition = w.core.cluster.topic("t").unwrap().partition(0).unwrap();
        assert_eq!(partition.leader_epoch, -1);
        hear(&mut w, 0, 1, 4);
        assert_eq!(leader(&w), Some(1), "version {version}");
    }
}

#[test]
fn a_replaced_topic_id_is_a_contradiction() {
    let mut w = known(12, BOOT);
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
    let mut w = known(12, BOOT);
    // This broker lagged behind, which the client could not detect.
    hear(&mut w, 2, 1, 0);
    let begin = w.now;
    while leader(&w) == Some(1) {
        hear(&mut w, 1, 2, 5);
        w.run_ms(500);
        assert!(w.now.since(begin).as_millis() < 35_000);
    }
}
