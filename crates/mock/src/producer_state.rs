//! The state of a partition's idempotent producers (KIP-98): epoch, sequence numbers and the latest batches.

use std::collections::{BTreeMap, VecDeque};

use ottla_protocol::ErrorCode;
use ottla_protocol::record::BatchHeader;

use crate::transaction_index::Marker;

/// Cached batches per producer, which identify retries, as in Kafka: a client has at most five in flight.
const CACHED_BATCHES: usize = 5;

/// The producer fields of a record batch's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProducerStamp {
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
    pub(crate) base_sequence: i32,
    pub(crate) last_offset_delta: i32,
}

impl ProducerStamp {
    /// Reads the producer fields of `header`.
    pub(crate) fn of(header: &BatchHeader) -> Self {
        Self {
            producer_id: header.producer_id,
            epoch: header.producer_epoch,
            base_sequence: header.base_sequence,
            last_offset_delta: header.last_offset_delta,
        }
    }

    fn last_sequence(&self) -> i32 {
        add_sequence(self.base_sequence, self.last_offset_delta)
    }
}

/// Adds to a sequence number. Sequence numbers continue with 0 after `i32::MAX`.
fn add_sequence(sequence: i32, delta: i32) -> i32 {
    match sequence.checked_add(delta) {
        Some(sum) => sum,
        None => delta - (i32::MAX - sequence) - 1,
    }
}

/// A batch that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AppendedBatch {
    pub(crate) base_sequence: i32,
    pub(crate) last_sequence: i32,
    pub(crate) base_offset: i64,
    pub(crate) timestamp: i64,
}

/// A producer as DescribeProducers returns it (KIP-664).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActiveProducer {
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
    /// The sequence number of the last record in the epoch, -1 without one.
    pub(crate) last_sequence: i32,
    /// The greatest timestamp of the last batch or marker, in milliseconds since 1970.
    pub(crate) last_timestamp: i64,
    /// The coordinator epoch of the last marker, -1 without one.
    pub(crate) coordinator_epoch: i32,
}

#[derive(Debug)]
struct Producer {
    epoch: i16,
    /// The latest batches, oldest first.
    batches: VecDeque<AppendedBatch>,
    last_append_ms: i64,
    last_timestamp: i64,
    /// The coordinator epoch of the last marker, -1 without one.
    coordinator_epoch: i32,
}

impl Producer {
    fn is_expired(&self, now_ms: i64, expiration_ms: i64) -> bool {
        now_ms.saturating_sub(self.last_append_ms) >= expiration_ms
    }
}

/// The result of a sequence check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SequenceCheck {
    /// The batch is the next in sequence.
    Append,
    /// The batch was appended before.
    Duplicate(AppendedBatch),
    /// The batch fails with this error.
    Refuse(ErrorCode),
}

/// All producers with state in a partition.
#[derive(Debug, Default)]
pub(crate) struct ProducerStates {
    producers: BTreeMap<i64, Producer>,
}

impl ProducerStates {
    /// Returns the epoch of a producer's latest batch or marker.
    pub(crate) fn epoch(&self, producer_id: i64) -> Option<i16> {
        Some(self.producers.get(&producer_id)?.epoch)
    }

    /// Returns the coordinator epoch of a producer's latest marker.
    pub(crate) fn coordinator_epoch(&self, producer_id: i64) -> Option<i32> {
        let producer = self.producers.get(&producer_id)?;
        (producer.coordinator_epoch >= 0).then_some(producer.coordinator_epoch)
    }

    /// Returns true when the producer has unexpired state.
    pub(crate) fn contains(&self, producer_id: i64, now_ms: i64, expiration_ms: i64) -> bool {
        let producer = self.producers.get(&producer_id);
        producer.is_some_and(|p| !p.is_expired(now_ms, expiration_ms))
    }

