//! Look-ups of leaders or coordinators: names that are wanted, and requests for them to any broker.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::connection::BrokerKey;
use crate::context::Ctx;
use crate::error::Error;
use crate::request::{Attempts, ReadyBroker};
use crate::sys::{Instant, earliest};

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
    /// in flight. Names that are not [sent](Self::on_sent) must be wanted again.
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

    /// Notes a request.
    pub(super) fn on_sent(&mut self, id: u64, broker: BrokerKey, names: BTreeSet<N>) {
        self.in_flight.push(InFlight { id, broker, names });
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

    /// Notes the response to these names. The first response counts: requests for the same names are forgotten.
    pub(super) fn on_answered(&mut self, names: &BTreeSet<N>) {
        self.attempts.reset();
        self.repeats = 0;
        self.in_flight.retain(|request| !request.names.is_subset(names));
    }

    /// Removes the request with this id and returns its names.
    pub(super) fn take(&mut self, id: u64) -> Option<BTreeSet<N>> {
        let at = self.in_flight.iter().position(|request| request.id == id)?;
        Some(self.in_flight.remove(at).names)
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
