//! `client.dns.lookup=resolve_canonical_bootstrap_servers_only`: the names of a bootstrap name's addresses take its place.

use super::super::bootstrap::Endpoint;
use super::{Change, Cluster, duration_ms};
use crate::connection::LookupId;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::sys::Instant;

/// A bootstrap name whose canonical names are not known yet.
#[derive(Debug)]
pub(super) struct Pending {
    endpoint: Endpoint,
    lookup: Option<LookupId>,
    retry_at: Instant,
    tries: u32,
}

impl Cluster {
    /// Has canonical names take the place of bootstrap names, once they are known.
    pub(super) fn add_canonical(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) {
        for endpoint in endpoints {
            if !self.canonical.iter().any(|p| p.endpoint == *endpoint) {
                self.canonical.push(Pending {
                    endpoint: endpoint.clone(),
                    lookup: None,
                    retry_at: ctx.now,
                    tries: 0,
                });
            }
        }
        self.look_up_canonical(ctx);
    }

    /// Asks for the names that are due; gives when the next one is.
    pub(super) fn look_up_canonical(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        for pending in &mut self.canonical {
            if pending.lookup.is_none() && pending.retry_at <= ctx.now {
                let Endpoint { host, port } = &pending.endpoint;
                pending.lookup = Some(ctx.connections.look_up_names(host, *port));
            }
        }
        let waiting = self.canonical.iter().filter(|p| p.lookup.is_none());
        waiting.map(|p| p.retry_at).min()
    }

    /// Handles the answer to a look-up of canonical names. One that failed is repeated with the reconnect backoff.
    pub fn on_names(&mut self, ctx: &mut Ctx<'_>, lookup: LookupId, result: Result<Vec<String>, String>) {
        let Some(at) = self.canonical.iter().position(|p| p.lookup == Some(lookup)) else {
            return;
        };
        match result {
            Ok(names) => {
                let Endpoint { host, port } = self.canonical.remove(at).endpoint;
                ctx.log.debug(DebugContexts::BROKER, "BOOTSTRAP", || {
                    format!("{host}:{port}: canonical names {}", names.join(", "))
                });
                let endpoint = |host| Endpoint { host, port };
                let endpoints: Vec<Endpoint> = names.into_iter().map(endpoint).collect();
                self.add_endpoints(ctx, &endpoints);
            }
            Err(why) => self.on_canonical_failed(ctx, at, &why),
        }
    }

    fn on_canonical_failed(&mut self, ctx: &mut Ctx<'_>, at: usize, why: &str) {
        let (base, max) = (ctx.conf.reconnect_backoff_ms, ctx.conf.reconnect_backoff_max_ms);
        let Some(pending) = self.canonical.get_mut(at) else {
            return;
        };
        let doubled = duration_ms(base).saturating_mul(1 << pending.tries.min(20));
        pending.lookup = None;
        pending.retry_at = ctx.now + ctx.rng.jitter(doubled.min(duration_ms(max.max(base))), 0.25, 0.5);
        pending.tries = pending.tries.saturating_add(1);
        let text = format!("Failed to resolve '{}': {why}", pending.endpoint);
        if pending.tries == 1 {
            ctx.log.log(level::ERROR, "BOOTSTRAP", || text.clone());
        } else {
            ctx.log.debug(DebugContexts::BROKER, "BOOTSTRAP", || text.clone());
        }
        self.last_failure = Some(Error::new(ErrorCode::L_RESOLVE, text.clone()));
        if self.candidates(ctx).is_empty() && !self.outage_reported {
            self.outage_reported = true;
            let n = self.canonical.len();
            let text = format!("{n}/{n} brokers are down: All broker connections are down; the last failure: {text}");
            let error = Error::new(ErrorCode::L_ALL_BROKERS_DOWN, text);
            self.changes.push_back(Change::AllBrokersDown(error));
        }
    }
}
