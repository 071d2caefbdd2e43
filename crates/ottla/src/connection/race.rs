//! Attempts at the addresses of one broker, side by side (RFC 8305, "Happy Eyeballs").

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use super::net::ConnId;
use crate::sys::{Instant, earliest};

/// Time that an attempt has before the next address is tried beside it ("Connection Attempt Delay" of RFC 8305).
pub(super) const HEAD_START: Duration = Duration::from_millis(250);

/// One attempt under way.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) conn: ConnId,
    pub(super) addr: SocketAddr,
    pub(super) since: Instant,
    pub(super) deadline: Instant,
}

/// The attempts under way and the addresses that are still to be tried.
#[derive(Debug, Default)]
pub(super) struct Race {
    runners: Vec<Runner>,
    left: VecDeque<SocketAddr>,
    /// When the next address is tried beside the others; `None` when only after they have failed.
    next_at: Option<Instant>,
}

impl Race {
    /// A race over `addrs`, in that order.
    pub(super) fn new(addrs: impl IntoIterator<Item = SocketAddr>) -> Self {
        Race {
            left: addrs.into_iter().collect(),
            ..Race::default()
        }
    }

    /// Takes the next address; [`begin`](Self::begin) follows.
    pub(super) fn next_addr(&mut self) -> Option<SocketAddr> {
        self.left.pop_front()
    }

    /// Adds an attempt. With `head_start` the next address is tried beside it after that time.
    pub(super) fn begin(&mut self, runner: Runner, head_start: Option<Duration>) {
        self.next_at = head_start.filter(|_| !self.left.is_empty()).map(|h| runner.since + h);
        self.runners.push(runner);
    }

    /// Removes an attempt that has ended.
    pub(super) fn end(&mut self, conn: ConnId) -> Option<Runner> {
        let at = self.runners.iter().position(|r| r.conn == conn)?;
        Some(self.runners.remove(at))
    }

    /// Removes an attempt whose time is over.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Runner> {
        let at = self.runners.iter().position(|r| r.deadline <= now)?;
        Some(self.runners.remove(at))
    }

    /// Whether the next address is due to be tried.
    pub(super) fn is_next_due(&self, now: Instant) -> bool {
        self.next_at.is_some_and(|at| at <= now)
    }

    /// Whether no attempt is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.runners.is_empty()
    }

    /// Whether no address is left to be tried.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.is_empty()
    }

    /// The connections of the attempts under way.
    pub(super) fn conns(&self) -> impl Iterator<Item = ConnId> + '_ {
        self.runners.iter().map(|r| r.conn)
    }

    /// When the race next needs attention.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = self.runners.iter().map(|r| r.deadline).min();
        earliest(first, self.next_at)
    }
}

/// The order in which addresses are tried: families alternate, beginning with that of the first address, which the system
/// prefers (RFC 6724). Within a family the address number `turn` comes first, so that not all clients of a name with several
/// addresses begin with the same one.
pub(super) fn in_order(addrs: &[SocketAddr], turn: usize) -> Vec<SocketAddr> {
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
