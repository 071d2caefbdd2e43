//! The member as which offsets are committed and fetched.

/// The identity of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::consumer) struct CommitIdentity {
    /// Empty outside of a group.
    pub(in crate::consumer) member_id: String,
    /// The generation or the member epoch, -1 outside of both.
    pub(in crate::consumer) generation: i32,
    /// With member epochs (KIP-848), which increase while the member keeps its partitions: the number of the membership.
    /// While that lasts, a commit is sent with the present epoch.
    pub(in crate::consumer) incarnation: Option<u32>,
}

impl CommitIdentity {
    /// The identity of commits that are not sent.
    pub(in crate::consumer) const NONE: CommitIdentity = CommitIdentity {
        member_id: String::new(),
        generation: -1,
        incarnation: None,
    };

    /// Returns true if commits of both can be sent in one request.
    pub(in crate::consumer) fn is_same(&self, other: &CommitIdentity) -> bool {
        self.incarnation == other.incarnation
            && self.member_id == other.member_id
            && (self.incarnation.is_some() || self == other)
    }
}

/// The group and the member of a request to the coordinator.
#[derive(Debug, Clone, Copy)]
pub(in crate::consumer) struct GroupIdentity<'a> {
    pub(in crate::consumer) group_id: &'a str,
    pub(in crate::consumer) member: &'a CommitIdentity,
    pub(in crate::consumer) instance_id: Option<&'a str>,
}
