//! A share partition at its leader (KIP-932): the records in flight between the start and the end offset.
//!
//! Records that a member acquires enter as a batch. The batch has one state until a member acknowledges a part of it, or
//! its records differently; then each record has its own. When all records at the start have been accepted or archived,
//! the start offset moves past them.
//!
//! A new leader knows only what its predecessor has written: acknowledgements, releases and expired locks. Records that
//! were acquired for the first time are a gap in that state or come after it. They are delivered again as if for the
//! first time.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;

use super::events::{ArchiveCause, RangeChange, ShareChange, push_change};
use super::in_flight::{BatchStates, DeliveryState, InFlightBatch, RecordState};
use super::persister::{PersistedState, StateBatch};
use crate::ids::BrokerId;
use crate::time::Time;

/// The acknowledgement types.
pub(crate) const GAP: i8 = 0;
pub(crate) const ACCEPT: i8 = 1;
pub(crate) const RELEASE: i8 = 2;
pub(crate) const REJECT: i8 = 3;
pub(crate) const RENEW: i8 = 4;

/// The acknowledgement of a range of records: one type for all, or one for each.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledgement {
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// Never empty.
    pub(crate) types: Vec<i8>,
}

impl Acknowledgement {
    fn type_of(&self, offset: i64) -> i8 {
        let index = match self.types.len() {
            ..=1 => 0,
            _ => usize::try_from(offset - self.first).unwrap_or(usize::MAX),
        };
        self.types.get(index).copied().unwrap_or(GAP)
    }
}

/// The settings that apply to a change of a share partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The number of deliveries after which a record is archived.
    pub(crate) delivery_count: i32,
    /// The maximum number of records in flight.
    pub(crate) in_flight: i64,
    /// The end of locks that begin now.
    pub(crate) locked_until: Time,
    /// Members may renew locks.
    pub(crate) renewal: bool,
}

/// The durable state that a change is written to, and the log of changes.
#[derive(Debug)]
pub(crate) struct Journal<'a> {
    pub(crate) persisted: &'a mut PersistedState,
    /// The error with which writes fail.
    pub(crate) write_error: Option<ErrorCode>,
    pub(crate) changes: Vec<RangeChange>,
}

/// The offsets between the start offset and the last written state of which the previous leader has written nothing: a
/// member may have acquired them, so that the new leader delivers them again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) start: i64,
    /// The end offset of the share partition while there may be gaps.
    pub(super) end: i64,
}

/// A state before a change, to be restored when a later part of the request fails.
struct Undo {
    batch: i64,
    offset: i64,
    state: RecordState,
}

#[derive(Debug)]
pub(crate) struct SharePartition {
    pub(crate) leader: BrokerId,
    pub(crate) leader_epoch: i32,
    pub(crate) state_epoch: i32,
    pub(super) start_offset: i64,
    /// The offset of the last record in flight, or of the next record to be read when none is.
    pub(super) end_offset: i64,
    pub(super) batches: BTreeMap<i64, InFlightBatch>,
    /// A record in flight may be available, so that fetches look for it.
    pub(super) may_have_available: bool,
    pub(super) gap: Option<Gap>,
}

