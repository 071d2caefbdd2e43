//! The timers of partitions and topics.

use std::collections::BTreeSet;

use super::PartitionId;
use crate::sys::Instant;

/// The kinds of timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum TimerKind {
    /// End of the open batch's linger.
    Linger,
    /// End of a retry's backoff.
    Backoff,
    /// `message.timeout.ms` of the oldest record.
    Expiry,
    /// `topic.metadata.propagation.max.ms` of a topic that does not exist on the brokers.
    Missing,
}

/// The armed timers of one partition or topic, one of each kind.
#[derive(Debug, Default)]
pub(super) struct Armed([Option<Instant>; 4]);

impl Armed {
    fn slot(&mut self, kind: TimerKind) -> &mut Option<Instant> {
        let [linger, backoff, expiry, missing] = &mut self.0;
        match kind {
            TimerKind::Linger => linger,
            TimerKind::Backoff => backoff,
            TimerKind::Expiry => expiry,
            TimerKind::Missing => missing,
        }
    }
}

/// All timers. A timer is not moved to a later time: it fires early, and its handler arms it again.
#[derive(Debug, Default)]
pub(super) struct Timers {
    set: BTreeSet<(Instant, TimerKind, PartitionId)>,
}

impl Timers {
    /// Arms a timer for `at` unless it is armed for an earlier time.
    pub(super) fn arm(&mut self, armed: &mut Armed, kind: TimerKind, id: PartitionId, at: Instant) {
        let slot = armed.slot(kind);
        if slot.is_some_and(|before| before <= at) || at == Instant::NEVER {
            return;
        }
        if let Some(before) = slot.replace(at) {
            self.set.remove(&(before, kind, id));
        }
        self.set.insert((at, kind, id));
    }

    /// Removes the next due timer. The caller must pass it to [`fired`].
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<(TimerKind, PartitionId)> {
        let &(at, kind, id) = self.set.first()?;
        if at > now {
            return None;
        }
        self.set.pop_first();
        Some((kind, id))
    }

    /// Removes all timers of a kind, due or not.
    pub(super) fn take_all(&mut self, wanted: TimerKind) -> Vec<PartitionId> {
        let ids = self
            .set
            .iter()
            .filter(|(_, kind, _)| *kind == wanted)
            .map(|t| t.2)
            .collect();
        self.set.retain(|(_, kind, _)| *kind != wanted);
        ids
    }

    /// Returns the time of the next timer.
    pub(super) fn next(&self) -> Option<Instant> {
        self.set.first().map(|t| t.0)
    }
}

/// Disarms a timer that has fired.
pub(super) fn fired(armed: &mut Armed, kind: TimerKind) {
    *armed.slot(kind) = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_move_only_to_earlier_times() {
        let at = Instant::from_micros;
        let id = PartitionId { topic: 0, partition: 3 };
        let (mut timers, mut armed) = (Timers::default(), Armed::default());
        timers.arm(&mut armed, TimerKind::Expiry, id, at(50));
        timers.arm(&mut armed, TimerKind::Expiry, id, at(70));
        timers.arm(&mut armed, TimerKind::Linger, id, at(60));
        assert_eq!(timers.next(), Some(at(50)));
        timers.arm(&mut armed, TimerKind::Expiry, id, at(40));
        assert_eq!(timers.pop_due(at(39)), None);
        assert_eq!(timers.pop_due(at(55)), Some((TimerKind::Expiry, id)));
        fired(&mut armed, TimerKind::Expiry);
        assert_eq!(timers.pop_due(at(55)), None);
        timers.arm(&mut armed, TimerKind::Expiry, id, at(90));
        assert_eq!(timers.take_all(TimerKind::Linger), [id]);
        assert_eq!(timers.next(), Some(at(90)));
    }
}
