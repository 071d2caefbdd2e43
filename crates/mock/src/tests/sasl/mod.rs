//! Authentication of clients: the order of requests, refusals, re-authentication and the end of sessions.

mod delegation_tokens;
mod reauthentication;
mod sockets;

use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::api::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ottla_protocol::api::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ottla_protocol::{ApiKey, ErrorCode};

use crate::rng::Rng;
use crate::tests::util::{Answer, TestCluster, response_of};
use crate::{
    BrokerId, ClusterConfig, ConnectionId, Delivery, Fault, FaultAction, Reply, SaslConfig, SaslCounts, SaslEvent,
    SaslMechanism, SaslUser, Time,
};

const INVALID_SCRAM: &str =
    "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256";

fn config() -> SaslConfig {
    SaslConfig {
        users: vec![SaslUser::new("alice", "secret"), SaslUser::new("bob", "hidden")],
        ..SaslConfig::default()
    }
}

fn cluster_with(sasl: SaslConfig) -> TestCluster {
    TestCluster::new(ClusterConfig {
        sasl: Some(sasl),
        ..Default::default()
    })
}

fn cluster() -> TestCluster {
    cluster_with(config())
}

fn versions() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "test".into(),
        client_software_version: "1".into(),
        ..Default::default()
    }
}

fn handshake(mechanism: &str) -> SaslHandshakeRequest {
    SaslHandshakeRequest {
        mechanism: mechanism.into(),
        ..Default::default()
    }
}

fn token(bytes: &[u8]) -> SaslAuthenticateRequest {
    SaslAuthenticateRequest {
        auth_bytes: Bytes::copy_from_slice(bytes),
        ..Default::default()
    }
}

fn bearer(principal: &str, expires_s: i64) -> Vec<u8> {
    let claims = format!(r#"{{"sub":"{principal}","exp":{expires_s}}}"#);
    let (header, claims) = (
        URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#),
        URL_SAFE_NO_PAD.encode(claims),
    );
    format!("n,,\u{1}auth=Bearer {header}.{claims}.\u{1}\u{1}").into_bytes()
}

/// Sends SaslHandshake of version 1.
fn begin(test: &mut TestCluster, connection: u64, mechanism: &str) -> SaslHandshakeResponse {
    test.send(1, connection, &handshake(mechanism), 1).now()
}

/// Sends a token, and returns the response and the milliseconds after which it comes.
fn authenticate(
    test: &mut TestCluster,
    connection: u64,
    bytes: &[u8],
    version: i16,
) -> (SaslAuthenticateResponse, u64) {
    match test.send(1, connection, &token(bytes), version) {
        Answer::Now(response) => (response, 0),
        Answer::Later => {
            for ms in 1.. {
                let mut out = test.pass_ms(1);
                if !out.is_empty() {
                    let response = response_of::<SaslAuthenticateRequest>(out.remove(0), version);
                    let is_end = |d: &Delivery| matches!(d, Delivery::Close(_));
                    assert!(out.len() == 1 && is_end(&out[0].delivery), "{out:?}");
                    test.cluster.disconnected(BrokerId(1), ConnectionId(connection));
                    return (response, ms);
                }
            }
            unreachable!()
        }
        other => panic!("{other:?}"),
    }
}

/// Authenticates by PLAIN.
fn log_in(test: &mut TestCluster, connection: u64, user: &str, password: &str) -> SaslAuthenticateResponse {
    assert_eq!(begin(test, connection, "PLAIN").error_code, 0);
    authenticate(test, connection, format!("\0{user}\0{password}").as_bytes(), 2).0
}

/// Returns a client's final message of SCRAM-SHA-256 with the first message `n,,n=USER,r=abc`.
fn scram_proof(user: &str, password: &str, server_first: &[u8]) -> Vec<u8> {
    let server_first = std::str::from_utf8(server_first).unwrap();
    let mut parts = server_first.split(',').map(|part| &part[2..]);
    let (nonce, salt, count) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let mut salted = [0; 32];
    let (salt, count) = (STANDARD.decode(salt).unwrap(), count.parse().unwrap());
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        count,
        &salt,
        password.as_bytes(),
        &mut salted,
    );
    let sign = |key: &[u8], data: &[u8]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        hmac::sign(&key, data).as_ref().to_vec()
    };
    let client_key = sign(&salted, b"Client Key");
    let stored_key = digest::digest(&digest::SHA256, &client_key);
    let text = format!("n={user},r=abc,{server_first},c=biws,r={nonce}");
    let signature = sign(stored_key.as_ref(), text.as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(k, s)| k ^ s).collect();
    format!("c=biws,r={nonce},p={}", STANDARD.encode(proof)).into_bytes()
}

