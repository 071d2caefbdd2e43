//! Sequence numbers and epochs of an idempotent producer's batches in one partition (KIP-98, KIP-360).
//!
//! For each partition and producer id, a broker stores the epoch and the last sequence numbers. It appends a batch that
//! follows the last one, recognizes the last five batches as duplicates, and rejects every other batch. So the broker
//! keeps the order, however often batches are sent, if the client obeys three rules:
//!
//! - A batch keeps its numbers while the broker may have it. Under other numbers it would be another batch, and could be
//!   written twice.
//! - When numbered records will never be written (they were abandoned, or the broker has lost records before them), the
//!   broker rejects the numbers that follow. The partition waits until nothing is in flight and each batch that may
//!   have been written was sent once more under its old numbers. Then the epoch rises and sequences begin at zero. Each
//!   partition has its own epoch: other partitions are not affected.
//! - A broker without state of the producer accepts any sequence number as the first. Until it has accepted one in the
//!   present epoch, one batch is in flight at a time.
//!
//! A batch that may have been written, and that the broker rejects under its old numbers when every batch before it is
//! settled, fails as possibly persisted. One that was certainly not written gets new numbers.
//!
//! The epoch of a transactional producer is the coordinator's: after a gap nothing more is numbered, and the transaction is
//! aborted. Each partition detects the coordinator's next epoch by itself, and its sequences begin at zero
//! ([`SequenceState::use_coordinator_epoch`]). Therefore no numbered batch may be left when a transaction has ended: commit
//! and abort wait until nothing is in flight.

use crate::stats;
use crate::sys::Instant;

/// The maximum number of a partition's batches in flight: brokers store as many.
const IN_FLIGHT_MAX: usize = 5;
/// The idle time in ms after which a broker may have dropped its state of the producer (`producer.id.expiration.ms` is
/// a day by default).
const CONFIRMED_FOR_MS: u64 = 10 * 60 * 1000;

/// The producer id, and the epoch if it is common to all partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProducerId {
    /// A producer id; each partition has its own epoch.
    Idempotent { id: i64 },
    /// The id and epoch assigned by the transaction coordinator, for all partitions.
    Transactional { id: i64, epoch: i16 },
}

/// The producer id, epoch and sequence numbers of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SequenceStamp {
    pub(super) producer_id: i64,
    pub(super) epoch: i16,
    /// The sequence number of the first record.
    pub(super) base_sequence: i32,
    pub(super) transactional: bool,
}

impl SequenceStamp {
    /// Returns the numbers of a batch that begins `records` later.
    pub(super) fn skip(self, records: usize) -> Self {
        SequenceStamp {
            base_sequence: advance(self.base_sequence, records),
            ..self
        }
    }
}

/// Returns `sequence + records`; sequence numbers wrap from `i32::MAX` to zero.
fn advance(sequence: i32, records: usize) -> i32 {
    let sum = i64::from(sequence) + i64::try_from(records).unwrap_or(0);
    i32::try_from(sum & i64::from(i32::MAX)).unwrap_or(0)
}

/// The sequence numbers of a partition.
#[derive(Debug, Default)]
pub(super) struct SequenceState {
    /// The producer id and epoch, `None` before the first batch.
    current: Option<(i64, i16)>,
    next: i32,
    /// Numbered records will never be written: no more numbers are assigned in this epoch.
    gap: bool,
    /// The time at which a broker last accepted a batch in this epoch.
    confirmed_at: Option<Instant>,
    transactional: bool,
    /// The sequence number after the last record that a broker accepted in this epoch, and after the last settled one.
    acked: i32,
    settled: i32,
    /// The number of the last record that a broker accepted, counted from 1.
    acked_id: u64,
}

impl SequenceState {
    /// Assigns the numbers of the next batch.
    pub(super) fn assign(&mut self, producer_id: i64, records: usize) -> SequenceStamp {
        let (producer_id, epoch) = *self.current.get_or_insert((producer_id, 0));
        let stamp = SequenceStamp {
            producer_id,
            epoch,
            base_sequence: self.next,
            transactional: self.transactional,
        };
        self.next = advance(self.next, records);
        stamp
    }

    /// Begins a new epoch. Returns false when the id has none left and `producer_id` is still the same: another id is
    /// needed.
    pub(super) fn renew(&mut self, producer_id: i64) -> bool {
        self.current = match self.current {
            Some((id, epoch)) if epoch < i16::MAX => Some((id, epoch + 1)),
            Some((id, _)) if id == producer_id => return false,
            _ => None,
        };
        self.next = 0;
        self.gap = false;
        self.confirmed_at = None;
        (self.acked, self.settled) = (0, 0);
        true
    }

