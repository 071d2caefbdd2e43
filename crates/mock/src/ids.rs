//! Identifiers of brokers, connections and delayed requests.

use std::fmt;

/// A broker's node id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BrokerId(pub i32);

impl fmt::Display for BrokerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A connection to a broker. The caller assigns the number, and must not reuse it for another connection of the same
/// broker before [`Cluster::disconnected`](crate::Cluster::disconnected).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A connection's unique key in the cluster.
pub(crate) type ConnectionKey = (BrokerId, ConnectionId);

/// A request in the purgatory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DelayedId(pub(crate) u64);
