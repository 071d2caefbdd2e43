//! Members of one group in one process tell each other when they come and go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::leave_group::{LeaveGroupRequest, LeaveGroupResponse};

use super::groups::{committed, join, subscribe, world};
use super::harness::*;
use crate::consumer::Command;
use crate::consumer::neighbours::Neighbour;

/// A member with a neighbour in the group, which is named after the test.
fn neighbours(group: &str) -> (World, Neighbour, Arc<Wakes>) {
    let w = world(&[("enable.auto.commit", "false")]);
    let wakes = Arc::new(Wakes::default());
    w.registry.meet_neighbours(group, wakes.clone());
    (w, Neighbour::new(group, Arc::new(Wakes::default())), wakes)
}

#[test]
fn a_member_asks_at_once_when_a_neighbour_has_left() {
    let (mut w, neighbour, wakes) = neighbours("asks");
    subscribe(&mut w);
    join(&mut w, 1);
    committed(&mut w, 0);
    w.run_ms(10);
    assert!(w.next::<HeartbeatRequest>().is_none(), "the interval is not over");
    neighbour.tell_others();
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    w.run_ms(1);
    assert!(w.next::<HeartbeatRequest>().is_some());
}

#[test]
fn a_member_tells_when_it_waits_to_join_and_when_it_has_left() {
    let (mut w, neighbour, _) = neighbours("tells");
    subscribe(&mut w);
    assert!(
        neighbour.take_news(),
        "the request to join has not been answered for a while"
    );
    join(&mut w, 1);
    committed(&mut w, 0);
    w.run_ms(100);
    assert!(!neighbour.take_news());
    let reply = w.call(|reply| Command::Unsubscribe { reply });
    assert!(reply.try_take().is_some());
    let (asked, _) = w.expect::<LeaveGroupRequest>();
    assert!(!neighbour.take_news());
    w.answer(&asked, &LeaveGroupResponse::default());
    assert!(neighbour.take_news());
    assert!(w.next::<JoinGroupRequest>().is_none());
}
