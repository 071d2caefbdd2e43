//! Authentication with SCRAM and OAUTHBEARER, whose exchanges depend on the broker's answers, against a scripted broker.

use std::sync::Arc;

use ottla_protocol::api::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ottla_protocol::api::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};

use super::security::{authenticated, sasl_versions, secured};
use super::*;
use crate::sasl::{BearerToken, Credentials, ScramHash, ScriptedServer};

fn with_credentials(credentials: Credentials) -> World {
    let mut w = World::new(secured(false, true));
    w.connections.set_credentials(Some(credentials), w.now);
    w
}

fn bearer() -> Credentials {
    let extensions = [("logicalCluster".to_owned(), "lkc-1".to_owned())];
    Credentials::OAuthBearer(Arc::new(BearerToken::new("secret", &extensions).unwrap()))
}

const BEARER_TOKEN: &[u8] = b"n,,\x01auth=Bearer secret\x01logicalCluster=lkc-1\x01\x01";

const REFUSAL: &str = r#"{"status":"invalid_token"}"#;

impl World {
    /// Connects, and accepts the mechanism with that version of SaslHandshake.
    fn accept_mechanism(&mut self, versions: &ApiVersionsResponse, handshake: i16, mechanism: &str) -> ConnId {
        let conn = self.connect();
        self.answer_versions(conn, versions);
        let (correlation, version, request) = self.sent_request::<SaslHandshakeRequest>();
        assert_eq!((version, &*request.mechanism), (handshake, mechanism));
        self.respond(conn, correlation, &SaslHandshakeResponse::default(), version);
        conn
    }

    /// Answers the last SaslAuthenticate, whose token `answer` receives.
    fn answer_token(&mut self, conn: ConnId, answer: impl FnOnce(&[u8]) -> SaslAuthenticateResponse) {
        let (correlation, version, request) = self.sent_request::<SaslAuthenticateRequest>();
        let response = answer(&request.auth_bytes);
        self.respond(conn, correlation, &response, version);
    }

    /// Returns the token that was sent without Kafka's framing.
    fn sent_raw_token(&mut self, conn: ConnId) -> Vec<u8> {
        let bytes = self.sent_bytes();
        let (len, token) = bytes.split_at(4);
        assert_eq!(len, i32::try_from(token.len()).unwrap().to_be_bytes());
        self.write_all(conn);
        token.to_vec()
    }

    fn receive(&mut self, conn: ConnId, token: &[u8]) {
        let body = Bytes::copy_from_slice(token);
        self.net(NetEvent::Received { conn, body });
    }

    fn is_up(&mut self) -> bool {
        matches!(self.events()[..], [ConnectionEvent::Up { .. }])
    }
}

fn token(bytes: Vec<u8>) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse {
        auth_bytes: bytes.into(),
        ..Default::default()
    }
}

#[test]
fn scram_is_exchanged_in_sasl_authenticate_and_the_last_response_has_the_lifetime() {
    let mut w = with_credentials(Credentials::scram(ScramHash::Sha512, "alice", "secret"));
    let mut server = ScriptedServer::new(ScramHash::Sha512, "alice", "secret");
    let conn = w.accept_mechanism(&sasl_versions(1, Some(2)), 1, "SCRAM-SHA-512");
    w.answer_token(conn, |first| token(server.first(first)));
    assert!(w.events().is_empty() && matches!(w.ready(), Ready::Connecting));
    w.answer_token(conn, |last| SaslAuthenticateResponse {
        session_lifetime_ms: 100_000,
        ..token(server.last(last).unwrap())
    });
    assert!(w.is_up());
    w.advance(100_000);
    w.sent_request::<SaslHandshakeRequest>();
}

#[test]
fn a_renewal_with_scram_has_another_nonce_and_the_same_keys() {
    let credentials = Credentials::scram(ScramHash::Sha256, "alice", "secret");
    let Credentials::Scram(scram) = &credentials else {
        unreachable!()
    };
    let mut w = with_credentials(credentials.clone());
    let mut server = ScriptedServer::new(ScramHash::Sha256, "alice", "secret");
    let conn = w.accept_mechanism(&sasl_versions(1, Some(2)), 1, "SCRAM-SHA-256");
    let mut firsts = Vec::new();
    for exchange in 0..2 {
        if exchange == 1 {
            w.advance(95_000);
            let (correlation, version, _) = w.sent_request::<SaslHandshakeRequest>();
            w.respond(conn, correlation, &SaslHandshakeResponse::default(), version);
        }
        w.answer_token(conn, |first| {
            firsts.push(first.to_vec());
            token(server.first(first))
        });
        w.answer_token(conn, |last| SaslAuthenticateResponse {
            session_lifetime_ms: 100_000,
            ..token(server.last(last).unwrap())
        });
        assert!(matches!(w.ready(), Ready::Yes(_)), "exchange {exchange}");
    }
    assert_ne!(firsts[0], firsts[1]);
    assert_eq!(scram.derivations(), 1);
}

