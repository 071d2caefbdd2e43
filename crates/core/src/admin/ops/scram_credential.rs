//! SCRAM credentials of users (KIP-554).

/// A SCRAM mechanism, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScramMechanism(pub i8);

impl ScramMechanism {
    /// Not a mechanism.
    pub const UNKNOWN: Self = Self(0);
    /// SCRAM-SHA-256.
    pub const SHA_256: Self = Self(1);
    /// SCRAM-SHA-512.
    pub const SHA_512: Self = Self(2);
}

#[cfg(test)]
mod tests;
