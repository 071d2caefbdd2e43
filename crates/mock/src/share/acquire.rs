//! The acquisition of records of a share partition by a member.
//!
//! A fetch reads batches of the log. Those that are not in flight enter as one batch, or as several of about `batch_size`
//! records. They are acquired as far as whole batches of the log fit into `max_records`, except in the mode
//! record_limit (KIP-1206): then not one record more. Available records in flight are acquired again, a whole batch at
//! once where its records are in the same state.
//!
//! Records that were delivered about half as often as allowed are suspected to make members fail: they are delivered in
//! ever smaller portions, and the last time alone.

use std::sync::Arc;

use super::events::{ArchiveCause, ShareChange, push_change};
use super::in_flight::{BatchStates, DeliveryState, InFlightBatch, RecordState};
use super::partition::{Gap, Journal, Limits, SharePartition};

/// A batch of the log that a fetch has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadBatch {
    pub(crate) base: i64,
    pub(crate) last: i64,
    /// It belongs to an aborted transaction, and the group reads committed records only.
    pub(crate) is_aborted: bool,
}

/// The request of a member to acquire records.
#[derive(Debug)]
pub(crate) struct Acquisition<'a> {
    pub(crate) member: &'a Arc<str>,
    /// The mode record_limit.
    pub(crate) is_strict: bool,
    pub(crate) batch_size: i64,
    pub(crate) max_records: i64,
    /// The offset from which the batches were read.
    pub(crate) fetch_offset: i64,
    pub(crate) batches: &'a [ReadBatch],
}

/// A range of records that was acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcquiredRange {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) delivery_count: i32,
}

impl AcquiredRange {
    pub(crate) fn len(&self) -> i64 {
        self.last - self.first + 1
    }
}

/// Returns the number of records in ranges.
pub(crate) fn record_count(ranges: &[AcquiredRange]) -> i64 {
    ranges.iter().map(AcquiredRange::len).sum()
}

/// Returns the number of deliveries from which on records are delivered in smaller portions.
fn throttled_from(limit: i32) -> i32 {
    (limit / 2 + limit % 2).max(2)
}

impl SharePartition {
    /// Acquires records for a member.
    pub(crate) fn acquire(
        &mut self,
        journal: &mut Journal<'_>,
        limits: &Limits,
        acquisition: &Acquisition<'_>,
    ) -> Vec<AcquiredRange> {
        let (Some(first), Some(last)) = (acquisition.batches.first(), acquisition.batches.last()) else {
            return Vec::new();
        };
        if acquisition.max_records <= 0 || last.last < self.start_offset {
            return Vec::new();
        }
        let (max_records, last_offset) = self.capacity(limits, acquisition, last.last);
        if max_records <= 0 {
            return Vec::new();
        }
        self.archive_missing(journal, acquisition.fetch_offset, first.base);
        let floor = self
            .batches
            .range(..=first.base)
            .next_back()
            .map(|(key, batch)| (*key, batch.last));
        let base = match floor {
            None => first.base.max(self.start_offset),
            Some((key, batch_last)) if batch_last >= first.base => key,
            Some(_) => first.base,
        };
        let known: Vec<_> = match first.base.min(base) {
            from if from <= last_offset => self.batches.range(from..=last_offset).map(|(key, _)| *key).collect(),
            _ => Vec::new(),
        };
        let mut acquired = Vec::new();
        if known.is_empty() {
            self.acquire_new(acquisition, limits, (base, last_offset), max_records, &mut acquired);
        } else {
            self.acquire_known(
                acquisition,
                limits,
                (base, last_offset),
                max_records,
                &known,
                &mut acquired,
            );
        }
        if let Some(range) = acquired.last() {
            self.gap_passed(range.last + 1);
        }
        let mut acquired = self.without_aborted(journal, acquisition.batches, acquired);
        // Kafka's leaders move the start offset past archived records with the next acknowledgement only. None follows when
        // all records in flight are archived, and nothing is acquired when they are as many as allowed.
        self.advance_start();
        acquired.retain(|range| range.first <= range.last);
        for range in &acquired {
            let change = ShareChange::Acquired {
                member: acquisition.member.to_string(),
                delivery_count: range.delivery_count,
            };
            push_change(&mut journal.changes, range.first, range.last, change);
        }
        acquired
    }

    /// Returns the number of records that may be acquired, and the last offset for that.
    fn capacity(&self, limits: &Limits, acquisition: &Acquisition<'_>, last: i64) -> (i64, i64) {
        let free = acquisition.max_records.min(limits.in_flight - self.in_flight());
        if free > 0 || acquisition.fetch_offset > self.end_offset {
            return (free, last);
        }
        // The maximum is in flight: only records among them may be acquired.
        let known = self.end_offset - acquisition.fetch_offset + 1;
        (acquisition.max_records.min(known), last.min(self.end_offset))
    }

