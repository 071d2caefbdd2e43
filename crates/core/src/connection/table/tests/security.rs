//! TLS and SASL: the states between a TCP connection and one that accepts requests, against a scripted broker.

use super::logging::texts;
use super::*;
use crate::log::DebugContexts;
use crate::sasl::Credentials;
use ottla_protocol::api::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ottla_protocol::api::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};

const PLAIN_TOKEN: &[u8] = b"\0alice\0secret";

pub(super) fn plain() -> Credentials {
    Credentials::plain("alice", "secret")
}

pub(super) fn secured(tls: bool, sasl: bool) -> ConnectionConfig {
    ConnectionConfig {
        security: Security {
            tls,
            sasl,
            ..Security::default()
        },
        ..config()
    }
}

pub(super) fn session() -> TlsSession {
    TlsSession {
        version: "TLSv1.3".into(),
        cipher_suite: "TLS_AES_256_GCM_SHA384".into(),
        ..TlsSession::default()
    }
}

/// Returns versions with Metadata, and SaslHandshake and SaslAuthenticate up to those versions.
pub(super) fn sasl_versions(handshake: i16, authenticate: Option<i16>) -> ApiVersionsResponse {
    let row = |api: ApiKey, max_version| ApiVersion {
        api_key: api.0,
        max_version,
        ..Default::default()
    };
    let mut api_keys = vec![row(ApiKey::METADATA, 12), row(ApiKey::SASL_HANDSHAKE, handshake)];
    api_keys.extend(authenticate.map(|version| row(ApiKey::SASL_AUTHENTICATE, version)));
    ApiVersionsResponse {
        api_keys,
        ..Default::default()
    }
}

pub(super) fn authenticated(session_lifetime_ms: i64) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse {
        session_lifetime_ms,
        ..Default::default()
    }
}

impl World {
    /// Connects over TCP.
    pub(super) fn connect(&mut self) -> ConnId {
        assert!(matches!(self.ready(), Ready::Connecting));
        let conn = self.resolve(1);
        self.net(NetEvent::Connected { conn, socket: -1 });
        conn
    }

    /// Returns the bytes of the last frame sent, its length prefix included.
    pub(super) fn sent_bytes(&mut self) -> Vec<u8> {
        let last = self.actions().into_iter().rev().find_map(|action| match action {
            NetAction::Send { frame, .. } => Some(frame.into_bytes().to_vec()),
            _ => None,
        });
        last.expect("nothing sent")
    }

    /// Returns the last request, which must be an `R`: (correlation id, version, request).
    pub(super) fn sent_request<R: Request>(&mut self) -> (i32, i16, R) {
        let mut reader = Reader::new(Bytes::from(self.sent_bytes()).slice(4..));
        let header = RequestHeader::decode(&mut reader).unwrap();
        assert_eq!(header.api_key.0, R::KEY.0);
        let request = R::decode(&mut reader, header.api_version).unwrap();
        (header.correlation_id, header.api_version, request)
    }

    pub(super) fn answer_versions(&mut self, conn: ConnId, response: &ApiVersionsResponse) {
        let (correlation, api, version) = self.sent();
        assert_eq!(api, ApiKey::API_VERSIONS);
        self.respond(conn, correlation, response, version);
    }

    pub(super) fn answer_handshake(&mut self, conn: ConnId, version: i16) {
        let (correlation, sent, request) = self.sent_request::<SaslHandshakeRequest>();
        assert_eq!((sent, &*request.mechanism), (version, "PLAIN"));
        self.respond(conn, correlation, &SaslHandshakeResponse::default(), version);
    }

    pub(super) fn answer_authenticate(&mut self, conn: ConnId, response: &SaslAuthenticateResponse) {
        let (correlation, version, request) = self.sent_request::<SaslAuthenticateRequest>();
        assert_eq!(request.auth_bytes, PLAIN_TOKEN);
        self.respond(conn, correlation, response, version);
    }

