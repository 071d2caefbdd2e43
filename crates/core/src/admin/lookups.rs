//! Look-ups of leaders or coordinators: names that are wanted, and requests for them to any broker.

use std::collections::BTreeSet;

use ottla_protocol::Request;

use crate::cluster::{Cluster, NodeInfo, Router};
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::Error;
use crate::request::{Attempts, ReadyBroker, response_of};
use crate::sys::{Instant, earliest};
use crate::types::NodeId;

/// Time without a response after which another broker is asked as well: the first one may be frozen.
const LATE_AFTER_MS: u64 = 2000;
/// Maximum number of requests for the same names in flight.
const REPEATS_MAX: usize = 3;
/// Interval of the search for a connected broker, in milliseconds.
const SEARCH_INTERVAL_MS: u64 = 100;

/// The result of a look-up for one key of a call.
pub(super) enum Place {
    /// The look-up was not for this key.
    Other,
    /// The broker is known now.
    Found,
    /// There is no such broker at present.
    Pending(Error),
    /// There will be none: the partition does not exist, or the client is not authorized.
    Refused(Error),
}

#[derive(Debug)]
struct InFlight<N> {
    id: u64,
    broker: BrokerKey,
    names: BTreeSet<N>,
}

/// The names that are wanted and the requests in flight.
#[derive(Debug)]
pub(super) struct Lookups<N> {
    wanted: BTreeSet<N>,
    in_flight: Vec<InFlight<N>>,
    /// When the requests in flight become late.
    late_at: Instant,
    attempts: Attempts,
    repeats: usize,
}

impl<N> Default for Lookups<N> {
    fn default() -> Self {
        Lookups {
            wanted: BTreeSet::new(),
            in_flight: Vec::new(),
            late_at: Instant::ORIGIN,
            attempts: Attempts::default(),
            repeats: 0,
        }
    }
}

impl<N: Ord + Clone> Lookups<N> {
    /// Wants a name, unless it is in a request already.
    pub(super) fn want(&mut self, name: &N) {
        let is_asked = self.in_flight.iter().any(|request| request.names.contains(name));
        if !is_asked && !self.wanted.contains(name) {
            self.wanted.insert(name.clone());
        }
    }

    /// Returns the names to request now, and a broker for it: those that are wanted or, while requests are late, also those
    /// in flight. Names that are not [sent](Self::send) must be wanted again.
    pub(super) fn due(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<(ReadyBroker, BTreeSet<N>)> {
        let is_late = !self.in_flight.is_empty() && self.late_at <= ctx.now && self.repeats < REPEATS_MAX;
        if !self.attempts.is_due(ctx.now) || self.wanted.is_empty() && !is_late {
            return None;
        }
        let broker = match is_late {
            false => cluster.any_connection(ctx),
            true => {
                let asked: Vec<BrokerKey> = self.in_flight.iter().map(|request| request.broker).collect();
                cluster.another_connection(ctx, &asked)
            }
        }?;
        let mut names = std::mem::take(&mut self.wanted);
        if is_late {
            self.repeats += 1;
            names.extend(self.in_flight.iter().flat_map(|request| request.names.iter().cloned()));
        }
        self.late_at = ctx.now.plus_ms(LATE_AFTER_MS << self.repeats);
        Some((broker, names))
    }

    /// Sends a request for these names, which are scheduled again if that fails.
    pub(super) fn send<R: Request>(
        &mut self,
        ctx: &mut Ctx<'_>,
        router: &mut Router,
        broker: &ReadyBroker,
        (request, version): (&R, i16),
        names: BTreeSet<N>,
    ) {
        let tag = router.next_tag();
        let timeout = ctx.socket_timeout();
        match broker.send(ctx, tag, request, version, timeout) {
            Ok(()) => self.in_flight.push(InFlight {
                id: tag.id,
                broker: broker.key,
                names,
            }),
            Err(_) => self.on_failed(ctx, names),
        }
    }

    /// Schedules these names again after a request for them has failed, or could not be sent.
    pub(super) fn on_failed(&mut self, ctx: &mut Ctx<'_>, names: BTreeSet<N>) {
        for name in &names {
            self.want(name);
        }
        if !self.wanted.is_empty() {
            self.attempts.back_off(ctx);
        }
    }

    /// Handles the outcome of a request of type `R`. Returns its names and the response; after a failure the names are
    /// scheduled again. The first response counts: requests for the same names are forgotten.
    pub(super) fn on_outcome<R: Request>(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, id, outcome): (BrokerKey, u64, Outcome),
    ) -> Option<(BTreeSet<N>, R::Response)> {
        let at = self.in_flight.iter().position(|request| request.id == id)?;
        let names = self.in_flight.remove(at).names;
        let Ok(response) = response_of::<R>(ctx, key, outcome) else {
            self.on_failed(ctx, names);
            return None;
        };
        self.attempts.reset();
        self.repeats = 0;
        self.in_flight.retain(|request| !request.names.is_subset(&names));
        Some((names, response))
    }

    /// Returns whether a request has this id.
    pub(super) fn is_in_flight(&self, id: u64) -> bool {
        self.in_flight.iter().any(|request| request.id == id)
    }

    /// Returns when [`due`](Self::due) is to be called. While no broker is connected no event announces one.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let search = now.plus_ms(SEARCH_INTERVAL_MS);
        let wanted = (!self.wanted.is_empty()).then(|| self.attempts.next_at().max(search));
        let is_repeatable = !self.in_flight.is_empty() && self.repeats < REPEATS_MAX;
        let late = is_repeatable.then(|| if self.late_at > now { self.late_at } else { search });
        earliest(wanted, late)
    }
}

/// Adds a broker of a response. A known one that is not connected gets the address of the response: it may have moved since
/// the last metadata, which is not refreshed for it. Returns the broker's id; `None` if there is no such broker: a negative
/// id, an empty host, or a port that is none.
pub(super) fn add_node(
    ctx: &mut Ctx<'_>,
    cluster: &mut Cluster,
    id: i32,
    (host, port, rack): (&str, i32, Option<&str>),
) -> Option<NodeId> {
    let node = NodeId(id);
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    if node.0 < 0 || host.is_empty() {
        return None;
    }
    let known = cluster.node(node);
    let is_same = known.is_some_and(|info| info.host == host && info.port == port);
    let is_up = known.is_some() && ctx.connections.is_up(BrokerKey::general(node));
    if !is_same && !is_up {
        let rack = rack
            .map(str::to_owned)
            .or_else(|| known.and_then(|info| info.rack.clone()));
        let host = host.to_owned();
        cluster.add_node(ctx, node, NodeInfo { host, port, rack });
    }
    Some(node)
}
