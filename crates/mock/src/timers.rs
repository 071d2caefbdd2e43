//! All pending timers, ordered by time and then by creation.

use std::collections::BTreeMap;

use ottla_protocol::Uuid;

use crate::ids::{BrokerId, ConnectionKey, DelayedId};
use crate::time::Time;

/// The timeouts of a group member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemberTimer {
    /// The next heartbeat.
    Session,
    /// The member revokes partitions (consumer protocol).
    Revocation,
    /// The member rejoins (classic protocol).
    Join,
    /// The member sends SyncGroup (classic protocol).
    Sync,
}

/// The effect of a timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A delayed request has reached its deadline.
    RequestExpired(DelayedId),
    /// The first delayed response of a connection is due.
    Release(ConnectionKey),
    /// A throttled connection is unmuted.
    Unmute(ConnectionKey),
    /// The followers have copied a partition up to an offset, unless the leader has changed since.
    Replicated {
        topic: Uuid,
        partition: i32,
        leader_epoch: i32,
        offset: i64,
    },
    /// The added replicas of a reassigned partition have copied its log.
    Reassigned { topic: Uuid, partition: i32 },
    /// A broker has copied a replica to another log directory.
    ReplicaCopied {
        broker: BrokerId,
        topic: Uuid,
        partition: i32,
    },
    /// The session timeout of a member of a classic group.
    MemberSession { group: String, member: String },
    /// A timeout of a member of a consumer group.
    ConsumerMember {
        group: String,
        member: String,
        timer: MemberTimer,
    },
    /// The end of the join phase.
    JoinPhase { group: String },
    /// The end of the sync phase.
    SyncPhase { group: String },
    /// A transaction exceeds its timeout.
    TransactionTimeout { id: String },
    /// The time to write the markers of a transaction.
    TransactionMarkers { id: String },
}

/// The id of a pending timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerId {
    at: Time,
    sequence: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    entries: BTreeMap<TimerId, Timer>,
    next_sequence: u64,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Time, timer: Timer) -> TimerId {
        let id = TimerId {
            at,
            sequence: self.next_sequence,
        };
        self.next_sequence += 1;
        self.entries.insert(id, timer);
        id
    }

    /// Cancels a timer; no effect after it has fired.
    pub(crate) fn cancel(&mut self, id: TimerId) {
        self.entries.remove(&id);
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.entries.first_key_value().map(|(id, _)| id.at)
    }

    pub(crate) fn pop_due(&mut self, now: Time) -> Option<Timer> {
        let entry = self.entries.first_entry()?;
        (entry.key().at <= now).then(|| entry.remove())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_and_can_be_cancelled() {
        let mut timers = Timers::default();
        let group = |name: &str| Timer::JoinPhase { group: name.into() };
        timers.set(Time(20), group("late"));
        let off = timers.set(Time(5), group("off"));
        timers.set(Time(10), group("first"));
        timers.set(Time(10), group("second"));
        timers.cancel(off);
        assert_eq!(timers.next(), Some(Time(10)));
        assert_eq!(timers.pop_due(Time(9)), None);
        assert_eq!(timers.pop_due(Time(10)), Some(group("first")));
        assert_eq!(timers.pop_due(Time(10)), Some(group("second")));
        assert_eq!(timers.pop_due(Time(10)), None);
        assert_eq!(timers.len(), 1);
    }
}