    /// Archives available records that were to be read but are not in the log any more, as after a compaction.
    fn archive_missing(&mut self, journal: &mut Journal<'_>, fetch_offset: i64, base: i64) {
        if fetch_offset < base {
            let (from, cause) = (DeliveryState::Available, ArchiveCause::Missing);
            self.archive(journal, from, cause, fetch_offset, base - 1);
        }
    }

    /// Acquires records of batches in flight, of gaps between them, and of those behind them.
    fn acquire_known(
        &mut self,
        acquisition: &Acquisition<'_>,
        limits: &Limits,
        (base, last_offset): (i64, i64),
        max_records: i64,
        known: &[i64],
        acquired: &mut Vec<AcquiredRange>,
    ) {
        let first_read = acquisition.batches.first().map_or(base, |batch| batch.base);
        let mut next = base;
        let mut last_known = base;
        for &key in known {
            if record_count(acquired) >= max_records {
                return;
            }
            let Some(batch_last) = self.batches.get(&key).map(|batch| batch.last) else {
                continue;
            };
            last_known = batch_last;
            if self.has_gap() {
                if next < key {
                    let left = max_records - record_count(acquired);
                    self.acquire_new(acquisition, limits, (next, key - 1), left, acquired);
                }
                next = batch_last + 1;
                if record_count(acquired) >= max_records {
                    return;
                }
            }
            let left = max_records - record_count(acquired);
            let Some(batch) = self.batches.get_mut(&key) else {
                continue;
            };
            let is_throttled = is_throttled(batch, limits.delivery_count, first_read, last_offset);
            if is_throttled && !acquired.is_empty() {
                return;
            }
            let is_whole = batch.is_within(first_read, last_offset) && !(acquisition.is_strict && batch.len() > left);
            if let (true, false, BatchStates::Whole(state)) = (is_whole, is_throttled, &mut batch.states) {
                if state.is(DeliveryState::Available) {
                    state.acquire(acquisition.member, limits.locked_until);
                    acquired.push(AcquiredRange {
                        first: key,
                        last: batch_last,
                        delivery_count: state.delivery_count,
                    });
                }
                continue;
            }
            if batch.common().is_some_and(|state| !state.is(DeliveryState::Available)) {
                continue;
            }
            batch.split();
            let left = if acquisition.is_strict { left } else { i64::MAX };
            let range = (first_read, last_offset);
            let found = acquire_part(batch, limits, acquisition.member, range, left);
            let is_any = !found.is_empty();
            acquired.extend(found);
            if is_throttled && is_any {
                return;
            }
        }
        let left = max_records - record_count(acquired);
        if left > 0 && last_known < last_offset {
            self.acquire_new(acquisition, limits, (last_known + 1, last_offset), left, acquired);
        }
    }

    /// Acquires records that are not in flight.
    fn acquire_new(
        &mut self,
        acquisition: &Acquisition<'_>,
        limits: &Limits,
        (first, last): (i64, i64),
        max_records: i64,
        acquired: &mut Vec<AcquiredRange>,
    ) {
        // A batch of the log may begin with records that have left the share partition.
        let first = match self.batches.is_empty() {
            true => first.max(self.end_offset),
            false => first,
        };
        if first > last || max_records <= 0 {
            return;
        }
        let mut to = last;
        if max_records < last - first + 1 {
            to = end_of_batch(acquisition.batches, first + max_records - 1);
            if self.has_gap() {
                to = to.min(last);
            }
        }
        let new = RecordState::acquired(acquisition.member, limits.locked_until);
        let was_empty_before = self.batches.range(..first).next().is_none();
        if acquisition.is_strict && to - first + 1 > max_records {
            let end = first + max_records - 1;
            let mut batch = InFlightBatch::whole(first, to, new);
            batch.split();
            batch.change(|offset, _, state| {
                if offset > end {
                    *state = RecordState::idle(DeliveryState::Available, 0);
                }
            });
            self.batches.insert(first, batch);
            self.may_have_available = true;
            acquired.push(first_delivery(first, end));
        } else {
            let ranges = match acquisition.is_strict {
                true => vec![(first, to)],
                false => portions(acquisition.batches, first, to, acquisition.batch_size),
            };
            for (first, last) in ranges {
                self.batches
                    .insert(first, InFlightBatch::whole(first, last, new.clone()));
                acquired.push(first_delivery(first, last));
            }
        }
        if was_empty_before {
            self.start_offset = first;
        }
        self.end_offset = self.end_offset.max(to);
        if let Some(range) = acquired.last() {
            self.gap_passed(range.last + 1);
        }
    }

