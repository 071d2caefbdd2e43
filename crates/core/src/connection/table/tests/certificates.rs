//! Looks at certificate files, and the replacement of connections whose certificates were renewed.

use super::logging::{logged_with, texts};
use super::security::{secured, session};
use super::*;
use crate::connection::{CertificateRefresh, CertificateRenewal};
use crate::log::DebugContexts;

const INTERVAL_MS: u64 = 5000;
const WITHIN_MS: u64 = 2000;

/// Returns settings with TLS and these times; 0 is for none.
fn renewing(interval_ms: u64, reconnect_ms: u64) -> ConnectionConfig {
    let not_zero = |ms: u64| (ms > 0).then(|| Duration::from_millis(ms));
    let mut config = secured(true, false);
    config.security.renewal = CertificateRenewal {
        interval: not_zero(interval_ms),
        reconnect_within: not_zero(reconnect_ms),
    };
    config
}

fn is_look(action: &NetAction) -> bool {
    matches!(action, NetAction::RefreshCertificates)
}

impl World {
    /// Answers the look-up with `n` addresses. Returns the actions that follow.
    fn actions_after_resolve(&mut self, n: u8) -> Vec<NetAction> {
        let Some(NetAction::Resolve { lookup, .. }) = self.actions().pop() else {
            panic!("no look-up")
        };
        let addrs = (1..=n).map(|i| ([127, 0, 0, i], 9092).into()).collect();
        let result = Ok(addrs);
        self.net(NetEvent::Resolved { lookup, result });
        self.actions()
    }

    /// Requests a connection to `key`. Returns its id.
    fn begin(&mut self, key: BrokerKey) -> ConnId {
        self.connections.set_address(key, "broker", 9092, self.now);
        assert!(matches!(self.connections.ready(key, self.now), Ready::Connecting));
        match self.actions_after_resolve(1).pop() {
            Some(NetAction::Connect { conn, .. }) => conn,
            other => panic!("no connect: {other:?}"),
        }
    }

    /// Completes TCP connection, TLS and ApiVersions of a connection.
    fn complete(&mut self, conn: ConnId) {
        self.net(NetEvent::Connected { conn, socket: -1 });
        self.complete_tls(conn);
    }

    fn complete_tls(&mut self, conn: ConnId) {
        let session = session();
        self.net(NetEvent::Secured { conn, session });
        let (correlation, _, version) = self.sent();
        self.respond(conn, correlation, &versions(), version);
        assert!(matches!(self.events()[..], [ConnectionEvent::Up { .. }]));
    }

    fn open(&mut self, key: BrokerKey) -> ConnId {
        let conn = self.begin(key);
        self.complete(conn);
        conn
    }

    fn look_finds(&mut self, result: CertificateRefresh) {
        self.net(NetEvent::CertificatesRefreshed(result));
    }

    /// Opens the connection, and makes the next look, [`INTERVAL_MS`] later, find changed files.
    fn open_and_renew(&mut self) -> ConnId {
        let conn = self.open(self.key);
        self.look_finds(CertificateRefresh::Unchanged);
        self.advance(INTERVAL_MS);
        assert!(self.actions().iter().any(is_look));
        self.look_finds(CertificateRefresh::Renewed(Vec::new()));
        conn
    }

    fn answer_metadata(&mut self, conn: ConnId, correlation: i32) {
        self.respond(conn, correlation, &MetadataResponse::default(), 9);
    }

    /// Advances in steps of 10 ms for the time of replacements. Returns the connections that went down, each with the time
    /// that had passed.
    fn advance_through_replacements(&mut self) -> Vec<(BrokerKey, u64)> {
        let mut down = Vec::new();
        for passed in 1..=WITHIN_MS / 10 {
            self.advance(10);
            for event in self.events() {
                if let ConnectionEvent::Down { key, error, .. } = event {
                    assert!(error.is_none(), "{error:?}");
                    down.push((key, passed * 10));
                }
            }
        }
        down
    }
}

// ---------------------------------------------------------------- looks

#[test]
fn a_look_precedes_the_connect_of_an_attempt() {
    let mut w = World::new(renewing(INTERVAL_MS, 0));
    let _ = w.ready();
    assert!(matches!(
        w.actions_after_resolve(1)[..],
        [NetAction::RefreshCertificates, NetAction::Connect { .. }]
    ));
}

