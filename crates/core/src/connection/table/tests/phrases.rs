//! Phrases of librdkafka's log that operators' guides and dashboards search for: `docs/LOGS.md` lists them.

use super::logging::{logged, texts};
use super::*;
use crate::log::DebugContexts;

fn close(w: &mut World, conn: ConnId, reason: CloseReason) -> String {
    w.net(NetEvent::Closed { conn, reason });
    down_text(&w.events())
}

#[test]
fn a_refused_connection_names_address_reason_and_state() {
    let mut w = World::new(config());
    let _ = w.ready();
    let conn = w.resolve(1);
    w.now = w.now.plus_ms(3);
    let text = close(&mut w, conn, CloseReason::Io("Connection refused".into()));
    assert_eq!(
        text,
        "Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 3ms in state CONNECT)"
    );
}

#[test]
fn a_connection_that_is_not_made_in_time_says_connection_setup_timed_out() {
    let mut w = World::new(config());
    let _ = w.ready();
    w.resolve(1);
    w.advance(30_000);
    let text = down_text(&w.events());
    let phrase = "Connection setup timed out in state CONNECT (after 30000ms in state CONNECT)";
    assert!(text.ends_with(phrase), "{text}");
}

#[test]
fn a_disconnect_with_requests_in_flight_says_disconnected_after() {
    let mut w = World::new(config());
    let conn = w.up();
    w.send(1, 1000).unwrap();
    w.now = w.now.plus_ms(12);
    let text = close(&mut w, conn, CloseReason::PeerClosed);
    assert!(text.contains(": Disconnected (after 12ms in state UP)"), "{text}");
    let mut w = World::new(config());
    let conn = w.up();
    let text = close(&mut w, conn, CloseReason::CutShort { got: 3, of: Some(9) });
    assert!(text.contains(": Disconnected (after 0ms in state UP)"), "{text}");
}

#[test]
fn an_idle_disconnect_says_disconnected_after_under_broker() {
    let (mut w, logged_lines) = logged(DebugContexts::BROKER);
    let conn = w.up();
    w.now = w.now.plus_ms(600_000);
    w.net(NetEvent::Closed {
        conn,
        reason: CloseReason::PeerClosed,
    });
    let lines = texts(&logged_lines).join("\n");
    assert!(
        lines.contains("broker:9092/1: Disconnected (after 600000ms in state UP)"),
        "{lines}"
    );
}

#[test]
fn a_disconnect_during_api_versions_says_what_was_requested() {
    let mut w = World::new(config());
    let _ = w.ready();
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    let text = close(&mut w, conn, CloseReason::PeerClosed);
    assert!(text.contains("Disconnected while requesting ApiVersion"), "{text}");
    assert!(text.contains("(after 0ms in state APIVERSION_QUERY)"), "{text}");
}

#[test]
fn requests_that_time_out_and_end_the_connection_are_counted_and_named() {
    let (mut w, logged_lines) = logged(DebugContexts::BROKER);
    let conn = w.up();
    w.send(1, 1000).unwrap();
    w.send(2, 1000).unwrap();
    // The ApiVersions request was frame 1.
    w.written(conn, 2, 2);
    w.advance(1000);
    let text = down_text(&w.events());
    assert!(
        text.contains("2 request(s) timed out: disconnect (after 1000ms in state UP)"),
        "{text}"
    );
    assert!(
        text.contains("Timed out MetadataRequest in flight (after 1000ms"),
        "{text}"
    );
    let lines = texts(&logged_lines).join("\n");
    let phrase =
        "REQTMOUT broker:9092/1: Timed out 1 in-flight, 0 retry-queued, 1 out-queue, 0 partially-sent requests";
    assert!(lines.contains(phrase), "{lines}");
}

#[test]
fn the_clients_own_idle_limit_says_connection_max_idle_time_exceeded() {
    let (mut w, logged_lines) = logged(DebugContexts::BROKER);
    w.connections.state.config.idle_after = Some(Duration::from_millis(500));
    w.up();
    w.advance(500);
    let lines = texts(&logged_lines).join("\n");
    assert!(
        lines.contains("Connection max idle time exceeded (500ms since last activity)"),
        "{lines}"
    );
}

#[test]
fn a_state_says_broker_changed_state() {
    let (mut w, logged_lines) = logged(DebugContexts::BROKER);
    w.up();
    let lines = texts(&logged_lines).join("\n");
    let phrase = "STATE broker:9092/1: Broker changed state APIVERSION_QUERY -> UP";
    assert!(lines.contains(phrase), "{lines}");
    assert!(
        lines.contains("CONNECT broker:9092/1: Connecting to ipv4#127.0.0.1:9092"),
        "{lines}"
    );
}

#[test]
fn a_connection_to_a_coordinator_says_group_coordinator() {
    let mut w = World::new(config());
    let key = BrokerKey::coordinator(NodeId(1));
    w.connections.set_address(key, "broker", 9092, w.now);
    assert_eq!(w.connections.name(key), "broker:9092/1 (GroupCoordinator)");
}
