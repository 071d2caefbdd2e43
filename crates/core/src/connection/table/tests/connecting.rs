//! Addresses: order, concurrent attempts, and when the name is looked up again.

use super::*;
use std::net::SocketAddr;

fn v4(n: u8) -> SocketAddr {
    ([127, 0, 0, n], 9092).into()
}

fn v6(n: u16) -> SocketAddr {
    ([0xfd00, 0, 0, 0, 0, 0, 0, n], 9092).into()
}

/// An action for the network, without the ids of connections and look-ups.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    LookUp,
    Connect(SocketAddr),
    Close,
    Send,
}

struct Net {
    lookups: Vec<LookupId>,
    conns: Vec<(SocketAddr, ConnId)>,
}

impl Net {
    fn new() -> Self {
        Net {
            lookups: Vec::new(),
            conns: Vec::new(),
        }
    }

    fn actions(&mut self, w: &mut World) -> Vec<Action> {
        let actions = w.actions();
        let of = |action| match action {
            NetAction::Resolve { lookup, .. } => {
                self.lookups.push(lookup);
                Action::LookUp
            }
            NetAction::Connect { conn, addr, .. } => {
                self.conns.push((addr, conn));
                Action::Connect(addr)
            }
            NetAction::Close { .. } => Action::Close,
            NetAction::RefreshCertificates => panic!("a plaintext client has no certificates"),
            NetAction::SaslWork { .. } => panic!("a plaintext client does not authenticate"),
            NetAction::ResolveNames { .. } => panic!("names are not looked up"),
            NetAction::Send { .. } => Action::Send,
        };
        actions.into_iter().map(of).collect()
    }

    fn answer(&mut self, w: &mut World, addrs: &[SocketAddr]) -> Vec<Action> {
        let lookup = self.lookups.pop().expect("a look-up");
        let result = Ok(addrs.to_vec());
        w.net(NetEvent::Resolved { lookup, result });
        self.actions(w)
    }

    fn conn(&self, addr: SocketAddr) -> ConnId {
        let mut all = self.conns.iter().rev();
        all.find(|(a, _)| *a == addr).map(|(_, conn)| *conn).expect("tried")
    }

    fn refuse(&mut self, w: &mut World, addr: SocketAddr) -> Vec<Action> {
        let (conn, reason) = (self.conn(addr), CloseReason::Io("Connection refused".into()));
        w.net(NetEvent::Closed { conn, reason });
        self.actions(w)
    }
}

/// Requests the connection and answers its look-up.
fn begin(config: ConnectionConfig, addrs: &[SocketAddr]) -> (World, Net, Vec<Action>) {
    let (mut w, mut net) = (World::new(config), Net::new());
    let _ = w.ready();
    assert_eq!(net.actions(&mut w), [Action::LookUp]);
    let actions = net.answer(&mut w, addrs);
    (w, net, actions)
}

#[test]
fn the_next_address_is_tried_after_250_ms_and_the_first_to_connect_wins() {
    let (mut w, mut net, actions) = begin(config(), &[v6(1), v4(1)]);
    assert_eq!(actions, [Action::Connect(v6(1))], "the preferred family first");
    w.advance(249);
    assert_eq!(net.actions(&mut w), []);
    w.advance(1);
    assert_eq!(net.actions(&mut w), [Action::Connect(v4(1))]);
    let winner = net.conn(v4(1));
    w.net(NetEvent::Connected {
        conn: winner,
        socket: 7,
    });
    assert_eq!(
        net.actions(&mut w),
        [Action::Close, Action::Send],
        "the other is closed"
    );
    // Later events of the other attempt change nothing.
    let loser = net.conn(v6(1));
    w.net(NetEvent::Connected { conn: loser, socket: 8 });
    w.net(NetEvent::Closed {
        conn: loser,
        reason: CloseReason::Io("Connection timed out".into()),
    });
    assert!(w.events().is_empty() && w.actions().is_empty());
    assert_eq!(w.connections.connections[&w.key].peer(), "ipv4#127.0.0.1:9092");
}

