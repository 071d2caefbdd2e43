//! The addresses of a broker's host name.

use std::net::SocketAddr;

use crate::sys::Instant;

/// Formats an address as librdkafka's messages do: `ipv4#127.0.0.1:9092`.
pub(super) fn address_text(addr: SocketAddr) -> String {
    let family = if addr.is_ipv4() { "ipv4" } else { "ipv6" };
    format!("{family}#{addr}")
}

/// A broker's host name and port, the addresses that the name resolved to, and those that the current attempt has tried.
#[derive(Debug)]
pub(super) struct Addresses {
    host: String,
    port: u16,
    /// The result of the last look-up; empty before it and after an attempt failed.
    resolved: Vec<SocketAddr>,
    expires: Instant,
    /// Index of the first address to try within its family; starts at a random number and counts attempts.
    turn: usize,
    tried: Vec<SocketAddr>,
    /// The address of the connection, or the last one tried.
    current: Option<SocketAddr>,
}

impl Addresses {
    pub(super) fn new(host: &str, port: u16) -> Self {
        Addresses {
            host: host.to_owned(),
            port,
            resolved: Vec::new(),
            expires: Instant::ORIGIN,
            turn: 0,
            tried: Vec::new(),
            current: None,
        }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn current(&self) -> Option<SocketAddr> {
        self.current
    }

    /// Replaces host name and port. Returns false when they are the same.
    pub(super) fn replace(&mut self, host: &str, port: u16) -> bool {
        if self.host == host && self.port == port {
            return false;
        }
        self.host = host.to_owned();
        self.port = port;
        self.resolved.clear();
        true
    }

    /// Begins an attempt. `first_turn` is the random number for the first one: several clients with the same list must not
    /// all begin with its first address.
    pub(super) fn begin_attempt(&mut self, first_turn: Option<usize>) {
        self.turn = first_turn.unwrap_or(self.turn.wrapping_add(1));
        self.tried.clear();
    }

    /// Returns true when the addresses can be used without a look-up.
    pub(super) fn is_fresh(&self, now: Instant) -> bool {
        !self.resolved.is_empty() && self.expires > now
    }

    /// Stores the result of a look-up, valid until `expires` (`broker.address.ttl`).
    pub(super) fn set_resolved(&mut self, resolved: Vec<SocketAddr>, expires: Instant) {
        self.resolved = resolved;
        self.expires = expires;
    }

    /// Discards the addresses, so that the next attempt looks the name up.
    pub(super) fn forget(&mut self) {
        self.resolved.clear();
    }

    /// Returns the addresses that the current attempt has not tried, in the order in which to try them.
    pub(super) fn untried(&self) -> Vec<SocketAddr> {
        let mut order = in_order(&self.resolved, self.turn);
        order.retain(|addr| !self.tried.contains(addr));
        order
    }

    /// Marks an address as tried.
    pub(super) fn on_try(&mut self, addr: SocketAddr) {
        self.current = Some(addr);
        self.tried.push(addr);
    }

    /// Stores the address that has connected first. The attempts at `others` were cancelled, not refused: they are tried
    /// when this address fails to become ready.
    pub(super) fn on_connected(&mut self, addr: SocketAddr, others: &[SocketAddr]) {
        self.current = Some(addr);
        self.tried.retain(|tried| !others.contains(tried));
    }
}

/// Returns the order in which addresses are tried: families alternate, beginning with that of the first address, which
/// the system prefers (RFC 6724). Within a family the address number `turn` comes first, so that not all clients of a name
/// with several addresses begin with the same one.
fn in_order(addrs: &[SocketAddr], turn: usize) -> Vec<SocketAddr> {
    let Some(first) = addrs.first() else { return Vec::new() };
    let (mut one, mut other): (Vec<SocketAddr>, Vec<SocketAddr>) =
        addrs.iter().partition(|a| a.is_ipv4() == first.is_ipv4());
    for family in [&mut one, &mut other] {
        let len = family.len().max(1);
        family.rotate_left(turn % len);
    }
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut order = Vec::with_capacity(addrs.len());
    loop {
        match (one.next(), other.next()) {
            (None, None) => return order,
            (a, b) => order.extend(a.into_iter().chain(b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_alternate_beginning_with_the_preferred_one() {
        let v4 = |n: u8| SocketAddr::from(([10, 0, 0, n], 1));
        let v6 = |n: u16| SocketAddr::from(([0xfe80, 0, 0, 0, 0, 0, 0, n], 1));
        let addrs = [v6(1), v6(2), v4(1), v4(2), v4(3)];
        assert_eq!(in_order(&addrs, 0), [v6(1), v4(1), v6(2), v4(2), v4(3)]);
        assert_eq!(in_order(&addrs, 1), [v6(2), v4(2), v6(1), v4(3), v4(1)]);
        assert_eq!(in_order(&[v4(1), v6(1)], 7), [v4(1), v6(1)]);
        assert_eq!(in_order(&[], 3), []);
    }
}