    /// Brings up a connection with SASL whose session has that lifetime.
    pub(super) fn authenticate(&mut self, session_lifetime_ms: i64) -> ConnId {
        let conn = self.connect();
        self.answer_versions(conn, &sasl_versions(1, Some(2)));
        self.answer_handshake(conn, 1);
        self.answer_authenticate(conn, &authenticated(session_lifetime_ms));
        assert!(matches!(self.events()[..], [ConnectionEvent::Up { .. }]));
        conn
    }

    pub(super) fn down(&mut self) -> Error {
        let events = self.events();
        let error = events.into_iter().find_map(|e| match e {
            ConnectionEvent::Down { error, .. } => error,
            _ => None,
        });
        error.expect("not down with an error")
    }

    fn tls_closed(&mut self, conn: ConnId, failure: TlsFailure) {
        let reason = CloseReason::Tls(failure);
        self.net(NetEvent::Closed { conn, reason });
    }
}

// ---------------------------------------------------------------- TLS

#[test]
fn nothing_is_sent_before_the_connection_is_secured() {
    let mut w = World::new(secured(true, false));
    assert!(matches!(w.ready(), Ready::Connecting));
    let Some(NetAction::Resolve { lookup, .. }) = w.actions().pop() else {
        panic!("no look-up")
    };
    let result = Ok(vec![([127, 0, 0, 1], 9092).into()]);
    w.net(NetEvent::Resolved { lookup, result });
    let Some(NetAction::Connect { conn, tls, .. }) = w.actions().pop() else {
        panic!("no connect")
    };
    let host = tls.map(|peer| peer.host);
    assert_eq!(
        host.as_deref(),
        Some("broker"),
        "the name as configured, for verification"
    );
    w.net(NetEvent::Connected { conn, socket: -1 });
    assert!(w.actions().is_empty());
    assert!(matches!(w.ready(), Ready::Connecting));
    let session = session();
    w.net(NetEvent::Secured { conn, session });
    w.answer_versions(conn, &versions());
    assert!(matches!(w.events()[..], [ConnectionEvent::Up { .. }]));
}

#[test]
fn a_plaintext_connection_requests_no_tls() {
    let mut w = World::new(config());
    assert!(matches!(w.ready(), Ready::Connecting));
    let Some(NetAction::Resolve { lookup, .. }) = w.actions().pop() else {
        panic!("no look-up")
    };
    let result = Ok(vec![([127, 0, 0, 1], 9092).into()]);
    w.net(NetEvent::Resolved { lookup, result });
    assert!(matches!(w.actions()[..], [NetAction::Connect { tls: None, .. }]));
}

#[test]
fn a_failed_tls_handshake_tries_the_next_address_and_then_fails() {
    for (last, code, phrase) in [
        (
            TlsFailure::Certificate("it has expired".into()),
            ErrorCode::L_SSL,
            "SSL handshake failed: certificate verify failed: it has expired",
        ),
        (
            TlsFailure::Alert(40),
            ErrorCode::L_SSL,
            "SSL handshake failed: handshake failure: SSL alert number 40 from the broker: no cipher suite, curve or signature \
             algorithm in common (ssl.cipher.suites, ssl.curves.list, ssl.sigalgs.list), or the broker requires a client \
             certificate (ssl.certificate.location)",
        ),
        (
            TlsFailure::NotTls,
            ErrorCode::L_TRANSPORT,
            "SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener?",
        ),
    ] {
        let mut w = World::new(secured(true, false));
        let _ = w.ready();
        let first = w.resolve(2);
        w.net(NetEvent::Connected {
            conn: first,
            socket: -1,
        });
        w.tls_closed(first, TlsFailure::Other("no common cipher suite".into()));
        assert!(w.events().is_empty(), "an address is left");
        let second = w.connecting();
        w.net(NetEvent::Connected {
            conn: second,
            socket: -1,
        });
        w.now = w.now.plus_ms(7);
        w.tls_closed(second, last);
        let error = w.down();
        assert_eq!(error.code, code, "{error}");
        let end = format!("{phrase} (after 7ms in state SSL_HANDSHAKE)");
        assert!(error.message.ends_with(&end), "{error}");
        assert!(w.connections.is_unreachable(w.key));
        assert!(w.connections.backoff_until(w.key).is_some());
    }
}