#[test]
fn attempts_within_the_interval_share_one_look() {
    let mut w = World::new(renewing(INTERVAL_MS, 0));
    let _ = w.ready();
    let actions = w.actions_after_resolve(2);
    let Some(NetAction::Connect { conn, .. }) = actions.last() else {
        panic!("{actions:?}")
    };
    w.look_finds(CertificateRefresh::Unchanged);
    let reason = CloseReason::Io("refused".into());
    w.net(NetEvent::Closed { conn: *conn, reason });
    assert!(
        matches!(w.actions()[..], [NetAction::Connect { .. }]),
        "the second address"
    );
    let other = BrokerKey::general(NodeId(2));
    w.connections.set_address(other, "other", 9092, w.now);
    let _ = w.connections.ready(other, w.now);
    assert!(
        matches!(w.actions_after_resolve(1)[..], [NetAction::Connect { .. }]),
        "another broker"
    );
    w.now = w.now.plus_ms(INTERVAL_MS - 1);
    let third = BrokerKey::general(NodeId(3));
    w.connections.set_address(third, "third", 9092, w.now);
    let _ = w.connections.ready(third, w.now);
    assert!(matches!(w.actions_after_resolve(1)[..], [NetAction::Connect { .. }]));
    w.now = w.now.plus_ms(1);
    let fourth = BrokerKey::general(NodeId(4));
    w.connections.set_address(fourth, "fourth", 9092, w.now);
    let _ = w.connections.ready(fourth, w.now);
    assert!(
        matches!(
            w.actions_after_resolve(1)[..],
            [NetAction::RefreshCertificates, NetAction::Connect { .. }]
        ),
        "the interval is over"
    );
}

#[test]
fn no_look_is_requested_while_another_is_in_progress() {
    for (answered, expected) in [(false, 0), (true, 1)] {
        let mut w = World::new(renewing(INTERVAL_MS, 0));
        w.begin(w.key);
        if answered {
            w.look_finds(CertificateRefresh::Unchanged);
        }
        w.now = w.now.plus_ms(3 * INTERVAL_MS);
        let other = BrokerKey::general(NodeId(2));
        w.connections.set_address(other, "other", 9092, w.now);
        let _ = w.connections.ready(other, w.now);
        let looks = w.actions_after_resolve(1).iter().filter(|a| is_look(a)).count();
        assert_eq!(looks, expected);
    }
}

#[test]
fn plaintext_clients_and_an_interval_of_0_request_no_look() {
    let mut plaintext = renewing(INTERVAL_MS, WITHIN_MS);
    plaintext.security.tls = false;
    for config in [plaintext, renewing(0, 0), renewing(0, WITHIN_MS)] {
        let mut w = World::new(config);
        let _ = w.ready();
        assert!(matches!(w.actions_after_resolve(1)[..], [NetAction::Connect { .. }]));
        w.advance(10 * INTERVAL_MS);
        assert!(!w.actions().iter().any(is_look));
    }
}

#[test]
fn with_a_reconnect_time_looks_also_happen_by_timer() {
    let mut w = World::new(renewing(INTERVAL_MS, WITHIN_MS));
    w.advance(10 * INTERVAL_MS);
    assert!(w.actions().is_empty(), "none before the first attempt");
    w.open(w.key);
    w.look_finds(CertificateRefresh::Unchanged);
    for _ in 0..3 {
        assert_eq!(w.connections.next_wake(), Some(w.now.plus_ms(INTERVAL_MS)));
        w.advance(INTERVAL_MS - 1);
        assert!(w.actions().is_empty());
        w.advance(1);
        assert!(matches!(w.actions()[..], [NetAction::RefreshCertificates]));
        assert_eq!(w.connections.next_wake(), None, "none while a look is in progress");
        w.look_finds(CertificateRefresh::Unchanged);
    }
    // The timer counts as the look before an attempt.
    let other = BrokerKey::general(NodeId(2));
    w.connections.set_address(other, "other", 9092, w.now);
    let _ = w.connections.ready(other, w.now);
    assert!(matches!(w.actions_after_resolve(1)[..], [NetAction::Connect { .. }]));
}

#[test]
fn without_a_reconnect_time_only_attempts_request_looks() {
    let mut w = World::new(renewing(INTERVAL_MS, 0));
    w.open(w.key);
    w.look_finds(CertificateRefresh::Unchanged);
    assert_eq!(w.connections.next_wake(), None);
    w.advance(10 * INTERVAL_MS);
    assert!(w.actions().is_empty());
}

// ---------------------------------------------------------------- log lines

