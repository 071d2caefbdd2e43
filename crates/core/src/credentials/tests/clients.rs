//! Clients on virtual time, on brokers of the mock that authenticate them.

use ottla_mock::{AcceptedToken, SaslConfig, SaslUser};
use ottla_protocol::ApiKey;
use zeroize::Zeroizing;

use super::super::*;
use crate::error::ErrorCode;
use crate::event::Event;
use crate::sasl::BearerToken;
use crate::test_kit::World;

const NO_TOPIC: &[(&str, &str)] = &[];

/// Returns a producer with topic `t`, on brokers with user alice.
fn producer(mechanism: &str, password: &str, change: impl FnOnce(&mut SaslConfig)) -> World {
    let settings = [
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanisms", mechanism),
        ("sasl.username", "alice"),
        ("sasl.password", password),
        ("enable.idempotence", "true"),
        ("linger.ms", "0"),
    ];
    let mut sasl = SaslConfig {
        users: vec![SaslUser::new("alice", "right")],
        ..SaslConfig::default()
    };
    change(&mut sasl);
    let mut w = World::producer_with(&settings, NO_TOPIC, |cluster| cluster.sasl = Some(sasl));
    w.release(ApiKey::PRODUCE);
    w.add_topic("t", &[1, 2, 3]);
    w.announce("t");
    w
}

/// Returns the texts of `_AUTHENTICATION` errors for the application.
fn errors(w: &World) -> Vec<String> {
    let events = w.shared.main_queue.extract(|e| matches!(e, Event::Error(_)));
    let errors = events.into_iter().filter_map(|event| match event {
        Event::Error(error) if error.code == ErrorCode::L_AUTHENTICATION => Some(error.message),
        _ => None,
    });
    errors.collect()
}

fn set_login(w: &mut World, password: &str) {
    let command = Command::SetLogin {
        username: "alice".into(),
        password: Zeroizing::new(password.into()),
    };
    w.credentials_command(command);
}

fn set_token(w: &mut World, token: &str, life_ms: i64) {
    let command = Command::SetToken {
        token: BearerToken::new(token, &[]).unwrap(),
        expires_ms: wall_ms(w) + life_ms,
        principal: "alice".into(),
    };
    w.credentials_command(command);
}

fn wall_ms(w: &World) -> i64 {
    crate::sys::Clock::wall_ms(&*w.clock)
}

/// Returns the requests for tokens.
fn take_requests(w: &World) -> usize {
    w.shared
        .main_queue
        .extract(|e| matches!(e, Event::TokenRefresh(_)))
        .len()
}

/// Produces a record to each partition. Returns true when all are acknowledged within that time.
fn delivers(w: &mut World, value: &str, longest_ms: u64) -> bool {
    for partition in 0..3 {
        w.produce("t", partition, value).unwrap();
    }
    let mut acknowledged = 0;
    w.run_until(longest_ms, |w| {
        let reports = w.reports();
        assert!(reports.iter().all(|r| r.error == ErrorCode::NO_ERROR), "{reports:?}");
        acknowledged += reports.len();
        acknowledged == 3
    })
    .is_some()
}

#[test]
fn records_are_delivered_with_every_mechanism_of_user_names() {
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        let mut w = producer(mechanism, "right", |_| {});
        assert!(delivers(&mut w, "a", 1000), "{mechanism}: {}", w.log());
        assert!(errors(&w).is_empty());
        let counts = w.brokers().sasl_counts();
        assert!(counts.authentications >= 3 && counts.refusals == 0, "{counts:?}");
    }
}

#[test]
fn a_wrong_password_is_reported_once_with_the_brokers_text_and_the_right_one_is_used_at_once() {
    for (mechanism, text) in [
        ("PLAIN", "Authentication failed: Invalid username or password"),
        (
            "SCRAM-SHA-256",
            "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256",
        ),
    ] {
        let mut w = producer(mechanism, "wrong", |_| {});
        w.run_ms(120_000);
        let reports = errors(&w);
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert!(
            reports[0].contains(&format!("SASL authentication error: {text}")),
            "{reports:?}"
        );
        assert!(!w.log().contains("wrong"), "{}", w.log());
        set_login(&mut w, "right");
        assert!(delivers(&mut w, "a", 500), "{mechanism}: {}", w.log());
    }
}

