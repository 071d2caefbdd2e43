//! The way in which members of a group exchange partitions.

/// The way in which members of a group exchange partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RebalanceProtocol {
    /// The client is not in a group, or the protocol of its group is not known yet.
    #[default]
    None,
    /// All members revoke all partitions before each assignment.
    Eager,
    /// Members keep the partitions that remain assigned to them (KIP-429, KIP-848): only changes are revoked and assigned.
    Cooperative,
}
