//! The connection table with a network that the tests script.

use super::*;
use crate::connection::{CloseReason, DisconnectKind, FailureKind, Outcome, Owner, Security, TlsFailure, TlsSession};
use crate::types::NodeId;
use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::api::metadata::{MetadataRequest, MetadataResponse};
use ottla_protocol::{ErrorCode as BrokerError, Message, Reader, RequestHeader, encode_response};

mod certificates;
mod connecting;
mod keeping;
mod logging;
mod phrases;
mod sasl_mechanisms;
mod security;
mod throttling;
mod tls_alerts;
mod unwritten;
mod versions;

fn config() -> ConnectionConfig {
    ConnectionConfig {
        client_id: "test".into(),
        software_name: "test".into(),
        software_version: "1".into(),
        reconnect_backoff: Duration::from_millis(100),
        reconnect_backoff_max: Duration::from_secs(10),
        setup_timeout: Duration::from_secs(30),
        idle_after: None,
        dropped_after: Duration::from_secs(60),
        max_in_flight: 2,
        max_timeouts: 1,
        address_ttl: Duration::from_secs(1),
        one_by_one: false,
        security: Security::default(),
        ask_versions: true,
        measures: true,
        versions_timeout: Duration::from_secs(10),
        fallback_for: Duration::from_secs(60),
        fallback_release: "0.9.0".into(),
    }
}

struct World {
    connections: ConnectionTable,
    now: Instant,
    key: BrokerKey,
}

impl World {
    fn new(config: ConnectionConfig) -> Self {
        let mut connections = ConnectionTable::new(config, Rng::from_seed(7));
        connections.set_credentials(Some(security::plain()), Instant::ORIGIN);
        let key = BrokerKey::general(NodeId(1));
        connections.set_address(key, "broker", 9092, Instant::ORIGIN);
        World {
            connections,
            now: Instant::ORIGIN,
            key,
        }
    }

    fn net(&mut self, event: NetEvent) {
        self.connections.on_net(event, self.now);
    }

    fn actions(&mut self) -> Vec<NetAction> {
        std::iter::from_fn(|| self.connections.next_action()).collect()
    }

    fn events(&mut self) -> Vec<ConnectionEvent> {
        std::iter::from_fn(|| self.connections.next_event()).collect()
    }

    fn ready(&mut self) -> Ready {
        self.connections.ready(self.key, self.now)
    }

    fn advance(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
        self.connections.poll(self.now);
    }

    /// Answers the look-up with `n` addresses. Returns the connection that is opened next.
    fn resolve(&mut self, n: u8) -> ConnId {
        let Some(NetAction::Resolve { lookup, .. }) = self.actions().pop() else {
            panic!("no look-up")
        };
        let addrs = (1..=n).map(|i| ([127, 0, 0, i], 9092).into()).collect();
        self.net(NetEvent::Resolved {
            lookup,
            result: Ok(addrs),
        });
        self.connecting()
    }

    fn connecting(&mut self) -> ConnId {
        match self.actions().pop() {
            Some(NetAction::Connect { conn, .. }) => conn,
            other => panic!("no connect: {other:?}"),
        }
    }

    /// Returns the last frame sent: (correlation id, api, version).
    fn sent(&mut self) -> (i32, ApiKey, i16) {
        for action in self.actions().into_iter().rev() {
            if let NetAction::Send { frame, .. } = action {
                let bytes: Vec<u8> = frame.parts.iter().flat_map(|p| p.to_vec()).collect();
                let mut reader = Reader::new(Bytes::from(bytes).slice(4..));
                let h = RequestHeader::decode(&mut reader).unwrap();
                return (h.correlation_id, ApiKey(h.api_key.0), h.api_version);
            }
        }
        panic!("nothing sent")
    }

    /// Responds like a broker that has received all requests.
    fn respond<M: Message>(&mut self, conn: ConnId, correlation: i32, message: &M, version: i16) {
        self.write_all(conn);
        self.respond_early(conn, correlation, message, version);
    }

    fn respond_early<M: Message>(&mut self, conn: ConnId, correlation: i32, message: &M, version: i16) {
        let frame = encode_response(correlation, message, version).unwrap();
        let bytes: Vec<u8> = frame.parts.iter().flat_map(|p| p.to_vec()).collect();
        self.net(NetEvent::Received {
            conn,
            body: Bytes::from(bytes).slice(4..),
        });
    }