    /// Notes that the offsets before `offset` are known now.
    ///
    /// Kafka's leaders do not move the gap past the records behind it that they know. The start offset then stops there
    /// until records behind the gap's end are acquired: for ever, if as many records as allowed are in flight.
    fn gap_passed(&mut self, offset: i64) {
        let Some(gap) = self.gap else {
            return;
        };
        let mut start = offset;
        for (first, batch) in &self.batches {
            match *first <= start {
                true => start = start.max(batch.last + 1),
                false => break,
            }
        }
        let is_open = gap.end == self.end_offset && start <= gap.end;
        self.gap = is_open.then_some(Gap { start, ..gap });
    }

    /// Archives the acquired records of aborted transactions, and returns the other ranges.
    fn without_aborted(
        &mut self,
        journal: &mut Journal<'_>,
        batches: &[ReadBatch],
        acquired: Vec<AcquiredRange>,
    ) -> Vec<AcquiredRange> {
        let mut kept = acquired;
        for batch in batches.iter().filter(|batch| batch.is_aborted) {
            let mut rest = Vec::new();
            for range in kept {
                if range.last < batch.base || range.first > batch.last {
                    rest.push(range);
                    continue;
                }
                let (first, last) = (range.first.max(batch.base), range.last.min(batch.last));
                let (from, cause) = (DeliveryState::Acquired, ArchiveCause::AbortedTransaction);
                self.archive(journal, from, cause, first, last);
                let before = AcquiredRange {
                    last: first - 1,
                    ..range
                };
                let after = AcquiredRange {
                    first: last + 1,
                    ..range
                };
                rest.extend([before, after].into_iter().filter(|range| range.first <= range.last));
            }
            kept = rest;
        }
        kept
    }
}

fn first_delivery(first: i64, last: i64) -> AcquiredRange {
    AcquiredRange {
        first,
        last,
        delivery_count: 1,
    }
}

/// Returns the last offset of the batch that contains `offset`, or `offset` when none does.
fn end_of_batch(batches: &[ReadBatch], offset: i64) -> i64 {
    let holder = batches.iter().find(|batch| (batch.base..=batch.last).contains(&offset));
    holder.map_or(offset, |batch| batch.last)
}

/// Cuts a range at the batches of the log into portions of at least `size` records.
fn portions(batches: &[ReadBatch], first: i64, last: i64, size: i64) -> Vec<(i64, i64)> {
    let mut portions = Vec::new();
    let mut from = first;
    if last - first + 1 > size {
        for batch in batches.iter().take_while(|batch| batch.base <= last) {
            if batch.base > from && batch.base - from >= size {
                portions.push((from, batch.base - 1));
                from = batch.base;
            }
        }
    }
    portions.push((from, last));
    portions
}

/// Returns true when an available record of the range was delivered so often that records are delivered in smaller
/// portions.
fn is_throttled(batch: &InFlightBatch, limit: i32, first: i64, last: i64) -> bool {
    let counts =
        |state: &RecordState| state.is(DeliveryState::Available) && state.delivery_count >= throttled_from(limit);
    match &batch.states {
        BatchStates::Whole(state) => counts(state),
        BatchStates::Each(each) if first <= last => each.range(first..=last).any(|(_, state)| counts(state)),
        BatchStates::Each(_) => false,
    }
}

/// Acquires available records of a batch one by one, `left` at most. Returns them in ranges.
fn acquire_part(
    batch: &mut InFlightBatch,
    limits: &Limits,
    member: &Arc<str>,
    (from, to): (i64, i64),
    left: i64,
) -> Vec<AcquiredRange> {
    let limit = limits.delivery_count;
    let size = batch.len();
    let mut most = left;
    let mut is_throttled = false;
    let mut count = 0;
    let mut is_done = false;
    let mut acquired: Vec<AcquiredRange> = Vec::new();
    batch.change(|offset, _, state| {
        if is_done || offset < from || offset > to || !state.is(DeliveryState::Available) {
            return;
        }
        let is_last_delivery = limit > 2 && state.delivery_count == limit - 1;
        if is_last_delivery && count > 0 {
            is_done = true;
            return;
        }
        if state.delivery_count >= throttled_from(limit) && !is_throttled {
            is_throttled = true;
            let halvings = u32::try_from(state.delivery_count - throttled_from(limit) + 1).unwrap_or(0);
            most = most.min(size.checked_shr(halvings).unwrap_or(0).max(1));
        }
        state.acquire(member, limits.locked_until);
        count += 1;
        match acquired.last_mut() {
            Some(range) if range.last + 1 == offset && range.delivery_count == state.delivery_count => {
                range.last = offset;
            }
            _ => acquired.push(AcquiredRange {
                first: offset,
                last: offset,
                delivery_count: state.delivery_count,
            }),
        }
        is_done = is_last_delivery || count >= most;
    });
    acquired
}
