//! The records of a share partition between its start and its end offset: their states, and the batches in which members
//! received them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::time::Time;

/// The state of a record in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryState {
    /// A member may acquire it.
    Available,
    /// A member has acquired it, until it acknowledges the record or its acquisition lock expires.
    Acquired,
    /// A member has accepted it. It is not delivered again.
    Acknowledged,
    /// It was rejected, was delivered too often or is not in the log. It is not delivered again.
    Archived,
}

impl DeliveryState {
    /// Returns true when the record is not delivered again.
    pub(crate) fn is_terminal(self) -> bool {
        matches!(self, Self::Acknowledged | Self::Archived)
    }
}

/// The state of a record, or of all records of a batch.
#[derive(Debug, Clone)]
pub(crate) struct RecordState {
    pub(crate) state: DeliveryState,
    pub(crate) delivery_count: i32,
    /// The member that has acquired it; empty in other states.
    pub(crate) member: Arc<str>,
    /// The end of the acquisition lock.
    pub(crate) locked_until: Time,
}

impl RecordState {
    /// Returns a state without a member.
    pub(crate) fn idle(state: DeliveryState, delivery_count: i32) -> Self {
        Self {
            state,
            delivery_count,
            member: Arc::from(""),
            locked_until: Time::ZERO,
        }
    }

    /// Returns the state of a record that `member` acquires for the first time.
    pub(crate) fn acquired(member: &Arc<str>, locked_until: Time) -> Self {
        Self {
            state: DeliveryState::Acquired,
            delivery_count: 1,
            member: Arc::clone(member),
            locked_until,
        }
    }

    /// Acquires an available record once more.
    pub(crate) fn acquire(&mut self, member: &Arc<str>, locked_until: Time) {
        *self = Self {
            delivery_count: self.delivery_count + 1,
            ..Self::acquired(member, locked_until)
        };
    }

    /// Ends the acquisition. A record that was delivered `limit` times does not become available again. Returns the new
    /// state.
    pub(crate) fn end_acquisition(&mut self, state: DeliveryState, limit: i32) -> DeliveryState {
        let exhausted = state == DeliveryState::Available && self.delivery_count >= limit;
        let state = match exhausted {
            true => DeliveryState::Archived,
            false => state,
        };
        *self = Self::idle(state, self.delivery_count);
        state
    }

    pub(crate) fn is(&self, state: DeliveryState) -> bool {
        self.state == state
    }

    /// Returns true when `member` has acquired the record.
    pub(crate) fn is_held_by(&self, member: &str) -> bool {
        self.is(DeliveryState::Acquired) && *self.member == *member
    }
}

/// The states of a batch's records.
#[derive(Debug, Clone)]
pub(crate) enum BatchStates {
    /// All records are in one state.
    Whole(RecordState),
    /// Each record has its own state, by offset.
    Each(BTreeMap<i64, RecordState>),
}

/// A range of records that was acquired at once.
#[derive(Debug, Clone)]
pub(crate) struct InFlightBatch {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) states: BatchStates,
}

impl InFlightBatch {
    pub(crate) fn whole(first: i64, last: i64, state: RecordState) -> Self {
        Self {
            first,
            last,
            states: BatchStates::Whole(state),
        }
    }

    /// Returns the common state of all records, `None` when each has its own.
    pub(crate) fn common(&self) -> Option<&RecordState> {
        match &self.states {
            BatchStates::Whole(state) => Some(state),
            BatchStates::Each(_) => None,
        }
    }

    /// Gives each record its own state.
    pub(crate) fn split(&mut self) {
        if let BatchStates::Whole(state) = &self.states {
            let each = (self.first..=self.last).map(|offset| (offset, state.clone()));
            self.states = BatchStates::Each(each.collect());
        }
    }

    /// Returns the ranges of records with one state, in order.
    pub(crate) fn ranges(&self) -> Vec<(i64, i64, &RecordState)> {
        match &self.states {
            BatchStates::Whole(state) => vec![(self.first, self.last, state)],
            BatchStates::Each(each) => each.iter().map(|(offset, state)| (*offset, *offset, state)).collect(),
        }
    }

    /// Returns the state of a record of the batch.
    pub(crate) fn state_of(&self, offset: i64) -> Option<&RecordState> {
        match &self.states {
            BatchStates::Whole(state) => (self.first..=self.last).contains(&offset).then_some(state),
            BatchStates::Each(each) => each.get(&offset),
        }
    }

    /// Calls `change` with each range of records with one state, in order.
    pub(crate) fn change(&mut self, mut change: impl FnMut(i64, i64, &mut RecordState)) {
        match &mut self.states {
            BatchStates::Whole(state) => change(self.first, self.last, state),
            BatchStates::Each(each) => each
                .iter_mut()
                .for_each(|(offset, state)| change(*offset, *offset, state)),
        }
    }

    /// Returns true when the batch is wholly within a range.
    pub(crate) fn is_within(&self, first: i64, last: i64) -> bool {
        self.first >= first && self.last <= last
    }

    pub(crate) fn len(&self) -> i64 {
        self.last - self.first + 1
    }
}
