//! The log of what happens to the records of share groups, for checkers.

use ottla_protocol::Uuid;

use crate::time::Time;

/// A change of the delivery of a range of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareEvent {
    /// The time of the change.
    pub at: Time,
    /// The share group.
    pub group: String,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
    /// The first offset of the range.
    pub first_offset: i64,
    /// The last offset of the range.
    pub last_offset: i64,
    /// The change.
    pub change: ShareChange,
}

/// A change of the delivery of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShareChange {
    /// A member acquired the records: they are in its response.
    Acquired {
        /// The member.
        member: String,
        /// The number of deliveries of each record, this one included.
        delivery_count: i32,
    },
    /// The member accepted the records (acknowledgement type 1).
    Accepted {
        /// The member.
        member: String,
    },
    /// The member released the records (2). They are available again, or archived: then [`ShareChange::Archived`] follows.
    Released {
        /// The member.
        member: String,
    },
    /// The member rejected the records (3).
    Rejected {
        /// The member.
        member: String,
    },
    /// The member found no record at the offsets (0): control records, or records that compaction has removed.
    Gap {
        /// The member.
        member: String,
    },
    /// The member renewed its acquisition locks (4).
    Renewed {
        /// The member.
        member: String,
    },
    /// The acquisition locks expired.
    LockExpired {
        /// The member that had acquired the records.
        member: String,
    },
    /// The member's share session ended: closed by the member, or with its connection.
    SessionEnded {
        /// The member that had acquired the records.
        member: String,
    },
    /// The records are not delivered any more, without an acknowledgement.
    Archived(ArchiveCause),
    /// A leader has read the durable state of the share partition. The range is empty and begins at the start offset.
    Loaded,
    /// The leader has discarded what it knew: another broker leads the partition, an operator has set the start offset, or
    /// the last session of the group at the broker has ended. All acquisitions have ended. The range is empty.
    Unloaded,
}

/// The reason for which records are archived without an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveCause {
    /// They were delivered as often as allowed.
    DeliveryCountLimit,
    /// They are before the start of the log.
    LogStart,
    /// Their transaction was aborted.
    AbortedTransaction,
    /// They are not in the log any more.
    Missing,
}

/// A range of records and its change, as a share partition reports it.
#[derive(Debug, Clone)]
pub(crate) struct RangeChange {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) change: ShareChange,
}

/// Appends a change, or extends the last one when it is the same and its range continues.
pub(crate) fn push_change(changes: &mut Vec<RangeChange>, first: i64, last: i64, change: ShareChange) {
    match changes.last_mut() {
        Some(before) if before.last + 1 == first && before.change == change => before.last = last,
        _ => changes.push(RangeChange { first, last, change }),
    }
}
