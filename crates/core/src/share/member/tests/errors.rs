//! Errors of the coordinator.

use super::*;

#[test]
fn heartbeat_after_a_failed_one_is_complete() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    assert_eq!(
        refuse(&mut w, BrokerError::COORDINATOR_LOAD_IN_PROGRESS).subscribed_topic_names,
        None
    );
    w.run_ms(1000);
    let again = accept(&mut w);
    assert_eq!((again.member_epoch, again.rack_id.as_deref()), (1, Some("r1")));
    assert_eq!(again.subscribed_topic_names, names(&["t"]));
    assert!(take(&mut w).is_empty());
}

#[test]
fn unknown_member_joins_again_at_once() {
    let mut w = world();
    let id = join(&mut w);
    w.run_ms(5000);
    refuse(&mut w, BrokerError::UNKNOWN_MEMBER_ID);
    assert_eq!(take(&mut w), [assigned(&[])]);
    let (_, again) = beat(&mut w);
    assert_eq!((again.member_epoch, again.member_id), (0, id));
    assert_eq!(again.subscribed_topic_names, names(&["t"]));
    no_beat(&mut w);
}

#[test]
fn fenced_member_leaves_before_it_joins_again() {
    let mut w = world();
    let id = join(&mut w);
    // The coordinator accepts epoch 0 from a member of epoch 1, whose response may have been lost.
    for (topic, epoch) in [("u", 1), ("t", 2)] {
        subscribe(&mut w, &[topic]);
        assert_eq!(accept(&mut w).member_epoch, epoch);
    }
    assert_eq!(take(&mut w), [assigned(&[]), assigned(&["t-0", "t-1"])]);
    w.run_ms(5000);
    refuse(&mut w, BrokerError::FENCED_MEMBER_EPOCH);
    let leave = accept(&mut w);
    assert_eq!((leave.member_epoch, &leave.member_id), (-1, &id));
    assert_eq!(accept(&mut w).member_epoch, 0);
    assert_eq!(take(&mut w), [assigned(&[]), assigned(&["t-0", "t-1"])]);
    assert_eq!(w.brokers().group_members("g"), [id]);
}

#[test]
fn fenced_join_backs_off() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    let mut joins = 0;
    let end = w.now.plus_ms(20_000);
    while w.now < end {
        while let Some((arrival, request)) = w.next::<ShareGroupHeartbeatRequest>() {
            joins += usize::from(request.member_epoch == 0);
            w.fail(&arrival, FaultAction::Error(BrokerError::FENCED_MEMBER_EPOCH));
        }
        w.run_ms(10);
    }
    assert!((10..50).contains(&joins), "{joins}");
    assert_eq!(take(&mut w), [assigned(&[])]);
    w.release(ApiKey::SHARE_GROUP_HEARTBEAT);
    w.run_ms(2000);
    assert_eq!(take(&mut w), [assigned(&["t-0", "t-1"])]);
}

#[test]
fn new_coordinator_gets_a_complete_heartbeat() {
    let mut w = world();
    join(&mut w);
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(2));
    w.run_ms(5000);
    accept(&mut w);
    w.run_ms(500);
    let (arrival, request) = beat(&mut w);
    assert_eq!((arrival.node, request.member_epoch), (2, 1));
    assert_eq!(request.subscribed_topic_names, names(&["t"]));
    assert!(take(&mut w).is_empty());
}

#[test]
fn lost_connection_keeps_the_membership() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    beat(&mut w);
    w.disconnect(1);
    w.run_ms(1000);
    let again = accept(&mut w);
    assert_eq!((again.member_epoch, again.subscribed_topic_names), (1, names(&["t"])));
    assert!(take(&mut w).is_empty());
}

#[test]
fn fatal_errors_end_the_membership() {
    for code in [
        BrokerError::INVALID_REQUEST,
        BrokerError::GROUP_MAX_SIZE_REACHED,
        BrokerError::UNSUPPORTED_VERSION,
        BrokerError::GROUP_AUTHORIZATION_FAILED,
        BrokerError::GROUP_ID_NOT_FOUND,
    ] {
        let mut w = world();
        join(&mut w);
        w.run_ms(5000);
        refuse(&mut w, code);
        assert_eq!(take(&mut w), [Got::Fatal(code.into()), assigned(&[])]);
        assert!(w.core.member.is_inactive());
        w.run_ms(60_000);
        no_beat(&mut w);
        subscribe(&mut w, &["t"]);
        assert_eq!(beat(&mut w).1.member_epoch, 0);
    }
}

#[test]
fn brokers_without_share_groups_are_reported() {
    for versions in [None, Some((0, 0))] {
        let mut w = world();
        w.brokers().set_api_versions(ApiKey::SHARE_GROUP_HEARTBEAT, versions);
        subscribe(&mut w, &["t"]);
        let actions = w.core.member.take_actions();
        let [MemberAction::ReportError(error)] = &actions[..] else {
            panic!("{actions:?}");
        };
        assert_eq!((error.code, error.fatal), (ErrorCode::UNSUPPORTED_VERSION, true));
        assert!(error.message.contains("Kafka 4.1 or later"), "{}", error.message);
        assert!(error.message.contains("share.version=1"), "{}", error.message);
        assert!(w.core.member.is_inactive());
        w.run_ms(60_000);
        no_beat(&mut w);
    }
}

#[test]
fn topic_authorization_is_reported_once_while_joining() {
    let mut w = world();
    subscribe(&mut w, &["t"]);
    for _ in 0..3 {
        refuse(&mut w, BrokerError::TOPIC_AUTHORIZATION_FAILED);
        w.run_ms(4900);
        no_beat(&mut w);
        w.run_ms(200);
    }
    assert_eq!(take(&mut w), [Got::Error(ErrorCode::TOPIC_AUTHORIZATION_FAILED)]);
    accept(&mut w);
    assert_eq!(take(&mut w), [assigned(&["t-0", "t-1"])]);
}

#[test]
fn refused_subscription_keeps_the_membership_until_another() {
    let mut w = world();
    join(&mut w);
    subscribe(&mut w, &["secret"]);
    refuse(&mut w, BrokerError::TOPIC_AUTHORIZATION_FAILED);
    assert_eq!(take(&mut w), [Got::Error(ErrorCode::TOPIC_AUTHORIZATION_FAILED)]);
    w.run_ms(5100);
    for _ in 0..2 {
        let next = accept(&mut w);
        assert_eq!((next.member_epoch, next.subscribed_topic_names), (1, None));
        w.run_ms(5000);
    }
    accept(&mut w);
    assert!(take(&mut w).is_empty());
    // The same subscription again: its cause may be gone.
    subscribe(&mut w, &["secret"]);
    assert_eq!(accept(&mut w).subscribed_topic_names, names(&["secret"]));
}