    fn up(&mut self) -> ConnId {
        assert!(matches!(self.ready(), Ready::Connecting));
        let conn = self.resolve(1);
        self.net(NetEvent::Connected { conn, socket: -1 });
        let (correlation, api, version) = self.sent();
        assert_eq!(api, ApiKey::API_VERSIONS);
        self.respond(conn, correlation, &versions(), version);
        assert!(matches!(self.events()[..], [ConnectionEvent::Up { .. }]));
        conn
    }

    fn send(&mut self, id: u64, timeout_ms: u64) -> Result<(), Error> {
        let tag = Tag {
            owner: Owner::Cluster,
            id,
        };
        let request = MetadataRequest::default();
        self.connections
            .send(self.key, self.now, tag, &request, 9, Duration::from_millis(timeout_ms))
    }

    fn written(&mut self, conn: ConnId, begun: u64, done: u64) {
        self.net(NetEvent::Written { conn, begun, done });
    }

    /// Makes the kernel take all frames that were sent.
    fn write_all(&mut self, conn: ConnId) {
        let key = self.connections.state.owner(conn);
        let connection = key.and_then(|key| self.connections.connections.get(&key));
        let sent = connection.map_or(0, |c| c.requests().frames_sent());
        self.written(conn, sent, sent);
    }
}

fn versions() -> ApiVersionsResponse {
    let row = ApiVersion {
        api_key: ApiKey::METADATA.0,
        max_version: 12,
        ..Default::default()
    };
    ApiVersionsResponse {
        api_keys: vec![row],
        ..Default::default()
    }
}

fn failures(events: &[ConnectionEvent]) -> Vec<(u64, FailureKind, bool)> {
    events
        .iter()
        .filter_map(|e| match e {
            ConnectionEvent::Outcome {
                tag,
                outcome: Outcome::Failed(f),
                ..
            } => Some((tag.id, f.kind, f.written)),
            _ => None,
        })
        .collect()
}

fn down_text(events: &[ConnectionEvent]) -> String {
    events
        .iter()
        .find_map(|e| match e {
            ConnectionEvent::Down { error, .. } => Some(error.as_ref().map_or(String::new(), |e| e.message.clone())),
            _ => None,
        })
        .unwrap_or_else(|| panic!("not down: {events:?}"))
}

