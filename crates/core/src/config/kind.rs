//! Producers and consumers.

use std::fmt;

/// The kind of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientKind {
    /// Sends records.
    Producer,
    /// Reads records.
    Consumer,
}

impl fmt::Display for ClientKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientKind::Producer => "producer",
            ClientKind::Consumer => "consumer",
        })
    }
}
