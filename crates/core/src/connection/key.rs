//! Names of connections and of the requests on them.

use crate::types::NodeId;

/// The use of a connection. A broker handles the requests of one connection in their order, so requests that it may
/// hold back for long have a connection to themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Purpose {
    /// Metadata, Produce, Fetch, admin requests.
    General,
    /// Requests to the group or transaction coordinator: heartbeats must not wait behind a long poll.
    Coordinator,
}

/// The name of a connection: a broker and a purpose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BrokerKey {
    /// The broker.
    pub node: NodeId,
    /// The connection's purpose.
    pub purpose: Purpose,
}

impl BrokerKey {
    /// Returns the key of a broker's general connection.
    pub fn general(node: NodeId) -> Self {
        BrokerKey {
            node,
            purpose: Purpose::General,
        }
    }

    /// Returns the key of a broker's coordinator connection.
    pub fn coordinator(node: NodeId) -> Self {
        BrokerKey {
            node,
            purpose: Purpose::Coordinator,
        }
    }
}

/// The manager that sent a request and receives its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Owner {
    /// The connection itself (ApiVersions, SaslHandshake, SaslAuthenticate).
    BrokerConnection,
    /// Metadata.
    Cluster,
    /// The producer's sender.
    Producer,
    /// The consumer's fetcher.
    Fetcher,
    /// Offset look-ups.
    Offsets,
    /// The consumer group.
    Group,
    /// The share group.
    ShareGroup,
    /// Share sessions.
    ShareFetch,
    /// Admin calls.
    Admin,
    /// Client metrics.
    Telemetry,
}

/// The identity of a request, which its outcome carries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tag {
    /// The manager that sent the request.
    pub owner: Owner,
    /// The manager's number for the request.
    pub id: u64,
}
