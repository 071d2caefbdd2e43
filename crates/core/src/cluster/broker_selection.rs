//! Selection of a broker for requests that any broker can answer, and the attempts to connect to one.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::connection::{BrokerKey, Ready};
use crate::context::Ctx;
use crate::log::DebugContexts;
use crate::request::ReadyBroker;
use crate::sys::Instant;
use crate::types::NodeId;

/// The age of a connection attempt after which another one is started: the address may be unreachable, or the broker
/// frozen.
const CONNECT_WAIT: Duration = Duration::from_secs(2);
/// Maximum number of concurrent connection attempts to any broker.
const CONNECTING_MAX: usize = 3;

/// The brokers that can be selected.
pub(super) struct Candidates {
    pub(super) keys: Vec<BrokerKey>,
    /// Those of `keys` that have not answered a metadata request in time.
    pub(super) late: BTreeSet<BrokerKey>,
}

/// The restrictions of a selection.
#[derive(Default)]
pub(super) struct Selection<'a> {
    /// Allows a late broker if there is no other one.
    pub(super) or_late: bool,
    /// Brokers that are selected only if there are no others.
    pub(super) avoid: BTreeSet<NodeId>,
    /// Connections that are not selected: the request is in flight on them.
    pub(super) exclude: &'a [BrokerKey],
}

/// The search for a broker.
#[derive(Debug, Default)]
pub(super) struct BrokerSearch {
    /// When a caller began to wait for any broker.
    wanted_since: Option<Instant>,
    /// The earliest time of another attempt to connect while one is in progress.
    connect_deadline: Instant,
    /// The earliest time at which a broker is picked at random.
    next_pick: Instant,
}

impl BrokerSearch {
    /// Returns a connection that accepts a request. If there is none, connects to a broker picked at random and returns
    /// `None`; a connection event or the next poll repeats the search.
    pub(super) fn find(
        &mut self,
        ctx: &mut Ctx<'_>,
        candidates: &Candidates,
        selection: &Selection<'_>,
    ) -> Option<ReadyBroker> {
        let mut is_pending = false;
        let mut up: Vec<ReadyBroker> = Vec::new();
        let mut late: Vec<ReadyBroker> = Vec::new();
        for &key in &candidates.keys {
            let is_late = candidates.late.contains(&key) || selection.exclude.contains(&key);
            if !ctx.connections.is_up(key) {
                is_pending |= !is_late && ctx.connections.is_active(key);
                continue;
            }
            match ctx.connections.ready(key, ctx.now) {
                Ready::Yes(versions) if is_late => late.push(ReadyBroker { key, versions }),
                Ready::Yes(versions) => up.push(ReadyBroker { key, versions }),
                _ => is_pending |= !is_late,
            }
        }
        let is_avoided = |broker: &ReadyBroker| selection.avoid.contains(&broker.key.node);
        if up.iter().any(|broker| !is_avoided(broker)) {
            up.retain(|broker| !is_avoided(broker));
        }
        if !up.is_empty() {
            self.wanted_since = None;
            return least_loaded(ctx, up);
        }
        if selection.or_late && !is_pending && !late.is_empty() {
            return least_loaded(ctx, late);
        }
        if self.wanted_since.is_none() {
            self.wanted_since = Some(ctx.now);
            self.connect_deadline = ctx.now + CONNECT_WAIT;
        }
        let attempt = self.next_attempt(ctx, candidates, selection.exclude);
        if attempt.is_some_and(|at| at <= ctx.now) {
            self.connect_at_random(ctx, candidates);
        }
        None
    }

    /// Returns when the next attempt to connect may be started for callers that wait for any broker. A time in the past means
    /// now; `None`: not before an event of a connection.
    fn next_attempt(&self, ctx: &Ctx<'_>, candidates: &Candidates, exclude: &[BrokerKey]) -> Option<Instant> {
        let usable = |key: &&BrokerKey| !candidates.late.contains(*key) && !exclude.contains(*key);
        let usable: Vec<BrokerKey> = candidates.keys.iter().filter(usable).copied().collect();
        let is_active = |key: &BrokerKey| ctx.connections.is_active(*key);
        let (active, inactive): (Vec<BrokerKey>, Vec<BrokerKey>) = usable.into_iter().partition(is_active);
        let connecting = active.iter().filter(|key| !ctx.connections.is_up(**key));
        if connecting.count() >= CONNECTING_MAX {
            return None;
        }
        let free_at = inactive
            .iter()
            .map(|key| ctx.connections.backoff_until(*key).unwrap_or(Instant::ORIGIN))
            .min()?;
        let not_before = match active.is_empty() {
            true => Instant::ORIGIN,
            false => self.connect_deadline,
        };
        Some(free_at.max(not_before).max(self.next_pick))
    }

    /// Connects to a broker picked at random, one that was never tried if possible.
    fn connect_at_random(&mut self, ctx: &mut Ctx<'_>, candidates: &Candidates) {
        let usable = candidates.keys.iter().copied().filter(|key| {
            !ctx.connections.is_active(*key)
                && ctx.connections.backoff_until(*key).is_none()
                && !candidates.late.contains(key)
        });
        let usable: Vec<BrokerKey> = usable.collect();
        let untried = usable.iter().copied().filter(|key| !ctx.connections.was_tried(*key));
        let untried: Vec<BrokerKey> = untried.collect();
        let pool = if untried.is_empty() { usable } else { untried };
        if let Some(&key) = pool.get(ctx.rng.below(pool.len())) {
            let interval = (u64::from(ctx.conf.reconnect_backoff_ms) / 2).clamp(10, 1000);
            self.next_pick = ctx.now.plus_ms(interval);
            self.connect_deadline = ctx.now + CONNECT_WAIT;
            ctx.log.debug(DebugContexts::BROKER, "CONNECT", || {
                format!("picked broker {} to connect to", key.node)
            });
            let _ = ctx.connections.ready(key, ctx.now);
        }
    }

    /// Returns when the search is to be repeated while a caller waits for any broker.
    pub(super) fn next_wake(&mut self, ctx: &Ctx<'_>, candidates: &Candidates) -> Option<Instant> {
        let attempt = self.next_attempt(ctx, candidates, &[]);
        if attempt.is_some_and(|at| at <= ctx.now) {
            // No caller has used the opportunity to connect: none waits any more.
            self.wanted_since = None;
            return None;
        }
        attempt
    }

    /// Returns whether a caller waits for any broker.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted_since.is_some()
    }

    /// Handles a connection that has come up: the search is over.
    pub(super) fn on_connection_up(&mut self) {
        self.wanted_since = None;
    }
}

/// Returns a connection with the fewest requests in flight, so that a request does not wait behind a long poll. Brokers of
/// the broker list are preferred to bootstrap addresses, which may be load balancers.
pub(super) fn least_loaded(ctx: &mut Ctx<'_>, mut up: Vec<ReadyBroker>) -> Option<ReadyBroker> {
    if up.iter().any(|broker| !broker.key.node.is_bootstrap()) {
        up.retain(|broker| !broker.key.node.is_bootstrap());
    }
    let in_flight = |broker: &ReadyBroker| ctx.connections.in_flight(broker.key);
    let least = up.iter().map(in_flight).min()?;
    up.retain(|broker| in_flight(broker) == least);
    Some(up.swap_remove(ctx.rng.below(up.len())))
}
