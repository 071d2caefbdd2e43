//! How the idempotent producer numbers a partition's batches (KIP-98), and when it may number them anew (KIP-360).
//!
//! A broker remembers, for each partition and producer id, the epoch and the last sequence numbers. It takes a batch that
//! follows the last one, knows the last five again, and refuses everything else. So the order is the broker's to keep,
//! whatever is sent how often, as long as the client keeps three rules:
//!
//! - A batch keeps its numbers for as long as the broker may have it. Under other numbers it would be another batch, and
//!   could be written twice.
//! - When numbered records will never be written (they were given up, or the broker has lost what went before them), the
//!   numbers that follow are of no use. The partition waits until nothing is in flight and every batch of unknown fate
//!   was sent once more under its old numbers; then the epoch rises and numbers begin at zero. Epochs are each
//!   partition's own: the others go on undisturbed.
//! - A broker that knows nothing of the producer takes any sequence number as its first. Until it has taken one under
//!   the present epoch, one batch is in flight at a time.

use super::batch::Batch;
use super::partition_sender::PartitionSender;
use super::producer_id::ProducerId;
use crate::stats;
use crate::sys::Instant;
use crate::types::NodeId;

/// Batches of a partition in flight at most: brokers remember as many.
const IN_FLIGHT_MAX: usize = 5;
/// A partition that was idle for so long may have been forgotten by its broker (`producer.id.expiration.ms`, a day).
const CONFIRMED_FOR_MS: u64 = 10 * 60 * 1000;

/// The numbers of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SequenceStamp {
    pub(super) producer_id: i64,
    pub(super) epoch: i16,
    /// Of the first record.
    pub(super) base_sequence: i32,
    pub(super) transactional: bool,
}

impl SequenceStamp {
    /// The numbers of a batch that begins `records` later.
    pub(super) fn skip(self, records: usize) -> Self {
        SequenceStamp {
            base_sequence: advance(self.base_sequence, records),
            ..self
        }
    }
}

/// Sequence numbers go to `i32::MAX` and then on from zero.
fn advance(sequence: i32, records: usize) -> i32 {
    let sum = i64::from(sequence) + i64::try_from(records).unwrap_or(0);
    i32::try_from(sum & i64::from(i32::MAX)).unwrap_or(0)
}

/// Where a partition's numbers stand.
#[derive(Debug, Default)]
pub(super) struct SequenceState {
    /// Producer id and epoch, `None` before the first batch.
    current: Option<(i64, i16)>,
    next: i32,
    /// Numbered records will never be written: nothing more is numbered under this epoch.
    pub(super) gap: bool,
    /// When a broker last took a batch under this epoch.
    confirmed_at: Option<Instant>,
    transactional: bool,
    /// The number behind the last record that a broker took under this epoch, and behind the last one that met any end.
    acked: i32,
    settled: i32,
    /// The place of the last record that a broker took, counted from 1.
    acked_id: u64,
}

impl SequenceState {
    /// The numbers of the next batch.
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

    /// Begins a new epoch. False when the id has none left and `producer_id` is still the same: another id is needed.
    fn renew(&mut self, producer_id: i64) -> bool {
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

    /// The coordinator's id and epoch count. Under another epoch than before, numbers begin at zero.
    fn use_coordinator_epoch(&mut self, id: i64, epoch: i16) {
        if self.current != Some((id, epoch)) {
            *self = SequenceState {
                current: Some((id, epoch)),
                transactional: true,
                acked_id: self.acked_id,
                ..Default::default()
            };
        }
    }

    /// A broker has the batch of `records` with these numbers, whose first record has the place `first_id`.
    pub(super) fn on_acknowledged(&mut self, stamp: SequenceStamp, (first_id, records): (u64, usize), now: Instant) {
        self.acked_id = self.acked_id.max(first_id + records as u64);
        if self.is_current(stamp) {
            self.confirmed_at = Some(now);
            self.acked = advance(stamp.base_sequence, records);
            self.settled = self.acked;
        }
    }

    /// A batch with these numbers was given up.
    pub(super) fn on_abandoned(&mut self, stamp: SequenceStamp, records: usize) {
        self.gap = true;
        if self.is_current(stamp) {
            self.settled = advance(stamp.base_sequence, records);
        }
    }

    fn is_current(&self, stamp: SequenceStamp) -> bool {
        self.current == Some((stamp.producer_id, stamp.epoch))
    }

    /// The epoch in use.
    pub(super) fn epoch(&self) -> Option<i16> {
        self.current.map(|(_, epoch)| epoch)
    }

    /// Writes where the numbers stand.
    pub(super) fn write_stats(&self, to: &mut stats::Partition) {
        to.next_ack_seq = self.acked;
        to.next_err_seq = self.settled;
        to.acked_msgid = self.acked_id;
    }

    /// The partition is another one now, or its broker may have forgotten the producer.
    pub(super) fn unconfirm(&mut self) {
        self.confirmed_at = None;
    }

    fn in_flight_max(&self, now: Instant) -> usize {
        match self.confirmed_at {
            Some(at) if at.plus_ms(CONFIRMED_FOR_MS) > now => IN_FLIGHT_MAX,
            _ => 1,
        }
    }
}

impl PartitionSender {
    /// Whether an idempotent partition must wait for what it has in flight before it sends to `node`.
    pub(super) fn must_drain(&self, node: NodeId, now: Instant) -> bool {
        if self.in_flight.is_empty() {
            return false;
        }
        // A new leader gets nothing before the old one has answered: its answers say what the new one must get first.
        self.sent_to != Some(node)
            || self.in_flight.len() >= self.sequences.in_flight_max(now)
            || (self.sequences.gap && !self.has_unresolved())
    }