#[test]
fn scram_is_exchanged_without_framing_with_a_broker_before_sasl_authenticate() {
    let mut w = with_credentials(Credentials::scram(ScramHash::Sha256, "alice", "secret"));
    let mut server = ScriptedServer::new(ScramHash::Sha256, "alice", "secret");
    let conn = w.accept_mechanism(&sasl_versions(0, None), 0, "SCRAM-SHA-256");
    let first = w.sent_raw_token(conn);
    w.receive(conn, &server.first(&first));
    assert!(w.events().is_empty());
    let last = w.sent_raw_token(conn);
    w.receive(conn, &server.last(&last).unwrap());
    assert!(w.is_up());
}

#[test]
fn a_broker_without_the_users_keys_does_not_get_a_connection_up() {
    for answer in [b"".as_slice(), b"v=AAAA"] {
        let mut w = with_credentials(Credentials::scram(ScramHash::Sha256, "alice", "secret"));
        let mut server = ScriptedServer::new(ScramHash::Sha256, "alice", "another");
        let conn = w.accept_mechanism(&sasl_versions(1, Some(2)), 1, "SCRAM-SHA-256");
        w.answer_token(conn, |first| token(server.first(first)));
        w.answer_token(conn, |last| {
            assert_eq!(server.last(last), None, "the proof does not fit");
            token(answer.to_vec())
        });
        let error = w.down();
        assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
        assert!(error.message.contains("the broker's"), "{error}");
        assert!(error.message.ends_with("in state AUTH_REQ)"), "{error}");
        assert!(!w.connections.is_up(w.key));
    }
}

#[test]
fn an_empty_answer_completes_oauthbearer() {
    let mut w = with_credentials(bearer());
    let conn = w.accept_mechanism(&sasl_versions(1, Some(2)), 1, "OAUTHBEARER");
    w.answer_token(conn, |first| {
        assert_eq!(first, BEARER_TOKEN);
        authenticated(0)
    });
    assert!(w.is_up());
}

#[test]
fn a_refused_token_is_acknowledged_and_reported_with_the_brokers_json() {
    let refused = |text: Option<&str>| SaslAuthenticateResponse {
        error_code: 58,
        error_message: text.map(Into::into),
        ..Default::default()
    };
    // The broker's end of the exchange, and the beginning of the report.
    let cases = [
        (refused(Some("expired")), "SASL authentication error: expired: "),
        (refused(None), "SASL authentication error: "),
        (authenticated(0), "SASL authentication error: "),
    ];
    for (end, beginning) in cases {
        let mut w = with_credentials(bearer());
        let conn = w.accept_mechanism(&sasl_versions(1, Some(2)), 1, "OAUTHBEARER");
        w.answer_token(conn, |_| token(REFUSAL.into()));
        assert!(w.events().is_empty());
        w.answer_token(conn, |acknowledgement| {
            assert_eq!(acknowledgement, b"\x01");
            end
        });
        let error = w.down();
        assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
        assert!(error.message.contains(beginning), "{error}");
        let cause = format!("the broker refused the OAUTHBEARER token: {REFUSAL} (after");
        assert!(error.message.contains(&cause), "{error}");
        assert!(!error.message.contains("secret"), "{error}");
    }
}

#[test]
fn a_broker_that_closes_after_the_acknowledgement_has_refused_the_token() {
    for (versions, handshake) in [(sasl_versions(1, Some(2)), 1), (sasl_versions(0, None), 0)] {
        let mut w = with_credentials(bearer());
        let conn = w.accept_mechanism(&versions, handshake, "OAUTHBEARER");
        if handshake == 1 {
            w.answer_token(conn, |_| token(REFUSAL.into()));
        } else {
            assert_eq!(w.sent_raw_token(conn), BEARER_TOKEN);
            w.receive(conn, REFUSAL.as_bytes());
            assert_eq!(w.sent_raw_token(conn), b"\x01");
        }
        let reason = CloseReason::PeerClosed;
        w.net(NetEvent::Closed { conn, reason });
        let error = w.down();
        assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
        let phrase =
            format!("SASL OAUTHBEARER authentication failed: the broker refused the OAUTHBEARER token: {REFUSAL}");
        assert!(error.message.contains(&phrase), "{error}");
    }
}

#[test]
fn a_broker_that_closes_after_a_refused_renewal_is_reported_with_its_json() {
    let mut w = with_credentials(bearer());
    let conn = w.accept_mechanism(&sasl_versions(1, Some(2)), 1, "OAUTHBEARER");
    w.answer_token(conn, |_| authenticated(10_000));
    assert!(w.is_up());
    w.advance(9_500);
    let (correlation, version, _) = w.sent_request::<SaslHandshakeRequest>();
    w.respond(conn, correlation, &SaslHandshakeResponse::default(), version);
    w.answer_token(conn, |_| token(REFUSAL.into()));
    let reason = CloseReason::PeerClosed;
    w.net(NetEvent::Closed { conn, reason });
    let error = w.down();
    assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
    let phrase = format!("the broker refused the OAUTHBEARER token: {REFUSAL}");
    assert!(error.message.contains(&phrase), "{error}");
    assert!(error.message.ends_with("in state REAUTH)"), "{error}");
}