#[test]
fn results_of_looks_are_logged() {
    let (mut w, lines) = logged_with(renewing(INTERVAL_MS, 0), DebugContexts(0));
    w.begin(w.key);
    w.look_finds(CertificateRefresh::Unchanged);
    assert!(texts(&lines).is_empty());
    w.look_finds(CertificateRefresh::Failed("client.pem: no certificate".into()));
    assert_eq!(
        texts(&lines),
        ["SSLRENEW changed certificates cannot be used, and those before stay in use: client.pem: no certificate"]
    );
    w.look_finds(CertificateRefresh::Renewed(vec!["client.pem expires soon".into()]));
    assert_eq!(
        texts(&lines),
        [
            "SSLRENEW certificates have changed: new connections use the changed ones",
            "SSL client.pem expires soon"
        ]
    );
    w.net(NetEvent::TlsNotes(vec![
        "no client certificate was sent".into(),
        "another".into(),
    ]));
    assert_eq!(texts(&lines), ["SSL no client certificate was sent", "SSL another"]);
    w.connections.on_certificates_replaced(vec!["weak key".into()], w.now);
    assert_eq!(
        texts(&lines),
        [
            "SSLRENEW certificates have changed: new connections use the changed ones",
            "SSL weak key"
        ]
    );
    assert!(
        w.connections.is_active(w.key),
        "no result disturbs a connection in setup"
    );
}

// ---------------------------------------------------------------- replacement

#[test]
fn open_connections_are_replaced_within_the_time_each_at_its_own() {
    let mut w = World::new(renewing(INTERVAL_MS, WITHIN_MS));
    let keys: Vec<BrokerKey> = (1..=4)
        .flat_map(|node| [BrokerKey::general(NodeId(node)), BrokerKey::coordinator(NodeId(node))])
        .collect();
    for key in &keys {
        w.open(*key);
    }
    w.look_finds(CertificateRefresh::Unchanged);
    w.advance(INTERVAL_MS);
    w.look_finds(CertificateRefresh::Renewed(Vec::new()));
    assert!(keys.iter().all(|key| w.connections.is_up(*key)));
    let down = w.advance_through_replacements();
    let mut replaced: Vec<BrokerKey> = down.iter().map(|(key, _)| *key).collect();
    replaced.sort_unstable();
    assert_eq!(replaced, keys);
    assert!(keys.iter().all(|key| w.connections.backoff_until(*key).is_none()));
    let (first, last) = (down[0].1, down[down.len() - 1].1);
    assert!(last - first >= WITHIN_MS / 2, "{down:?}");
}

#[test]
fn a_replaced_connection_without_requests_is_closed_and_can_be_opened_at_once() {
    let (mut w, lines) = logged_with(renewing(INTERVAL_MS, WITHIN_MS), DebugContexts::SECURITY);
    let old = w.open_and_renew();
    assert!(matches!(w.ready(), Ready::Yes(_)), "its time has not come");
    texts(&lines);
    let down = w.advance_through_replacements();
    assert!(matches!(down[..], [(key, _)] if key == w.key), "{down:?}");
    let lines = texts(&lines);
    assert!(
        lines
            .iter()
            .any(|l| l.contains("is replaced: certificates were renewed")),
        "{lines:?}"
    );
    assert!(matches!(w.actions()[..], [NetAction::Close { conn, .. }] if conn == old));
    w.advance(INTERVAL_MS / 10);
    assert!(
        !w.actions().iter().any(|a| matches!(a, NetAction::Resolve { .. })),
        "no request needs it"
    );
    w.open(w.key);
    assert!(matches!(w.ready(), Ready::Yes(_)));
    w.advance(WITHIN_MS);
    assert!(w.connections.is_up(w.key), "it has the changed certificates");
}

#[test]
fn a_connection_whose_time_has_come_accepts_no_request_and_ends_after_its_last_response() {
    let mut w = World::new(renewing(INTERVAL_MS, WITHIN_MS));
    let conn = w.open_and_renew();
    w.send(1, 60_000).unwrap();
    let (first, ..) = w.sent();
    w.send(2, 60_000).unwrap();
    w.actions();
    assert!(
        matches!(w.ready(), Ready::Busy),
        "max.in.flight.requests.per.connection"
    );
    w.advance(WITHIN_MS);
    assert!(w.connections.is_up(w.key) && w.actions().is_empty());
    w.answer_metadata(conn, first);
    assert!(
        matches!(w.events()[..], [ConnectionEvent::Outcome { .. }]),
        "no SendReady: the connection accepts no request"
    );
    assert!(matches!(w.ready(), Ready::Busy));
    w.answer_metadata(conn, first + 1);
    assert!(matches!(w.events()[..], [ConnectionEvent::Outcome { .. }]));
    assert!(matches!(w.ready(), Ready::Busy));
    // The refused manager continues with Down, and then Up.
    assert!(w.connections.next_wake().is_some_and(|at| at <= w.now));
    w.advance(0);
    assert!(matches!(
        w.events()[..],
        [ConnectionEvent::Down {
            error: None,
            loss: DisconnectKind::Connection { in_flight: 0 },
            ..
        }]
    ));
    w.open(w.key);
    assert!(matches!(w.ready(), Ready::Yes(_)));
    w.send(3, 1000).unwrap();
}

