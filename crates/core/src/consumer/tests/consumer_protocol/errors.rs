//! Errors of the coordinator.

use super::super::harness::*;
use super::*;

#[test]
fn fatal_heartbeat_errors() {
    for code in [
        ErrorCode::UNRELEASED_INSTANCE_ID,
        ErrorCode::FENCED_INSTANCE_ID,
        ErrorCode::UNSUPPORTED_ASSIGNOR,
        ErrorCode::UNSUPPORTED_VERSION,
        ErrorCode::INVALID_REQUEST,
    ] {
        let mut w = world_of(&[("group.instance.id", "i"), ("group.remote.assignor", "best")]);
        subscribe_to(&mut w, &["t"]);
        let beat = heartbeat(&mut w);
        refuse(&mut w, &beat, code);
        assert_eq!(w.take(), [error(code)]);
        assert_eq!(w.consumer.take_fatal().unwrap().code, code);
        w.run_ms(60_000);
        no_heartbeat(&mut w);
        let closed = w.call(|reply| Command::Close { reply });
        assert_eq!(closed.try_take(), Some(Ok(())));
    }
}

#[test]
fn fenced_instance_id_revokes_as_lost() {
    let mut w = world_of(&[("group.instance.id", "i"), ("test.rebalance", "")]);
    join(&mut w, 1, &[0, 1]);
    w.take();
    add(&mut w, &[0, 1]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    refuse(&mut w, &beat, ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(
        w.take(),
        [
            error(ErrorCode::FENCED_INSTANCE_ID),
            Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0, 1])
        ]
    );
    assert!(w.shared.is_assignment_lost());
    remove(&mut w, &[0, 1]);
    w.run_ms(60_000);
    no_heartbeat(&mut w);
}

#[test]
fn unsupported_protocol_is_fatal() {
    let mut w = world_of(&[]);
    w.heartbeat_version = None;
    subscribe_to(&mut w, &["t"]);
    assert_eq!(w.take(), [error(ErrorCode::UNSUPPORTED_VERSION)]);
    w.run_ms(60_000);
    assert!(w.take().is_empty());
}

#[test]
fn lasting_heartbeat_error_is_reported_once_and_retried() {
    for code in [
        ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ErrorCode::GROUP_MAX_SIZE_REACHED,
    ] {
        let mut w = world_of(&[]);
        subscribe_to(&mut w, &["t"]);
        for _ in 0..3 {
            let beat = heartbeat(&mut w);
            refuse(&mut w, &beat, code);
            w.run_ms(4900);
            no_heartbeat(&mut w);
            w.run_ms(200);
        }
        assert_eq!(w.take(), [error(code)]);
        assert!(w.consumer.take_fatal().is_none());
        let beat = heartbeat(&mut w);
        let target = topic_partitions(&w, "t", &[0]);
        accept(&mut w, &beat, 1, Some(target));
        assert_eq!(assignment(&mut w), [0]);
    }
}

#[test]
fn refused_subscription_is_reported_and_keeps_membership() {
    for code in [
        ErrorCode::INVALID_REGULAR_EXPRESSION,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
    ] {
        let mut w = world_of(&[]);
        join(&mut w, 1, &[0, 1]);
        subscribe_to(&mut w, &["^("]);
        let beat = heartbeat(&mut w);
        assert_eq!(beat.1.subscribed_topic_regex.as_deref(), Some("^("));
        refuse(&mut w, &beat, code);
        assert_eq!(w.take(), [error(code)]);
        w.run_ms(1000);
        let beat = heartbeat(&mut w);
        assert_eq!(
            (&beat.1.subscribed_topic_regex, &beat.1.subscribed_topic_names),
            (&None, &None)
        );
        assert_eq!(beat.1.topic_partitions, Some(topic_partitions(&w, "t", &[0, 1])));
        accept(&mut w, &beat, 1, None);
        assert_eq!(assignment(&mut w), [0, 1]);
        subscribe_to(&mut w, &["^t"]);
        assert_eq!(heartbeat(&mut w).1.subscribed_topic_regex.as_deref(), Some("^t"));
    }
}

#[test]
fn invalid_regular_expression_waits_for_another_subscription() {
    let mut w = world_of(&[]);
    subscribe_to(&mut w, &["^("]);
    let beat = heartbeat(&mut w);
    refuse(&mut w, &beat, ErrorCode::INVALID_REGULAR_EXPRESSION);
    w.run_ms(30_000);
    no_heartbeat(&mut w);
    assert_eq!(w.take(), [error(ErrorCode::INVALID_REGULAR_EXPRESSION)]);
    subscribe_to(&mut w, &["^t"]);
    assert_eq!(heartbeat(&mut w).1.subscribed_topic_regex.as_deref(), Some("^t"));
}

#[test]
fn patterns_require_heartbeat_version_1() {
    let mut w = world_of(&[]);
    w.heartbeat_version = Some(0);
    subscribe_to(&mut w, &["^t"]);
    assert_eq!(w.take(), [error(ErrorCode::L_UNSUPPORTED_FEATURE)]);
    w.run_ms(30_000);
    no_heartbeat(&mut w);
    subscribe_to(&mut w, &["t"]);
    assert_eq!(heartbeat(&mut w).1.subscribed_topic_names, Some(vec!["t".into()]));
}