/// Sends a frame without a header, and returns the token that answers it at once.
fn raw(test: &mut TestCluster, connection: u64, bytes: &[u8]) -> Result<Vec<u8>, Reply> {
    let frame = Bytes::copy_from_slice(bytes);
    match test
        .cluster
        .handle(BrokerId(1), ConnectionId(connection), frame, test.now)
    {
        Reply::Now(frame) => {
            let frame = frame.into_bytes();
            let length = u32::from_be_bytes(frame[..4].try_into().unwrap());
            assert_eq!(length as usize, frame.len() - 4);
            Ok(frame[4..].to_vec())
        }
        other => Err(other),
    }
}

fn is_closed<R: ottla_protocol::Request>(test: &mut TestCluster, connection: u64, request: &R, version: i16) -> bool
where
    R::Response: std::fmt::Debug,
{
    let answer = test.send(1, connection, request, version);
    test.cluster.disconnected(BrokerId(1), ConnectionId(connection));
    matches!(answer, Answer::Closed)
}

fn counts(authentications: u64, refusals: u64, unexpected_requests: u64) -> SaslCounts {
    SaslCounts {
        authentications,
        refusals,
        unexpected_requests,
        ..SaslCounts::default()
    }
}

#[test]
fn plain_authenticates_and_opens_the_connection() {
    let mut test = cluster();
    let offered: ApiVersionsResponse = test.send(1, 1, &versions(), 4).now();
    let range = |key: ApiKey| {
        let found = offered.api_keys.iter().find(|k| k.api_key == key.0).unwrap();
        (found.min_version, found.max_version)
    };
    assert_eq!(range(ApiKey::SASL_HANDSHAKE), (0, 1));
    assert_eq!(range(ApiKey::SASL_AUTHENTICATE), (0, 2));
    let response = begin(&mut test, 1, "PLAIN");
    assert_eq!(response.error_code, 0);
    assert_eq!(
        response.mechanisms,
        ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
    );
    let (done, _) = authenticate(&mut test, 1, b"\0alice\0secret", 2);
    assert_eq!((done.error_code, done.session_lifetime_ms), (0, 0));
    assert!(done.auth_bytes.is_empty());
    assert_eq!(test.send(1, 1, &MetadataRequest::default(), 12).now().brokers.len(), 3);
    assert_eq!(test.cluster.sasl_counts(), counts(1, 0, 0));
}

#[test]
fn every_version_of_authenticate_carries_scram() {
    for version in 0..=2 {
        let mut test = cluster();
        begin(&mut test, 1, "SCRAM-SHA-256");
        let (first, _) = authenticate(&mut test, 1, b"n,,n=alice,r=abc", version);
        assert_eq!((first.error_code, first.session_lifetime_ms), (0, 0));
        let proof = scram_proof("alice", "secret", &first.auth_bytes);
        let (last, _) = authenticate(&mut test, 1, &proof, version);
        assert_eq!(last.error_code, 0, "{last:?}");
        assert!(last.auth_bytes.starts_with(b"v="));
        assert!(
            !test
                .send(1, 1, &MetadataRequest::default(), 12)
                .now()
                .brokers
                .is_empty()
        );
    }
}

#[test]
fn requests_before_authentication_close_the_connection() {
    let mut test = cluster();
    assert!(is_closed(&mut test, 1, &MetadataRequest::default(), 12));
    assert!(is_closed(&mut test, 2, &token(b"\0alice\0secret"), 2));
    test.send(1, 3, &versions(), 3).now();
    assert!(is_closed(&mut test, 3, &MetadataRequest::default(), 12));
    // ApiVersions is answered once, but again after an error.
    test.send(1, 4, &versions(), 3).now();
    assert!(is_closed(&mut test, 4, &versions(), 3));
    let refused = test.send(1, 5, &ApiVersionsRequest::default(), 3).now();
    assert_eq!(refused.error_code, ErrorCode::INVALID_REQUEST.0);
    assert_eq!(test.send(1, 5, &versions(), 3).now().error_code, 0);
    assert_eq!(test.cluster.sasl_counts(), counts(0, 0, 4));
    assert_eq!(log_in(&mut test, 5, "alice", "secret").error_code, 0);
}

