//! A broker in results.

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
