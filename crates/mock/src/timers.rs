//! Everything that will happen by itself, ordered by time and then by the order in which it was arranged.

use std::collections::BTreeMap;

use ottla_protocol::Uuid;

use crate::Time;
use crate::ids::{ConnectionKey, DelayedId};

/// What a member is waited for, each for a limited time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemberTimer {
    /// Its next heartbeat.
    Session,
    /// To give up what it has to (consumer protocol).
    Revocation,
    /// To join again (classic protocol).
    Join,
    /// To fetch its assignment (classic protocol).
    Sync,
}

/// What a timer does when it fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A parked request has waited as long as it may.
    RequestExpired(DelayedId),
    /// The first response in a connection's outbox has been held back long enough.
    Release(ConnectionKey),
    /// A throttled connection is listened to again.
    Unmute(ConnectionKey),
    /// The followers have caught up to an offset of a partition, unless it has got another leader since.
    Replicated {
        topic: Uuid,
        partition: i32,
        leader_epoch: i32,
        offset: i64,
    },
    /// A member of a classic group may have missed its session timeout.
    MemberSession { group: String, member: String },
    /// A member of a consumer group has not done what it is waited for.
    ConsumerMember {
        group: String,
        member: String,
        timer: MemberTimer,
    },
    /// The time for members to join again is over.
    JoinPhase { group: String },
    /// The time for members to fetch their assignment is over.
    SyncPhase { group: String },
    /// A transaction has been open for as long as it may.
    TransactionTimeout { id: String },
    /// Markers of a transaction's end are to be written.
    TransactionMarkers { id: String },
}

/// Names an arranged timer, so that it can be called off.
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

    /// Calls a timer off; one that has fired already is left alone.
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
    fn timers_fire_in_order_and_can_be_called_off() {
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
