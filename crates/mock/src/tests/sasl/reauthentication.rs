//! Re-authentication (KIP-368).

use ottla_protocol::api::fetch::FetchRequest;
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::api::produce::ProduceRequest;
use ottla_protocol::api::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::{ApiKey, ErrorCode};

use super::{authenticate, bearer, begin, cluster_with, config, handshake, is_closed, log_in, raw, token};
use crate::tests::produce;
use crate::tests::util::{Answer, TestCluster, batch_with, response_of};
use crate::{Delivery, Reply, SaslConfig, SaslCounts, SaslEvent};

/// A cluster whose sessions last ten seconds, with an authenticated client on connection 1.
fn session() -> TestCluster {
    let mut test = cluster_with(SaslConfig {
        max_reauth_ms: 10_000,
        ..config()
    });
    let done = log_in(&mut test, 1, "alice", "secret");
    assert_eq!((done.error_code, done.session_lifetime_ms), (0, 10_000));
    test
}

fn is_served(test: &mut TestCluster) -> bool {
    let answer = test.send(1, 1, &MetadataRequest::default(), 12);
    matches!(answer, Answer::Now(metadata) if !metadata.brokers.is_empty())
}

#[test]
fn a_session_is_renewed_before_and_after_its_end() {
    let mut test = session();
    test.pass_ms(9_000);
    assert_eq!(log_in(&mut test, 1, "alice", "secret").session_lifetime_ms, 10_000);
    test.pass_ms(10_000);
    assert!(is_served(&mut test));
    test.pass_ms(3_600_000);
    assert_eq!(log_in(&mut test, 1, "alice", "secret").session_lifetime_ms, 10_000);
    assert!(is_served(&mut test));
    test.cluster.set_max_reauth_ms(0);
    test.pass_ms(5_000);
    assert_eq!(log_in(&mut test, 1, "alice", "secret").session_lifetime_ms, 0);
    test.pass_ms(3_600_000);
    assert!(is_served(&mut test));
    let expected = SaslCounts {
        authentications: 1,
        reauthentications: 3,
        ..SaslCounts::default()
    };
    assert_eq!(test.cluster.sasl_counts(), expected);
}

#[test]
fn a_request_after_the_sessions_end_closes_the_connection() {
    let mut test = session();
    test.cluster.log_sasl_events();
    test.pass_ms(10_000);
    assert!(is_served(&mut test));
    test.pass_ms(1);
    assert!(is_closed(&mut test, 1, &MetadataRequest::default(), 12));
    let events = test.cluster.take_sasl_events();
    let expected = SaslEvent::SessionExpired { api: ApiKey::METADATA };
    assert_eq!(events.into_iter().map(|e| e.event).collect::<Vec<_>>(), [expected]);
}

#[test]
fn requests_before_the_last_token_are_answered_with_errors_and_end_the_session() {
    let mut test = session();
    test.cluster.create_topic("t", 1, None).unwrap();
    test.cluster.set_leader("t", 0, Some(crate::BrokerId(1))).unwrap();
    test.cluster.log_sasl_events();
    begin(&mut test, 1, "PLAIN");
    assert!(test.send(1, 1, &MetadataRequest::default(), 12).is_later());
    let mut out = test.pass_ms(300);
    let metadata = response_of::<MetadataRequest>(out.remove(0), 12);
    assert!(metadata.brokers.is_empty() && metadata.topics.is_empty());
    assert!(matches!(out[0].delivery, Delivery::Close(_)), "{out:?}");
    let event = test.cluster.take_sasl_events().remove(0).event;
    let api = ApiKey::METADATA;
    assert_eq!(event, SaslEvent::UnexpectedRequest { api, again: true });
    // Nothing is appended.
    log_in(&mut test, 2, "alice", "secret");
    begin(&mut test, 2, "PLAIN");
    let produce = |acks| produce::request("t", 0, acks, batch_with(1_700_000_000_000, 1, |_| {}));
    assert!(test.send(1, 2, &produce(-1), 9).is_later());
    let out = test.pass_ms(300).remove(0);
    let response = response_of::<ProduceRequest>(out, 9);
    let partition = &response.responses[0].partition_responses[0];
    assert_eq!(partition.error_code, ErrorCode::ILLEGAL_SASL_STATE.0);
    log_in(&mut test, 3, "alice", "secret");
    begin(&mut test, 3, "PLAIN");
    assert!(matches!(test.send(1, 3, &produce(0), 9), Answer::Closed));
    log_in(&mut test, 4, "alice", "secret");
    begin(&mut test, 4, "PLAIN");
    assert!(test.send(1, 4, &FetchRequest::default(), 12).is_later());
    let out = test.pass_ms(300).remove(0);
    assert!(response_of::<FetchRequest>(out, 12).responses.is_empty());
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, 0);
    assert_eq!(test.cluster.sasl_counts().unexpected_requests, 4);
}

