//! `client.dns.lookup=resolve_canonical_bootstrap_servers_only`: bootstrap names are replaced by the canonical names of
//! their addresses.

use std::time::Duration;

use super::bootstrap::Endpoint;
use crate::connection::{LookupId, reconnect_backoff};
use crate::context::Ctx;
use crate::log::{DebugContexts, level};
use crate::request::Attempts;
use crate::sys::Instant;

/// A bootstrap name whose canonical names are unknown.
#[derive(Debug)]
struct Pending {
    endpoint: Endpoint,
    lookup: Option<LookupId>,
    attempts: Attempts,
}

/// The bootstrap names whose canonical names are being looked up.
#[derive(Debug, Default)]
pub(super) struct CanonicalNames {
    pending: Vec<Pending>,
}

impl CanonicalNames {
    /// Adds bootstrap names and starts their look-ups.
    pub(super) fn add(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) {
        for endpoint in endpoints {
            if !self.pending.iter().any(|p| p.endpoint == *endpoint) {
                self.pending.push(Pending {
                    endpoint: endpoint.clone(),
                    lookup: None,
                    attempts: Attempts::starting_at(ctx.now),
                });
            }
        }
        self.look_up(ctx);
    }

    /// Returns the number of names whose canonical names are unknown.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Starts the look-ups that are due. Returns when the next one is.
    pub(super) fn look_up(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        for pending in &mut self.pending {
            if pending.lookup.is_none() && pending.attempts.is_due(ctx.now) {
                let Endpoint { host, port } = &pending.endpoint;
                pending.lookup = Some(ctx.connections.look_up_names(host, *port));
            }
        }
        let waiting = self.pending.iter().filter(|p| p.lookup.is_none());
        waiting.map(|p| p.attempts.next_at()).min()
    }

    /// Handles the result of a look-up, `None` if it is not one of these. Returns the canonical endpoints.
    ///
    /// # Errors
    /// The text of the failure. The look-up is repeated with the reconnect backoff.
    pub(super) fn on_names(
        &mut self,
        ctx: &mut Ctx<'_>,
        lookup: LookupId,
        result: Result<Vec<String>, String>,
    ) -> Option<Result<Vec<Endpoint>, String>> {
        let at = self.pending.iter().position(|p| p.lookup == Some(lookup))?;
        match result {
            Ok(names) => {
                let Endpoint { host, port } = self.pending.remove(at).endpoint;
                ctx.log.debug(DebugContexts::BROKER, "BOOTSTRAP", || {
                    format!("{host}:{port}: canonical names {}", names.join(", "))
                });
                let endpoint = |host| Endpoint { host, port };
                Some(Ok(names.into_iter().map(endpoint).collect()))
            }
            Err(why) => Some(Err(self.pending.get_mut(at)?.on_failed(ctx, &why))),
        }
    }
}

impl Pending {
    fn on_failed(&mut self, ctx: &mut Ctx<'_>, why: &str) -> String {
        let base = Duration::from_millis(ctx.conf.reconnect_backoff_ms.into());
        let max = Duration::from_millis(ctx.conf.reconnect_backoff_max_ms.into());
        let pause = reconnect_backoff(base, max, self.attempts.failed(), ctx.rng);
        self.lookup = None;
        self.attempts.back_off_for(ctx.now, pause);
        let text = format!("Failed to resolve '{}': {why}", self.endpoint);
        if self.attempts.failed() == 1 {
            ctx.log.log(level::ERROR, "BOOTSTRAP", || text.clone());
        } else {
            ctx.log.debug(DebugContexts::BROKER, "BOOTSTRAP", || text.clone());
        }
        text
    }
}
