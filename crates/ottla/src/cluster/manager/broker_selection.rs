//! Finding a broker to ask: bootstrap addresses, random choice, outages, beginning again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::super::bootstrap::{Endpoint, parse_endpoints};
use super::{Change, Cluster, duration_ms};
use crate::connection::{BrokerKey, Ready};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::request::ReadyBroker;
use crate::sys::Instant;
use crate::types::NodeId;

/// How long a connection may be on its way before another one is begun: the address may lead nowhere, or to a broker
/// that is frozen.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// Connections to whichever broker that are on their way at once.
const CONNECTING_MAX: usize = 3;

impl Cluster {
    /// Makes bootstrap addresses known, or, where `client.dns.lookup` says so, the canonical names that they lead to.
    pub fn add_bootstrap(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) {
        if ctx.conf.client_dns_lookup == "resolve_canonical_bootstrap_servers_only" {
            self.add_canonical(ctx, endpoints);
        } else {
            self.add_endpoints(ctx, endpoints);
        }
    }

    pub(super) fn add_endpoints(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) {
        for e in endpoints {
            let known = self.bootstrap.iter().any(|id| {
                ctx.connections
                    .address(BrokerKey::general(*id))
                    .is_some_and(|(h, p)| h == e.host && p == e.port)
            });
            if known {
                continue;
            }
            let id = NodeId(-1 - i32::try_from(self.bootstrap.len()).unwrap_or(i32::MAX - 1));
            ctx.connections
                .set_address(BrokerKey::general(id), &e.host, e.port, ctx.now);
            self.bootstrap.push(id);
        }
        if self.brokers_due.is_none() && !self.bootstrap.is_empty() {
            self.brokers_due = Some(ctx.now);
        }
    }

    /// Parses and adds `bootstrap.servers`; entries that are no addresses are logged.
    pub fn add_bootstrap_list(&mut self, ctx: &mut Ctx<'_>, list: &str) {
        let (good, bad) = parse_endpoints(list);
        for why in bad {
            ctx.log.log(level::ERROR, "BOOTSTRAP", || why);
        }
        self.add_bootstrap(ctx, &good);
    }

    /// A connected broker that takes requests, whichever. When none is connected, one is picked at random and connected
    /// to, and the caller hears of it by a connection event or at its next poll. A broker that is late to answer a metadata
    /// request is the last choice.
    pub fn any_connection(&mut self, ctx: &mut Ctx<'_>) -> Option<ReadyBroker> {
        self.find_connection(ctx, true, &BTreeSet::new(), &[])
    }

    /// Like [`any_connection`](Self::any_connection), but none of these, which have been asked and are late to answer, and none that
    /// is late to answer a metadata request.
    pub fn another_connection(&mut self, ctx: &mut Ctx<'_>, asked: &[BrokerKey]) -> Option<ReadyBroker> {
        self.find_connection(ctx, false, &BTreeSet::new(), asked)
    }

    /// Like [`any_connection`](Self::any_connection), but none that is late to answer, and rather none of `others`.
    pub(super) fn prompt_connection(&mut self, ctx: &mut Ctx<'_>, others: &BTreeSet<NodeId>) -> Option<ReadyBroker> {
        self.find_connection(ctx, false, others, &[])
    }

    fn find_connection(
        &mut self,
        ctx: &mut Ctx<'_>,
        or_late: bool,
        rather_not: &BTreeSet<NodeId>,
        asked: &[BrokerKey],
    ) -> Option<ReadyBroker> {
        let mut hope = false;
        let mut up: Vec<ReadyBroker> = Vec::new();
        let mut late: Vec<ReadyBroker> = Vec::new();
        for key in self.candidates(ctx) {
            let is_late = self.is_late(ctx, key) || asked.contains(&key);
            if !ctx.connections.is_up(key) {
                hope |= !is_late && ctx.connections.is_active(key);
                continue;
            }
            match ctx.connections.ready(key, ctx.now) {
                Ready::Yes(versions) if is_late => late.push(ReadyBroker { key, versions }),
                Ready::Yes(versions) => up.push(ReadyBroker { key, versions }),
                _ => hope |= !is_late,
            }
        }
        if up.iter().any(|broker| !rather_not.contains(&broker.key.node)) {
            up.retain(|broker| !rather_not.contains(&broker.key.node));
        }
        if !up.is_empty() {
            self.wanted_since = None;
            return self.least_loaded(ctx, up);
        }
        if or_late && !hope && !late.is_empty() {
            return self.least_loaded(ctx, late);
        }
        if self.wanted_since.is_none() {
            self.wanted_since = Some(ctx.now);
            self.connect_deadline = ctx.now + CONNECT_PATIENCE;
        }
        if self.next_attempt(ctx, asked).is_some_and(|at| at <= ctx.now) {
            self.connect_at_random(ctx);
        }
        None
    }