impl SharePartition {
    /// Reads the durable state under a new leader. `reset` is the start offset of a share partition without one.
    pub(crate) fn load(leader: BrokerId, leader_epoch: i32, persisted: &PersistedState, reset: i64) -> Self {
        let start_offset = persisted.start_offset().unwrap_or(reset);
        let mut this = Self {
            leader,
            leader_epoch,
            state_epoch: persisted.state_epoch(),
            start_offset,
            end_offset: start_offset,
            batches: BTreeMap::new(),
            may_have_available: false,
            gap: None,
        };
        let mut next = start_offset;
        let mut gap_start = None;
        for batch in persisted.batches() {
            if batch.first > next && gap_start.is_none() {
                gap_start = Some(next);
            }
            next = batch.last + 1;
            this.end_offset = batch.last;
            this.may_have_available = true;
            let state = RecordState::idle(batch.state, batch.delivery_count);
            this.batches
                .insert(batch.first, InFlightBatch::whole(batch.first, batch.last, state));
        }
        let end = this.end_offset;
        this.gap = gap_start.map(|start| Gap { start, end });
        this.advance_start();
        this
    }

    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// Returns the batches in flight, in order.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &InFlightBatch> {
        self.batches.values()
    }

    /// Returns the number of offsets in flight.
    pub(super) fn in_flight(&self) -> i64 {
        match self.batches.is_empty() {
            true => 0,
            false => self.end_offset - self.start_offset + 1,
        }
    }

    /// Returns the earliest end of an acquisition lock.
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        let ranges = self.batches.values().flat_map(InFlightBatch::ranges);
        let acquired = ranges.filter(|(_, _, state)| state.is(DeliveryState::Acquired));
        acquired.map(|(_, _, state)| state.locked_until).min()
    }

    pub(super) fn has_gap(&self) -> bool {
        self.gap.is_some_and(|gap| gap.end == self.end_offset)
    }

    /// Returns the first offset that a fetch should read.
    pub(crate) fn next_fetch_offset(&mut self) -> i64 {
        let last = self.batches.last_key_value().map(|(_, batch)| batch.last);
        if last.is_none_or(|last| self.start_offset > last) {
            self.may_have_available = false;
            return self.end_offset;
        }
        if self.may_have_available {
            if let Some(offset) = self.first_available() {
                return offset;
            }
            self.may_have_available = false;
        }
        self.end_offset + 1
    }

    fn first_available(&self) -> Option<i64> {
        let mut gap_start = self.gap.filter(|_| self.has_gap()).map(|gap| gap.start);
        for batch in self.batches.values() {
            if let Some(start) = gap_start {
                if batch.first > start {
                    return Some(start);
                }
                gap_start = Some(start.max(batch.last + 1));
            }
            let ranges = batch.ranges();
            let available = ranges.iter().find(|(_, _, state)| state.is(DeliveryState::Available));
            if let Some((first, ..)) = available {
                return Some(*first);
            }
        }
        None
    }

    /// Returns true when a fetch may acquire records: some in flight are available, or fewer than the maximum are in
    /// flight.
    pub(crate) fn can_acquire(&mut self, limits: &Limits) -> bool {
        self.next_fetch_offset() != self.end_offset + 1 || self.in_flight() < limits.in_flight
    }

    // ---------------------------------------------------------------- acknowledgements

    /// Applies the acknowledgements of a member, all or none. Renewals before a failed acknowledgement stay.
    ///
    /// # Errors
    /// INVALID_RECORD_STATE when a record is not acquired by the member, INVALID_REQUEST for offsets that were not acquired,
    /// or the error of the write.
    pub(crate) fn acknowledge(
        &mut self,
        journal: &mut Journal<'_>,
        limits: &Limits,
        member: &str,
        acknowledgements: &[Acknowledgement],
    ) -> Result<(), (ErrorCode, &'static str)> {
        let mut undo = Vec::new();
        let mut writes = Vec::new();
        let mut changes = Vec::new();
        for acknowledgement in acknowledgements {
            let applied = self.acknowledge_range(limits, member, acknowledgement, &mut undo, &mut writes, &mut changes);
            if let Err(error) = applied {
                self.undo(undo);
                changes.retain(|c| matches!(c.change, ShareChange::Renewed { .. }));
                journal.changes.extend(changes);
                return Err(error);
            }
        }
        if let Some(error) = journal.write_error.filter(|_| !writes.is_empty()) {
            self.undo(undo);
            return Err((error, "The state of the share partition cannot be written."));
        }
        journal.changes.extend(changes);
        self.complete(journal, &writes);
        Ok(())
    }

    fn acknowledge_range(
        &mut self,
        limits: &Limits,
        member: &str,
        acknowledgement: &Acknowledgement,
        undo: &mut Vec<Undo>,
        writes: &mut Vec<StateBatch>,
        changes: &mut Vec<RangeChange>,
    ) -> Result<(), (ErrorCode, &'static str)> {
        if acknowledgement.last < self.start_offset {
            return Ok(());
        }
        let start_offset = self.start_offset;
        for key in self.keys_of(acknowledgement)? {
            let Some(batch) = self.batches.get_mut(&key) else {
                continue;
            };
            if batch.last < start_offset {
                continue;
            }
            if let Some(state) = batch.common()
                && !state.is_held_by(member)
            {
                return Err((
                    ErrorCode::INVALID_RECORD_STATE,
                    "The member has not acquired the batch.",
                ));
            }
            let is_whole = batch.is_within(acknowledgement.first, acknowledgement.last);
            if !is_whole || acknowledgement.types.len() > 1 || batch.first < start_offset {
                batch.split();
            }
            let mut refused = None;
            batch.change(|first, last, state| {
                let is_asked = first >= acknowledgement.first && last <= acknowledgement.last;
                if refused.is_some() || last < start_offset || !is_asked {
                    return;
                }
                if !state.is_held_by(member) {
                    refused = Some("The member has not acquired the record.");
                    return;
                }
                let kind = acknowledgement.type_of(first);
                if kind == RENEW {
                    match limits.renewal {
                        true => state.locked_until = limits.locked_until,
                        false => refused = Some("The group may not renew acquisition locks."),
                    }
                } else {
                    undo.push(Undo {
                        batch: key,
                        offset: first,
                        state: state.clone(),
                    });
                    let ended = state.end_acquisition(state_after(kind), limits.delivery_count);
                    writes.push(written(first, last, state));
                    if refused.is_none() && kind == RELEASE && ended == DeliveryState::Archived {
                        let limit = ShareChange::Archived(ArchiveCause::DeliveryCountLimit);
                        push_change(changes, first, last, change_of(kind, member));
                        push_change(changes, first, last, limit);
                        return;
                    }
                }
                if refused.is_none() {
                    push_change(changes, first, last, change_of(kind, member));
                }
            });
            if let Some(message) = refused {
                return Err((ErrorCode::INVALID_RECORD_STATE, message));
            }
        }
        Ok(())
    }

    /// Returns the batches that contain the records of an acknowledgement.
    fn keys_of(&self, acknowledgement: &Acknowledgement) -> Result<Vec<i64>, (ErrorCode, &'static str)> {
        let not_found = (
            ErrorCode::INVALID_RECORD_STATE,
            "The share partition has no batch with the offsets.",
        );
        let floor = |offset: i64| self.batches.range(..=offset).next_back().map(|(key, _)| *key);
        let start_moved = acknowledgement.first < self.start_offset && acknowledgement.last >= self.start_offset;
        let first = match floor(acknowledgement.first) {
            None if start_moved => floor(self.start_offset),
            found => found,
        };
        let first = first.ok_or(not_found)?;
        let found: Vec<_> = self.batches.range(first..=acknowledgement.last).collect();
        let last = found.last().map(|(_, batch)| batch.last).ok_or(not_found)?;
        match () {
            () if last < acknowledgement.first => Err((
                ErrorCode::INVALID_REQUEST,
                "The first offset is past the acquired records.",
            )),
            () if last < acknowledgement.last => Err((
                ErrorCode::INVALID_REQUEST,
                "The last offset is past the acquired records.",
            )),
            () => Ok(found.into_iter().map(|(key, _)| *key).collect()),
        }
    }

    fn undo(&mut self, undo: Vec<Undo>) {
        for Undo { batch, offset, state } in undo.into_iter().rev() {
            match self.batches.get_mut(&batch).map(|b| &mut b.states) {
                Some(BatchStates::Whole(now)) => *now = state,
                Some(BatchStates::Each(each)) => _ = each.insert(offset, state),
                None => {}
            }
        }
    }

    /// Releases the records that a member has acquired, at the end of its session.
    pub(crate) fn release(&mut self, journal: &mut Journal<'_>, limits: &Limits, member: &str) {
        let ended = |name: &Arc<str>| ShareChange::SessionEnded {
            member: name.to_string(),
        };
        self.end_locks(journal, limits, |state| state.is_held_by(member), ended, false);
    }

    /// Releases the records whose acquisition locks have expired.
    pub(crate) fn expire_locks(&mut self, journal: &mut Journal<'_>, limits: &Limits, now: Time) {
        let expired = |state: &RecordState| state.is(DeliveryState::Acquired) && state.locked_until <= now;
        let ended = |name: &Arc<str>| ShareChange::LockExpired {
            member: name.to_string(),
        };
        // The records are released whether that can be written or not.
        self.end_locks(journal, limits, expired, ended, true);
    }

    fn end_locks(
        &mut self,
        journal: &mut Journal<'_>,
        limits: &Limits,
        ends: impl Fn(&RecordState) -> bool,
        change: impl Fn(&Arc<str>) -> ShareChange,
        despite_errors: bool,
    ) {
        if journal.write_error.is_some() && !despite_errors {
            return;
        }
        let start_offset = self.start_offset;
        let mut writes = Vec::new();
        for batch in self.batches.values_mut() {
            if batch.first < start_offset && batch.last >= start_offset && batch.common().is_some_and(&ends) {
                batch.split();
            }
            batch.change(|first, last, state| {
                if !ends(state) {
                    return;
                }
                push_change(&mut journal.changes, first, last, change(&state.member));
                let (next, cause) = match last < start_offset {
                    true => (DeliveryState::Archived, ArchiveCause::LogStart),
                    false => (DeliveryState::Available, ArchiveCause::DeliveryCountLimit),
                };
                if state.end_acquisition(next, limits.delivery_count) == DeliveryState::Archived {
                    push_change(&mut journal.changes, first, last, ShareChange::Archived(cause));
                }
                writes.push(written(first, last, state));
            });
        }
        self.complete(journal, &writes);
    }

    /// Writes changed states, and moves the start offset as far as they allow.
    fn complete(&mut self, journal: &mut Journal<'_>, writes: &[StateBatch]) {
        if writes.is_empty() {
            return;
        }
        if journal.write_error.is_none() {
            // As in Kafka, the written start offset is that before the change.
            journal.persisted.write(self.leader_epoch, self.start_offset, writes);
        }
        self.may_have_available |= writes.iter().any(|w| w.state == DeliveryState::Available);
        self.advance_start();
    }

    // ---------------------------------------------------------------- start offset

    /// Moves the start offset past the records that are not delivered again.
    pub(super) fn advance_start(&mut self) {
        let floor = self.batches.range(..=self.start_offset).next_back();
        let at_start = floor.and_then(|(_, batch)| batch.state_of(self.start_offset));
        if !at_start.is_some_and(|state| state.state.is_terminal()) {
            return;
        }
        let Some(done) = self.last_terminal() else {
            return;
        };
        let Some(last) = self.batches.last_key_value().map(|(_, batch)| batch.last) else {
            return;
        };
        if done == last {
            self.start_offset = last + 1;
            self.end_offset = last + 1;
            self.batches.clear();
            return;
        }
        let gap_start = self.gap.filter(|_| self.has_gap()).map(|gap| gap.start);
        let holder = self
            .batches
            .range(..=done)
            .next_back()
            .map(|(key, batch)| (*key, batch.last));
        let Some((key, batch_last)) = holder else {
            return;
        };
        let keep_from = if batch_last == done {
            let next = self.batches.range(done + 1..).next().map_or(done + 1, |(key, _)| *key);
            self.start_offset = self.start_offset.max(next).min(gap_start.unwrap_or(i64::MAX));
            key + 1
        } else {
            self.start_offset = self.start_offset.max(done + 1);
            key
        };
        self.batches = self.batches.split_off(&keep_from);
    }

    /// Returns the last offset before which no record is delivered again.
    fn last_terminal(&self) -> Option<i64> {
        let gap_start = self.gap.filter(|_| self.has_gap()).map(|gap| gap.start);
        let mut done = None;
        for batch in self.batches.values() {
            if gap_start.is_some_and(|start| batch.last >= start) {
                return done;
            }
            for (_, last, state) in batch.ranges() {
                if !state.state.is_terminal() {
                    return done;
                }
                done = Some(last);
            }
        }
        done
    }

    /// Moves the start offset to the start of the log. Available records before it are archived; acquired ones are when
    /// their acquisition ends. Nothing is written until the next change.
    pub(crate) fn log_start_moved(&mut self, journal: &mut Journal<'_>, log_start: i64) {
        if log_start <= self.start_offset {
            return;
        }
        if self.batches.is_empty() {
            self.start_offset = log_start;
            self.end_offset = log_start;
            return;
        }
        let from = self.start_offset;
        self.archive(
            journal,
            DeliveryState::Available,
            ArchiveCause::LogStart,
            from,
            log_start - 1,
        );
        self.start_offset = log_start;
        self.end_offset = self.end_offset.max(log_start);
        // Kafka's leaders leave the gap where it was, and then read before the start of the log for ever.
        if let Some(gap) = &mut self.gap {
            gap.start = gap.start.max(log_start);
        }
    }

    /// Archives the records of a range that are in state `from`.
    pub(super) fn archive(
        &mut self,
        journal: &mut Journal<'_>,
        from: DeliveryState,
        cause: ArchiveCause,
        first: i64,
        last: i64,
    ) {
        let mut archived = false;
        for batch in self.batches.range_mut(..=last).map(|(_, batch)| batch) {
            if batch.last < first {
                continue;
            }
            if !batch.is_within(first, last) && batch.common().is_some_and(|state| state.is(from)) {
                batch.split();
            }
            batch.change(|at, to, state| {
                if at >= first && to <= last && state.is(from) {
                    *state = RecordState::idle(DeliveryState::Archived, state.delivery_count);
                    push_change(&mut journal.changes, at, to, ShareChange::Archived(cause));
                    archived = true;
                }
            });
        }
        self.may_have_available |= archived;
    }
}

/// Returns the state of a record after its acknowledgement.
fn state_after(kind: i8) -> DeliveryState {
    match kind {
        ACCEPT => DeliveryState::Acknowledged,
        RELEASE => DeliveryState::Available,
        _ => DeliveryState::Archived,
    }
}

fn change_of(kind: i8, member: &str) -> ShareChange {
    let member = member.to_owned();
    match kind {
        ACCEPT => ShareChange::Accepted { member },
        RELEASE => ShareChange::Released { member },
        REJECT => ShareChange::Rejected { member },
        RENEW => ShareChange::Renewed { member },
        _ => ShareChange::Gap { member },
    }
}

fn written(first: i64, last: i64, state: &RecordState) -> StateBatch {
    StateBatch {
        first,
        last,
        state: state.state,
        delivery_count: state.delivery_count,
    }
}
