//! Leaving, also because of `max.poll.interval.ms`.

use super::*;

#[test]
fn unsubscribed_member_leaves() {
    let mut w = world();
    let id = join(&mut w);
    unsubscribe(&mut w);
    assert_eq!(take(&mut w), [assigned(&[])]);
    assert!(!w.core.member.is_inactive());
    let leave = accept(&mut w);
    assert_eq!((leave.member_epoch, &leave.member_id), (-1, &id));
    assert_eq!((leave.rack_id, leave.subscribed_topic_names), (None, None));
    assert!(w.core.member.is_inactive() && w.core.member.subscription().is_empty());
    assert_eq!(w.core.member.member_id(), id);
    assert!(w.brokers().group_members("g").is_empty());
    subscribe(&mut w, &["t"]);
    let again = accept(&mut w);
    assert_eq!((again.member_epoch, again.member_id), (0, id));
    assert_eq!(take(&mut w), [assigned(&["t-0", "t-1"])]);
}

#[test]
fn joining_member_leaves_after_the_answer() {
    let mut w = world();
    subscribe(&mut w, &["t"]);
    let (joining, _) = beat(&mut w);
    unsubscribe(&mut w);
    no_beat(&mut w);
    w.serve(&joining);
    assert_eq!(accept(&mut w).member_epoch, -1);
    assert!(w.core.member.is_inactive() && take(&mut w).is_empty());
}

#[test]
fn errors_of_a_leaving_member_are_not_reported() {
    for code in [
        BrokerError::GROUP_ID_NOT_FOUND,
        BrokerError::UNKNOWN_MEMBER_ID,
        BrokerError::GROUP_AUTHORIZATION_FAILED,
    ] {
        let mut w = world();
        join(&mut w);
        w.run_ms(5000);
        let (heartbeat, _) = beat(&mut w);
        unsubscribe(&mut w);
        assert_eq!(take(&mut w), [assigned(&[])]);
        w.fail(&heartbeat, FaultAction::Error(code));
        if !w.core.member.is_inactive() {
            assert_eq!(refuse(&mut w, code).member_epoch, -1);
        }
        assert!(w.core.member.is_inactive() && take(&mut w).is_empty(), "{code:?}");
    }
}

#[test]
fn subscribing_before_the_leave_is_sent_keeps_the_membership() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    let (heartbeat, _) = beat(&mut w);
    unsubscribe(&mut w);
    subscribe(&mut w, &["t"]);
    assert_eq!(take(&mut w), [assigned(&[]), assigned(&["t-0", "t-1"])]);
    w.serve(&heartbeat);
    no_beat(&mut w);
    w.run_ms(5000);
    assert_eq!(accept(&mut w).member_epoch, 1);
}

#[test]
fn subscribing_after_the_leave_is_sent_joins_again() {
    let mut w = world();
    join(&mut w);
    unsubscribe(&mut w);
    let (leave, request) = beat(&mut w);
    assert_eq!(request.member_epoch, -1);
    subscribe(&mut w, &["t"]);
    no_beat(&mut w);
    w.serve(&leave);
    assert_eq!(accept(&mut w).member_epoch, 0);
    assert_eq!(take(&mut w), [assigned(&[]), assigned(&["t-0", "t-1"])]);
}

#[test]
fn leave_is_repeated_at_the_new_coordinator() {
    let mut w = world();
    join(&mut w);
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(2));
    unsubscribe(&mut w);
    accept(&mut w);
    assert!(!w.core.member.is_inactive());
    w.run_ms(500);
    let (arrival, request) = beat(&mut w);
    assert_eq!((arrival.node, request.member_epoch), (2, -1));
    w.serve(&arrival);
    assert!(w.core.member.is_inactive());
}

#[test]
fn unanswered_leave_ends_with_its_timeout() {
    let mut w = world();
    join(&mut w);
    unsubscribe(&mut w);
    beat(&mut w);
    w.run_ms(6000);
    assert!(w.core.member.is_inactive());
}

#[test]
fn max_poll_exceeded_leaves_until_the_next_poll() {
    let mut w = world();
    let id = join(&mut w);
    exceed_max_poll(&mut w);
    exceed_max_poll(&mut w);
    let exceeded = Got::Error(ErrorCode::L_MAX_POLL_EXCEEDED);
    assert_eq!(take(&mut w), [exceeded, assigned(&[])]);
    assert_eq!(accept(&mut w).member_epoch, -1);
    w.run_ms(60_000);
    no_beat(&mut w);
    assert!(!w.core.member.is_inactive());
    poll_again(&mut w);
    w.run_ms(200);
    let again = accept(&mut w);
    assert_eq!((again.member_epoch, again.member_id), (0, id));
    assert_eq!(take(&mut w), [assigned(&["t-0", "t-1"])]);
}

#[test]
fn max_poll_exceeded_does_not_wait_for_a_heartbeat() {
    let mut w = world();
    join(&mut w);
    w.run_ms(5000);
    let (heartbeat, _) = beat(&mut w);
    exceed_max_poll(&mut w);
    let (leave, request) = beat(&mut w);
    assert_eq!(request.member_epoch, -1);
    w.serve(&heartbeat);
    w.serve(&leave);
    w.run_ms(10_000);
    no_beat(&mut w);
    assert!(w.brokers().group_members("g").is_empty());
    unsubscribe(&mut w);
    assert!(w.core.member.is_inactive());
}

#[test]
fn abandoned_member_sends_nothing() {
    let mut w = world();
    join(&mut w);
    exceed_max_poll(&mut w);
    w.core.member.abandon();
    assert!(w.core.member.is_inactive());
    w.drain::<ShareGroupHeartbeatRequest>();
    w.run_ms(60_000);
    no_beat(&mut w);
}