#[test]
fn requests_during_an_exchange_are_answered_with_errors_and_end_the_connection() {
    let mut test = cluster();
    test.cluster.log_sasl_events();
    begin(&mut test, 1, "PLAIN");
    assert!(test.send(1, 1, &MetadataRequest::default(), 12).is_later());
    assert!(matches!(test.send(1, 1, &token(b"\0alice\0secret"), 2), Answer::None));
    assert!(test.pass_ms(299).is_empty());
    let mut out = test.pass_ms(1);
    let metadata = response_of::<MetadataRequest>(out.remove(0), 12);
    assert!(metadata.brokers.is_empty() && metadata.topics.is_empty());
    assert!(matches!(out[0].delivery, Delivery::Close(_)), "{out:?}");
    begin(&mut test, 2, "PLAIN");
    assert!(test.send(1, 2, &handshake("PLAIN"), 1).is_later());
    let mut out = test.pass_ms(300);
    let response = response_of::<SaslHandshakeRequest>(out.remove(0), 1);
    assert_eq!(response.error_code, ErrorCode::ILLEGAL_SASL_STATE.0);
    let unexpected = |api| SaslEvent::UnexpectedRequest { api, again: false };
    let events: Vec<_> = test.cluster.take_sasl_events().into_iter().map(|e| e.event).collect();
    assert_eq!(
        events,
        [unexpected(ApiKey::METADATA), unexpected(ApiKey::SASL_HANDSHAKE)]
    );
}

#[test]
fn a_mechanism_that_is_not_enabled_is_refused_with_the_enabled_ones() {
    let mut test = cluster_with(SaslConfig {
        mechanisms: vec![SaslMechanism::ScramSha512, SaslMechanism::Plain],
        ..config()
    });
    for (connection, mechanism) in ["SCRAM-SHA-256", "GSSAPI", "plain", ""].into_iter().enumerate() {
        let connection = connection as u64;
        assert!(test.send(1, connection, &handshake(mechanism), 1).is_later());
        assert!(test.pass_ms(299).is_empty());
        let mut out = test.pass_ms(1);
        let response = response_of::<SaslHandshakeRequest>(out.remove(0), 1);
        assert_eq!(response.error_code, ErrorCode::UNSUPPORTED_SASL_MECHANISM.0);
        assert_eq!(response.mechanisms, ["SCRAM-SHA-512", "PLAIN"]);
        assert!(matches!(out[0].delivery, Delivery::Close(_)), "{out:?}");
    }
    assert_eq!(test.cluster.sasl_counts(), counts(0, 4, 0));
}

#[test]
fn wrong_credentials_are_refused_late_with_kafkas_texts() {
    let mut test = cluster();
    let refused = ErrorCode::SASL_AUTHENTICATION_FAILED.0;
    let (mut connection, mut refusals) = (0, 0);
    for (mechanism, bytes, text) in [
        (
            "PLAIN",
            &b"\0alice\0wrong"[..],
            "Authentication failed: Invalid username or password",
        ),
        (
            "PLAIN",
            b"\0eve\0secret",
            "Authentication failed: Invalid username or password",
        ),
        ("SCRAM-SHA-256", b"n,,n=eve,r=abc", INVALID_SCRAM),
        ("SCRAM-SHA-256", b"", INVALID_SCRAM),
        ("SCRAM-SHA-256", &[0xff; 100_000], INVALID_SCRAM),
        (
            "OAUTHBEARER",
            b"\x01",
            &INVALID_SCRAM.replace("SCRAM-SHA-256", "OAUTHBEARER"),
        ),
    ] {
        connection += 1;
        refusals += 1;
        begin(&mut test, connection, mechanism);
        let (response, ms) = authenticate(&mut test, connection, bytes, 2);
        assert_eq!((response.error_code, ms), (refused, 300), "{mechanism}");
        assert_eq!(response.error_message.as_deref(), Some(text));
        assert!(response.auth_bytes.is_empty());
        assert_eq!(test.cluster.sasl_counts(), counts(0, refusals, 0));
    }
    begin(&mut test, 50, "SCRAM-SHA-256");
    let (first, _) = authenticate(&mut test, 50, b"n,,n=alice,r=abc", 2);
    let (last, ms) = authenticate(&mut test, 50, &scram_proof("alice", "hidden", &first.auth_bytes), 2);
    assert_eq!((last.error_code, ms), (refused, 300));
    assert_eq!(last.error_message.as_deref(), Some(INVALID_SCRAM));
}

