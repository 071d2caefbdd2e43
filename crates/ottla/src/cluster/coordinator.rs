//! Finding the coordinator of a group or of a transactional id, and the way to it.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::find_coordinator::FindCoordinatorRequest;

use super::Cluster;
use crate::connection::{BrokerKey, BrokerVersions, ConnectionTable, Outcome, Owner, Ready, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::sys::Instant;
use crate::types::NodeId;

/// What is coordinated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coordinated {
    /// A consumer group.
    Group,
    /// A transactional id (KIP-98).
    Transactions,
}

impl Coordinated {
    fn key_type(self) -> i8 {
        match self {
            Coordinated::Group => 0,
            Coordinated::Transactions => 1,
        }
    }

    /// The first FindCoordinator version that knows it.
    fn first_version(self) -> i16 {
        match self {
            Coordinated::Group => 0,
            Coordinated::Transactions => 1,
        }
    }
}

impl std::fmt::Display for Coordinated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Coordinated::Group => "consumer groups",
            Coordinated::Transactions => "transactions",
        })
    }
}

/// The first version that asks for several coordinators at once.
const FIRST_BATCHED: i16 = 4;

/// A broker that has not said for so long where the coordinator is may be frozen: another one is asked as well.
const LATE_AFTER_MS: u64 = 2000;
/// Brokers that are asked at once, late ones included.
const ASKED_MAX: usize = 3;

/// How often to look for a broker to ask while none is connected.
const SEARCH_INTERVAL_MS: u64 = 100;

/// Where the coordinator is, as far as it is known.
#[derive(Debug)]
pub(crate) struct Coordinator {
    of: Coordinated,
    /// Whose requests these are.
    owner: Owner,
    node: Option<NodeId>,
    /// The requests under way that look for it, and who was asked.
    asked: Vec<(u64, BrokerKey)>,
    /// When the last of them is late.
    late_at: Instant,
    retry_at: Instant,
    tries: u32,
    wanted: bool,
    /// An error that retrying does not mend, to be told.
    failure: Option<Error>,
}

impl Coordinator {
    pub(crate) fn new(of: Coordinated, owner: Owner) -> Self {
        Coordinator {
            of,
            owner,
            node: None,
            asked: Vec::new(),
            late_at: Instant::ORIGIN,
            retry_at: Instant::ORIGIN,
            tries: 0,
            wanted: false,
            failure: None,
        }
    }

    /// The connection to the coordinator when a request can be sent on it now. Otherwise what is missing is got under way.
    pub(crate) fn connection(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        name: &str,
        next_id: &mut u64,
    ) -> Option<(BrokerKey, Arc<BrokerVersions>)> {
        self.wanted = true;
        if let Some(node) = self.node {
            let key = BrokerKey::coordinator(node);
            match ctx.connections.ready(key, ctx.now) {
                Ready::Yes(versions) => {
                    self.wanted = false;
                    return Some((key, versions));
                }
                Ready::Busy | Ready::Connecting => return None,
                Ready::Unknown => self.node = None,
            }
        }
        self.find(ctx, cluster, name, next_id);
        None
    }

    fn find(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, name: &str, next_id: &mut u64) {
        if self.retry_at > ctx.now || !self.may_ask(ctx.now) {
            return;
        }
        let connection = match self.asked.is_empty() {
            true => cluster.any_connection(ctx),
            false => {
                let asked: Vec<BrokerKey> = self.asked.iter().map(|a| a.1).collect();
                cluster.another_connection(ctx, &asked)
            }
        };
        let Some((key, versions)) = connection else {
            return;
        };
        let Some(version) = versions
            .pick::<FindCoordinatorRequest>()
            .filter(|v| *v >= self.of.first_version())
        else {
            self.failure = Some(Error::new(
                ErrorCode::L_UNSUPPORTED_FEATURE,
                format!("the broker does not support {}", self.of),
            ));
            return self.back_off(ctx);
        };
        let request = match version >= FIRST_BATCHED {
            true => FindCoordinatorRequest {
                key_type: self.of.key_type(),
                coordinator_keys: vec![name.to_owned()],
                ..Default::default()
            },
            false => FindCoordinatorRequest {
                key: name.to_owned(),
                key_type: self.of.key_type(),
                ..Default::default()
            },
        };
        *next_id += 1;
        let tag = Tag {
            owner: self.owner,
            id: *next_id,
        };
        let timeout = Duration::from_millis(ctx.conf.socket_timeout_ms.into());
        match ctx.connections.send(key, ctx.now, tag, &request, version, timeout) {
            Ok(()) => {
                self.late_at = ctx.now.plus_ms(LATE_AFTER_MS << self.asked.len().min(ASKED_MAX));
                self.asked.push((*next_id, key));
            }
            Err(_) => self.back_off(ctx),
        }
    }

