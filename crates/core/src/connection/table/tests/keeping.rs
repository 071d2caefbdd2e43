//! Connections that are kept: opened again without a request for them.

use super::*;

/// Accepts the attempt to connect, and answers ApiVersions.
fn accept(w: &mut World) -> ConnId {
    let mut conn = None;
    for action in w.actions() {
        match action {
            NetAction::Resolve { .. } | NetAction::ResolveNames { .. } => panic!("the address is known"),
            NetAction::RefreshCertificates => panic!("a plaintext client has no certificates"),
            NetAction::SaslWork { .. } => panic!("a plaintext client does not authenticate"),
            NetAction::Connect { conn: c, .. } => conn = Some(c),
            NetAction::Send { .. } | NetAction::Close { .. } => {}
        }
    }
    let conn = conn.expect("no attempt to connect");
    w.net(NetEvent::Connected { conn, socket: -1 });
    let (correlation, _, version) = w.sent();
    w.respond(conn, correlation, &versions(), version);
    assert!(w.connections.is_up(w.key));
    w.events();
    conn
}

fn kept(config: ConnectionConfig) -> (World, ConnId) {
    let mut w = World::new(ConnectionConfig {
        address_ttl: Duration::from_secs(3600),
        ..config
    });
    let conn = w.up();
    w.connections.keep(w.key, w.now.plus_ms(60_000));
    (w, conn)
}

fn connects(w: &mut World) -> bool {
    let actions = w.actions();
    actions.iter().any(|a| matches!(a, NetAction::Connect { .. }))
}

fn closed(w: &mut World, conn: ConnId) {
    let reason = CloseReason::PeerClosed;
    w.net(NetEvent::Closed { conn, reason });
    w.actions();
}

#[test]
fn a_kept_connection_that_the_broker_closes_is_opened_again_after_the_backoff() {
    let (mut w, conn) = kept(config());
    w.advance(30_000);
    closed(&mut w, conn);
    w.advance(74);
    assert!(!connects(&mut w), "reconnect.backoff.ms, 25 % less at the least");
    w.advance(76);
    accept(&mut w);
}

#[test]
fn ready_opens_a_kept_connection_without_the_backoff() {
    let (mut w, conn) = kept(config());
    w.advance(30_000);
    closed(&mut w, conn);
    assert!(matches!(w.ready(), Ready::Connecting));
    accept(&mut w);
    w.advance(1000);
    assert!(!connects(&mut w), "it is opened once");
}

#[test]
fn a_connection_is_not_opened_again_after_the_time_for_which_it_is_kept() {
    let (mut w, conn) = kept(config());
    w.advance(60_000);
    closed(&mut w, conn);
    w.advance(60_000);
    assert!(!connects(&mut w));
    // Nor is a connection that is not kept.
    let mut w = World::new(config());
    let conn = w.up();
    closed(&mut w, conn);
    w.advance(60_000);
    assert!(!connects(&mut w));
}

#[test]
fn attempts_at_a_kept_connection_continue_with_growing_backoff() {
    let (mut w, conn) = kept(config());
    w.net(NetEvent::Closed {
        conn,
        reason: CloseReason::Io("Connection reset by peer".into()),
    });
    let (mut attempts, mut last, mut pauses) = (0, 0, Vec::new());
    for second in 0..120 {
        w.advance(1000);
        for action in w.actions() {
            let (lookup, conn) = match action {
                NetAction::Connect { conn, .. } => (None, Some(conn)),
                NetAction::Resolve { lookup, .. } => (Some(lookup), None),
                _ => continue,
            };
            if let Some(lookup) = lookup {
                let result = Err("no such host".into());
                w.net(NetEvent::Resolved { lookup, result });
            }
            if let Some(conn) = conn {
                let reason = CloseReason::Io("Connection refused".into());
                w.net(NetEvent::Closed { conn, reason });
            }
            attempts += 1;
            pauses.push(second - last);
            last = second;
        }
    }
    assert!((5..20).contains(&attempts), "{pauses:?}");
    assert!(last <= 75, "until the time is over, and one backoff more: {last}");
}

#[test]
fn the_backoff_grows_when_the_broker_closes_every_connection() {
    let (mut w, mut conn) = kept(config());
    let mut made = 0;
    for _ in 0..300 {
        closed(&mut w, conn);
        for _ in 0..20 {
            w.advance(10);
            if w.connections.is_active(w.key) {
                made += 1;
                conn = accept(&mut w);
                break;
            }
        }
    }
    assert!((5..20).contains(&made), "{made} connections in a minute");
}

#[test]
fn the_clients_own_idle_limit_ends_a_kept_connection() {
    let mut config = config();
    config.idle_after = Some(Duration::from_millis(500));
    let (mut w, _) = kept(config);
    w.advance(500);
    assert!(!w.connections.is_up(w.key));
    w.advance(10_000);
    assert!(!connects(&mut w));
}
