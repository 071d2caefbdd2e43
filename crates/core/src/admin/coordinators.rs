//! The coordinators of a call's groups or transactional ids, looked up many at a time (KIP-699).

use std::collections::{BTreeSet, HashMap};

use ottla_protocol::api::find_coordinator::{Coordinator, FindCoordinatorRequest};

use super::lookups::{Lookups, Place};
use super::node::{Node, learn};
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, Outcome, Ready};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::request::{CoordinatorType, ReadyBroker, response_of};
use crate::sys::Instant;
use crate::types::NodeId;

/// The coordinators that are known, and the requests for others.
#[derive(Debug)]
pub(super) struct Coordinators {
    kind: CoordinatorType,
    known: HashMap<String, NodeId>,
    lookups: Lookups<String>,
}

/// A response about coordinators.
pub(super) struct Found {
    results: HashMap<String, Result<(), Error>>,
}

impl Found {
    /// Returns the result for a group or transactional id.
    pub(super) fn place(&self, name: &str) -> Place {
        match self.results.get(name) {
            None => Place::Other,
            Some(Ok(())) => Place::Found,
            Some(Err(error)) if error.code.action().is_retriable() => Place::Pending(error.clone()),
            Some(Err(error)) => Place::Refused(error.clone()),
        }
    }
}

impl Coordinators {
    pub(super) fn new(kind: CoordinatorType) -> Self {
        Coordinators {
            kind,
            known: HashMap::new(),
            lookups: Lookups::default(),
        }
    }

    /// Returns a coordinator.
    pub(super) fn coordinator(&self, name: &str) -> Option<NodeId> {
        self.known.get(name).copied()
    }

    /// Looks up a coordinator. The known one stays until the response.
    pub(super) fn want(&mut self, name: &String) {
        self.lookups.want(name);
    }

    /// Forgets a coordinator that is the coordinator no more.
    pub(super) fn forget(&mut self, name: &str) {
        self.known.remove(name);
    }

    /// Sends requests for the coordinators that are wanted: one, or before version 4 one for each.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router) {
        let Some((broker, mut names)) = self.lookups.due(ctx, cluster) else {
            return;
        };
        let version = match broker.version::<FindCoordinatorRequest>() {
            Ok(version) => version,
            Err(_) => return self.lookups.on_failed(ctx, names),
        };
        ctx.log.debug(DebugContexts::ADMIN, "COORDS", || {
            format!(
                "looking up {} coordinator(s) at broker {}",
                names.len(),
                broker.key.node
            )
        });
        if version >= FindCoordinatorRequest::KEY_LIST_SINCE {
            let request = FindCoordinatorRequest {
                key_type: self.kind.key_type(),
                coordinator_keys: names.iter().cloned().collect(),
                ..Default::default()
            };
            return self.send(ctx, router, &broker, (&request, version), names);
        }
        while let Some(name) = names.pop_first() {
            if !matches!(ctx.connections.ready(broker.key, ctx.now), Ready::Yes(_)) {
                // The connection announces when it accepts requests again.
                names.insert(name);
                names.iter().for_each(|name| self.lookups.want(name));
                return;
            }
            let request = FindCoordinatorRequest {
                key: name.clone(),
                key_type: self.kind.key_type(),
                ..Default::default()
            };
            self.send(ctx, router, &broker, (&request, version), BTreeSet::from([name]));
        }
    }

    fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        router: &mut Router,
        broker: &ReadyBroker,
        (request, version): (&FindCoordinatorRequest, i16),
        names: BTreeSet<String>,
    ) {
        let tag = router.next_tag();
        let timeout = ctx.socket_timeout();
        match broker.send(ctx, tag, request, version, timeout) {
            Ok(()) => self.lookups.on_sent(tag.id, broker.key, names),
            Err(_) => self.lookups.on_failed(ctx, names),
        }
    }

    /// Returns when [`poll`](Self::poll) is due.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        self.lookups.wake(now)
    }

    /// Returns whether a request has this id.
    pub(super) fn is_in_flight(&self, id: u64) -> bool {
        self.lookups.is_in_flight(id)
    }

    /// Handles the outcome of a request. Returns the response.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        (key, id, outcome): (BrokerKey, u64, Outcome),
    ) -> Option<Found> {
        let names = self.lookups.take(id)?;
        let response = match response_of::<FindCoordinatorRequest>(ctx, key, outcome) {
            Ok(response) => response,
            Err(_) => {
                self.lookups.on_failed(ctx, names);
                return None;
            }
        };
        self.lookups.on_answered(&names);
        let mut rows = response.coordinators;
        if rows.is_empty() {
            // Before version 4 the response is about the only name.
            rows.extend(names.first().map(|name| Coordinator {
                key: name.clone(),
                node_id: response.node_id,
                host: response.host,
                port: response.port,
                error_code: response.error_code,
                error_message: response.error_message,
                ..Default::default()
            }));
        }
        let absent = || Err(Error::from(ErrorCode::COORDINATOR_NOT_AVAILABLE));
        let mut results: HashMap<String, Result<(), Error>> =
            names.iter().map(|name| (name.clone(), absent())).collect();
        for row in rows.into_iter().filter(|row| names.contains(&row.key)) {
            let name = row.key.clone();
            let result = self.take_row(ctx, cluster, row);
            results.insert(name, result);
        }
        Some(Found { results })
    }

    /// Notes a coordinator, and adds its broker if the client does not know it.
    fn take_row(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, row: Coordinator) -> Result<(), Error> {
        let code = ErrorCode::from(row.error_code);
        if !code.is_ok() {
            return Err(Error::classified(code, row.error_message.unwrap_or_default()));
        }
        let node = NodeId(row.node_id);
        let port = u16::try_from(row.port).ok().filter(|port| *port > 0);
        let (Some(port), false) = (port, row.host.is_empty() || node.0 < 0) else {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE.into());
        };
        let broker = Node {
            id: node,
            host: row.host,
            port,
            rack: None,
        };
        learn(ctx, cluster, broker);
        self.known.insert(row.key, node);
        Ok(())
    }
}
