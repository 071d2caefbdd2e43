//! Targets of requests and the connections that they resolve to.

use super::harness::*;
use crate::connection::BrokerKey;
use crate::error::Error;
use crate::request::{Attempts, CoordinatorType, Target};
use crate::types::{NodeId, TopicPartition};

impl World {
    /// Returns the connection to a target after enough polls for its look-up and its connection.
    fn route(&mut self, target: &Target, lookup: &mut Attempts) -> Result<Option<BrokerKey>, Error> {
        let mut route = None;
        for _ in 0..3 {
            let mut ctx = ctx!(self);
            route = self.router.connection(&mut ctx, &mut self.cluster, target, lookup)?;
            self.settle();
        }
        Ok(route.map(|broker| broker.key))
    }

    /// A world whose metadata names brokers 1 and 2 and the leader of the partition t-0.
    fn with_leader(leader: i32) -> World {
        let mut w = World::new("one");
        w.cluster.watch(&name("t"), w.now);
        w.settle();
        w.answer(&metadata(vec![topic("t", 1, &[(leader, 5)])]));
        w
    }
}

fn general(node: i32) -> Option<BrokerKey> {
    Some(BrokerKey::general(NodeId(node)))
}

fn coordinator(node: i32) -> Option<BrokerKey> {
    Some(BrokerKey::coordinator(NodeId(node)))
}

#[test]
fn an_unknown_controller_is_requested_with_the_retry_backoff() {
    let mut w = World::with_leader(1);
    let mut lookup = Attempts::starting_at(w.now);
    w.run_ms(100);
    assert_eq!(w.route(&Target::Controller, &mut lookup), Ok(None));
    assert_eq!((w.asked.len(), lookup.failed()), (1, 1), "the second call is too early");
    let mut response = metadata(vec![]);
    response.controller_id = 2;
    w.answer(&response);
    assert_eq!(w.route(&Target::Controller, &mut lookup), Ok(general(2)));
}

#[test]
fn a_broker_is_connected_to_before_metadata_is_requested_for_it() {
    let mut w = World::with_leader(1);
    w.run_ms(100);
    w.hangs = true;
    let mut lookup = Attempts::starting_at(w.now);
    let target = Target::Broker(NodeId(2));
    assert_eq!(w.route(&target, &mut lookup), Ok(None));
    assert_eq!((w.asked.len(), lookup.failed()), (0, 1));
    w.run_ms(200);
    assert_eq!(w.route(&target, &mut lookup), Ok(None));
    assert_eq!((w.asked.len(), lookup.failed()), (1, 2));
}

#[test]
fn the_leader_of_a_partition_is_found_again_after_it_has_moved() {
    let mut w = World::with_leader(2);
    let target = Target::Leader(TopicPartition {
        topic: "t".into(),
        partition: 0,
    });
    let mut lookup = Attempts::default();
    assert_eq!(w.route(&target, &mut lookup), Ok(general(2)));
    w.run_ms(100);
    w.router.refresh(&mut ctx!(w), &mut w.cluster, &target);
    w.settle();
    assert_eq!(
        w.answer(&metadata(vec![topic("t", 1, &[(1, 6)])])),
        Some(vec!["t".into()])
    );
    assert_eq!(w.route(&target, &mut lookup), Ok(general(1)));
}

#[test]
fn each_groups_coordinator_is_looked_up_once_and_again_after_it_has_moved() {
    let mut w = World::with_leader(1);
    let group = |name: &str| Target::Coordinator(CoordinatorType::Group, name.into());
    let mut lookup = Attempts::default();
    for name in ["a", "b", "a"] {
        assert_eq!(w.route(&group(name), &mut lookup), Ok(coordinator(1)), "{name}");
    }
    assert_eq!(w.groups_looked_up, ["a", "b"]);

    w.coordinator = 2;
    w.router.refresh(&mut ctx!(w), &mut w.cluster, &group("a"));
    w.run_ms(500);
    assert_eq!(w.route(&group("a"), &mut lookup), Ok(coordinator(2)));
    assert_eq!(w.route(&group("b"), &mut lookup), Ok(coordinator(1)));
    assert_eq!(w.groups_looked_up, ["a", "b", "a"]);

    w.router.forget(&group("a"));
    assert_eq!(w.route(&group("b"), &mut lookup), Ok(coordinator(1)));
    assert_eq!(w.groups_looked_up, ["a", "b", "a"], "only the other one is forgotten");
    assert_eq!(w.route(&group("a"), &mut lookup), Ok(coordinator(2)));
    assert_eq!(w.groups_looked_up, ["a", "b", "a", "a"]);
}

#[test]
fn a_coordinator_whose_connection_fails_is_looked_up_again() {
    let mut w = World::with_leader(1);
    let group = Target::Coordinator(CoordinatorType::Group, "a".into());
    let mut lookup = Attempts::default();
    assert_eq!(w.route(&group, &mut lookup), Ok(coordinator(1)));
    w.reset_all();
    w.coordinator = 2;
    w.run_ms(2000);
    for _ in 0..3 {
        w.route(&group, &mut lookup).unwrap();
        w.run_ms(500);
    }
    assert_eq!(w.route(&group, &mut lookup), Ok(coordinator(2)));
    assert_eq!(w.groups_looked_up, ["a", "a"]);
}