    /// Uses the coordinator's id and epoch. In another epoch than before, sequences begin at zero.
    pub(super) fn use_coordinator_epoch(&mut self, id: i64, epoch: i16) {
        if self.current != Some((id, epoch)) {
            *self = SequenceState {
                current: Some((id, epoch)),
                transactional: true,
                acked_id: self.acked_id,
                ..Default::default()
            };
        }
    }

    /// Notes that a broker has the batch of `records` with these numbers, whose first record has the number `first_id`.
    pub(super) fn on_acknowledged(&mut self, stamp: SequenceStamp, (first_id, records): (u64, usize), now: Instant) {
        self.acked_id = self.acked_id.max(first_id + records as u64);
        if self.is_current(stamp) {
            self.confirmed_at = Some(now);
            self.acked = advance(stamp.base_sequence, records);
            self.settled = self.acked;
        }
    }

    /// Notes that a batch with these numbers was abandoned.
    pub(super) fn on_abandoned(&mut self, stamp: SequenceStamp, records: usize) {
        self.gap = true;
        if self.is_current(stamp) {
            self.settled = advance(stamp.base_sequence, records);
        }
    }

    /// Notes that numbered records will never be written: nothing more is numbered under this epoch. Returns whether
    /// that was not noted before.
    pub(super) fn mark_gap(&mut self) -> bool {
        !std::mem::replace(&mut self.gap, true)
    }

    /// Returns whether numbered records will never be written.
    pub(super) fn has_gap(&self) -> bool {
        self.gap
    }

    /// Returns whether the epoch is the transaction coordinator's.
    pub(super) fn is_transactional(&self) -> bool {
        self.transactional
    }

    fn is_current(&self, stamp: SequenceStamp) -> bool {
        self.current == Some((stamp.producer_id, stamp.epoch))
    }

    /// Returns the present epoch.
    pub(super) fn epoch(&self) -> Option<i16> {
        self.current.map(|(_, epoch)| epoch)
    }

    /// Writes the sequence numbers into the statistics.
    pub(super) fn write_stats(&self, to: &mut stats::Partition) {
        to.next_ack_seq = self.acked;
        to.next_err_seq = self.settled;
        to.acked_msgid = self.acked_id;
    }

    /// Notes that the brokers may have no state of the producer: the topic was created again.
    pub(super) fn unconfirm(&mut self) {
        self.confirmed_at = None;
    }

    pub(super) fn in_flight_max(&self, now: Instant) -> usize {
        match self.confirmed_at {
            Some(at) if at.plus_ms(CONFIRMED_FOR_MS) > now => IN_FLIGHT_MAX,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_wrap_to_zero() {
        assert_eq!(advance(i32::MAX, 1), 0);
        assert_eq!(advance(i32::MAX - 1, 4), 2);
        assert_eq!(advance(0, 10), 10);
    }

    #[test]
    fn epoch_begins_at_sequence_zero_and_the_last_epoch_needs_another_id() {
        let mut sequences = SequenceState::default();
        assert_eq!(sequences.assign(7, 10).base_sequence, 0);
        assert_eq!(sequences.assign(7, 5).base_sequence, 10);
        assert!(sequences.renew(7));
        let stamp = sequences.assign(7, 1);
        assert_eq!((stamp.epoch, stamp.base_sequence), (1, 0));
        sequences.current = Some((7, i16::MAX));
        assert!(!sequences.renew(7));
        assert!(sequences.renew(8));
        let stamp = sequences.assign(8, 1);
        assert_eq!((stamp.producer_id, stamp.epoch, stamp.base_sequence), (8, 0, 0));
    }

    #[test]
    fn one_batch_in_flight_until_a_broker_has_accepted_the_epoch() {
        let now = Instant::from_micros(1_000_000);
        let mut sequences = SequenceState::default();
        let stamp = sequences.assign(1, 1);
        assert_eq!(sequences.in_flight_max(now), 1);
        sequences.on_acknowledged(stamp, (0, 1), now);
        assert_eq!(sequences.in_flight_max(now), IN_FLIGHT_MAX);
        assert_eq!(sequences.in_flight_max(now.plus_ms(CONFIRMED_FOR_MS)), 1);
        assert!(sequences.renew(1));
        sequences.on_acknowledged(stamp, (0, 1), now);
        assert_eq!(sequences.in_flight_max(now), 1, "the batch belongs to the epoch before");
    }

    #[test]
    fn transaction_uses_the_coordinators_epoch() {
        let mut sequences = SequenceState::default();
        for (epoch, sequence) in [(4, 0), (4, 3), (5, 0)] {
            sequences.use_coordinator_epoch(9, epoch);
            let stamp = sequences.assign(9, 3);
            assert_eq!(
                (stamp.epoch, stamp.base_sequence, stamp.transactional),
                (epoch, sequence, true)
            );
        }
    }
}
