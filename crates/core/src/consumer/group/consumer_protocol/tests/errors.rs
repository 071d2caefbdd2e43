//! Errors of the coordinator.

use super::*;

#[test]
fn fatal_heartbeat_errors() {
    for code in [
        BrokerError::UNRELEASED_INSTANCE_ID,
        BrokerError::FENCED_INSTANCE_ID,
        BrokerError::UNSUPPORTED_ASSIGNOR,
        BrokerError::UNSUPPORTED_VERSION,
        BrokerError::INVALID_REQUEST,
    ] {
        let mut w = world_of(&[("group.instance.id", "i"), ("group.remote.assignor", "best")]);
        subscribe_to(&mut w, &["t"]);
        let beat = heartbeat(&mut w);
        refuse(&mut w, &beat, code);
        assert_eq!(w.take(), [error(code.into())]);
        assert_eq!(w.shared.fatal_error().unwrap().code, code.into());
        w.run_ms(60_000);
        no_heartbeat(&mut w);
        let closed = w.call(|reply| Command::Close { reply });
        assert_eq!(closed.try_take(), Some(Ok(())));
    }
}

#[test]
fn unknown_assignor_is_fatal() {
    let mut w = world_of(&[("group.remote.assignor", "best")]);
    subscribe_to(&mut w, &["t"]);
    accept_next(&mut w);
    assert_eq!(w.shared.fatal_error().unwrap().code, ErrorCode::UNSUPPORTED_ASSIGNOR);
}

#[test]
fn fenced_instance_id_revokes_as_lost() {
    let mut w = world_of(&[("group.instance.id", "i"), ("test.rebalance", "")]);
    join_listening(&mut w, &[0, 1]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    refuse(&mut w, &beat, BrokerError::FENCED_INSTANCE_ID);
    let fenced = error(ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(w.take(), [fenced, revoked(&[0, 1])]);
    assert!(w.state().is_assignment_lost());
    remove(&mut w, &[0, 1]);
    w.run_ms(60_000);
    no_heartbeat(&mut w);
}

#[test]
fn unsupported_protocol_is_fatal() {
    let mut w = world_of(&[]);
    w.brokers().set_api_versions(ApiKey::CONSUMER_GROUP_HEARTBEAT, None);
    subscribe_to(&mut w, &["t"]);
    assert_eq!(w.take(), [error(ErrorCode::UNSUPPORTED_VERSION)]);
    w.run_ms(60_000);
    assert!(w.take().is_empty());
}

#[test]
fn lasting_heartbeat_error_is_reported_once_and_retried() {
    for code in [
        BrokerError::GROUP_AUTHORIZATION_FAILED,
        BrokerError::TOPIC_AUTHORIZATION_FAILED,
        BrokerError::GROUP_MAX_SIZE_REACHED,
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
        assert_eq!(w.take(), [error(code.into())]);
        assert!(w.shared.fatal_error().is_none());
        accept_next(&mut w);
        assert_eq!(w.assignment(), [0, 1]);
    }
}

#[test]
fn refused_subscription_is_reported_and_keeps_membership() {
    for code in [
        BrokerError::INVALID_REGULAR_EXPRESSION,
        BrokerError::TOPIC_AUTHORIZATION_FAILED,
    ] {
        let mut w = world_of(&[]);
        join(&mut w);
        subscribe_to(&mut w, &["^("]);
        let beat = heartbeat(&mut w);
        assert_eq!(beat.1.subscribed_topic_regex.as_deref(), Some("^("));
        refuse(&mut w, &beat, code);
        assert_eq!(w.take(), [error(code.into())]);
        w.run_ms(1000);
        let beat = accept_next(&mut w);
        assert_eq!(
            (&beat.1.subscribed_topic_regex, &beat.1.subscribed_topic_names),
            (&None, &None)
        );
        assert_eq!(beat.1.topic_partitions, Some(topic_partitions(&mut w, "t", &[0, 1])));
        assert_eq!(w.assignment(), [0, 1]);
        // The application may expect that the brokers accept it now.
        for topics in ["^(", "^t"] {
            subscribe_to(&mut w, &[topics]);
            let beat = heartbeat(&mut w);
            assert_eq!(beat.1.subscribed_topic_regex.as_deref(), Some(topics));
            refuse(&mut w, &beat, code);
        }
    }
}

#[test]
fn invalid_regular_expression_waits_for_another_subscription() {
    let mut w = world_of(&[]);
    subscribe_to(&mut w, &["^("]);
    // The coordinator does not compile it.
    accept_next(&mut w);
    w.run_ms(30_000);
    no_heartbeat(&mut w);
    assert_eq!(w.take(), [error(ErrorCode::INVALID_REGULAR_EXPRESSION)]);
    subscribe_to(&mut w, &["^t"]);
    assert_eq!(heartbeat(&mut w).1.subscribed_topic_regex.as_deref(), Some("^t"));
}

#[test]
fn patterns_require_heartbeat_version_1() {
    let mut w = world_of(&[]);
    w.brokers()
        .set_api_versions(ApiKey::CONSUMER_GROUP_HEARTBEAT, Some((0, 0)));
    subscribe_to(&mut w, &["^t"]);
    assert_eq!(w.take(), [error(ErrorCode::L_UNSUPPORTED_FEATURE)]);
    w.run_ms(30_000);
    no_heartbeat(&mut w);
    subscribe_to(&mut w, &["t"]);
    assert_eq!(heartbeat(&mut w).1.subscribed_topic_names, Some(vec!["t".into()]));
}
