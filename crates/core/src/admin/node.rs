//! A broker in results.

use ottla_protocol::api::metadata::MetadataResponseBroker;

use crate::cluster::{Cluster, NodeInfo};
use crate::connection::BrokerKey;
use crate::context::Ctx;
use crate::types::NodeId;

/// A broker and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The broker's id.
    pub id: NodeId,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its rack, if it has one.
    pub rack: Option<String>,
}

impl Node {
    /// Returns a broker of a response, with port 0 for a number that is no port.
    pub(super) fn new(id: i32, host: String, port: i32, rack: Option<String>) -> Self {
        Node {
            id: NodeId(id),
            host,
            port: u16::try_from(port).unwrap_or(0),
            rack,
        }
    }
}

impl From<MetadataResponseBroker> for Node {
    fn from(broker: MetadataResponseBroker) -> Self {
        Node::new(broker.node_id, broker.host, broker.port, broker.rack)
    }
}

/// Adds a broker that a look-up has named. A known one that is not connected gets the address of the look-up: it may have
/// moved since the last metadata, which is not refreshed for it.
pub(super) fn learn(ctx: &mut Ctx<'_>, cluster: &mut Cluster, broker: Node) {
    let Node { id, host, port, rack } = broker;
    if id.is_bootstrap() || host.is_empty() || port == 0 {
        return;
    }
    let known = cluster.node(id);
    let is_same = known.is_some_and(|info| info.host == host && info.port == port);
    if is_same || known.is_some() && ctx.connections.is_up(BrokerKey::general(id)) {
        return;
    }
    let rack = rack.or_else(|| known.and_then(|info| info.rack.clone()));
    cluster.add_node(ctx, id, NodeInfo { host, port, rack });
}
