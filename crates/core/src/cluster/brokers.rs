//! The brokers of the cluster: bootstrap addresses and the broker list of metadata.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::api::metadata::MetadataResponse;

use super::bootstrap::Endpoint;
use crate::config::ClientConfig;
use crate::connection::BrokerKey;
use crate::context::Ctx;
use crate::log::DebugContexts;
use crate::sys::Instant;
use crate::types::NodeId;

/// A broker in metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Rack, when the broker has one.
    pub rack: Option<String>,
}

/// The known brokers.
#[derive(Debug, Default)]
pub(super) struct Brokers {
    nodes: BTreeMap<NodeId, NodeInfo>,
    bootstrap: Vec<NodeId>,
    cluster_id: Option<String>,
    controller: Option<NodeId>,
    /// When the request was sent whose response brought the broker list.
    requested_at: Instant,
    /// Brokers that the broker list does not contain any more and whose last requests are in flight.
    departed: BTreeSet<NodeId>,
}

/// The effect of a response on the broker list.
pub(super) struct BrokerUpdate {
    /// The brokers of the response.
    pub(super) listed: BTreeSet<NodeId>,
    /// Those that were unknown.
    pub(super) new: BTreeSet<NodeId>,
    /// Set if brokers, cluster id or controller differ.
    pub(super) is_news: bool,
}

impl Brokers {
    /// Returns a broker's address.
    pub(super) fn get(&self, id: NodeId) -> Option<&NodeInfo> {
        self.nodes.get(&id)
    }

    /// Returns the brokers of the broker list.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &NodeInfo)> {
        self.nodes.iter().map(|(id, info)| (*id, info))
    }

    /// Returns the length of the broker list.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the controller.
    pub(super) fn controller(&self) -> Option<NodeId> {
        self.controller
    }

    /// Returns the cluster's id.
    pub(super) fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// Returns whether a response to a request that was sent at `sent_at` is the newest one with a broker list.
    pub(super) fn is_newest(&self, sent_at: Instant) -> bool {
        sent_at >= self.requested_at
    }

    /// Adds bootstrap addresses that are unknown. Returns whether there are any bootstrap addresses.
    pub(super) fn add_bootstrap(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) -> bool {
        for e in endpoints {
            let is_known = self.bootstrap.iter().any(|id| {
                let address = ctx.connections.address(BrokerKey::general(*id));
                address.is_some_and(|(host, port)| host == e.host && port == e.port)
            });
            if is_known {
                continue;
            }
            let id = NodeId(-1 - i32::try_from(self.bootstrap.len()).unwrap_or(i32::MAX - 1));
            ctx.connections
                .set_address(BrokerKey::general(id), &e.host, e.port, ctx.now);
            self.bootstrap.push(id);
        }
        !self.bootstrap.is_empty()
    }

    /// Returns the brokers that metadata can be requested from. With `metadata.recovery.strategy=none` bootstrap addresses
    /// are used only until brokers are known.
    pub(super) fn candidates(&self, conf: &ClientConfig) -> Vec<BrokerKey> {
        let only_listed = !self.nodes.is_empty() && conf.metadata_recovery_strategy == "none";
        let bootstrap: &[NodeId] = if only_listed { &[] } else { &self.bootstrap };
        let ids = self.nodes.keys().chain(bootstrap);
        ids.map(|id| BrokerKey::general(*id)).collect()
    }

    /// Adds a broker or changes its address.
    pub(super) fn add(&mut self, ctx: &mut Ctx<'_>, id: NodeId, info: NodeInfo) {
        if id.is_bootstrap() {
            return;
        }
        ctx.connections
            .set_address(BrokerKey::general(id), &info.host, info.port, ctx.now);
        self.departed.remove(&id);
        self.nodes.insert(id, info);
    }

    /// Applies the broker list of a response to a request that was sent at `sent_at`.
    pub(super) fn apply(&mut self, ctx: &mut Ctx<'_>, response: &MetadataResponse, sent_at: Instant) -> BrokerUpdate {
        self.requested_at = sent_at;
        let mut new = BTreeSet::new();
        let mut listed = BTreeSet::new();
        for b in &response.brokers {
            let Ok(port) = u16::try_from(b.port) else { continue };
            let id = NodeId(b.node_id);
            listed.insert(id);
            if !self.nodes.contains_key(&id) {
                new.insert(id);
            }
            let info = NodeInfo {
                host: b.host.clone(),
                port,
                rack: b.rack.clone(),
            };
            self.add(ctx, id, info);
        }
        // A broker that has left the cluster is removed, so that nothing connects to its address again.
        let gone: Vec<NodeId> = self.nodes.keys().filter(|id| !listed.contains(id)).copied().collect();
        if !new.is_empty() || !gone.is_empty() {
            ctx.log.debug(DebugContexts::BROKER, "BROKERS", || {
                let ids =
                    |of: &mut dyn Iterator<Item = &NodeId>| of.map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let (new, gone) = (ids(&mut new.iter()), ids(&mut gone.iter()));
                format!(
                    "the cluster has {} broker(s): new are [{new}], gone are [{gone}]",
                    listed.len()
                )
            });
        }
        let before = (self.cluster_id.take(), self.controller);
        self.cluster_id = response.cluster_id.clone().or(before.0.clone());
        self.controller = (response.controller_id >= 0).then_some(NodeId(response.controller_id));
        let ids_changed = before.0 != self.cluster_id || before.1 != self.controller;
        let is_news = ids_changed || !new.is_empty() || !gone.is_empty();
        // Requests in flight to a broker that leaves may still be answered.
        for id in gone {
            self.nodes.remove(&id);
            self.departed.insert(id);
        }
        BrokerUpdate { listed, new, is_news }
    }

    /// Lets bootstrap connections to addresses of listed brokers continue as these brokers' connections, so that no second
    /// connection is opened. Returns the former and the new keys.
    pub(super) fn adopt_bootstrap(&self, ctx: &mut Ctx<'_>) -> Vec<(BrokerKey, BrokerKey)> {
        let mut adopted = Vec::new();
        for boot in &self.bootstrap {
            let from = BrokerKey::general(*boot);
            if !ctx.connections.is_up(from) {
                continue;
            }
            let Some((host, port)) = ctx.connections.address(from) else {
                continue;
            };
            let mut nodes = self.nodes.iter();
            let same = nodes.find(|(_, node)| node.host == host && node.port == port);
            if let Some(to) = same.map(|(id, _)| BrokerKey::general(*id)) {
                ctx.connections.adopt(from, to, ctx.now);
                if ctx.connections.is_up(to) && !ctx.connections.is_up(from) {
                    adopted.push((from, to));
                }
            }
        }
        adopted
    }

    /// Removes every broker but the bootstrap addresses.
    pub(super) fn clear(&mut self, ctx: &mut Ctx<'_>) {
        let departed = std::mem::take(&mut self.departed);
        for id in std::mem::take(&mut self.nodes).into_keys().chain(departed) {
            ctx.connections.remove(BrokerKey::general(id), ctx.now);
        }
        self.requested_at = Instant::ORIGIN;
    }

    /// Removes the connections of departed brokers that have no request in flight.
    pub(super) fn remove_departed(&mut self, ctx: &mut Ctx<'_>) {
        self.departed.retain(|id| {
            let key = BrokerKey::general(*id);
            let is_busy = ctx.connections.is_up(key) && ctx.connections.in_flight(key) > 0;
            if !is_busy {
                ctx.connections.remove(key, ctx.now);
            }
            is_busy
        });
    }
}