#[test]
fn an_invalid_token_is_refused_after_the_clients_answer() {
    let mut test = cluster();
    begin(&mut test, 1, "OAUTHBEARER");
    let (error, ms) = authenticate(&mut test, 1, &bearer("alice", 1), 2);
    assert_eq!((error.error_code, ms), (0, 0));
    assert_eq!(&error.auth_bytes[..], br#"{"status":"invalid_token"}"#);
    let (refusal, ms) = authenticate(&mut test, 1, b"\x01", 2);
    assert_eq!((refusal.error_code, ms), (ErrorCode::SASL_AUTHENTICATION_FAILED.0, 300));
    assert_eq!(refusal.error_message.as_deref(), Some(r#"{"status":"invalid_token"}"#));
}

#[test]
fn the_session_ends_with_the_token_or_with_the_limit() {
    // The cluster's clock begins at this second.
    let expires_s = 1_700_000_060;
    for (max_reauth_ms, lifetime_ms) in [(0, 60_000), (90_000, 60_000), (20_000, 20_000)] {
        for version in 0..=2 {
            let mut test = cluster_with(SaslConfig {
                max_reauth_ms,
                ..config()
            });
            begin(&mut test, 1, "OAUTHBEARER");
            let (done, _) = authenticate(&mut test, 1, &bearer("alice", expires_s), version);
            let expected = if version == 0 { 0 } else { lifetime_ms };
            assert_eq!((done.error_code, done.session_lifetime_ms), (0, expected));
            // A session that the response does not mention ends all the same.
            test.pass_ms(lifetime_ms as u64);
            assert!(
                !test
                    .send(1, 1, &MetadataRequest::default(), 12)
                    .now()
                    .brokers
                    .is_empty()
            );
            test.pass_ms(1);
            assert!(is_closed(&mut test, 1, &MetadataRequest::default(), 12));
            assert_eq!(test.cluster.sasl_counts().expired_sessions, 1);
        }
    }
}

#[test]
fn tokens_after_handshake_version_0_have_no_headers() {
    let mut test = cluster();
    test.cluster.record();
    test.send(1, 1, &handshake("PLAIN"), 0).now();
    assert_eq!(raw(&mut test, 1, b"\0alice\0secret").unwrap(), b"");
    assert!(
        !test
            .send(1, 1, &MetadataRequest::default(), 12)
            .now()
            .brokers
            .is_empty()
    );
    test.send(1, 2, &handshake("SCRAM-SHA-256"), 0).now();
    let first = raw(&mut test, 2, b"n,,n=bob,r=abc").unwrap();
    let last = raw(&mut test, 2, &scram_proof("bob", "hidden", &first)).unwrap();
    assert!(last.starts_with(b"v="));
    test.send(1, 3, &handshake("OAUTHBEARER"), 0).now();
    assert_eq!(raw(&mut test, 3, &bearer("alice", 1_700_000_001)).unwrap(), b"");
    assert_eq!(test.cluster.sasl_counts(), counts(3, 0, 0));
    // Tokens are not recorded as requests.
    assert_eq!(test.cluster.recorded().len(), 4);
}

#[test]
fn a_refusal_after_handshake_version_0_is_the_end_of_the_connection() {
    let mut test = cluster();
    test.send(1, 1, &handshake("PLAIN"), 0).now();
    assert!(matches!(raw(&mut test, 1, b"\0alice\0wrong"), Err(Reply::Later)));
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
    test.send(1, 2, &handshake("SCRAM-SHA-256"), 0).now();
    assert!(matches!(raw(&mut test, 2, b"n,,n=eve,r=abc"), Err(Reply::Close(_))));
    // An invalid bearer token is answered first.
    test.send(1, 3, &handshake("OAUTHBEARER"), 0).now();
    assert_eq!(
        raw(&mut test, 3, &bearer("alice", 1)).unwrap(),
        br#"{"status":"invalid_token"}"#
    );
    assert!(matches!(raw(&mut test, 3, b"\x01"), Err(Reply::Later)));
}

#[test]
fn frames_during_authentication_are_bounded() {
    let mut test = cluster();
    let id = |connection| (BrokerId(1), ConnectionId(connection));
    assert_eq!(test.cluster.max_request_bytes(id(1).0, id(1).1), 524_288);
    begin(&mut test, 1, "PLAIN");
    assert_eq!(test.cluster.max_request_bytes(id(1).0, id(1).1), 524_288);
    assert!(test.send(1, 1, &token(&[b'x'; 524_288]), 2).is_later());
    let out = test.pass_ms(300);
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
    test.send(1, 2, &handshake("PLAIN"), 0).now();
    assert!(matches!(raw(&mut test, 2, &[b'x'; 524_289]), Err(Reply::Later)));
    assert_eq!(log_in(&mut test, 3, "alice", "secret").error_code, 0);
    assert_eq!(test.cluster.max_request_bytes(id(3).0, id(3).1), 104_857_600);
    assert_eq!(test.cluster.sasl_counts(), counts(1, 2, 0));
}

#[test]
fn brokers_without_sasl_refuse_its_requests_and_go_on() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let response = begin(&mut test, 1, "PLAIN");
    assert_eq!(response.error_code, ErrorCode::ILLEGAL_SASL_STATE.0);
    assert!(response.mechanisms.is_empty());
    let response = authenticate(&mut test, 1, b"\0alice\0secret", 2).0;
    assert_eq!(response.error_code, ErrorCode::ILLEGAL_SASL_STATE.0);
    assert!(
        !test
            .send(1, 1, &MetadataRequest::default(), 12)
            .now()
            .brokers
            .is_empty()
    );
    assert_eq!(test.cluster.sasl_counts(), SaslCounts::default());
}

#[test]
fn old_brokers_serve_the_old_handshake_only() {
    let mut test = cluster();
    test.cluster.set_api_versions(ApiKey::SASL_HANDSHAKE, Some((0, 0)));
    test.cluster.set_api_versions(ApiKey::SASL_AUTHENTICATE, None);
    let offered = test.send(1, 1, &versions(), 0).now();
    let find = |key: ApiKey| offered.api_keys.iter().find(|k| k.api_key == key.0);
    assert_eq!(find(ApiKey::SASL_HANDSHAKE).unwrap().max_version, 0);
    assert!(find(ApiKey::SASL_AUTHENTICATE).is_none());
    test.send(1, 1, &handshake("PLAIN"), 0).now();
    assert_eq!(raw(&mut test, 1, b"\0alice\0secret").unwrap(), b"");
    assert!(is_closed(&mut test, 2, &handshake("PLAIN"), 1));
}

#[test]
fn passwords_and_users_change_for_later_authentications() {
    let mut test = cluster();
    let failed = ErrorCode::SASL_AUTHENTICATION_FAILED.0;
    assert_eq!(log_in(&mut test, 1, "alice", "secret").error_code, 0);
    test.cluster.set_sasl_password("alice", "changed");
    assert_eq!(log_in(&mut test, 2, "alice", "secret").error_code, failed);
    assert_eq!(log_in(&mut test, 3, "alice", "changed").error_code, 0);
    assert!(
        !test
            .send(1, 1, &MetadataRequest::default(), 12)
            .now()
            .brokers
            .is_empty()
    );
    assert!(test.cluster.remove_sasl_user("alice"));
    assert!(!test.cluster.remove_sasl_user("alice"));
    assert_eq!(log_in(&mut test, 4, "alice", "changed").error_code, failed);
    let mut carol = SaslUser::new("carol", "new");
    carol.scram_iterations = 8192;
    test.cluster.set_sasl_user(&carol);
    test.cluster.set_sasl_password("carol", "newer");
    begin(&mut test, 5, "SCRAM-SHA-256");
    let (first, _) = authenticate(&mut test, 5, b"n,,n=carol,r=abc", 2);
    assert!(first.auth_bytes.ends_with(b",i=8192"));
    let (last, _) = authenticate(&mut test, 5, &scram_proof("carol", "newer", &first.auth_bytes), 2);
    assert_eq!(last.error_code, 0);
}

#[test]
fn the_next_authentications_are_refused() {
    let mut test = cluster();
    test.cluster.refuse_authentications(3);
    let failed = ErrorCode::SASL_AUTHENTICATION_FAILED.0;
    assert_eq!(log_in(&mut test, 1, "alice", "secret").error_code, failed);
    begin(&mut test, 2, "SCRAM-SHA-256");
    let (refusal, _) = authenticate(&mut test, 2, b"n,,n=alice,r=abc", 2);
    assert_eq!(refusal.error_message.as_deref(), Some(INVALID_SCRAM));
    begin(&mut test, 3, "OAUTHBEARER");
    let (error, _) = authenticate(&mut test, 3, &bearer("alice", 1_800_000_000), 2);
    assert!(error.auth_bytes.starts_with(b"{"));
    assert_eq!(authenticate(&mut test, 3, b"\x01", 2).0.error_code, failed);
    assert_eq!(log_in(&mut test, 4, "alice", "secret").error_code, 0);
    assert_eq!(test.cluster.sasl_counts(), counts(1, 3, 0));
}

#[test]
fn faults_apply_to_authentication_too() {
    let mut test = cluster();
    let fault = |action, delay_us| Fault { action, delay_us };
    test.cluster
        .push_fault(None, ApiKey::SASL_AUTHENTICATE, fault(FaultAction::Serve, 5_000_000));
    begin(&mut test, 1, "PLAIN");
    assert!(test.send(1, 1, &token(b"\0alice\0secret"), 2).is_later());
    assert!(test.pass_ms(4999).is_empty());
    let out = test.pass_ms(1).remove(0);
    assert_eq!(response_of::<SaslAuthenticateRequest>(out, 2).error_code, 0);
    let error = FaultAction::Error(ErrorCode::UNKNOWN_SERVER_ERROR);
    test.cluster.push_fault(None, ApiKey::SASL_HANDSHAKE, fault(error, 0));
    assert!(test.send(1, 2, &handshake("PLAIN"), 1).is_later());
    assert_eq!(test.pass_ms(300).len(), 2);
    test.cluster
        .push_fault(None, ApiKey::SASL_AUTHENTICATE, fault(error, 0));
    begin(&mut test, 3, "PLAIN");
    let (response, ms) = authenticate(&mut test, 3, b"\0alice\0secret", 2);
    assert_eq!((response.error_code, ms), (ErrorCode::UNKNOWN_SERVER_ERROR.0, 300));
    let action = FaultAction::DisconnectBefore;
    test.cluster.push_fault(None, ApiKey::SASL_HANDSHAKE, fault(action, 0));
    assert!(is_closed(&mut test, 4, &handshake("PLAIN"), 1));
}

#[test]
fn the_same_seed_gives_the_same_salts_and_nonces() {
    let run = |seed| {
        let mut test = TestCluster::new(ClusterConfig {
            sasl: Some(config()),
            seed,
            ..Default::default()
        });
        begin(&mut test, 1, "SCRAM-SHA-256");
        authenticate(&mut test, 1, b"n,,n=alice,r=abc", 2).0.auth_bytes
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Random frames at each point of an authentication.
#[test]
fn garbage_never_panics_and_never_authenticates() {
    let mut test = cluster();
    let mut rng = Rng::new(9);
    let names = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"];
    for round in 0..8_000u64 {
        let (broker, connection) = (BrokerId(1), ConnectionId(round));
        let version = i16::try_from(round % 2).unwrap();
        let mechanism = names[(round / 2) as usize % names.len()];
        if round % 16 > 1 {
            test.send(1, round, &handshake(mechanism), version).now();
        }
        for step in 0..3 {
            let alphabet = b"n,=ra\x01\0bi{}\"v3DpcWw|\xff";
            let length = rng.next_u64() % 60;
            let mut bytes: Vec<u8> = (0..length)
                .map(|_| alphabet[rng.next_u64() as usize % alphabet.len()])
                .collect();
            if step == 0 && round % 3 == 0 {
                bytes.splice(0..0, *b"n,,n=alice,r=");
            }
            if version == 1 && round % 5 > 0 {
                let sent = test.send(1, round, &token(&bytes), 2);
                if !matches!(&sent, Answer::Now(response) if response.error_code == 0) {
                    break;
                }
            } else if raw(&mut test, round, &bytes).is_err() {
                break;
            }
        }
        test.now = Time(test.now.0 + 400_000);
        test.cluster.poll(test.now);
        test.cluster.disconnected(broker, connection);
    }
    let counts = test.cluster.sasl_counts();
    assert_eq!((counts.authentications, counts.reauthentications), (0, 0));
    assert!(counts.refusals > 5_000, "{counts:?}");
    assert_eq!(test.cluster.connection_count(), 0);
    assert_eq!(log_in(&mut test, 1_000_000, "alice", "secret").error_code, 0);
}
