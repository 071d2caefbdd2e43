//! The types of an error's number, fault and action.

/// The number of an error: negative for errors detected by this client, zero for no error, positive for the protocol's error
/// codes, which brokers return. Unknown values are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ErrorCode(pub i32);

/// The party that must act to resolve an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// None: a notification rather than an error, such as the end of a partition.
    NoOne,
    /// The application: its arguments, configuration, permissions, or order of calls.
    Caller,
    /// The broker, or the state of the cluster.
    Peer,
    /// The network: connections, name resolution, timeouts.
    Network,
    /// This library or its machine.
    Ourselves,
}

/// The possible reactions to an error: a set of bits.
///
/// It depends on the code alone. A manager that has the request and its own state may decide otherwise: an expired epoch,
/// for instance, is fatal for a fenced producer and harmless for one that is about to bump its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Action(u8);

impl Action {
    /// None: report the error.
    pub const NONE: Self = Self(0);
    /// The same request may succeed later.
    pub const RETRY: Self = Self(1);
    /// The cached metadata is stale: refresh it first.
    pub const REFRESH: Self = Self(2);
    /// The transaction cannot be committed any more, only aborted (KIP-360, KIP-890, KIP-1050).
    pub const ABORT: Self = Self(4);
    /// The client instance cannot continue.
    pub const FATAL: Self = Self(8);

    /// Returns the union of both sets.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// Returns true if the same request may succeed later.
    pub const fn is_retriable(self) -> bool {
        self.has(Self::RETRY)
    }

    /// Returns true if the metadata must be refreshed first.
    pub const fn refreshes_metadata(self) -> bool {
        self.has(Self::REFRESH)
    }

    /// Returns true if the current transaction must be aborted.
    pub const fn requires_abort(self) -> bool {
        self.has(Self::ABORT)
    }

    /// Returns true if the client instance cannot continue.
    pub const fn is_fatal(self) -> bool {
        self.has(Self::FATAL)
    }
}
