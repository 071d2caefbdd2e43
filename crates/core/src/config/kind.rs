//! Producers and consumers.

use std::fmt;

/// The kind of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientKind {
    /// Sends records.
    Producer,
    /// Reads records.
    Consumer,
    /// Reads records as a member of a share group (KIP-932). Its name is that of a consumer, as in librdkafka.
    ShareConsumer,
}

impl ClientKind {
    /// Returns whether the client reads records.
    pub fn is_consumer(self) -> bool {
        self != ClientKind::Producer
    }
}

impl fmt::Display for ClientKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientKind::Producer => "producer",
            ClientKind::Consumer | ClientKind::ShareConsumer => "consumer",
        })
    }
}