#[test]
fn a_preferred_address_that_connects_late_still_wins_when_it_is_first() {
    let (mut w, mut net, _) = begin(config(), &[v6(1), v4(1)]);
    w.advance(250);
    net.actions(&mut w);
    assert_eq!(net.refuse(&mut w, v4(1)), [], "the other attempt continues");
    assert!(w.events().is_empty());
    let conn = net.conn(v6(1));
    w.net(NetEvent::Connected { conn, socket: 7 });
    assert_eq!(net.actions(&mut w), [Action::Send]);
}

#[test]
fn a_refused_address_is_followed_by_the_other_family_at_once() {
    let (mut w, mut net, _) = begin(config(), &[v6(1), v6(2), v4(1)]);
    let first = net.conns[0].0;
    assert!(first.is_ipv6());
    assert_eq!(net.refuse(&mut w, first), [Action::Connect(v4(1))]);
    assert!(w.events().is_empty(), "no attempt has failed");
}

#[test]
fn every_silent_address_has_its_own_setup_time_and_then_the_attempt_fails() {
    let (mut w, mut net, _) = begin(config(), &[v6(1), v4(1)]);
    w.advance(250);
    net.actions(&mut w);
    w.advance(29_750);
    assert_eq!(net.actions(&mut w), [Action::Close]);
    assert!(w.events().is_empty(), "250 ms are left for the second");
    w.advance(250);
    assert_eq!(net.actions(&mut w), [Action::Close]);
    let text = down_text(&w.events());
    assert!(
        text.starts_with("Connect to ipv4#127.0.0.1:9092 failed: Connection setup timed out in state CONNECT"),
        "{text}"
    );
}

#[test]
fn a_broker_that_moves_during_the_race_leaves_no_attempt_behind() {
    let (mut w, mut net, _) = begin(config(), &[v6(1), v4(1)]);
    w.advance(250);
    net.actions(&mut w);
    w.connections.set_address(w.key, "elsewhere", 9092, w.now);
    assert_eq!(net.actions(&mut w), [Action::Close, Action::Close]);
}

#[test]
fn a_failed_attempt_looks_the_name_up_again_within_its_ttl() {
    let (mut w, mut net, actions) = begin(config(), &[v4(1)]);
    assert_eq!(actions, [Action::Connect(v4(1))]);
    net.refuse(&mut w, v4(1));
    let _ = w.ready();
    w.advance(200);
    assert_eq!(net.actions(&mut w), [Action::LookUp], "the name may have moved");
    assert_eq!(net.answer(&mut w, &[v4(2)]), [Action::Connect(v4(2))]);
}

#[test]
fn addresses_stay_known_for_their_ttl_after_a_connection_was_made() {
    let (mut w, mut net, _) = begin(config(), &[v4(1)]);
    let conn = net.conn(v4(1));
    w.net(NetEvent::Connected { conn, socket: 7 });
    w.connections.force_close(w.key, w.now);
    net.actions(&mut w);
    let _ = w.ready();
    assert_eq!(net.actions(&mut w), [Action::Connect(v4(1))]);
}

#[test]
fn connect_cb_is_called_for_one_address_after_each_look_up() {
    let mut config = config();
    config.one_by_one = true;
    let both = [v6(1), v4(1)];
    let (mut w, mut net, actions) = begin(config, &both);
    assert_eq!(actions, [Action::Connect(v6(1))]);
    w.advance(1000);
    assert_eq!(net.actions(&mut w), [], "not concurrently");
    assert_eq!(net.refuse(&mut w, v6(1)), [Action::LookUp]);
    assert!(w.events().is_empty(), "an address is left");
    assert_eq!(net.answer(&mut w, &both), [Action::Connect(v4(1))]);
    assert_eq!(net.refuse(&mut w, v4(1)), []);
    assert!(down_text(&w.events()).contains("Connection refused"));
}

#[test]
fn a_look_up_without_another_address_ends_the_attempt_with_connect_cb() {
    let mut config = config();
    config.one_by_one = true;
    let (mut w, mut net, _) = begin(config, &[v6(1), v4(1)]);
    net.refuse(&mut w, v6(1));
    assert_eq!(net.answer(&mut w, &[v6(1)]), []);
    assert!(down_text(&w.events()).contains("Connection refused"));
}
