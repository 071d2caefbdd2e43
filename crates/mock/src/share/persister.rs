//! The durable state of share partitions, which Kafka's share coordinator keeps: what a new leader starts from.

use std::collections::BTreeMap;

use super::in_flight::DeliveryState;

/// A range of records with one state, as a leader writes it and reads it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateBatch {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) state: DeliveryState,
    pub(crate) delivery_count: i32,
}

/// The durable state of a share partition.
#[derive(Debug, Default, Clone)]
pub(crate) struct PersistedState {
    /// `None` until a leader or an operator has written one.
    start_offset: Option<i64>,
    /// Rises when an operator sets the start offset, so that the leader discards what it knows.
    state_epoch: i32,
    /// The epoch of the leader that has written last.
    leader_epoch: i32,
    records: BTreeMap<i64, (DeliveryState, i32)>,
}

impl PersistedState {
    pub(crate) fn start_offset(&self) -> Option<i64> {
        self.start_offset
    }

    pub(crate) fn state_epoch(&self) -> i32 {
        self.state_epoch
    }

    /// Returns the epoch of the leader that has written last, 0 before the first write.
    pub(crate) fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    /// Returns the number of records from the start offset on that are not delivered again.
    pub(crate) fn completed(&self) -> i64 {
        let completed = self.records.values().filter(|(state, _)| state.is_terminal());
        i64::try_from(completed.count()).unwrap_or(i64::MAX)
    }

    /// Returns the written ranges; neighbours with the same state and delivery count are one.
    pub(crate) fn batches(&self) -> Vec<StateBatch> {
        let mut batches: Vec<StateBatch> = Vec::new();
        for (&offset, &(state, delivery_count)) in &self.records {
            match batches.last_mut() {
                Some(batch)
                    if batch.last + 1 == offset && (batch.state, batch.delivery_count) == (state, delivery_count) =>
                {
                    batch.last = offset;
                }
                _ => batches.push(StateBatch {
                    first: offset,
                    last: offset,
                    state,
                    delivery_count,
                }),
            }
        }
        batches
    }

    /// Writes the start offset and the states of some records. States before the start offset are removed.
    pub(crate) fn write(&mut self, leader_epoch: i32, start_offset: i64, batches: &[StateBatch]) {
        self.leader_epoch = leader_epoch;
        self.start_offset = Some(start_offset);
        for batch in batches {
            for offset in batch.first.max(start_offset)..=batch.last {
                self.records.insert(offset, (batch.state, batch.delivery_count));
            }
        }
        self.records = self.records.split_off(&start_offset);
    }

    /// Sets the start offset on behalf of an operator. The states of the records are forgotten.
    pub(crate) fn reset(&mut self, start_offset: i64) {
        self.start_offset = Some(start_offset);
        self.records.clear();
        self.state_epoch += 1;
        self.leader_epoch = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(first: i64, last: i64, state: DeliveryState, delivery_count: i32) -> StateBatch {
        StateBatch {
            first,
            last,
            state,
            delivery_count,
        }
    }

    #[test]
    fn writes_are_merged_and_pruned() {
        let mut state = PersistedState::default();
        assert_eq!(state.start_offset(), None);
        state.write(
            3,
            5,
            &[
                batch(5, 6, DeliveryState::Acknowledged, 1),
                batch(8, 9, DeliveryState::Available, 1),
            ],
        );
        state.write(
            3,
            5,
            &[
                batch(7, 7, DeliveryState::Acknowledged, 1),
                batch(9, 9, DeliveryState::Archived, 1),
            ],
        );
        let expected = [
            batch(5, 7, DeliveryState::Acknowledged, 1),
            batch(8, 8, DeliveryState::Available, 1),
            batch(9, 9, DeliveryState::Archived, 1),
        ];
        assert_eq!(state.batches(), expected);
        assert_eq!(state.completed(), 4);
        state.write(3, 8, &[]);
        assert_eq!(
            (state.start_offset(), state.batches()),
            (Some(8), expected[1..].to_vec())
        );
        state.reset(3);
        assert_eq!(
            (state.start_offset(), state.batches().len(), state.state_epoch()),
            (Some(3), 0, 1)
        );
    }
}