    /// Whether batches have numbers under which a broker may have them.
    fn has_unresolved(&self) -> bool {
        self.pending.iter().any(|b| b.stamp.is_some() && b.maybe_persisted)
    }

    /// Gives the batch at the front its numbers. Only to be called when [`must_drain`](Self::must_drain) is false; false
    /// when another producer id is needed first.
    pub(super) fn assign_to_front(&mut self, by: ProducerId) -> bool {
        let producer_id = match by {
            ProducerId::Idempotent { id } => id,
            ProducerId::Transactional { id, epoch } => {
                self.sequences.use_coordinator_epoch(id, epoch);
                id
            }
        };
        // A transaction with a gap is aborted; the next one comes with another epoch.
        let renews = !self.sequences.transactional;
        if renews && self.sequences.gap && !self.has_unresolved() {
            if !self.sequences.renew(producer_id) {
                return false;
            }
            for batch in &mut self.pending {
                batch.stamp = None;
                batch.sealed = None;
            }
        }
        if let Some(batch) = self.pending.front_mut()
            && batch.stamp.is_none()
            && !self.sequences.gap
        {
            batch.stamp = Some(self.sequences.assign(producer_id, batch.records.len()));
            batch.sealed = None;
        }
        true
    }

    /// Takes the batch to be sent next, after [`assign_to_front`](Self::assign_to_front): the first one, but across a gap one
    /// that has its numbers already.
    pub(super) fn take_next(&mut self) -> Option<Batch> {
        if !self.sequences.gap {
            return self.pending.pop_front();
        }
        let at = self.pending.iter().position(|b| b.stamp.is_some())?;
        self.pending.remove(at)
    }

    /// Whether everything that has numbers before a batch that came back is settled.
    pub(super) fn is_first_unresolved(&self, first_id: u64) -> bool {
        let earlier_in_flight = self.in_flight.iter().any(|b| b.first_id < first_id);
        let mut pending = self.pending.iter();
        let earlier_pending = pending.any(|b| b.stamp.is_some() && b.first_id < first_id);
        !earlier_in_flight && !earlier_pending
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
    fn an_epoch_begins_at_zero_and_the_last_one_needs_another_id() {
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
    fn one_batch_at_a_time_until_a_broker_knows_the_producer() {
        let now = Instant::from_micros(1_000_000);
        let mut sequences = SequenceState::default();
        let stamp = sequences.assign(1, 1);
        assert_eq!(sequences.in_flight_max(now), 1);
        sequences.on_acknowledged(stamp, (0, 1), now);
        assert_eq!(sequences.in_flight_max(now), IN_FLIGHT_MAX);
        assert_eq!(sequences.in_flight_max(now.plus_ms(CONFIRMED_FOR_MS)), 1);
        assert!(sequences.renew(1));
        sequences.on_acknowledged(stamp, (0, 1), now);
        assert_eq!(sequences.in_flight_max(now), 1, "that was the epoch before");
    }

    #[test]
    fn a_transaction_has_the_coordinators_epoch_and_never_raises_it() {
        let by = |epoch| ProducerId::Transactional { id: 9, epoch };
        let mut sequences = SequenceState::default();
        for (epoch, sequence) in [(4, 0), (4, 3), (5, 0)] {
            sequences.use_coordinator_epoch(9, epoch);
            let stamp = sequences.assign(9, 3);
            assert_eq!(
                (stamp.epoch, stamp.base_sequence, stamp.transactional),
                (epoch, sequence, true)
            );
        }
        sequences.gap = true;
        let mut partition_sender = PartitionSender {
            sequences,
            ..Default::default()
        };
        partition_sender.put_back(Batch::default());
        assert!(partition_sender.assign_to_front(by(5)));
        assert_eq!(partition_sender.pending[0].stamp, None);
        assert!(partition_sender.take_next().is_none(), "nothing is sent behind a gap");
        assert!(partition_sender.assign_to_front(by(6)));
        assert_eq!(
            partition_sender.pending[0].stamp.map(|s| (s.epoch, s.base_sequence)),
            Some((6, 0))
        );
    }

    fn partition_with(fates: &[(u64, bool)]) -> PartitionSender {
        let mut partition_sender = PartitionSender::default();
        for (first_id, maybe_persisted) in fates {
            let stamp = partition_sender.sequences.assign(1, 1);
            partition_sender.put_back(Batch {
                first_id: *first_id,
                maybe_persisted: *maybe_persisted,
                stamp: Some(stamp),
                ..Default::default()
            });
        }
        partition_sender.sequences.gap = true;
        partition_sender
    }

    #[test]
    fn batches_of_unknown_fate_keep_their_numbers() {
        let mut partition_sender = partition_with(&[(5, false), (6, true)]);
        assert!(partition_sender.assign_to_front(ProducerId::Idempotent { id: 1 }));
        let kept: Vec<_> = partition_sender.pending.iter().filter_map(|b| b.stamp).collect();
        assert_eq!(kept.iter().map(|s| s.epoch).collect::<Vec<_>>(), [0, 0]);
        let mut partition_sender = partition_with(&[(5, false), (6, false)]);
        assert!(partition_sender.assign_to_front(ProducerId::Idempotent { id: 1 }));
        let stamps: Vec<_> = partition_sender.pending.iter().map(|b| b.stamp).collect();
        assert_eq!((stamps[0].map(|s| s.epoch), stamps[1]), (Some(1), None));
    }
}