#[test]
fn a_long_poll_is_waited_for_until_its_timeout() {
    let mut w = World::new(ConnectionConfig {
        max_timeouts: 0,
        ..renewing(INTERVAL_MS, WITHIN_MS)
    });
    w.open_and_renew();
    w.send(1, 60_000).unwrap();
    w.actions();
    w.advance(WITHIN_MS);
    w.advance(60_000 - WITHIN_MS - 1);
    assert!(w.connections.is_up(w.key) && w.events().is_empty());
    w.advance(1);
    // The connection would stay (socket.max.fails=0), and is replaced.
    let events = w.events();
    assert_eq!(failures(&events), [(1, FailureKind::TimedOut, true)]);
    assert!(!events.iter().any(|e| matches!(e, ConnectionEvent::SendReady { .. })));
    assert_eq!(down_text(&events), "");
}

#[test]
fn a_request_without_a_response_is_written_before_its_connection_is_replaced() {
    let mut w = World::new(renewing(INTERVAL_MS, WITHIN_MS));
    let conn = w.open_and_renew();
    let tag = Tag {
        owner: Owner::Producer,
        id: 9,
    };
    let timeout = Duration::from_secs(60);
    w.connections
        .send_unanswered(w.key, w.now, tag, &MetadataRequest::default(), 9, timeout)
        .unwrap();
    w.written(conn, 2, 1);
    w.advance(WITHIN_MS);
    assert!(w.connections.is_up(w.key));
    w.written(conn, 2, 2);
    w.advance(0);
    assert!(matches!(
        w.events()[..],
        [
            ConnectionEvent::Outcome {
                outcome: Outcome::Sent,
                ..
            },
            ConnectionEvent::Down { error: None, .. }
        ]
    ));
}

#[test]
fn connections_in_setup_complete_it_before_they_are_replaced() {
    /// The step of the setup that is complete at the time of the renewal.
    #[derive(Debug, PartialEq)]
    enum Step {
        Begun,
        Connected,
        Secured,
    }
    for step in [Step::Begun, Step::Connected, Step::Secured] {
        let mut w = World::new(renewing(INTERVAL_MS, WITHIN_MS));
        w.open(BrokerKey::general(NodeId(2)));
        w.look_finds(CertificateRefresh::Unchanged);
        w.advance(INTERVAL_MS - 1);
        let conn = w.begin(w.key);
        if step != Step::Begun {
            w.net(NetEvent::Connected { conn, socket: -1 });
        }
        if step == Step::Secured {
            let session = session();
            w.net(NetEvent::Secured { conn, session });
        }
        let sent = (step == Step::Secured).then(|| w.sent());
        w.advance(1);
        w.look_finds(CertificateRefresh::Renewed(Vec::new()));
        let closes = |w: &mut World| w.actions().iter().any(|a| matches!(a, NetAction::Close { .. }));
        assert!(!closes(&mut w) && w.events().is_empty(), "{step:?}");
        match (step, sent) {
            (_, Some((correlation, _, version))) => {
                w.respond(conn, correlation, &versions(), version);
                assert!(matches!(w.events()[..], [ConnectionEvent::Up { .. }]));
            }
            (Step::Connected, _) => w.complete_tls(conn),
            _ => w.complete(conn),
        }
        assert!(matches!(w.ready(), Ready::Yes(_)));
        // Its attempt began before the look: it has the certificates before the change.
        w.advance(WITHIN_MS);
        assert!(!w.connections.is_up(w.key));
    }
}

