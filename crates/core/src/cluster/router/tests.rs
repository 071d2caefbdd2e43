//! Targets of requests and the connections that they resolve to.

use ottla_mock::{ApiKey, BrokerId, CoordinatorKind};
use ottla_protocol::api::find_coordinator::FindCoordinatorRequest;

use crate::connection::BrokerKey;
use crate::error::Error;
use crate::request::{Attempts, CoordinatorType, Target};
use crate::test_kit::metadata::{metadata, topic, topics_of};
use crate::test_kit::{MetadataClient, World};
use crate::types::{NodeId, TopicPartition};

impl World<MetadataClient> {
    /// Returns the connection to a target after enough polls for its look-up and its connection.
    fn route(&mut self, target: &Target, lookup: &mut Attempts) -> Result<Option<BrokerKey>, Error> {
        let mut route = None;
        for _ in 0..3 {
            let (cluster, router, mut ctx) = self.core.parts(self.now);
            route = router.connection(&mut ctx, cluster, target, lookup)?;
            self.drive();
        }
        Ok(route.map(|broker| broker.key))
    }

    fn refresh_target(&mut self, target: &Target) {
        let (cluster, router, mut ctx) = self.core.parts(self.now);
        router.refresh(&mut ctx, cluster, target);
        self.drive();
    }

    /// Returns the groups whose coordinator was looked up.
    fn groups_looked_up(&self) -> Vec<String> {
        let all = self.net.all().iter().filter(|a| a.key == ApiKey::FIND_COORDINATOR);
        all.flat_map(|a| a.decode::<FindCoordinatorRequest>().coordinator_keys)
            .collect()
    }
}

/// A world that knows the brokers and the leader of the partition t-0. Broker 1 coordinates the groups `a` and `b`.
fn with_leader(leader: i32) -> World<MetadataClient> {
    let mut w = World::new("broker1:9001", &[]);
    for group in ["a", "b"] {
        w.brokers().set_coordinator(CoordinatorKind::Group, group, BrokerId(1));
    }
    w.add_topic("t", &[leader]);
    w.watch("t");
    w.drive();
    w
}

fn general(node: i32) -> Option<BrokerKey> {
    Some(BrokerKey::general(NodeId(node)))
}

fn coordinator(node: i32) -> Option<BrokerKey> {
    Some(BrokerKey::coordinator(NodeId(node)))
}

#[test]
fn an_unknown_controller_is_requested_with_the_retry_backoff() {
    let mut w = World::new("broker1:9001", &[]);
    w.hold(ApiKey::METADATA);
    w.watch("t");
    w.drive();
    // A broker that does not know the controller: the cluster always has one.
    w.answer_last(&metadata(vec![topic("t", 1, &[(1, 5)])]));
    let mut lookup = Attempts::starting_at(w.now);
    w.run_ms(100);
    assert_eq!(w.route(&Target::Controller, &mut lookup), Ok(None));
    assert_eq!(
        (w.asked().len(), lookup.failed()),
        (1, 1),
        "the second call is too early"
    );
    w.brokers().set_controller(BrokerId(2));
    w.serve_last();
    assert_eq!(w.route(&Target::Controller, &mut lookup), Ok(general(2)));
}

#[test]
fn a_broker_is_connected_to_before_metadata_is_requested_for_it() {
    let mut w = with_leader(1);
    w.run_ms(100);
    w.net.connects_hang = true;
    let before = w.asked_ever().len();
    let mut lookup = Attempts::starting_at(w.now);
    let target = Target::Broker(NodeId(2));
    assert_eq!(w.route(&target, &mut lookup), Ok(None));
    assert_eq!((w.asked_ever().len() - before, lookup.failed()), (0, 1));
    w.run_ms(200);
    assert_eq!(w.route(&target, &mut lookup), Ok(None));
    assert_eq!((w.asked_ever().len() - before, lookup.failed()), (1, 2));
}

#[test]
fn the_leader_of_a_partition_is_found_again_after_it_has_moved() {
    let mut w = with_leader(2);
    let target = Target::Leader(TopicPartition {
        topic: "t".into(),
        partition: 0,
    });
    let mut lookup = Attempts::default();
    assert_eq!(w.route(&target, &mut lookup), Ok(general(2)));
    w.run_ms(100);
    w.move_leader("t", 0, 1);
    w.refresh_target(&target);
    let asked = w.asked_ever().pop().unwrap();
    assert_eq!(topics_of(&asked), Some(vec!["t".into()]));
    assert_eq!(w.route(&target, &mut lookup), Ok(general(1)));
}

#[test]
fn each_groups_coordinator_is_looked_up_once_and_again_after_it_has_moved() {
    let mut w = with_leader(1);
    let group = |name: &str| Target::Coordinator(CoordinatorType::Group, name.into());
    let mut lookup = Attempts::default();
    for name in ["a", "b", "a"] {
        assert_eq!(w.route(&group(name), &mut lookup), Ok(coordinator(1)), "{name}");
    }
    assert_eq!(w.groups_looked_up(), ["a", "b"]);

    w.brokers().set_coordinator(CoordinatorKind::Group, "a", BrokerId(2));
    w.refresh_target(&group("a"));
    w.run_ms(500);
    assert_eq!(w.route(&group("a"), &mut lookup), Ok(coordinator(2)));
    assert_eq!(w.route(&group("b"), &mut lookup), Ok(coordinator(1)));
    assert_eq!(w.groups_looked_up(), ["a", "b", "a"]);

    w.core.parts(w.now).1.forget(&group("a"));
    assert_eq!(w.route(&group("b"), &mut lookup), Ok(coordinator(1)));
    assert_eq!(w.groups_looked_up(), ["a", "b", "a"], "only the other one is forgotten");
    assert_eq!(w.route(&group("a"), &mut lookup), Ok(coordinator(2)));
    assert_eq!(w.groups_looked_up(), ["a", "b", "a", "a"]);
}

#[test]
fn a_coordinator_whose_connection_fails_is_looked_up_again() {
    let mut w = with_leader(1);
    let group = Target::Coordinator(CoordinatorType::Group, "a".into());
    let mut lookup = Attempts::default();
    assert_eq!(w.route(&group, &mut lookup), Ok(coordinator(1)));
    w.disconnect_all();
    w.brokers().set_coordinator(CoordinatorKind::Group, "a", BrokerId(2));
    w.run_ms(2000);
    for _ in 0..3 {
        w.route(&group, &mut lookup).unwrap();
        w.run_ms(500);
    }
    assert_eq!(w.route(&group, &mut lookup), Ok(coordinator(2)));
    assert_eq!(w.groups_looked_up(), ["a", "a"]);
}
