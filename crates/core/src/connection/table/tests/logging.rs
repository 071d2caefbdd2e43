//! Log lines of connections, and the ends that are failures.

use super::*;
use crate::log::{DebugContexts, LogLine};
use std::sync::Mutex;

pub(super) type Lines = Arc<Mutex<Vec<LogLine>>>;

pub(super) fn logged(contexts: DebugContexts) -> (World, Lines) {
    logged_with(config(), contexts)
}

pub(super) fn logged_with(config: ConnectionConfig, contexts: DebugContexts) -> (World, Lines) {
    let lines = Lines::default();
    let to = lines.clone();
    let sink = Arc::new(move |line| to.lock().unwrap().push(line));
    let mut w = World::new(config.clone());
    let connections =
        ConnectionTable::new(config, Rng::from_seed(7)).with_log(Arc::new(Logger::new(sink, 7, contexts)));
    w.connections = connections;
    w.connections.set_credentials(Some(security::plain()), w.now);
    w.connections.set_address(w.key, "broker", 9092, w.now);
    (w, lines)
}

pub(super) fn texts(lines: &Lines) -> Vec<String> {
    let mut lines = lines.lock().unwrap();
    lines
        .drain(..)
        .map(|l| format!("{} {}", l.facility, l.message))
        .collect()
}

fn closed(w: &mut World, conn: ConnId, reason: CloseReason) -> Option<DisconnectKind> {
    w.net(NetEvent::Closed { conn, reason });
    w.events().into_iter().find_map(|e| match e {
        ConnectionEvent::Down {
            error: Some(_), loss, ..
        } => Some(loss),
        _ => None,
    })
}

#[test]
fn an_idle_disconnect_is_no_error() {
    let mut w = World::new(config());
    let conn = w.up();
    assert_eq!(closed(&mut w, conn, CloseReason::PeerClosed), None);
    assert!(w.connections.backoff_until(w.key).is_none());
}

#[test]
fn a_reset_is_an_idle_disconnect_when_nothing_was_sent_for_long() {
    for (idle_ms, loss) in [
        (59_000, Some(DisconnectKind::Connection { in_flight: 0 })),
        (60_000, None),
    ] {
        let mut w = World::new(config());
        let conn = w.up();
        w.advance(idle_ms);
        assert_eq!(closed(&mut w, conn, CloseReason::Io("reset".into())), loss);
    }
}

#[test]
fn down_reports_the_kind_of_loss() {
    let mut w = World::new(config());
    let conn = w.up();
    w.send(1, 1000).unwrap();
    let lost = closed(&mut w, conn, CloseReason::PeerClosed);
    assert_eq!(lost, Some(DisconnectKind::Connection { in_flight: 1 }));
    assert!(
        !w.connections.is_unreachable(w.key),
        "another connection may well be made"
    );
    let _ = w.ready();
    w.advance(1000);
    let _ = w.ready();
    let conn = w.resolve(1);
    let lost = closed(&mut w, conn, CloseReason::Io("refused".into()));
    assert_eq!(lost, Some(DisconnectKind::Attempt));
    assert!(w.connections.is_unreachable(w.key));
}

#[test]
fn requests_are_logged_with_their_round_trip_times() {
    let (mut w, lines) = logged(DebugContexts::PROTOCOL);
    let conn = w.up();
    let first = texts(&lines);
    assert!(
        first[0].starts_with("SEND broker:9092/1: Sent ApiVersionsRequest (v"),
        "{first:?}"
    );
    assert!(first[1].contains("CorrId 1, rtt 0.00ms)"), "{first:?}");
    w.send(1, 1000).unwrap();
    w.now = w.now.plus_ms(12);
    let (correlation, _, version) = w.sent();
    w.respond(conn, correlation, &MetadataResponse::default(), version);
    let logged = texts(&lines);
    assert!(
        logged[0].starts_with("SEND broker:9092/1: Sent MetadataRequest (v9, "),
        "{logged:?}"
    );
    assert!(
        logged[1].starts_with("RECV broker:9092/1: Received MetadataResponse (v9, "),
        "{logged:?}"
    );
    assert!(logged[1].ends_with("CorrId 2, rtt 12.00ms)"), "{logged:?}");
    w.send(2, 1000).unwrap();
    w.advance(1000);
    let logged = texts(&lines);
    let failed = "REQERR broker:9092/1: MetadataRequest (v9, CorrId 3) failed after 1000.00ms: timed out";
    assert_eq!(logged[1..], [failed]);
}

#[test]
fn states_versions_and_security_have_contexts_of_their_own() {
    let (mut w, lines) = logged(DebugContexts::BROKER);
    w.up();
    let states = texts(&lines);
    assert!(states.contains(&"CONNECT broker:9092/1: Connecting to ipv4#127.0.0.1:9092".to_owned()));
    let into: Vec<&str> = states.iter().filter_map(|l| l.split(" -> ").nth(1)).collect();
    assert_eq!(
        into,
        [
            "RESOLVE, after 0ms",
            "CONNECT, after 0ms",
            "APIVERSION_QUERY, after 0ms",
            "UP, after 0ms"
        ]
    );
    for (context, text) in [
        (
            DebugContexts::FEATURE,
            "APIVERSION broker:9092/1: 1 requests, transaction.version 0: Metadata 0-12",
        ),
        (
            DebugContexts::SECURITY,
            "CONNECTED broker:9092/1: a connection in plain text, without authentication",
        ),
    ] {
        let (mut w, lines) = logged(context);
        w.up();
        assert_eq!(texts(&lines), [text]);
    }
}