    /// A connected broker that takes requests and has no refresh under way.
    pub(super) fn idle_connection(&mut self, ctx: &mut Ctx<'_>) -> Option<ReadyBroker> {
        let mut idle = Vec::new();
        for key in self.candidates(ctx) {
            if ctx.connections.is_up(key)
                && !self.is_refreshing(key)
                && !self.is_late(ctx, key)
                && let Ready::Yes(versions) = ctx.connections.ready(key, ctx.now)
            {
                idle.push(ReadyBroker { key, versions });
            }
        }
        self.least_loaded(ctx, idle)
    }

    fn least_loaded(&self, ctx: &mut Ctx<'_>, mut up: Vec<ReadyBroker>) -> Option<ReadyBroker> {
        // Brokers that metadata named are preferred to bootstrap addresses, which may be load balancers.
        if up.iter().any(|broker| !broker.key.node.is_bootstrap()) {
            up.retain(|broker| !broker.key.node.is_bootstrap());
        }
        // One that waits for nothing is not held up by a long poll.
        let least = up.iter().map(|broker| ctx.connections.in_flight(broker.key)).min()?;
        up.retain(|broker| ctx.connections.in_flight(broker.key) == least);
        Some(up.swap_remove(ctx.rng.below(up.len())))
    }

    /// When another connection may be begun for those who wait for any broker, if at all; a time of the past means now.
    /// `asked` are of no use to them.
    pub(super) fn next_attempt(&self, ctx: &Ctx<'_>, asked: &[BrokerKey]) -> Option<Instant> {
        let mut candidates = self.candidates(ctx);
        candidates.retain(|key| !self.is_late(ctx, *key) && !asked.contains(key));
        let active = candidates.iter().filter(|k| ctx.connections.is_active(**k)).count();
        let connecting = |k: &&BrokerKey| ctx.connections.is_active(**k) && !ctx.connections.is_up(**k);
        if candidates.iter().filter(connecting).count() >= CONNECTING_MAX {
            return None;
        }
        let resting = candidates.iter().filter(|k| !ctx.connections.is_active(**k));
        let free_at = resting
            .map(|k| ctx.connections.backoff_until(*k).unwrap_or(Instant::ORIGIN))
            .min()?;
        let begun = if active > 0 {
            self.connect_deadline
        } else {
            Instant::ORIGIN
        };
        Some(free_at.max(begun).max(self.next_pick))
    }

    /// The brokers that may be asked for metadata. With `metadata.recovery.strategy=none` the bootstrap addresses count
    /// only until brokers are known.
    pub(super) fn candidates(&self, ctx: &Ctx<'_>) -> Vec<BrokerKey> {
        let only_known = !self.nodes.is_empty() && ctx.conf.metadata_recovery_strategy == "none";
        let bootstrap: &[NodeId] = if only_known { &[] } else { &self.bootstrap };
        self.nodes
            .keys()
            .chain(bootstrap)
            .map(|id| BrokerKey::general(*id))
            .collect()
    }

    /// Forgets every broker but the bootstrap addresses (KIP-899, KIP-1102): what was known leads nowhere any more.
    pub(super) fn rebootstrap(&mut self, ctx: &mut Ctx<'_>, why: &str) {
        if self.nodes.is_empty() || ctx.conf.metadata_recovery_strategy == "none" {
            return;
        }
        ctx.log.log(level::WARNING, "REBOOTSTRAP", || {
            format!("beginning again with bootstrap.servers: {why}")
        });
        let leaving = std::mem::take(&mut self.leaving).into_iter();
        for id in std::mem::take(&mut self.nodes).into_keys().chain(leaving) {
            ctx.connections.remove(BrokerKey::general(id), ctx.now);
        }
        self.unanswered_since = None;
        self.brokers_asked_at = Instant::ORIGIN;
        self.brokers_due = Some(ctx.now);
        self.list_again(true, ctx.now);
        let names: Vec<Arc<str>> = self.watches.keys().cloned().collect();
        for name in names {
            self.reschedule(&name, ctx.now);
        }
    }

