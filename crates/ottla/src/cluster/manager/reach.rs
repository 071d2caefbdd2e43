//! Finding a broker to ask: bootstrap addresses, random choice, outages, beginning again.

use std::sync::Arc;

use super::super::Ctx;
use super::super::bootstrap::{Endpoint, parse_endpoints};
use super::{Change, Cluster, duration_ms};
use crate::connection::{BrokerVersions, LinkKey, Ready};
use crate::error::{Error, ErrorCode};
use crate::event::{DebugContexts, level};
use crate::types::NodeId;

impl Cluster {
    /// Makes bootstrap addresses known.
    pub fn add_bootstrap(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) {
        for e in endpoints {
            let known = self.bootstrap.iter().any(|id| {
                ctx.links
                    .address(LinkKey::general(*id))
                    .is_some_and(|(h, p)| h == e.host && p == e.port)
            });
            if known {
                continue;
            }
            let id = NodeId(-1 - i32::try_from(self.bootstrap.len()).unwrap_or(i32::MAX - 1));
            ctx.links.set_address(LinkKey::general(id), &e.host, e.port, ctx.now);
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
    /// to, and the caller hears of it by a link event or at its next poll.
    pub fn any_link(&mut self, ctx: &mut Ctx<'_>) -> Option<(LinkKey, Arc<BrokerVersions>)> {
        let mut connecting = false;
        let mut busy = false;
        let mut up: Vec<(LinkKey, Arc<BrokerVersions>)> = Vec::new();
        for key in self.candidates(ctx) {
            if ctx.links.is_up(key) {
                match ctx.links.ready(key, ctx.now) {
                    Ready::Yes(versions) => up.push((key, versions)),
                    _ => busy = true,
                }
            } else {
                connecting |= ctx.links.is_active(key);
            }
        }
        // Brokers that metadata named are preferred to bootstrap addresses, which may be load balancers.
        if up.iter().any(|(key, _)| !key.node.is_bootstrap()) {
            up.retain(|(key, _)| !key.node.is_bootstrap());
        }
        // One that waits for nothing is not held up by a long poll.
        if let Some(least) = up.iter().map(|(key, _)| ctx.links.in_flight(*key)).min() {
            up.retain(|(key, _)| ctx.links.in_flight(*key) == least);
            self.any_wanted = false;
            return Some(up.swap_remove(ctx.rng.below(up.len())));
        }
        self.any_wanted = true;
        if !busy && !connecting {
            self.connect_at_random(ctx);
        }
        None
    }

    /// The brokers that may be asked for metadata. With `metadata.recovery.strategy=none` the bootstrap addresses count
    /// only until brokers are known.
    pub(super) fn candidates(&self, ctx: &Ctx<'_>) -> Vec<LinkKey> {
        let only_known = !self.nodes.is_empty() && ctx.conf.metadata_recovery_strategy == "none";
        let bootstrap: &[NodeId] = if only_known { &[] } else { &self.bootstrap };
        self.nodes
            .keys()
            .chain(bootstrap)
            .map(|id| LinkKey::general(*id))
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
        for id in std::mem::take(&mut self.nodes).into_keys() {
            ctx.links.remove(LinkKey::general(id), ctx.now);
        }
        self.failing_since = None;
        self.brokers_due = Some(ctx.now);
    }

    /// Notes a metadata request that failed; too long without any answer means that the known brokers are no use.
    pub(super) fn on_refresh_failed(&mut self, ctx: &mut Ctx<'_>) {
        let since = *self.failing_since.get_or_insert(ctx.now);
        let trigger = duration_ms(ctx.conf.metadata_recovery_rebootstrap_trigger_ms);
        if ctx.now.since(since) >= trigger {
            self.rebootstrap(ctx, "no metadata for metadata.recovery.rebootstrap.trigger.ms");
        }
    }

    /// Starts one attempt to a broker drawn at random, those never tried first.
    fn connect_at_random(&mut self, ctx: &mut Ctx<'_>) {
        if self.next_pick > ctx.now {
            return;
        }
        let usable: Vec<LinkKey> = self
            .candidates(ctx)
            .into_iter()
            .filter(|k| ctx.links.backoff_until(*k).is_none())
            .collect();
        let untried: Vec<LinkKey> = usable.iter().copied().filter(|k| !ctx.links.was_tried(*k)).collect();
        let pool = if untried.is_empty() { usable } else { untried };
        if let Some(&key) = pool.get(ctx.rng.below(pool.len())) {
            let interval = (u64::from(ctx.conf.reconnect_backoff_ms) / 2).clamp(10, 1000);
            self.next_pick = ctx.now.plus_ms(interval);
            ctx.log.debug(DebugContexts::BROKER, "CONNECT", || {
                format!("picked broker {} to connect to", key.node)
            });
            let _ = ctx.links.ready(key, ctx.now);
        }
    }

    /// A link came up.
    pub fn on_link_up(&mut self, _ctx: &mut Ctx<'_>, _key: LinkKey) {
        self.outage_reported = false;
        self.any_wanted = false;
        self.last_failure = None;
    }

    /// A link went down, or an attempt failed.
    pub fn on_link_down(&mut self, ctx: &mut Ctx<'_>, error: Option<&Error>) {
        let Some(error) = error else { return };
        self.last_failure = Some(error.clone());
        let candidates = self.candidates(ctx);
        let all_down = candidates.iter().all(|k| ctx.links.is_failing(*k));
        if all_down && !self.outage_reported && !candidates.is_empty() {
            self.outage_reported = true;
            let text = format!(
                "{}/{} brokers are down; the last failure: {}",
                candidates.len(),
                candidates.len(),
                error.message
            );
            self.changes
                .push_back(Change::AllBrokersDown(Error::new(ErrorCode::L_ALL_BROKERS_DOWN, text)));
            self.rebootstrap(ctx, "no known broker can be reached");
        }
    }
}