#[test]
fn addresses_whose_attempts_were_cancelled_are_tried_after_a_failed_tls_handshake() {
    let mut w = World::new(secured(true, false));
    let _ = w.ready();
    let slow = w.resolve(2);
    w.advance(250);
    let fast = w.connecting();
    w.net(NetEvent::Connected { conn: fast, socket: -1 });
    assert!(matches!(w.actions()[..], [NetAction::Close { conn, .. }] if conn == slow));
    w.tls_closed(fast, TlsFailure::Alert(40));
    w.connecting();
    assert!(w.events().is_empty());
}

#[test]
fn a_tls_alert_during_api_versions_does_not_assume_an_old_broker() {
    let mut w = World::new(secured(true, false));
    let conn = w.connect();
    let session = session();
    w.net(NetEvent::Secured { conn, session });
    assert_eq!(w.sent().1, ApiKey::API_VERSIONS);
    w.tls_closed(conn, TlsFailure::Alert(116));
    let error = w.down();
    assert_eq!(error.code, ErrorCode::L_SSL);
    assert!(error.message.contains("alert number 116"), "{error}");
    assert!(error.message.contains("ssl.certificate.location"), "{error}");
    assert!(!error.message.contains("assuming"), "{error}");
    w.advance(1000);
    let conn = w.connect();
    let session = self::session();
    w.net(NetEvent::Secured { conn, session });
    assert_eq!(w.sent().1, ApiKey::API_VERSIONS, "it is sent again");
}

#[test]
fn a_tls_handshake_has_the_rest_of_the_setup_timeout() {
    let mut w = World::new(secured(true, false));
    let _ = w.ready();
    let conn = w.resolve(1);
    w.advance(20_000);
    w.net(NetEvent::Connected { conn, socket: -1 });
    w.advance(9_999);
    assert!(w.events().is_empty());
    w.advance(1);
    let error = w.down();
    assert_eq!(error.code, ErrorCode::L_TRANSPORT);
    let phrase = "Connection setup timed out in state SSL_HANDSHAKE (after 10000ms in state SSL_HANDSHAKE)";
    assert!(error.message.ends_with(phrase), "{error}");
    assert!(
        w.actions()
            .iter()
            .any(|a| matches!(a, NetAction::Close { conn: c, .. } if *c == conn))
    );
}

// ---------------------------------------------------------------- SASL

#[test]
fn plain_is_exchanged_in_sasl_authenticate_before_the_connection_is_up() {
    let mut w = World::new(secured(false, true));
    let conn = w.connect();
    w.answer_versions(conn, &sasl_versions(1, Some(2)));
    assert!(w.events().is_empty() && matches!(w.ready(), Ready::Connecting));
    w.answer_handshake(conn, 1);
    assert!(w.events().is_empty() && matches!(w.ready(), Ready::Connecting));
    assert!(w.send(1, 1000).is_err(), "no request before authentication");
    w.answer_authenticate(conn, &authenticated(0));
    assert!(matches!(w.events()[..], [ConnectionEvent::Up { .. }]));
    assert!(matches!(w.ready(), Ready::Yes(v) if v.range(ApiKey::METADATA) == Some((0, 12))));
}

#[test]
fn states_of_a_connection_with_tls_and_sasl_have_librdkafkas_names() {
    let (mut w, lines) = logging::logged_with(secured(true, true), DebugContexts::BROKER);
    let conn = w.connect();
    let session = session();
    w.net(NetEvent::Secured { conn, session });
    w.answer_versions(conn, &sasl_versions(1, Some(2)));
    w.answer_handshake(conn, 1);
    w.answer_authenticate(conn, &authenticated(0));
    let states = texts(&lines);
    let into: Vec<&str> = states
        .iter()
        .filter_map(|l| l.split(" -> ").nth(1)?.split(',').next())
        .collect();
    let expected = [
        "RESOLVE",
        "CONNECT",
        "SSL_HANDSHAKE",
        "APIVERSION_QUERY",
        "AUTH_HANDSHAKE",
        "AUTH_REQ",
        "UP",
    ];
    assert_eq!(into, expected);
}

