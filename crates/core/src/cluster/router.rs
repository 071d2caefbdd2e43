//! Resolution of a request's target to a connection.

use std::collections::BTreeMap;

use super::{Cluster, Coordinator};
use crate::connection::{BrokerKey, Outcome, Owner, Ready, Tag};
use crate::context::Ctx;
use crate::error::Error;
use crate::request::{Attempts, CoordinatorType, ReadyBroker, RequestIds, Target};
use crate::sys::Instant;

/// The way from the targets of one manager's requests to connections, and the numbers of these requests.
///
/// It keeps the coordinators that requests were for; controller and leaders come from metadata.
#[derive(Debug)]
pub struct Router {
    owner: Owner,
    ids: RequestIds,
    coordinators: BTreeMap<(CoordinatorType, String), Coordinator>,
}

impl Router {
    /// Returns a router for the requests of `owner`.
    pub fn new(owner: Owner) -> Self {
        Router {
            owner,
            ids: RequestIds::default(),
            coordinators: BTreeMap::new(),
        }
    }

    /// Returns the tag of the next request.
    pub fn next_tag(&mut self) -> Tag {
        self.ids.next_tag(self.owner)
    }

    /// Returns the connection to a target if it accepts a request now. Otherwise starts the missing step: a connection,
    /// a refresh of metadata, or the look-up of a coordinator. An event of a connection, or a change of metadata,
    /// triggers the next poll; `lookup` is the schedule of this request's refreshes, unused for a coordinator, which has its
    /// own.
    ///
    /// # Errors
    /// An error of the coordinator's look-up that a retry does not resolve, such as a failed authorization.
    pub fn connection(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        target: &Target,
        lookup: &mut Attempts,
    ) -> Result<Option<ReadyBroker>, Error> {
        let node = match target {
            Target::Any => return Ok(cluster.any_connection(ctx)),
            Target::Controller => cluster.controller(),
            Target::Broker(node) => Some(*node),
            Target::Leader(tp) => cluster.leader(&tp.topic, tp.partition),
            Target::Coordinator(kind, name) => {
                let of = (*kind, name.clone());
                let coordinator = self
                    .coordinators
                    .entry(of)
                    .or_insert_with(|| Coordinator::new(*kind, self.owner));
                let connection = coordinator.connection(ctx, cluster, name, &mut self.ids);
                return coordinator.take_failure().map_or(Ok(connection), Err);
            }
        };
        let ready = node.map_or(Ready::Unknown, |node| {
            ctx.connections.ready(BrokerKey::general(node), ctx.now)
        });
        match (node.map(BrokerKey::general), ready) {
            (Some(key), Ready::Yes(versions)) => return Ok(Some(ReadyBroker { key, versions })),
            (_, Ready::Busy) => return Ok(None),
            // The first attempt to connect precedes a refresh.
            (_, Ready::Connecting) if lookup.failed() == 0 => {}
            _ if lookup.is_due(ctx.now) => self.refresh(ctx, cluster, target),
            _ => return Ok(None),
        }
        lookup.back_off(ctx);
        Ok(None)
    }

    /// Requests what finds a target that [has moved](Target::has_moved): metadata, or the coordinator's look-up.
    pub fn refresh(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, target: &Target) {
        match target {
            Target::Any => {}
            Target::Controller | Target::Broker(_) => cluster.refresh_brokers(ctx.now),
            Target::Leader(tp) => cluster.request_refresh(&tp.topic, ctx.now),
            Target::Coordinator(kind, name) => {
                if let Some(coordinator) = self.coordinators.get_mut(&(*kind, name.clone())) {
                    coordinator.forget(ctx);
                }
            }
        }
    }

    /// Handles the outcome of a coordinator's look-up; returns false if `id` is none.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, id: u64, outcome: &Outcome) -> bool {
        let mut coordinators = self.coordinators.values_mut();
        coordinators.any(|coordinator| coordinator.on_outcome(ctx, key, id, outcome))
    }

    /// Schedules the look-up of coordinators whose connection has failed.
    pub fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        for coordinator in self.coordinators.values_mut() {
            coordinator.on_connection_down(ctx, key, error);
        }
    }

    /// Returns when a coordinator's look-up is to be continued.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        self.coordinators.values().filter_map(|c| c.wake(now)).min()
    }

    /// Forgets the coordinator of a target that no request is for any more.
    pub fn forget(&mut self, target: &Target) {
        if let Target::Coordinator(kind, name) = target {
            self.coordinators.remove(&(*kind, name.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
