//! Snapshots of share partitions, for checkers.

use super::in_flight::DeliveryState;
use super::partition::SharePartition;
use super::persister::PersistedState;

/// A share partition: the leader's state, or the durable one while no leader has loaded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharePartitionView {
    /// The first offset that may be delivered; -1 while no leader has chosen one.
    pub start_offset: i64,
    /// The offset after the last record in flight: the next that is read from the log.
    pub next_offset: i64,
    /// The records in flight that are known, in order. Neighbours in the same state, of the same member and with the same
    /// delivery count are one range.
    pub records: Vec<ShareRecordsView>,
}

/// A range of records in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRecordsView {
    /// The first offset.
    pub first_offset: i64,
    /// The last offset.
    pub last_offset: i64,
    /// The state of each record.
    pub state: DeliveryState,
    /// The number of deliveries of each record.
    pub delivery_count: i32,
    /// The member that has acquired the records.
    pub member: Option<String>,
}

impl SharePartitionView {
    pub(crate) fn loaded(partition: &SharePartition) -> Self {
        let mut records = Vec::new();
        for (first, last, state) in partition.batches().flat_map(|batch| batch.ranges()) {
            let view = ShareRecordsView {
                first_offset: first.max(partition.start_offset()),
                last_offset: last,
                state: state.state,
                delivery_count: state.delivery_count,
                member: Some(state.member.to_string()).filter(|member| !member.is_empty()),
            };
            // Acquired records before the start offset are still locked.
            let is_kept = last >= partition.start_offset() || state.is(DeliveryState::Acquired);
            if is_kept {
                let first_offset = if last < partition.start_offset() {
                    first
                } else {
                    view.first_offset
                };
                push(&mut records, ShareRecordsView { first_offset, ..view });
            }
        }
        let is_empty = partition.batches().next().is_none();
        Self {
            start_offset: partition.start_offset(),
            next_offset: partition.end_offset() + i64::from(!is_empty),
            records,
        }
    }

    pub(crate) fn persisted(state: &PersistedState) -> Self {
        let mut records = Vec::new();
        for batch in state.batches() {
            let view = ShareRecordsView {
                first_offset: batch.first,
                last_offset: batch.last,
                state: batch.state,
                delivery_count: batch.delivery_count,
                member: None,
            };
            push(&mut records, view);
        }
        let start_offset = state.start_offset().unwrap_or(-1);
        Self {
            start_offset,
            next_offset: records.last().map_or(start_offset, |r| r.last_offset + 1),
            records,
        }
    }
}

fn push(records: &mut Vec<ShareRecordsView>, view: ShareRecordsView) {
    match records.last_mut() {
        Some(before)
            if before.last_offset + 1 == view.first_offset
                && before.state == view.state
                && before.delivery_count == view.delivery_count
                && before.member == view.member =>
        {
            before.last_offset = view.last_offset;
        }
        _ => records.push(view),
    }
}
