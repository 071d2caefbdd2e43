//! Brokers that do not answer must not keep the client from asking others.

use super::harness::*;
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

fn three(
    topics: Vec<ottla_protocol::api::metadata::MetadataResponseTopic>,
) -> ottla_protocol::api::metadata::MetadataResponse {
    let mut response = metadata(topics);
    response.brokers.push(broker(3, "three"));
    response
}

#[test]
fn a_frozen_broker_does_not_hold_up_metadata() {
    let mut w = three_brokers(&[]);
    w.frozen.insert(w.asked_ever[0].host.clone());
    w.answers = Some(three(vec![topic("t", 1, &[(3, 6)])]));
    w.cluster.stale("t", w.now);
    let took = w.ms_until(100_000, |w| w.cluster.leader("t", 0) == Some(NodeId(3)));
    println!("the new leader is known after {took:?} ms");
    assert!(took.is_some_and(|ms| ms < 3000), "{took:?}");
}

#[test]
fn a_frozen_bootstrap_broker_does_not_hold_up_the_start() {
    for frozen in ["one", "two", "three"] {
        let mut w = World::new("one,two,three");
        w.frozen.insert(frozen.into());
        w.answers = Some(three(vec![topic("t", 1, &[(3, 6)])]));
        w.cluster.watch(&name("t"), w.now);
        let took = w.ms_until(100_000, |w| w.cluster.leader("t", 0).is_some());
        println!("{frozen} frozen: known after {took:?} ms");
        assert!(took.is_some_and(|ms| ms < 3000), "{took:?}");
    }
}