    /// When the known brokers have been no use for `metadata.recovery.rebootstrap.trigger.ms`; 0 is up to the first
    /// request that fails.
    pub(super) fn rebootstrap_at(&self, ctx: &Ctx<'_>) -> Option<Instant> {
        let trigger = duration_ms(ctx.conf.metadata_recovery_rebootstrap_trigger_ms);
        let useless = !self.nodes.is_empty() && ctx.conf.metadata_recovery_strategy != "none";
        let since = self.unanswered_since.filter(|_| useless && !trigger.is_zero())?;
        // A consumer's own long poll is no silence: who began again for it would never get beyond it.
        let is_behind = self.asked.values().any(|a| a.is_behind && !a.is_late);
        let poll = if is_behind {
            duration_ms(ctx.conf.fetch_wait_max_ms)
        } else {
            Duration::ZERO
        };
        Some(since + trigger + poll)
    }

    pub(super) fn rebootstrap_if_unanswered(&mut self, ctx: &mut Ctx<'_>) {
        if self.rebootstrap_at(ctx).is_some_and(|at| at <= ctx.now) {
            self.rebootstrap(ctx, "no metadata for metadata.recovery.rebootstrap.trigger.ms");
        }
    }

    /// A refresh failed.
    pub(super) fn on_refresh_failed(&mut self, ctx: &mut Ctx<'_>) {
        if ctx.conf.metadata_recovery_rebootstrap_trigger_ms == 0 {
            self.rebootstrap(ctx, "a metadata request failed");
        }
    }

    /// Drops the connections of brokers that left the cluster once nobody waits for their answers.
    pub(super) fn let_go(&mut self, ctx: &mut Ctx<'_>) {
        self.leaving.retain(|id| {
            let key = BrokerKey::general(*id);
            let busy = ctx.connections.is_up(key) && ctx.connections.in_flight(key) > 0;
            if !busy {
                ctx.connections.remove(key, ctx.now);
            }
            busy
        });
    }

    /// Starts one attempt to a broker drawn at random, those never tried first.
    fn connect_at_random(&mut self, ctx: &mut Ctx<'_>) {
        let usable: Vec<BrokerKey> = self
            .candidates(ctx)
            .into_iter()
            .filter(|k| {
                !ctx.connections.is_active(*k) && ctx.connections.backoff_until(*k).is_none() && !self.is_late(ctx, *k)
            })
            .collect();
        let untried: Vec<BrokerKey> = usable
            .iter()
            .copied()
            .filter(|k| !ctx.connections.was_tried(*k))
            .collect();
        let pool = if untried.is_empty() { usable } else { untried };
        if let Some(&key) = pool.get(ctx.rng.below(pool.len())) {
            let interval = (u64::from(ctx.conf.reconnect_backoff_ms) / 2).clamp(10, 1000);
            self.next_pick = ctx.now.plus_ms(interval);
            self.connect_deadline = ctx.now + CONNECT_PATIENCE;
            ctx.log.debug(DebugContexts::BROKER, "CONNECT", || {
                format!("picked broker {} to connect to", key.node)
            });
            let _ = ctx.connections.ready(key, ctx.now);
        }
    }

    /// A connection came up.
    pub fn on_connection_up(&mut self, _ctx: &mut Ctx<'_>, _key: BrokerKey) {
        self.outage_reported = false;
        self.wanted_since = None;
        self.last_failure = None;
    }

    /// A connection went down, or an attempt failed.
    pub fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, error: Option<&Error>) {
        let Some(error) = error else { return };
        self.last_failure = Some(error.clone());
        let candidates = self.candidates(ctx);
        let all_down = candidates.iter().all(|k| ctx.connections.is_unreachable(*k));
        if all_down && !self.outage_reported && !candidates.is_empty() {
            self.outage_reported = true;
            // A broker that metadata named may have a bootstrap address, too.
            let addresses: BTreeSet<_> = candidates.iter().map(|k| ctx.connections.address(*k)).collect();
            let n = addresses.len();
            let text = format!(
                "{n}/{n} brokers are down: All broker connections are down; the last failure: {}",
                error.message
            );
            self.changes
                .push_back(Change::AllBrokersDown(Error::new(ErrorCode::L_ALL_BROKERS_DOWN, text)));
            self.rebootstrap(ctx, "no known broker can be reached");
        }
    }
}
