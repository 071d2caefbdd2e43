//! Addresses of leaders in responses (KIP-951).

use ottla_protocol::api::{share_acknowledge, share_fetch};

use crate::cluster::NodeInfo;

/// The address of a broker that a response names as a leader.
#[derive(Debug)]
pub(super) struct Endpoint {
    node: i32,
    info: NodeInfo,
}

/// The endpoints of ShareFetch and ShareAcknowledge responses.
pub(super) trait WireEndpoint {
    /// Returns node id, host, port and rack.
    fn parts(self) -> (i32, String, i32, Option<String>);
}

impl WireEndpoint for share_fetch::NodeEndpoint {
    fn parts(self) -> (i32, String, i32, Option<String>) {
        (self.node_id, self.host, self.port, self.rack)
    }
}

impl WireEndpoint for share_acknowledge::NodeEndpoint {
    fn parts(self) -> (i32, String, i32, Option<String>) {
        (self.node_id, self.host, self.port, self.rack)
    }
}

/// Returns the endpoints with a valid port.
pub(super) fn endpoints<E: WireEndpoint>(wire: Vec<E>) -> Vec<Endpoint> {
    let valid = wire.into_iter().filter_map(|endpoint| {
        let (node, host, port, rack) = endpoint.parts();
        let port = u16::try_from(port).ok()?;
        let info = NodeInfo { host, port, rack };
        Some(Endpoint { node, info })
    });
    valid.collect()
}

/// Returns the address of a broker.
pub(super) fn address(endpoints: &[Endpoint], node: i32) -> Option<NodeInfo> {
    endpoints.iter().find(|e| e.node == node).map(|e| e.info.clone())
}