    /// Returns the producers with unexpired state, by ascending id.
    pub(crate) fn active(&self, now_ms: i64, expiration_ms: i64) -> impl Iterator<Item = ActiveProducer> + '_ {
        let known = self.producers.iter();
        let active = known.filter(move |(_, producer)| !producer.is_expired(now_ms, expiration_ms));
        active.map(|(producer_id, producer)| ActiveProducer {
            producer_id: *producer_id,
            epoch: producer.epoch,
            last_sequence: producer.batches.back().map_or(-1, |batch| batch.last_sequence),
            last_timestamp: producer.last_timestamp,
            coordinator_epoch: producer.coordinator_epoch,
        })
    }

    /// Checks a batch as Kafka 4.x does. An unknown or expired producer may begin with any sequence number, so
    /// UNKNOWN_PRODUCER_ID does not arise.
    pub(crate) fn check(&self, stamp: &ProducerStamp, now_ms: i64, expiration_ms: i64) -> SequenceCheck {
        let known = self.contains(stamp.producer_id, now_ms, expiration_ms);
        let Some(producer) = self.producers.get(&stamp.producer_id).filter(|_| known) else {
            return SequenceCheck::Append;
        };
        if stamp.epoch < producer.epoch {
            return SequenceCheck::Refuse(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        if stamp.epoch > producer.epoch {
            return match stamp.base_sequence {
                0 => SequenceCheck::Append,
                _ => SequenceCheck::Refuse(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER),
            };
        }
        let (first, last) = (stamp.base_sequence, stamp.last_sequence());
        let same = |b: &&AppendedBatch| b.base_sequence == first && b.last_sequence == last;
        if let Some(batch) = producer.batches.iter().find(same) {
            return SequenceCheck::Duplicate(*batch);
        }
        // After a marker with a new epoch there are no batches yet.
        let expected = producer.batches.back().map_or(0, |b| add_sequence(b.last_sequence, 1));
        match first == expected {
            true => SequenceCheck::Append,
            false => SequenceCheck::Refuse(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER),
        }
    }

    /// Stores an appended batch.
    pub(crate) fn appended(&mut self, stamp: &ProducerStamp, base_offset: i64, timestamp: i64, now_ms: i64) {
        let producer = self.producer_in_epoch(stamp.producer_id, stamp.epoch, timestamp, now_ms);
        if producer.batches.len() == CACHED_BATCHES {
            producer.batches.pop_front();
        }
        producer.batches.push_back(AppendedBatch {
            base_sequence: stamp.base_sequence,
            last_sequence: stamp.last_sequence(),
            base_offset,
            timestamp,
        });
    }

    /// Stores the epochs of a transaction marker. Batches of older producer epochs fail from then on.
    pub(crate) fn marked(&mut self, marker: &Marker, timestamp: i64, now_ms: i64) {
        let producer = self.producer_in_epoch(marker.producer_id, marker.epoch, timestamp, now_ms);
        producer.coordinator_epoch = marker.coordinator_epoch;
    }

    /// Returns the state of a producer in an epoch. Creates it, or clears the batches of another epoch.
    fn producer_in_epoch(&mut self, producer_id: i64, epoch: i16, timestamp: i64, now_ms: i64) -> &mut Producer {
        let producer = self.producers.entry(producer_id).or_insert_with(|| Producer {
            epoch,
            batches: VecDeque::with_capacity(CACHED_BATCHES),
            last_append_ms: now_ms,
            last_timestamp: timestamp,
            coordinator_epoch: -1,
        });
        if producer.epoch != epoch {
            producer.epoch = epoch;
            producer.batches.clear();
        }
        producer.last_append_ms = now_ms;
        producer.last_timestamp = timestamp;
        producer
    }

    /// Removes all state; the caller replays the remaining batches.
    pub(crate) fn clear(&mut self) {
        self.producers.clear();
    }
}

#[cfg(test)]
mod tests {
    use ottla_protocol::record::ControlType;

    use super::*;

    fn stamp(epoch: i16, base_sequence: i32, count: i32) -> ProducerStamp {
        ProducerStamp {
            producer_id: 7,
            epoch,
            base_sequence,
            last_offset_delta: count - 1,
        }
    }

    fn check(states: &ProducerStates, stamp: ProducerStamp) -> SequenceCheck {
        states.check(&stamp, 0, i64::MAX)
    }

    #[test]
    fn sequence_check_recognizes_retries_and_gaps() {
        let mut states = ProducerStates::default();
        for batch in 0..7 {
            let s = stamp(0, batch * 10, 10);
            assert_eq!(check(&states, s), SequenceCheck::Append);
            states.appended(&s, i64::from(batch) * 10, 1, 0);
        }
        let out_of_order = SequenceCheck::Refuse(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        // The last five batches are cached, the earlier ones are not.
        assert_eq!(check(&states, stamp(0, 10, 10)), out_of_order);
        let SequenceCheck::Duplicate(batch) = check(&states, stamp(0, 20, 10)) else {
            panic!("the third batch is among the last five");
        };
        assert_eq!(batch.base_offset, 20);
        // A gap, and a batch that only begins like an earlier one.
        assert_eq!(check(&states, stamp(0, 71, 1)), out_of_order);
        assert_eq!(check(&states, stamp(0, 60, 9)), out_of_order);
        assert_eq!(check(&states, stamp(0, 70, 1)), SequenceCheck::Append);
    }

    #[test]
    fn active_producers_have_the_last_batch_and_the_last_marker() {
        let mut states = ProducerStates::default();
        states.appended(&stamp(3, 0, 4), 0, 100, 100);
        let after_batch = ActiveProducer {
            producer_id: 7,
            epoch: 3,
            last_sequence: 3,
            last_timestamp: 100,
            coordinator_epoch: -1,
        };
        assert_eq!(states.active(199, 100).collect::<Vec<_>>(), [after_batch]);
        assert_eq!(states.active(200, 100).count(), 0);
        assert_eq!(states.coordinator_epoch(7), None);
        let mut marker = Marker {
            producer_id: 7,
            epoch: 3,
            outcome: ControlType::ABORT,
            coordinator_epoch: 5,
        };
        states.marked(&marker, 150, 150);
        let after_marker = ActiveProducer {
            last_timestamp: 150,
            coordinator_epoch: 5,
            ..after_batch
        };
        assert_eq!(states.active(151, 100).collect::<Vec<_>>(), [after_marker]);
        assert_eq!(states.coordinator_epoch(7), Some(5));
        marker.epoch = 4;
        states.marked(&marker, 160, 160);
        assert_eq!(
            states.active(161, 100).map(|p| p.last_sequence).collect::<Vec<_>>(),
            [-1]
        );
    }

    #[test]
    fn lower_epoch_is_fenced() {
        let mut states = ProducerStates::default();
        states.appended(&stamp(3, 0, 1), 0, 0, 0);
        let refuse = SequenceCheck::Refuse;
        assert_eq!(
            check(&states, stamp(2, 1, 1)),
            refuse(ErrorCode::INVALID_PRODUCER_EPOCH)
        );
        assert_eq!(
            check(&states, stamp(4, 1, 1)),
            refuse(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)
        );
        assert_eq!(check(&states, stamp(4, 0, 1)), SequenceCheck::Append);
    }

    #[test]
    fn sequence_numbers_wrap_and_producers_expire() {
        let mut states = ProducerStates::default();
        let last = stamp(0, i32::MAX - 1, 4);
        assert_eq!(last.last_sequence(), 1);
        states.appended(&last, 0, 0, 1000);
        assert_eq!(check(&states, stamp(0, 2, 1)), SequenceCheck::Append);
        let gap = stamp(0, 9, 1);
        assert_ne!(states.check(&gap, 1999, 1000), SequenceCheck::Append);
        assert_eq!(states.check(&gap, 2000, 1000), SequenceCheck::Append);
    }
}
