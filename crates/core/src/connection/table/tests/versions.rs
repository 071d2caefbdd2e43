//! ApiVersions: older versions, and brokers that do not answer it.

use super::*;

#[test]
fn an_older_api_versions_is_asked_again() {
    let mut w = World::new(config());
    let _ = w.ready();
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    let (correlation, _, version) = w.sent();
    let row = ApiVersion {
        api_key: ApiKey::API_VERSIONS.0,
        max_version: 2,
        ..Default::default()
    };
    let refused = ApiVersionsResponse {
        error_code: BrokerError::UNSUPPORTED_VERSION.0,
        api_keys: vec![row],
        ..Default::default()
    };
    assert!(version > 2);
    w.respond(conn, correlation, &refused, 0);
    let (correlation, api, version) = w.sent();
    assert_eq!((api, version), (ApiKey::API_VERSIONS, 2));
    w.respond(conn, correlation, &versions(), 2);
    assert!(w.connections.is_up(w.key));
}

#[test]
fn a_broker_that_closes_on_api_versions_is_assumed_old() {
    let mut w = World::new(config());
    let _ = w.ready();
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    w.actions();
    w.net(NetEvent::Closed {
        conn,
        reason: CloseReason::PeerClosed,
    });
    assert!(down_text(&w.events()).contains("0.9.0"));
    let _ = w.ready();
    w.advance(200);
    let conn = w.connecting();
    w.net(NetEvent::Connected { conn, socket: -1 });
    assert!(w.actions().is_empty(), "not sent again");
    assert_eq!(
        w.connections.versions(w.key).as_deref(),
        Some(&BrokerVersions::of_release("0.9.0"))
    );
}

#[test]
fn api_version_fallback_ms_applies_to_a_broker_that_never_answers_api_versions() {
    let mut w = World::new(config());
    let _ = w.ready();
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    w.actions();
    w.advance(10_000);
    let text = down_text(&w.events());
    assert!(text.contains("Timed out ApiVersionsRequest in queue"), "{text}");
    assert!(text.contains("assuming broker version 0.9.0 for 60 s"), "{text}");
    w.actions();
    let _ = w.ready();
    w.advance(2000);
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    assert!(w.actions().is_empty(), "not sent again");
    assert_eq!(
        w.connections.versions(w.key).as_deref(),
        Some(&BrokerVersions::of_release("0.9.0"))
    );
    // After that time, the next connection sends it again.
    w.connections.force_close(w.key, w.now);
    w.advance(60_000);
    let _ = w.ready();
    w.advance(1);
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    assert_eq!(w.sent().1, ApiKey::API_VERSIONS);
}

#[test]
fn without_a_fallback_time_api_versions_is_sent_again() {
    let mut config = config();
    config.fallback_for = Duration::ZERO;
    let mut w = World::new(config);
    let _ = w.ready();
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    w.advance(10_000);
    assert!(!down_text(&w.events()).contains("assuming"));
    w.actions();
    let _ = w.ready();
    w.advance(2000);
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    assert_eq!(w.sent().1, ApiKey::API_VERSIONS);
}

#[test]
fn a_broker_that_refuses_api_versions_is_assumed_old() {
    let mut w = World::new(config());
    let _ = w.ready();
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    let (correlation, _, version) = w.sent();
    let refused = ApiVersionsResponse {
        error_code: BrokerError::CLUSTER_AUTHORIZATION_FAILED.0,
        ..Default::default()
    };
    w.respond(conn, correlation, &refused, version);
    let text = down_text(&w.events());
    assert!(
        text.contains("CLUSTER_AUTHORIZATION_FAILED; assuming broker version 0.9.0 for 60 s"),
        "{text}"
    );
}
