//! Who commits offsets, as coordinators see it.

/// As whom something is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitIdentity {
    /// Empty outside of a group.
    pub(super) member_id: String,
    /// The generation or the member epoch, -1 outside of both.
    pub(super) generation: i32,
    /// With member epochs (KIP-848), which rise while the member keeps its partitions: which of its memberships this is.
    /// As long as that lasts, a commit is sent with the epoch of the day.
    pub(super) incarnation: Option<u32>,
}

impl CommitIdentity {
    /// Nobody: for commits that are not made.
    pub(super) const NOBODY: CommitIdentity = CommitIdentity {
        member_id: String::new(),
        generation: -1,
        incarnation: None,
    };

    /// Whether the coordinator takes commits of both as coming from the same.
    pub(super) fn is_same(&self, other: &CommitIdentity) -> bool {
        self.incarnation == other.incarnation
            && self.member_id == other.member_id
            && (self.incarnation.is_some() || self == other)
    }
}