#[test]
fn sessions_that_end_are_renewed_and_nothing_is_lost_or_doubled() {
    for mechanism in ["PLAIN", "SCRAM-SHA-512"] {
        let mut w = producer(mechanism, "right", |sasl| sasl.max_reauth_ms = 5_000);
        for round in 0..60 {
            assert!(delivers(&mut w, &round.to_string(), 1000), "{mechanism}: {}", w.log());
            w.run_ms(997);
        }
        let counts = w.brokers().sasl_counts();
        assert!(counts.reauthentications >= 3 * 10, "{counts:?}");
        assert_eq!(
            (counts.refusals, counts.expired_sessions, counts.unexpected_requests),
            (0, 0, 0),
            "{counts:?}"
        );
        let expected: Vec<String> = (0..60).map(|n| n.to_string()).collect();
        for partition in 0..3 {
            assert_eq!(w.log_of("t", partition), expected);
        }
        assert!(errors(&w).is_empty());
    }
}

#[test]
fn a_changed_password_is_used_for_the_next_renewal() {
    let mut w = producer("SCRAM-SHA-256", "right", |sasl| sasl.max_reauth_ms = 10_000);
    assert!(delivers(&mut w, "a", 1000));
    w.brokers().set_sasl_password("alice", "second");
    set_login(&mut w, "second");
    let before = w.brokers().sasl_counts();
    w.run_ms(10_000);
    let after = w.brokers().sasl_counts();
    assert!(
        after.reauthentications >= before.reauthentications + 3 && after.refusals == 0,
        "{after:?}"
    );
    assert!(delivers(&mut w, "b", 1000) && errors(&w).is_empty());
}

#[test]
fn connections_wait_for_the_applications_token_and_use_it_at_once() {
    let accepted = |token: &str| AcceptedToken {
        token: token.into(),
        principal: "alice".into(),
        expires_ms: None,
    };
    let mut w = producer("OAUTHBEARER", "right", |sasl| {
        sasl.accepted_tokens = Some(vec![accepted("one"), accepted("two")]);
    });
    let error = w.request_metadata(1_000).unwrap_err();
    assert!(
        error
            .message
            .contains("wait for the first OAUTHBEARER token: the application has not"),
        "{error}"
    );
    assert_eq!(take_requests(&w), 1);
    assert_eq!(w.brokers().sasl_counts().authentications, 0);
    set_token(&mut w, "one", 100_000);
    assert!(delivers(&mut w, "a", 100), "{}", w.log());
    w.run_ms(80_000);
    assert_eq!(take_requests(&w), 1);
    set_token(&mut w, "three", 100_000);
    // The session of the token without an end continues. Another connection is refused.
    w.disconnect(1);
    w.run_ms(5_000);
    let reports = errors(&w);
    assert!(
        reports.len() == 1 && reports[0].contains("invalid_token"),
        "{reports:?}"
    );
    set_token(&mut w, "two", 100_000);
    assert!(delivers(&mut w, "b", 500), "{}", w.log());
}

#[test]
fn a_refused_mechanism_names_those_of_the_broker() {
    let mut w = producer("SCRAM-SHA-512", "right", |sasl| {
        sasl.mechanisms.retain(|m| m.name() != "SCRAM-SHA-512");
    });
    w.run_ms(1_000);
    let reports = errors(&w);
    let expected = "SASL SCRAM-SHA-512 mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported \
                    mechanisms: PLAIN,SCRAM-SHA-256,OAUTHBEARER";
    assert!(reports.len() == 1 && reports[0].contains(expected), "{reports:?}");
}

#[test]
fn many_iterations_of_scram_are_computed_by_the_driver() {
    let mut w = producer("SCRAM-SHA-256", "right", |sasl| {
        for user in &mut sasl.users {
            user.scram_iterations = 16_384;
        }
    });
    assert!(delivers(&mut w, "a", 1000), "{}", w.log());
    assert!(w.net.sasl_steps >= 1);
}

#[test]
fn a_listener_without_sasl_says_so() {
    let settings = [
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanisms", "PLAIN"),
        ("sasl.username", "alice"),
        ("sasl.password", "right"),
    ];
    let mut w = World::producer(&settings, NO_TOPIC);
    w.announce("t");
    w.run_ms(1_000);
    let reports = errors(&w);
    assert!(
        reports.len() == 1 && reports[0].contains("the listener does not use SASL (security.protocol)"),
        "{reports:?}"
    );
}

#[test]
fn a_listener_with_sasl_is_hinted_at_when_it_closes_the_connection_of_a_client_without() {
    let sasl = SaslConfig::default();
    let mut w = World::producer_with(&[], NO_TOPIC, |cluster| cluster.sasl = Some(sasl));
    w.announce("t");
    w.run_ms(1_000);
    assert!(w.log().contains("the listener may require SASL"), "{}", w.log());
}
