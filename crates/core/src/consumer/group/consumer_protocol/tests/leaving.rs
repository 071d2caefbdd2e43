//! Other coordinators, leaving, and not polling.

use ottla_mock::{BrokerId, CoordinatorKind};

use super::*;

#[test]
fn new_coordinator_gets_a_full_heartbeat() {
    let mut w = world_of(&[]);
    join(&mut w);
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(2));
    w.run_ms(3000);
    accept_next(&mut w);
    w.run_ms(500);
    let (asked, request) = heartbeat(&mut w);
    assert_eq!((asked.node, request.member_epoch), (2, 1));
    assert_eq!(request.topic_partitions, Some(topic_partitions(&mut w, "t", &[0, 1])));
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".into()]));
    assert!(request.rebalance_timeout_ms > 0);
}

#[test]
fn coordinator_load_in_progress_is_retried() {
    let mut w = world_of(&[]);
    subscribe_to(&mut w, &["t"]);
    let loading = Some(BrokerError::COORDINATOR_LOAD_IN_PROGRESS);
    w.brokers().set_coordinator_error(CoordinatorKind::Group, "g", loading);
    for _ in 0..3 {
        let beat = accept_next(&mut w);
        assert_eq!((beat.0.node, beat.1.member_epoch), (1, 0));
        no_heartbeat(&mut w);
        w.run_ms(1000);
    }
    assert!(w.take().is_empty());
}

#[test]
fn silent_coordinator_is_looked_up_again_without_revocation() {
    let mut w = world_of(&[("test.rebalance", "")]);
    join_listening(&mut w, &[0, 1]);
    w.freeze(1);
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(2));
    w.run_ms(20_000);
    let (asked, request) = heartbeat(&mut w);
    assert_eq!((asked.node, request.member_epoch), (2, 1));
    assert_eq!(request.topic_partitions, Some(topic_partitions(&mut w, "t", &[0, 1])));
    // Only the coordinator decides about the end of the session.
    w.run_ms(60_000);
    assert_eq!(w.assignment(), [0, 1]);
    assert!(!w.state().is_assignment_lost());
}

#[test]
fn leaving_member_commits_and_revokes_first() {
    for (instance, epoch) in [("", -1), ("i", -2)] {
        let mut w = world_of(&[("group.instance.id", instance)]);
        w.hold(ApiKey::OFFSET_COMMIT);
        let me = join(&mut w);
        read_two(&mut w, 0);
        let closed = w.call(|reply| Command::Close { reply });
        no_heartbeat(&mut w);
        assert_eq!(serve_commit(&mut w), (1, vec![(0, 2)]));
        let leave = heartbeat(&mut w);
        assert_eq!((leave.1.member_epoch, &leave.1.member_id), (epoch, &me));
        assert_eq!(leave.1.instance_id.as_deref(), Some(instance).filter(|i| !i.is_empty()));
        assert!(closed.try_take().is_none());
        accept(&mut w, &leave);
        assert_eq!(closed.try_take(), Some(Ok(())));
        assert_eq!(w.state().group().generation, -1);
    }
}

#[test]
fn joining_member_leaves() {
    let mut w = world_of(&[]);
    subscribe_to(&mut w, &["t"]);
    let joining = heartbeat(&mut w);
    let closed = w.call(|reply| Command::Close { reply });
    accept(&mut w, &joining);
    let leave = heartbeat(&mut w);
    assert_eq!(leave.1.member_epoch, -1);
    assert!(w.assignment().is_empty());
    accept(&mut w, &leave);
    assert_eq!(closed.try_take(), Some(Ok(())));
    assert!(w.brokers().group_members("g").is_empty());
}

#[test]
fn subscribing_again_before_leaving_keeps_membership() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    join_listening(&mut w, &[0, 1]);
    w.call(|reply| Command::Unsubscribe { reply });
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    subscribe_to(&mut w, &["t"]);
    remove(&mut w, &[0, 1]);
    assert_eq!(w.take(), [assigned(&[0, 1])]);
    // A member that is leaving leaves first.
    add(&mut w, &[0, 1]);
    w.run_ms(100);
    while w.has(ApiKey::CONSUMER_GROUP_HEARTBEAT) {
        accept_next(&mut w);
    }
    w.call(|reply| Command::Unsubscribe { reply });
    w.take();
    remove(&mut w, &[0, 1]);
    let leave = heartbeat(&mut w);
    subscribe_to(&mut w, &["t"]);
    no_heartbeat(&mut w);
    accept(&mut w, &leave);
    assert_eq!(heartbeat(&mut w).1.member_epoch, 0);
}

#[test]
fn max_poll_interval_exceeded_leaves_until_polled() {
    let mut w = world_of(&[("test.rebalance", ""), ("max.poll.interval.ms", "10000")]);
    let me = join_listening(&mut w, &[0, 1]);
    let mut left = None;
    for _ in 0..130 {
        w.run_ms(100);
        match w.next::<ConsumerGroupHeartbeatRequest>() {
            Some(beat) if beat.1.member_epoch == -1 => left = Some(beat),
            Some(beat) => accept(&mut w, &beat),
            None => {}
        }
    }
    let left = left.unwrap();
    accept(&mut w, &left);
    w.run_ms(20_000);
    no_heartbeat(&mut w);
    assert!(w.state().is_assignment_lost());
    let exceeded = error(ErrorCode::L_MAX_POLL_EXCEEDED);
    assert_eq!(w.take(), [exceeded, revoked(&[0, 1])]);
    remove(&mut w, &[0, 1]);
    w.run_ms(1000);
    let again = heartbeat(&mut w);
    assert_eq!((again.1.member_epoch, again.1.member_id), (0, me));
}