#[test]
fn ready_opens_a_connection_that_then_carries_a_request() {
    let mut w = World::new(config());
    assert!(w.actions().is_empty(), "nothing connects before it is wanted");
    let conn = w.up();
    assert!(matches!(w.ready(), Ready::Yes(v) if v.range(ApiKey::METADATA) == Some((0, 12))));
    w.send(5, 1000).unwrap();
    let (correlation, api, version) = w.sent();
    assert_eq!((api, version), (ApiKey::METADATA, 9));
    w.respond(conn, correlation, &MetadataResponse::default(), 9);
    match &w.events()[..] {
        [
            ConnectionEvent::Outcome {
                tag,
                outcome: Outcome::Reply(reply),
                ..
            },
        ] => {
            assert_eq!(tag.id, 5);
            reply.decode::<MetadataRequest>().unwrap();
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn ready_is_busy_with_max_in_flight_requests() {
    let mut w = World::new(config());
    w.up();
    w.send(1, 1000).unwrap();
    assert!(matches!(w.ready(), Ready::Yes(_)));
    w.send(2, 1000).unwrap();
    assert!(matches!(w.ready(), Ready::Busy));
}

#[test]
fn every_address_is_tried_before_backing_off() {
    let mut w = World::new(config());
    let _ = w.ready();
    let mut conn = w.resolve(3);
    for left in [2, 1, 0] {
        w.net(NetEvent::Closed {
            conn,
            reason: CloseReason::Io("Connection refused".into()),
        });
        if left > 0 {
            assert!(w.events().is_empty());
            conn = w.connecting();
        }
    }
    let text = down_text(&w.events());
    assert!(
        text.contains("Connection refused") && text.contains("ipv4#127.0.0."),
        "{text}"
    );
    let until = w.connections.backoff_until(w.key).unwrap();
    assert!((75..=150).contains(&(until.as_micros() / 1000)), "{until:?}");
}

#[test]
fn backoff_grows_and_is_capped() {
    let mut config = config();
    config.reconnect_backoff_max = Duration::from_millis(1000);
    config.address_ttl = Duration::ZERO;
    let mut w = World::new(config);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let _ = w.ready();
        let conn = w.resolve(1);
        w.net(NetEvent::Closed {
            conn,
            reason: CloseReason::Io("refused".into()),
        });
        w.events();
        let until = w.connections.backoff_until(w.key).unwrap();
        waits.push(until.since(w.now).as_millis());
        w.now = until;
        w.connections.poll(w.now);
        assert!(
            w.actions().iter().all(|a| !matches!(a, NetAction::Resolve { .. })),
            "no manager wants the connection"
        );
    }
    assert!(
        waits[0] <= 150 && waits[7] > 700 && waits.iter().all(|w| *w <= 1000),
        "{waits:?}"
    );
}

#[test]
fn a_wanted_connection_reconnects_by_itself_after_backoff() {
    let mut w = World::new(config());
    let conn = w.up();
    w.send(1, 1000).unwrap();
    w.net(NetEvent::Closed {
        conn,
        reason: CloseReason::PeerClosed,
    });
    assert_eq!(failures(&w.events()), [(1, FailureKind::Disconnected, false)]);
    assert!(matches!(w.ready(), Ready::Connecting));
    w.actions();
    w.advance(200);
    assert!(
        matches!(w.actions()[..], [NetAction::Connect { .. }]),
        "the address is still fresh"
    );
}

#[test]
fn a_response_that_is_cut_short_is_named_in_the_error() {
    for during_versions in [true, false] {
        let mut w = World::new(config());
        let conn = if during_versions {
            assert!(matches!(w.ready(), Ready::Connecting));
            let conn = w.resolve(1);
            w.net(NetEvent::Connected { conn, socket: -1 });
            conn
        } else {
            let conn = w.up();
            w.send(1, 1000).unwrap();
            conn
        };
        w.events();
        w.net(NetEvent::Closed {
            conn,
            reason: CloseReason::CutShort { got: 6, of: Some(104) },
        });
        let text = down_text(&w.events());
        assert!(
            text.contains("in the middle of a response, after 6 of 104 bytes"),
            "{text}"
        );
    }
}

#[test]
fn a_timeout_reports_if_the_request_was_written() {
    // On a connection that stays, the second one may still be written.
    for (max_timeouts, may_be_written) in [(1, false), (0, true)] {
        let mut w = World::new(ConnectionConfig {
            max_timeouts,
            ..config()
        });
        let conn = w.up();
        w.send(1, 1000).unwrap();
        w.send(2, 1000).unwrap();
        // The ApiVersions request was frame 1.
        w.written(conn, 2, 2);
        w.advance(1001);
        let events = w.events();
        assert_eq!(
            failures(&events),
            [
                (1, FailureKind::TimedOut, true),
                (2, FailureKind::TimedOut, may_be_written)
            ]
        );
        if max_timeouts > 0 {
            assert!(
                down_text(&events).contains("Timed out MetadataRequest in flight"),
                "{events:?}"
            );
        }
    }
}

#[test]
fn a_late_response_is_dropped_when_the_connection_stays() {
    let mut config = config();
    config.max_timeouts = 0;
    let mut w = World::new(config);
    let conn = w.up();
    w.send(1, 100).unwrap();
    let (correlation, ..) = w.sent();
    w.advance(101);
    assert_eq!(failures(&w.events()).len(), 1);
    w.respond(conn, correlation, &MetadataResponse::default(), 9);
    assert!(w.events().is_empty());
    assert!(w.connections.is_up(w.key));
}

#[test]
fn a_request_that_timed_out_does_not_count_as_in_flight() {
    let mut config = config();
    config.max_timeouts = 0;
    config.idle_after = Some(Duration::from_millis(500));
    let mut w = World::new(config);
    w.up();
    w.send(1, 100).unwrap();
    w.send(2, 100).unwrap();
    assert!(matches!(w.ready(), Ready::Busy));
    w.advance(101);
    assert_eq!(failures(&w.events()).len(), 2);
    assert!(
        matches!(w.ready(), Ready::Yes(_)),
        "the connection stays and takes requests"
    );
    // No request waits for the late responses: the connection is idle, and its timer must not fire forever.
    w.advance(500);
    assert!(!w.connections.is_up(w.key));
}

#[test]
fn a_timeout_reports_send_ready_after_busy() {
    let mut w = World::new(ConnectionConfig {
        max_timeouts: 0,
        max_in_flight: 1,
        ..config()
    });
    w.up();
    w.send(1, 100).unwrap();
    w.events();
    assert!(matches!(w.ready(), Ready::Busy));
    w.advance(100);
    let events = w.events();
    assert!(
        events.iter().any(|e| matches!(e, ConnectionEvent::SendReady { .. })),
        "{events:?}"
    );
    assert!(matches!(w.ready(), Ready::Yes(_)));
}

#[test]
fn a_wrong_correlation_id_ends_the_connection() {
    let mut w = World::new(config());
    let conn = w.up();
    w.send(1, 1000).unwrap();
    let (correlation, ..) = w.sent();
    w.respond(conn, correlation + 1, &MetadataResponse::default(), 9);
    let events = w.events();
    assert_eq!(failures(&events).len(), 1);
    assert!(down_text(&events).contains("correlation id"), "{events:?}");
}

#[test]
fn a_response_to_nothing_ends_the_connection() {
    let mut w = World::new(config());
    let conn = w.up();
    w.net(NetEvent::Received {
        conn,
        body: Bytes::from_static(&[0]),
    });
    assert!(down_text(&w.events()).contains("correlation id"));
}

#[test]
fn requests_without_a_response_end_when_written() {
    let mut w = World::new(config());
    let conn = w.up();
    let tag = Tag {
        owner: Owner::Producer,
        id: 9,
    };
    let timeout = Duration::from_secs(1);
    w.connections
        .send_unanswered(w.key, w.now, tag, &MetadataRequest::default(), 9, timeout)
        .unwrap();
    w.written(conn, 2, 1);
    assert!(w.events().is_empty());
    w.written(conn, 2, 2);
    assert!(matches!(
        w.events()[..],
        [ConnectionEvent::Outcome {
            outcome: Outcome::Sent,
            ..
        }]
    ));
}

#[test]
fn connections_max_idle_ms_closes_an_idle_connection() {
    let mut config = config();
    config.idle_after = Some(Duration::from_millis(500));
    let mut w = World::new(config);
    w.up();
    w.advance(499);
    assert!(w.connections.is_up(w.key));
    w.advance(1);
    assert!(!w.connections.is_up(w.key));
    assert_eq!(down_text(&w.events()), "");
}

#[test]
fn a_changed_address_closes_the_connection() {
    let mut w = World::new(config());
    w.up();
    w.send(1, 1000).unwrap();
    w.connections.set_address(w.key, "elsewhere", 9092, w.now);
    assert_eq!(failures(&w.events()).len(), 1);
    let _ = w.ready();
    assert!(
        w.actions()
            .iter()
            .any(|a| matches!(a, NetAction::Resolve { host, .. } if host == "elsewhere"))
    );
}

#[test]
fn adopt_moves_connection_and_requests_to_the_broker() {
    let mut w = World::new(config());
    let conn = w.up();
    w.send(1, 1000).unwrap();
    let (correlation, ..) = w.sent();
    let to = BrokerKey::general(NodeId(42));
    w.connections.set_address(to, "broker", 9092, w.now);
    w.connections.adopt(w.key, to, w.now);
    assert!(w.connections.is_up(to) && !w.connections.is_up(w.key));
    assert!(matches!(w.events()[..], [ConnectionEvent::Up { key }] if key == to));
    w.respond(conn, correlation, &MetadataResponse::default(), 9);
    assert!(matches!(w.events()[..], [ConnectionEvent::Outcome { key, .. }] if key == to));
}

#[test]
fn a_connect_that_hangs_times_out() {
    let mut w = World::new(config());
    let _ = w.ready();
    let conn = w.resolve(1);
    w.advance(30_000);
    assert!(down_text(&w.events()).contains("timed out"));
    assert!(
        w.actions()
            .iter()
            .any(|a| matches!(a, NetAction::Close { conn: c, .. } if *c == conn))
    );
    // Later events of the connection are ignored.
    w.net(NetEvent::Connected { conn, socket: -1 });
    assert!(w.events().is_empty());
}

#[test]
fn an_unresolvable_name_is_in_the_error() {
    let mut w = World::new(config());
    let _ = w.ready();
    let Some(NetAction::Resolve { lookup, .. }) = w.actions().pop() else {
        panic!("no look-up")
    };
    w.net(NetEvent::Resolved {
        lookup,
        result: Err("Name or service not known".into()),
    });
    assert!(down_text(&w.events()).contains("Failed to resolve 'broker:9092'"));
}

#[test]
fn ready_for_bulk_is_busy_until_the_socket_has_taken_the_requests() {
    let mut w = World::new(config());
    let conn = w.up();
    w.written(conn, 1, 1);
    assert!(matches!(w.connections.ready_for_bulk(w.key, w.now, 1), Ready::Yes(_)));
    w.send(1, 1000).unwrap();
    w.written(conn, 2, 1);
    assert!(matches!(w.connections.ready_for_bulk(w.key, w.now, 1), Ready::Busy));
    assert!(matches!(w.ready(), Ready::Yes(_)), "small requests are not blocked");
    w.events();
    w.written(conn, 2, 2);
    assert!(matches!(w.events()[..], [ConnectionEvent::SendReady { .. }]));
    assert!(matches!(w.connections.ready_for_bulk(w.key, w.now, 1), Ready::Yes(_)));
}