#[test]
fn a_handshake_follows_requests_in_flight() {
    let mut test = session();
    test.cluster.create_topic("t", 1, None).unwrap();
    test.cluster.set_leader("t", 0, Some(crate::BrokerId(1))).unwrap();
    let fetch = FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 1 << 20,
        topics: vec![ottla_protocol::api::fetch::FetchTopic {
            topic: "t".into(),
            partitions: vec![ottla_protocol::api::fetch::FetchPartition {
                partition_max_bytes: 1 << 20,
                current_leader_epoch: -1,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    assert!(test.send(1, 1, &fetch, 12).is_later());
    assert!(test.send(1, 1, &handshake("PLAIN"), 1).is_later());
    assert!(test.pass_ms(499).is_empty());
    let mut out = test.pass_ms(1);
    assert_eq!(out.len(), 2, "{out:?}");
    assert_eq!(response_of::<SaslHandshakeRequest>(out.remove(1), 1).error_code, 0);
    let done = authenticate(&mut test, 1, b"\0alice\0secret", 2).0;
    assert_eq!((done.error_code, done.session_lifetime_ms), (0, 10_000));
}

#[test]
fn the_principal_must_not_change() {
    let mut test = session();
    let refusal = log_in(&mut test, 1, "bob", "hidden");
    assert_eq!(refusal.error_code, ErrorCode::SASL_AUTHENTICATION_FAILED.0);
    let text = refusal.error_message.unwrap();
    assert!(
        text.starts_with("Cannot change principals during re-authentication"),
        "{text}"
    );
    let expected = SaslCounts {
        authentications: 1,
        refusals: 1,
        ..SaslCounts::default()
    };
    assert_eq!(test.cluster.sasl_counts(), expected);
}

#[test]
fn the_mechanism_must_not_change() {
    let mut test = session();
    // The handshake is answered as usual; the token is not.
    assert_eq!(begin(&mut test, 1, "SCRAM-SHA-256").error_code, 0);
    assert!(test.send(1, 1, &token(b"n,,n=alice,r=abc"), 2).is_later());
    assert!(test.pass_ms(299).is_empty());
    let out = test.pass_ms(1);
    assert!(
        matches!(
            out[..],
            [crate::Outgoing {
                delivery: Delivery::Close(_),
                ..
            }]
        ),
        "{out:?}"
    );
}

#[test]
fn a_refused_reauthentication_ends_the_connection() {
    let mut test = session();
    test.cluster.set_sasl_password("alice", "changed");
    begin(&mut test, 1, "PLAIN");
    let (refusal, ms) = authenticate(&mut test, 1, b"\0alice\0secret", 2);
    assert_eq!((refusal.error_code, ms), (ErrorCode::SASL_AUTHENTICATION_FAILED.0, 300));
    assert_eq!(log_in(&mut test, 2, "alice", "changed").error_code, 0);
    begin(&mut test, 2, "PLAIN");
    let (refusal, _) = authenticate(&mut test, 2, b"nonsense", 2);
    let text = "Authentication failed during re-authentication due to invalid credentials with SASL mechanism PLAIN";
    assert_eq!(refusal.error_message.as_deref(), Some(text));
}

#[test]
fn two_reauthentications_within_a_second_are_one_too_many() {
    let mut test = session();
    // The first one may follow the authentication at once.
    assert_eq!(log_in(&mut test, 1, "alice", "secret").error_code, 0);
    test.pass_ms(999);
    let response = begin(&mut test, 1, "PLAIN");
    assert_eq!(response.error_code, ErrorCode::ILLEGAL_SASL_STATE.0);
    let response = authenticate(&mut test, 1, b"\0alice\0secret", 2).0;
    assert_eq!(response.error_code, ErrorCode::ILLEGAL_SASL_STATE.0);
    assert!(is_served(&mut test));
    test.pass_ms(1);
    assert_eq!(log_in(&mut test, 1, "alice", "secret").error_code, 0);
    for _ in 0..100 {
        test.pass_ms(1_000);
        assert_eq!(log_in(&mut test, 1, "alice", "secret").error_code, 0);
    }
    assert_eq!(test.cluster.sasl_counts().reauthentications, 102);
}

#[test]
fn a_reauthentication_may_use_tokens_without_headers() {
    let mut test = session();
    test.pass_ms(11_000);
    test.send(1, 1, &handshake("PLAIN"), 0).now();
    assert_eq!(raw(&mut test, 1, b"\0alice\0secret").unwrap(), b"");
    assert!(is_served(&mut test));
    test.pass_ms(9_000);
    test.send(1, 1, &handshake("PLAIN"), 0).now();
    assert!(matches!(raw(&mut test, 1, b"\0bob\0hidden"), Err(Reply::Later)));
}

#[test]
fn a_token_of_the_same_subject_extends_the_session() {
    let mut test = cluster_with(config());
    let start_s = 1_700_000_000;
    begin(&mut test, 1, "OAUTHBEARER");
    let (done, _) = authenticate(&mut test, 1, &bearer("alice", start_s + 30), 1);
    assert_eq!(done.session_lifetime_ms, 30_000);
    test.pass_ms(25_000);
    begin(&mut test, 1, "OAUTHBEARER");
    let (done, _) = authenticate(&mut test, 1, &bearer("alice", start_s + 90), 1);
    assert_eq!((done.error_code, done.session_lifetime_ms), (0, 65_000));
    test.pass_ms(60_000);
    begin(&mut test, 1, "OAUTHBEARER");
    let (refusal, _) = authenticate(&mut test, 1, &bearer("bob", start_s + 999), 1);
    assert_eq!(refusal.error_code, ErrorCode::SASL_AUTHENTICATION_FAILED.0);
}
