//! A broker in results.

use ottla_protocol::api::metadata::MetadataResponseBroker;

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