#[test]
fn the_security_log_names_tls_session_and_mechanism_and_no_credentials() {
    let (mut w, lines) = logging::logged_with(secured(true, true), DebugContexts(u32::MAX));
    let conn = w.connect();
    let session = session();
    w.net(NetEvent::Secured { conn, session });
    w.answer_versions(conn, &sasl_versions(1, Some(2)));
    w.answer_handshake(conn, 1);
    w.answer_authenticate(conn, &authenticated(0));
    let lines = texts(&lines);
    let expected = "a connection over TLSv1.3 with TLS_AES_256_GCM_SHA384, authenticated with PLAIN";
    assert!(lines.iter().any(|l| l.ends_with(expected)), "{lines:?}");
    let debug = format!("{:?}", w.connections);
    for text in lines.iter().chain([&debug]) {
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn without_sasl_authenticate_tokens_are_sent_without_kafkas_framing() {
    for versions in [sasl_versions(0, None), sasl_versions(1, None)] {
        let mut w = World::new(secured(false, true));
        let conn = w.connect();
        w.answer_versions(conn, &versions);
        w.answer_handshake(conn, 0);
        let token = [&13i32.to_be_bytes()[..], PLAIN_TOKEN].concat();
        assert_eq!(w.sent_bytes(), token);
        w.write_all(conn);
        w.net(NetEvent::Received {
            conn,
            body: Bytes::new(),
        });
        assert!(matches!(w.events()[..], [ConnectionEvent::Up { .. }]));
        // The transport's counts include the token: this request is frame 4.
        w.send(1, 1000).unwrap();
        let (correlation, ..) = w.sent();
        let (owner, id) = (Owner::Cluster, 1);
        w.written(conn, 4, 3);
        assert!(w.connections.is_unwritten(w.key, Tag { owner, id }), "only begun");
        w.respond(conn, correlation, &MetadataResponse::default(), 9);
        assert!(matches!(w.events()[..], [ConnectionEvent::Outcome { .. }]));
    }
}

#[test]
fn a_broker_that_closes_on_a_raw_token_has_refused_it() {
    let mut w = World::new(secured(false, true));
    let conn = w.connect();
    w.answer_versions(conn, &sasl_versions(0, None));
    w.answer_handshake(conn, 0);
    let reason = CloseReason::PeerClosed;
    w.net(NetEvent::Closed { conn, reason });
    let error = w.down();
    assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
    assert!(error.message.contains("SASL PLAIN authentication failed"), "{error}");
    assert!(error.message.ends_with("in state AUTH_LEGACY)"), "{error}");
}

#[test]
fn a_refused_mechanism_names_those_of_the_broker() {
    let mut w = World::new(secured(false, true));
    let conn = w.connect();
    w.answer_versions(conn, &sasl_versions(1, Some(2)));
    let (correlation, version, _) = w.sent_request::<SaslHandshakeRequest>();
    let refused = SaslHandshakeResponse {
        error_code: BrokerError::UNSUPPORTED_SASL_MECHANISM.0,
        mechanisms: vec!["GSSAPI".into(), "SCRAM-SHA-256".into()],
        ..Default::default()
    };
    w.respond(conn, correlation, &refused, version);
    let error = w.down();
    assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
    let phrase = "SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported \
                  mechanisms: GSSAPI,SCRAM-SHA-256";
    assert!(error.message.contains(phrase), "{error}");
}

#[test]
fn refused_credentials_report_the_brokers_text_and_back_off() {
    let mut w = World::new(secured(false, true));
    let conn = w.connect();
    w.answer_versions(conn, &sasl_versions(1, Some(1)));
    w.answer_handshake(conn, 1);
    w.now = w.now.plus_ms(300);
    let refused = SaslAuthenticateResponse {
        error_code: 58,
        error_message: Some("Authentication failed: Invalid username or password".into()),
        ..Default::default()
    };
    w.answer_authenticate(conn, &refused);
    let error = w.down();
    assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
    let phrase = "SASL authentication error: Authentication failed: Invalid username or password (after 300ms in state \
                  AUTH_REQ)";
    assert!(error.message.ends_with(phrase), "{error}");
    assert!(w.connections.backoff_until(w.key).is_some());
}

#[test]
fn a_broker_without_sasl_handshake_fails_with_unsupported_feature() {
    let mut w = World::new(secured(false, true));
    let conn = w.connect();
    w.answer_versions(conn, &versions());
    assert_eq!(w.down().code, ErrorCode::L_UNSUPPORTED_FEATURE);
}

#[test]
fn a_malformed_sasl_response_ends_the_connection_with_bad_msg() {
    let mut w = World::new(secured(false, true));
    let conn = w.connect();
    w.answer_versions(conn, &sasl_versions(1, Some(2)));
    let (correlation, ..) = w.sent_request::<SaslHandshakeRequest>();
    w.write_all(conn);
    let body = Bytes::copy_from_slice(&correlation.to_be_bytes());
    w.net(NetEvent::Received { conn, body });
    assert_eq!(w.down().code, ErrorCode::L_BAD_MSG);
}

#[test]
fn api_versions_and_sasl_share_the_setup_timeout() {
    let mut w = World::new(ConnectionConfig {
        versions_timeout: Duration::from_secs(100),
        ..secured(false, true)
    });
    let conn = w.connect();
    w.advance(25_000);
    w.answer_versions(conn, &sasl_versions(1, Some(2)));
    w.advance(4_999);
    assert!(w.events().is_empty());
    w.advance(1);
    let text = w.down().message;
    assert!(
        text.contains("Connection setup timed out in state AUTH_HANDSHAKE"),
        "{text}"
    );
}

// ---------------------------------------------------------------- re-authentication (KIP-368)

#[test]
fn a_session_with_a_lifetime_is_renewed_before_its_end_and_requests_wait() {
    let mut w = World::new(secured(false, true));
    let conn = w.authenticate(100_000);
    w.advance(84_999);
    assert!(w.actions().is_empty(), "not before 85 % of the lifetime");
    w.send(1, 60_000).unwrap();
    let (first, ..) = w.sent();
    w.advance(10_001);
    let (handshake, version, _) = w.sent_request::<SaslHandshakeRequest>();
    // The connection stays up and accepts no request until the exchange is complete.
    assert!(w.connections.is_up(w.key) && w.connections.versions(w.key).is_some());
    assert!(matches!(w.ready(), Ready::Busy));
    assert!(w.send(2, 1000).is_err());
    // The response to the earlier request precedes the handshake's.
    w.respond(conn, first, &MetadataResponse::default(), 9);
    assert!(
        matches!(w.events()[..], [ConnectionEvent::Outcome { .. }]),
        "and reports no SendReady"
    );
    w.respond(conn, handshake, &SaslHandshakeResponse::default(), version);
    assert!(matches!(w.ready(), Ready::Busy));
    w.answer_authenticate(conn, &authenticated(100_000));
    assert!(matches!(w.events()[..], [ConnectionEvent::SendReady { .. }]));
    assert!(matches!(w.ready(), Ready::Yes(_)));
    // The next renewal follows from the new lifetime.
    w.advance(95_000);
    w.sent_request::<SaslHandshakeRequest>();
}

#[test]
fn a_session_of_a_second_is_not_renewed_within_the_second_in_which_brokers_refuse_that() {
    let mut w = World::new(secured(false, true));
    w.authenticate(1_100);
    w.advance(1_049);
    assert!(matches!(w.ready(), Ready::Yes(_)) && w.actions().is_empty());
    w.advance(1);
    w.sent_request::<SaslHandshakeRequest>();
}

#[test]
fn a_session_that_ends_before_its_renewal_accepts_no_request_until_then() {
    let mut w = World::new(secured(false, true));
    let conn = w.authenticate(300);
    w.advance(299);
    assert!(matches!(w.ready(), Ready::Yes(_)));
    w.advance(1);
    assert!(matches!(w.ready(), Ready::Busy));
    w.advance(750);
    w.answer_handshake(conn, 1);
    w.answer_authenticate(conn, &authenticated(10_000));
    assert!(matches!(w.events()[..], [ConnectionEvent::SendReady { .. }]));
    assert!(matches!(w.ready(), Ready::Yes(_)));
}

#[test]
fn a_session_that_ends_without_credentials_is_renewed_when_there_are_some() {
    let mut w = World::new(secured(false, true));
    let conn = w.authenticate(100_000);
    w.connections.set_credentials(None, w.now);
    w.advance(99_999);
    assert!(matches!(w.ready(), Ready::Yes(_)));
    w.advance(1);
    assert!(matches!(w.ready(), Ready::Busy));
    w.advance(100_000);
    assert!(w.actions().is_empty() && w.connections.is_up(w.key));
    w.connections.set_credentials(Some(plain()), w.now);
    w.advance(0);
    w.answer_handshake(conn, 1);
    w.answer_authenticate(conn, &authenticated(100_000));
    assert!(matches!(w.events()[..], [ConnectionEvent::SendReady { .. }]));
    assert!(matches!(w.ready(), Ready::Yes(_)));
}

#[test]
fn a_session_without_a_lifetime_is_not_renewed() {
    let mut w = World::new(secured(false, true));
    w.authenticate(0);
    w.advance(1_000_000_000);
    assert!(w.actions().is_empty() && w.connections.is_up(w.key));
}

#[test]
fn renewals_do_not_keep_an_idle_connection_open() {
    let mut w = World::new(ConnectionConfig {
        idle_after: Some(Duration::from_secs(15)),
        ..secured(false, true)
    });
    let conn = w.authenticate(10_000);
    w.advance(9_500);
    w.answer_handshake(conn, 1);
    w.answer_authenticate(conn, &authenticated(10_000));
    assert!(w.connections.is_up(w.key));
    w.advance(5_500);
    assert!(!w.connections.is_up(w.key), "15 s after the last request of a manager");
    assert_eq!(down_text(&w.events()), "");
}

#[test]
fn a_refused_renewal_ends_the_connection_and_its_requests() {
    let mut w = World::new(secured(false, true));
    let conn = w.authenticate(10_000);
    w.send(1, 60_000).unwrap();
    w.advance(9_500);
    w.answer_handshake_after(conn);
    let refused = SaslAuthenticateResponse {
        error_code: 58,
        ..Default::default()
    };
    w.answer_authenticate(conn, &refused);
    let events = w.events();
    let Some(ConnectionEvent::Down {
        error: Some(error),
        loss,
        ..
    }) = events.last()
    else {
        panic!("{events:?}")
    };
    assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
    assert!(error.message.ends_with("in state REAUTH)"), "{error}");
    assert!(matches!(loss, DisconnectKind::Connection { .. }));
}

#[test]
fn a_renewal_that_hangs_ends_the_connection_after_the_setup_timeout() {
    let mut w = World::new(secured(false, true));
    w.authenticate(100_000);
    w.advance(95_000);
    w.sent_request::<SaslHandshakeRequest>();
    w.advance(30_000);
    let text = w.down().message;
    assert!(text.contains("Connection setup timed out in state REAUTH"), "{text}");
}

impl World {
    /// Answers the Metadata request in flight and then the SaslHandshake of a renewal.
    fn answer_handshake_after(&mut self, conn: ConnId) {
        let (handshake, version, _) = self.sent_request::<SaslHandshakeRequest>();
        self.respond(conn, handshake - 1, &MetadataResponse::default(), 9);
        self.respond(conn, handshake, &SaslHandshakeResponse::default(), version);
    }
}
