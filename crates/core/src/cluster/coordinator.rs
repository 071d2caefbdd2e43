//! Discovery of the coordinator of a group or a transactional id, and the connection to it.

use ottla_protocol::api::find_coordinator::FindCoordinatorRequest;

use super::Cluster;
use crate::connection::{BrokerKey, ConnectionTable, Outcome, Owner, Ready};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::request::{Attempts, CoordinatorType, ReadyBroker, RequestIds, decode, unsupported};
use crate::sys::Instant;
use crate::types::NodeId;

/// Time without a response after which FindCoordinator goes to another broker as well: the first one may be frozen. It
/// doubles with each further broker.
const LATE_AFTER_MS: u64 = 2000;
/// Maximum number of FindCoordinator requests in flight, late ones included.
const LOOKUPS_MAX: usize = 3;

/// Interval of the search for a connected broker, in milliseconds.
const SEARCH_INTERVAL_MS: u64 = 100;

/// The coordinator of one group or transactional id.
#[derive(Debug)]
pub(crate) struct Coordinator {
    kind: CoordinatorType,
    /// The manager that the requests belong to.
    owner: Owner,
    /// The coordinator, once it is known.
    node: Option<NodeId>,
    /// The FindCoordinator requests in flight: their ids and the connections that they were sent on.
    lookups: Vec<(u64, BrokerKey)>,
    /// When the newest of them becomes late.
    late_at: Instant,
    attempts: Attempts,
    wanted: bool,
    /// An error that retries do not resolve, until it is reported.
    failure: Option<Error>,
}

impl Coordinator {
    pub(crate) fn new(kind: CoordinatorType, owner: Owner) -> Self {
        Coordinator {
            kind,
            owner,
            node: None,
            lookups: Vec::new(),
            late_at: Instant::ORIGIN,
            attempts: Attempts::default(),
            wanted: false,
            failure: None,
        }
    }

    /// Returns the connection to the coordinator of `name` if a request can be sent on it now. Otherwise starts what is
    /// missing: the look-up or the connection.
    pub(crate) fn connection(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        name: &str,
        ids: &mut RequestIds,
    ) -> Option<ReadyBroker> {
        self.wanted = true;
        if let Some(node) = self.node {
            let key = BrokerKey::coordinator(node);
            match ctx.connections.ready(key, ctx.now) {
                Ready::Yes(versions) => {
                    self.wanted = false;
                    return Some(ReadyBroker { key, versions });
                }
                Ready::Busy | Ready::Connecting => return None,
                Ready::Unknown => self.node = None,
            }
        }
        self.find(ctx, cluster, name, ids);
        None
    }

    fn find(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, name: &str, ids: &mut RequestIds) {
        if !self.attempts.is_due(ctx.now) || !self.may_look_up(ctx.now) {
            return;
        }
        let broker = match self.lookups.is_empty() {
            true => cluster.any_connection(ctx),
            false => {
                let queried: Vec<BrokerKey> = self.lookups.iter().map(|lookup| lookup.1).collect();
                cluster.another_connection(ctx, &queried)
            }
        };
        let Some(broker) = broker else { return };
        let first = match self.kind {
            CoordinatorType::Group => 0,
            CoordinatorType::Transaction => FindCoordinatorRequest::TRANSACTIONS_SINCE,
        };
        let Ok(version) = broker.version_within::<FindCoordinatorRequest>(first, i16::MAX) else {
            self.failure = Some(unsupported(format!("the broker does not support {}", self.kind)));
            self.attempts.back_off(ctx);
            return;
        };
        let key_type = self.kind.key_type();
        let request = match version >= FindCoordinatorRequest::KEY_LIST_SINCE {
            true => FindCoordinatorRequest {
                key_type,
                coordinator_keys: vec![name.to_owned()],
                ..Default::default()
            },
            false => FindCoordinatorRequest {
                key: name.to_owned(),
                key_type,
                ..Default::default()
            },
        };
        let tag = ids.next_tag(self.owner);
        let timeout = ctx.socket_timeout();
        match broker.send(ctx, tag, &request, version, timeout) {
            Ok(()) => {
                self.late_at = ctx.now.plus_ms(LATE_AFTER_MS << self.lookups.len().min(LOOKUPS_MAX));
                self.lookups.push((tag.id, broker.key));
            }
            Err(_) => {
                self.attempts.back_off(ctx);
            }
        }
    }

    /// Returns whether no look-up is in flight, or all are late and fewer than [`LOOKUPS_MAX`].
    fn may_look_up(&self, now: Instant) -> bool {
        self.lookups.is_empty() || self.late_at <= now && self.lookups.len() < LOOKUPS_MAX
    }