#[test]
fn a_connection_whose_attempt_began_with_the_look_is_not_replaced() {
    // Its connection is opened after the look.
    let mut w = World::new(renewing(INTERVAL_MS, WITHIN_MS));
    let conn = w.begin(w.key);
    w.now = w.now.plus_ms(50);
    w.look_finds(CertificateRefresh::Renewed(Vec::new()));
    w.complete(conn);
    w.advance(INTERVAL_MS - 51);
    assert!(w.connections.is_up(w.key));
    // An attempt between the timer's look and its result.
    w.advance(1);
    assert!(w.actions().iter().any(is_look));
    w.now = w.now.plus_ms(10);
    let other = BrokerKey::general(NodeId(2));
    w.open(other);
    w.look_finds(CertificateRefresh::Renewed(Vec::new()));
    w.advance(WITHIN_MS);
    assert!(!w.connections.is_up(w.key) && w.connections.is_up(other));
}

#[test]
fn a_failed_handshake_is_followed_by_an_attempt_with_the_changed_certificates() {
    let mut w = World::new(renewing(INTERVAL_MS, WITHIN_MS));
    w.open(BrokerKey::general(NodeId(2)));
    w.look_finds(CertificateRefresh::Unchanged);
    w.advance(INTERVAL_MS - 1);
    let _ = w.ready();
    let first = match w.actions_after_resolve(2).pop() {
        Some(NetAction::Connect { conn, .. }) => conn,
        other => panic!("{other:?}"),
    };
    w.net(NetEvent::Connected {
        conn: first,
        socket: -1,
    });
    w.advance(1);
    w.look_finds(CertificateRefresh::Renewed(Vec::new()));
    w.actions();
    let reason = CloseReason::Tls(TlsFailure::Alert(45));
    w.net(NetEvent::Closed { conn: first, reason });
    let second = w.connecting();
    w.complete(second);
    w.advance(WITHIN_MS);
    assert!(w.connections.is_up(w.key));
}

#[test]
fn a_further_renewal_does_not_postpone_a_replacement() {
    let mut w = World::new(renewing(100, WITHIN_MS));
    w.open(w.key);
    w.look_finds(CertificateRefresh::Unchanged);
    let mut passed = 0;
    while w.connections.is_up(w.key) {
        w.advance(100);
        passed += 100;
        w.look_finds(CertificateRefresh::Renewed(Vec::new()));
        assert!(passed <= 100 + WITHIN_MS + 100);
    }
}

#[test]
fn without_a_reconnect_time_open_connections_stay() {
    let mut w = World::new(renewing(INTERVAL_MS, 0));
    w.open(w.key);
    w.look_finds(CertificateRefresh::Unchanged);
    w.advance(INTERVAL_MS);
    w.look_finds(CertificateRefresh::Renewed(Vec::new()));
    w.connections.on_certificates_replaced(Vec::new(), w.now);
    w.advance(3_600_000);
    assert!(w.connections.is_up(w.key));
}

#[test]
fn certificates_that_the_application_replaces_replace_open_connections() {
    let mut w = World::new(renewing(0, WITHIN_MS));
    w.open(w.key);
    w.connections.on_certificates_replaced(Vec::new(), w.now);
    w.advance(WITHIN_MS);
    assert!(!w.connections.is_up(w.key));
}

#[test]
fn a_connection_that_authenticates_again_is_replaced_afterwards() {
    let mut config = renewing(0, WITHIN_MS);
    config.security.sasl = true;
    config.security.tls = false;
    let mut w = World::new(config);
    let conn = w.authenticate(100_000);
    w.advance(95_000);
    assert!(matches!(w.ready(), Ready::Busy));
    w.connections.on_certificates_replaced(Vec::new(), w.now);
    w.advance(WITHIN_MS);
    assert!(w.connections.is_up(w.key) && w.events().is_empty());
    w.answer_handshake(conn, 1);
    w.answer_authenticate(conn, &Default::default());
    w.advance(0);
    let events = w.events();
    assert!(
        matches!(events[..], [ConnectionEvent::Down { error: None, .. }]),
        "no SendReady: {events:?}"
    );
}

#[test]
fn a_coordinator_connection_accepts_requests_until_it_is_idle() {
    let mut w = World::new(renewing(INTERVAL_MS, WITHIN_MS));
    w.key = BrokerKey::coordinator(w.key.node);
    let conn = w.open_and_renew();
    w.send(1, 600_000).unwrap();
    let (held, ..) = w.sent();
    w.advance(WITHIN_MS);
    assert!(
        matches!(w.ready(), Ready::Yes(_)),
        "a commit beside a JoinGroup that is held back"
    );
    w.answer_metadata(conn, held);
    assert!(matches!(w.events()[..], [ConnectionEvent::Outcome { .. }]));
    w.advance(0);
    let events = w.events();
    assert!(
        events
            .iter()
            .any(|e| matches!(e, ConnectionEvent::Down { error: None, .. })),
        "{events:?}"
    );
}