    /// Whether nobody is asked, or all who were are late.
    fn may_ask(&self, now: Instant) -> bool {
        self.asked.is_empty() || self.late_at <= now && self.asked.len() < ASKED_MAX
    }

    fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        self.retry_at = ctx.now + ctx.retry_delay(self.tries);
        self.tries = self.tries.saturating_add(1);
    }

    /// Whether `id` is this part's request; then its outcome was taken in.
    pub(crate) fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, id: u64, outcome: &Outcome) -> bool {
        let Some(at) = self.asked.iter().position(|a| a.0 == id) else {
            return false;
        };
        self.asked.remove(at);
        let Outcome::Reply(reply) = outcome else {
            if self.asked.is_empty() {
                self.back_off(ctx);
            }
            return true;
        };
        let response = match reply.decode::<FindCoordinatorRequest>() {
            Ok(response) => response,
            Err(e) => {
                ctx.connections.fail_unreadable(key, "FindCoordinator", e, ctx.now);
                self.back_off(ctx);
                return true;
            }
        };
        let (code, node, host, port) = match response.coordinators.into_iter().next() {
            Some(c) => (c.error_code, c.node_id, c.host, c.port),
            None => (response.error_code, response.node_id, response.host, response.port),
        };
        let code: ErrorCode = code.into();
        let port = u16::try_from(port).ok().filter(|p| *p > 0);
        match (code.is_ok(), port) {
            (true, Some(port)) if node >= 0 && !host.is_empty() => {
                let node = NodeId(node);
                let (context, facility, of) = match self.of {
                    Coordinated::Group => (DebugContexts::CGRP, "CGRPCOORD", "Group"),
                    Coordinated::Transactions => (DebugContexts::EOS, "TXNCOORD", "Transaction"),
                };
                ctx.log.debug(context, facility, || {
                    format!("{of} coordinator is {host}:{port} id {node}")
                });
                ctx.connections
                    .set_address(BrokerKey::coordinator(node), &host, port, ctx.now);
                self.node = Some(node);
                self.tries = 0;
                // The first answer counts.
                self.asked.clear();
            }
            _ => {
                if !code.is_ok() && !code.action().is_retriable() {
                    let text = format!("FindCoordinator failed: {}", code.description());
                    self.failure = Some(Error::new(code, text));
                }
                self.back_off(ctx);
            }
        }
        true
    }

    /// Another way to the coordinator than the connection that waits for the group, once [`connection`](Self::connection) has given
    /// that; the same where there is no other.
    pub(crate) fn connection_aside(
        &self,
        ctx: &mut Ctx<'_>,
        connection: (BrokerKey, Arc<BrokerVersions>),
    ) -> Option<(BrokerKey, Arc<BrokerVersions>)> {
        let key = BrokerKey::general(self.node?);
        match ctx.connections.ready(key, ctx.now) {
            Ready::Yes(versions) => Some((key, versions)),
            Ready::Busy | Ready::Connecting => None,
            Ready::Unknown => Some(connection),
        }
    }

    /// Closes the connection to the coordinator: what it holds up must not wait.
    pub(crate) fn force_close(&self, ctx: &mut Ctx<'_>) {
        if let Some(node) = self.node {
            ctx.connections.force_close(BrokerKey::coordinator(node), ctx.now);
        }
    }

    /// The coordinator said that it is not, or cannot be reached: look for it again.
    pub(crate) fn forget(&mut self, ctx: &mut Ctx<'_>) {
        if self.node.take().is_some() {
            self.back_off(ctx);
        }
    }

    pub(crate) fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        if error.is_some() && self.node.map(BrokerKey::coordinator) == Some(key) {
            self.forget(ctx);
        }
    }

    /// How far the way to it is, by the name that programs know.
    pub(crate) fn public_state(&self, connections: &ConnectionTable) -> &'static str {
        match self.node {
            Some(node) if connections.is_up(BrokerKey::coordinator(node)) => "up",
            Some(_) => "wait-broker-transport",
            None if !self.asked.is_empty() => "wait-coord",
            None if self.wanted => "query-coord",
            None => "init",
        }
    }

    /// An error to be told to the application, once.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// When a search that is wanted may go on. Without any broker there is no event to wait for, so look again soon.
    pub(crate) fn wake(&self, now: Instant) -> Option<Instant> {
        if !self.wanted || self.node.is_some() {
            return None;
        }
        if self.may_ask(now) {
            return Some(self.retry_at.max(now.plus_ms(SEARCH_INTERVAL_MS)));
        }
        (self.asked.len() < ASKED_MAX).then_some(self.late_at)
    }
}

/// Whether an error of the group's requests says that the coordinator is elsewhere or not ready.
pub(crate) fn is_coordinator_error(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE)
}