    /// Handles the outcome of request `id`; returns false if the request is not one of this type.
    pub(crate) fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, id: u64, outcome: &Outcome) -> bool {
        let Some(at) = self.lookups.iter().position(|lookup| lookup.0 == id) else {
            return false;
        };
        self.lookups.remove(at);
        let Outcome::Reply(reply) = outcome else {
            if self.lookups.is_empty() {
                self.attempts.back_off(ctx);
            }
            return true;
        };
        let Ok(response) = decode::<FindCoordinatorRequest>(ctx, key, reply) else {
            self.attempts.back_off(ctx);
            return true;
        };
        let (code, node, host, port) = match response.coordinators.into_iter().next() {
            Some(c) => (c.error_code, c.node_id, c.host, c.port),
            None => (response.error_code, response.node_id, response.host, response.port),
        };
        let code: ErrorCode = code.into();
        let port = u16::try_from(port).ok().filter(|p| *p > 0);
        match (code.is_ok(), port) {
            (true, Some(port)) if node >= 0 && !host.is_empty() => self.on_found(ctx, NodeId(node), &host, port),
            _ => {
                if !code.is_ok() && !code.action().is_retriable() {
                    let text = format!("FindCoordinator failed: {}", code.description());
                    self.failure = Some(Error::new(code, text));
                }
                self.attempts.back_off(ctx);
            }
        }
        true
    }

    fn on_found(&mut self, ctx: &mut Ctx<'_>, node: NodeId, host: &str, port: u16) {
        let (context, facility, of) = match self.kind {
            CoordinatorType::Group => (DebugContexts::CGRP, "CGRPCOORD", "Group"),
            CoordinatorType::Transaction => (DebugContexts::EOS, "TXNCOORD", "Transaction"),
        };
        ctx.log.debug(context, facility, || {
            format!("{of} coordinator is {host}:{port} id {node}")
        });
        ctx.connections
            .set_address(BrokerKey::coordinator(node), host, port, ctx.now);
        self.node = Some(node);
        self.attempts.reset();
        // The first response counts; later ones are ignored.
        self.lookups.clear();
    }

    /// Returns the general connection to the coordinator's broker, on which requests do not wait behind the group's, or
    /// `connection` where the broker is known as coordinator only. [`connection`](Self::connection) has returned
    /// `connection` before.
    pub(crate) fn connection_aside(&self, ctx: &mut Ctx<'_>, connection: &ReadyBroker) -> Option<ReadyBroker> {
        let key = BrokerKey::general(self.node?);
        match ctx.connections.ready(key, ctx.now) {
            Ready::Yes(versions) => Some(ReadyBroker { key, versions }),
            Ready::Busy | Ready::Connecting => None,
            Ready::Unknown => Some(connection.clone()),
        }
    }

    /// Closes the connection to the coordinator, so that a request that the broker holds back does not delay others.
    pub(crate) fn force_close(&self, ctx: &mut Ctx<'_>) {
        if let Some(node) = self.node {
            ctx.connections.force_close(BrokerKey::coordinator(node), ctx.now);
        }
    }

    /// Schedules a new look-up: the broker is not the coordinator any more, or is unreachable.
    pub(crate) fn forget(&mut self, ctx: &mut Ctx<'_>) {
        if self.node.take().is_some() {
            self.attempts.back_off(ctx);
        }
    }

    pub(crate) fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        if error.is_some() && self.node.map(BrokerKey::coordinator) == Some(key) {
            self.forget(ctx);
        }
    }

    /// Returns the state of the discovery as librdkafka's statistics name it.
    pub(crate) fn public_state(&self, connections: &ConnectionTable) -> &'static str {
        match self.node {
            Some(node) if connections.is_up(BrokerKey::coordinator(node)) => "up",
            Some(_) => "wait-broker-transport",
            None if !self.lookups.is_empty() => "wait-coord",
            None if self.wanted => "query-coord",
            None => "init",
        }
    }

    /// Removes and returns the error to report to the application.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Returns when a discovery that is wanted can proceed. While no broker is connected no event announces one, so the
    /// search is repeated soon.
    pub(crate) fn wake(&self, now: Instant) -> Option<Instant> {
        if !self.wanted || self.node.is_some() {
            return None;
        }
        if self.may_look_up(now) {
            return Some(self.attempts.next_at().max(now.plus_ms(SEARCH_INTERVAL_MS)));
        }
        (self.lookups.len() < LOOKUPS_MAX).then_some(self.late_at)
    }
}

/// Returns whether an error code of a group's or transaction's request means that the coordinator has moved or is not
/// ready.
pub(crate) fn is_coordinator_error(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE)
}
