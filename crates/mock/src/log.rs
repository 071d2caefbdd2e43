//! A partition's log: record batches as the producers sent them, neither split nor copied.

use std::collections::VecDeque;

use bytes::Bytes;
use ottla_protocol::Records;
use ottla_protocol::record::{
    Batch, BatchHeader, BatchIter, BatchParams, NO_PRODUCER_ID, TimestampType, end_transaction_batch,
};

use crate::producer_state::{ProducerStamp, ProducerStates};
use crate::transaction_index::{Marker, TransactionIndex};

/// The maximum decompressed size of a batch that is searched for a record's timestamp.
const LOOKUP_LIMIT_BYTES: usize = 256 << 20;

/// A batch in the log.
#[derive(Debug)]
struct StoredBatch {
    header: BatchHeader,
    /// Header and records, a slice of the request.
    records: Records,
    len: usize,
    appended_ms: i64,
    /// The greatest timestamp of this batch and all before it: rises along the log, so that a time can be searched.
    running_max_timestamp: i64,
    /// The contents of a transaction marker.
    marker: Option<Marker>,
}

/// An offset with the timestamp of its record and the epoch of the leader that appended it; -1 if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundOffset {
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) leader_epoch: i32,
}

impl FoundOffset {
    /// No record fits.
    pub(crate) const NONE: Self = Self {
        offset: -1,
        timestamp: -1,
        leader_epoch: -1,
    };
}

/// The result of [`PartitionLog::append`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended {
    pub(crate) base_offset: i64,
}

/// The result of [`PartitionLog::read`].
#[derive(Debug)]
pub(crate) struct ReadRecords {
    pub(crate) records: Records,
    /// The offset after the last batch that the records contain, at least in part.
    pub(crate) end_offset: i64,
}

/// The part of a partition that all its replicas share.
#[derive(Debug, Default)]
pub(crate) struct PartitionLog {
    batches: VecDeque<StoredBatch>,
    /// First offset of each leader epoch with records.
    epochs: Vec<(i32, i64)>,
    start_offset: i64,
    end_offset: i64,
    high_watermark: i64,
    bytes: u64,
    pub(crate) producers: ProducerStates,
    pub(crate) transactions: TransactionIndex,
}

impl PartitionLog {
    /// Returns the first readable offset.
    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// Returns the offset of the next record to be appended.
    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// Returns the offset up to which all in-sync replicas have the log. Clients cannot read beyond it.
    pub(crate) fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// Returns the offset up to which all transactions have ended on all in-sync replicas.
    pub(crate) fn last_stable_offset(&self) -> i64 {
        let unstable = self.transactions.first_unstable().unwrap_or(i64::MAX);
        self.high_watermark.min(unstable.max(self.start_offset))
    }

    /// Returns the end of the records that an isolation level can read (1: read committed).
    pub(crate) fn readable_end(&self, isolation_level: i8) -> i64 {
        match isolation_level {
            1 => self.last_stable_offset(),
            _ => self.high_watermark(),
        }
    }

    /// Returns the size of all batches in bytes.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a checked batch of magic 2 at the end. The high watermark does not move.
    ///
    /// Returns `None` when the offsets are exhausted or the batch is of another magic.
    pub(crate) fn append(
        &mut self,
        batch: &Batch,
        leader_epoch: i32,
        log_append_time: bool,
        now_ms: i64,
    ) -> Option<Appended> {
        let base_offset = self.end_offset;
        let records = batch.assign(base_offset, leader_epoch, log_append_time.then_some(now_ms))?;
        self.push(records, leader_epoch, now_ms, None)
    }

    /// Appends a transaction marker on behalf of the transaction coordinator (KIP-98). The high watermark does not
    /// move.
    pub(crate) fn append_marker(&mut self, marker: Marker, leader_epoch: i32, now_ms: i64) -> Option<Appended> {
        let params = BatchParams {
            base_offset: self.end_offset,
            partition_leader_epoch: leader_epoch,
            producer_id: marker.producer_id,
            producer_epoch: marker.epoch,
            base_timestamp: now_ms,
            ..BatchParams::default()
        };
        let records = end_transaction_batch(&params, marker.outcome, marker.coordinator_epoch).ok()?;
        self.push(records, leader_epoch, now_ms, Some(marker))
    }

    fn push(&mut self, records: Records, leader_epoch: i32, now_ms: i64, marker: Option<Marker>) -> Option<Appended> {
        let base_offset = self.end_offset;
        let header = BatchHeader::parse(records.parts().first()?)?;
        let end_offset = base_offset
            .checked_add(i64::from(header.last_offset_delta))?
            .checked_add(1)?;
        if self.epochs.last().is_none_or(|(epoch, _)| *epoch < leader_epoch) {
            self.epochs.push((leader_epoch, base_offset));
        }
        let before = self.batches.back().map_or(-1, |b| b.running_max_timestamp);
        let len = records.len();
        let stored = StoredBatch {
            header,
            records,
            len,
            appended_ms: now_ms,
            running_max_timestamp: before.max(header.max_timestamp),
            marker,
        };
        remember_producer(&mut self.producers, &mut self.transactions, &stored);
        self.batches.push_back(stored);
        self.end_offset = end_offset;
        self.bytes += len as u64;
        Some(Appended { base_offset })
    }

    /// Returns true when a producer has an open transaction of this epoch.
    pub(crate) fn has_open_transaction(&self, producer_id: i64, epoch: i16) -> bool {
        self.transactions.open(producer_id).is_some() && self.producers.epoch(producer_id) == Some(epoch)
    }

    /// Returns the transaction markers from `offset` on.
    pub(crate) fn markers_from(&self, offset: i64) -> Vec<Marker> {
        let behind = self.batches.range(self.batch_at(offset)..);
        behind.filter_map(|b| b.marker).collect()
    }

    /// Advances the high watermark to `offset`, at most to the end and never backward. Returns true when it moved.
    pub(crate) fn advance_high_watermark(&mut self, offset: i64) -> bool {
        let target = offset.min(self.end_offset);
        let moved = target > self.high_watermark;
        self.high_watermark = self.high_watermark.max(target);
        self.transactions.replicated(self.high_watermark);
        moved
    }

    /// Returns the index of the batch that contains `offset`, or of the next one.
    fn batch_at(&self, offset: i64) -> usize {
        self.batches.partition_point(|b| b.header.last_offset() < offset)
    }

    /// Reads whole batches below `end`, beginning with the one that contains `offset`, and fills up to `max_bytes` with
    /// a prefix of the next batch, as a broker does that sends ranges of its files. When the first batch does not fit,
    /// returns the whole batch if `at_least_one`, and nothing otherwise.
    pub(crate) fn read(&self, offset: i64, end: i64, max_bytes: usize, at_least_one: bool) -> ReadRecords {
        let mut parts: Vec<Bytes> = Vec::new();
        let mut end_offset = offset;
        let mut left = max_bytes;
        for batch in self.batches.range(self.batch_at(offset)..) {
            if batch.header.base_offset >= end {
                break;
            }
            let fits = batch.len <= left;
            match (fits, parts.is_empty(), at_least_one) {
                (true, ..) | (false, true, true) => parts.extend_from_slice(batch.records.parts()),
                (false, true, false) => break,
                (false, false, _) => put_prefix(&mut parts, &batch.records, left),
            }
            end_offset = batch.header.next_offset();
            if !fits {
                break;
            }
            left -= batch.len;
        }
        ReadRecords {
            records: Records::from_parts(parts),
            end_offset,
        }
    }

    /// Returns the number of readable bytes from `offset` to `end`, counted up to `enough`.
    pub(crate) fn available_bytes(&self, offset: i64, end: i64, enough: usize) -> usize {
        let mut sum = 0;
        for batch in self.batches.range(self.batch_at(offset)..) {
            if batch.header.base_offset >= end || sum >= enough {
                break;
            }
            sum += batch.len;
        }
        sum
    }

    /// Finds the first record at or after `timestamp`.
    pub(crate) fn offset_for_timestamp(&self, timestamp: i64) -> FoundOffset {
        let first = self.batches.partition_point(|b| b.running_max_timestamp < timestamp);
        for batch in self.batches.range(first..) {
            if batch.header.max_timestamp < timestamp {
                continue;
            }
            let found = find_record(batch, |offset, time| time >= timestamp && offset >= self.start_offset);
            if let Some(found) = found {
                return found;
            }
        }
        FoundOffset::NONE
    }

    /// Finds the first of the records with the greatest timestamp.
    pub(crate) fn offset_of_max_timestamp(&self) -> FoundOffset {
        let Some(greatest) = self.batches.iter().map(|b| b.header.max_timestamp).max() else {
            return FoundOffset::NONE;
        };
        let batch = self.batches.iter().find(|b| b.header.max_timestamp == greatest);
        batch
            .and_then(|batch| find_record(batch, |_, time| time == greatest))
            .unwrap_or(FoundOffset::NONE)
    }

    /// Returns the epoch of the leader that appended `offset`, or the latest epoch before it; -1 when there is none.
    pub(crate) fn epoch_of(&self, offset: i64) -> i32 {
        let after = self.epochs.partition_point(|(_, start)| *start <= offset);
        after
            .checked_sub(1)
            .and_then(|i| self.epochs.get(i))
            .map_or(-1, |(epoch, _)| *epoch)
    }

    /// Returns the largest epoch not above `epoch`, and its end offset (KIP-101). An epoch before those that retention
    /// has left ends at the start of the first of them. Returns `None` for a future epoch.
    pub(crate) fn end_offset_for_epoch(&self, epoch: i32, current_epoch: i32) -> Option<(i32, i64)> {
        if epoch == current_epoch {
            return Some((epoch, self.end_offset));
        }
        let after = self.epochs.partition_point(|(e, _)| *e <= epoch);
        let Some((found, _)) = after.checked_sub(1).and_then(|at| self.epochs.get(at)) else {
            let first = self.epochs.first().map_or(self.end_offset, |(_, start)| *start);
            return (epoch < current_epoch).then_some((epoch, first));
        };
        match self.epochs.get(after) {
            Some((_, start)) => Some((*found, *start)),
            // An epoch between the last one with records and the current one ends at the log's end; a future epoch is
            // unknown.
            None if epoch < current_epoch => Some((*found, self.end_offset)),
            None => None,
        }
    }

    /// Returns the base offset of the batch that contains `offset`, or the log's end.
    pub(crate) fn batch_start(&self, offset: i64) -> i64 {
        let batch = self.batches.get(self.batch_at(offset));
        batch.map_or(self.end_offset, |b| b.header.base_offset)
    }

    /// Removes all records from `offset` on, as a replica does that has more than the new leader.
    pub(crate) fn truncate_to(&mut self, offset: i64) {
        while self.batches.back().is_some_and(|b| b.header.last_offset() >= offset) {
            if let Some(batch) = self.batches.pop_back() {
                self.bytes -= batch.len as u64;
                self.end_offset = batch.header.base_offset;
            }
        }
        self.high_watermark = self.high_watermark.min(self.end_offset);
        self.epochs.retain(|(_, start)| *start < self.end_offset);
        self.producers.clear();
        self.transactions.clear();
        for batch in &self.batches {
            remember_producer(&mut self.producers, &mut self.transactions, batch);
        }
        self.transactions.replicated(self.high_watermark);
    }

    /// Sets the log's start to `offset` and drops the batches wholly before it.
    pub(crate) fn delete_before(&mut self, offset: i64) {
        self.start_offset = self.start_offset.max(offset.min(self.high_watermark));
        while self
            .batches
            .front()
            .is_some_and(|b| b.header.last_offset() < self.start_offset)
        {
            if let Some(batch) = self.batches.pop_front() {
                self.bytes -= batch.len as u64;
            }
        }
        self.transactions.delete_before(self.start_offset);
        let keep = self.epochs.partition_point(|(_, start)| *start <= self.start_offset);
        if let Some(first) = keep.checked_sub(1) {
            self.epochs.drain(..first);
            if let Some((_, start)) = self.epochs.first_mut() {
                *start = (*start).max(self.start_offset);
            }
        }
    }

    /// Drops the oldest batches until at most `limit` bytes are left. Batches above the high watermark stay.
    pub(crate) fn enforce_retention(&mut self, limit: u64) {
        let mut excess = self.bytes.saturating_sub(limit);
        let mut start = self.start_offset;
        for batch in &self.batches {
            if excess == 0 || batch.header.next_offset() > self.high_watermark {
                break;
            }
            excess = excess.saturating_sub(batch.len as u64);
            start = batch.header.next_offset();
        }
        self.delete_before(start);
    }

    /// Returns the batches in order.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &Records> {
        self.batches.iter().map(|b| &b.records)
    }
}

fn remember_producer(producers: &mut ProducerStates, transactions: &mut TransactionIndex, batch: &StoredBatch) {
    let header = &batch.header;
    if let Some(marker) = &batch.marker {
        producers.marked(marker, header.max_timestamp, batch.appended_ms);
        transactions.ended(marker, header.base_offset);
        return;
    }
    if header.producer_id == NO_PRODUCER_ID || header.base_sequence < 0 {
        return;
    }
    let stamp = ProducerStamp::of(header);
    producers.appended(&stamp, header.base_offset, header.max_timestamp, batch.appended_ms);
    if header.is_transactional() {
        transactions.appended(header.producer_id, header.base_offset);
    }
}

/// Appends the first `len` bytes of `records`.
fn put_prefix(parts: &mut Vec<Bytes>, records: &Records, len: usize) {
    let mut left = len;
    for part in records.parts() {
        if left == 0 {
            return;
        }
        let taken = part.len().min(left);
        parts.push(part.slice(..taken));
        left -= taken;
    }
}

/// Finds the first record of a batch for whose offset and timestamp `fits` returns true.
fn find_record(stored: &StoredBatch, fits: impl Fn(i64, i64) -> bool) -> Option<FoundOffset> {
    let header = &stored.header;
    let found = |offset, timestamp| {
        Some(FoundOffset {
            offset,
            timestamp,
            leader_epoch: header.partition_leader_epoch,
        })
    };
    if header.timestamp_type() == TimestampType::LogAppendTime {
        // All records have the batch's time.
        return match fits(header.last_offset(), header.max_timestamp) {
            true => found(header.base_offset, header.max_timestamp),
            false => None,
        };
    }
    let batch = BatchIter::new(stored.records.clone().into_bytes()).next()?.ok()?;
    let records = batch.decompress(LOOKUP_LIMIT_BYTES).ok()?;
    for record in records.iter() {
        let record = record.ok()?;
        if fits(record.offset, record.timestamp) {
            return found(record.offset, record.timestamp);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::util::{batch, batch_len};

    fn log(counts: &[i32]) -> PartitionLog {
        let mut log = PartitionLog::default();
        for (index, &count) in counts.iter().enumerate() {
            let base = i64::try_from(index).unwrap() * 100;
            log.append(&batch(base, count), 0, false, 5000).unwrap();
        }
        log.advance_high_watermark(i64::MAX);
        log
    }

    #[test]
    fn append_assigns_offsets_and_read_returns_whole_batches() {
        let log = log(&[3, 1, 2]);
        assert_eq!((log.end_offset(), log.high_watermark()), (6, 6));
        let all = log.read(0, 6, usize::MAX, false);
        assert_eq!(all.end_offset, 6);
        let offsets: Vec<_> = BatchIter::new(all.records.into_bytes())
            .map(|b| {
                let b = b.unwrap();
                b.verify_crc().unwrap();
                (b.header().base_offset, b.header().last_offset())
            })
            .collect();
        assert_eq!(offsets, [(0, 2), (3, 3), (4, 5)]);
        // An offset in the middle of a batch returns the whole batch.
        assert_eq!(log.read(4, 6, usize::MAX, false).records.len(), batch_len(2));
        assert_eq!(log.read(5, 6, usize::MAX, false).records.len(), batch_len(2));
        assert_eq!(log.read(6, 6, usize::MAX, true).records.len(), 0);
    }

    #[test]
    fn read_cuts_the_last_batch_and_returns_the_first_whole() {
        let log = log(&[3, 1, 2]);
        assert_eq!(log.read(0, 6, 10, false).records.len(), 0);
        assert_eq!(log.read(0, 6, 10, true).records.len(), batch_len(3));
        assert_eq!(log.read(0, 6, batch_len(3) + 7, false).records.len(), batch_len(3) + 7);
        assert_eq!(log.available_bytes(0, 6, 1), batch_len(3));
        assert_eq!(log.available_bytes(3, 6, usize::MAX), batch_len(1) + batch_len(2));
    }

    #[test]
    fn offset_for_timestamp_finds_the_record() {
        // Record i of the batch with base time t has time t + i.
        let log = log(&[3, 3, 3]);
        let at = |time| log.offset_for_timestamp(time);
        assert_eq!(at(0).offset, 0);
        assert_eq!(
            at(2),
            FoundOffset {
                offset: 2,
                timestamp: 2,
                leader_epoch: 0
            }
        );
        assert_eq!(at(3).offset, 3);
        assert_eq!(
            at(101),
            FoundOffset {
                offset: 4,
                timestamp: 101,
                leader_epoch: 0
            }
        );
        assert_eq!(at(203), FoundOffset::NONE);
        assert_eq!(log.offset_of_max_timestamp().offset, 8);
    }

    #[test]
    fn end_offset_for_epoch() {
        let mut log = PartitionLog::default();
        for epoch in [0, 0, 2, 5] {
            log.append(&batch(0, 10), epoch, false, 0).unwrap();
        }
        assert_eq!(log.end_offset_for_epoch(0, 7), Some((0, 20)));
        assert_eq!(log.end_offset_for_epoch(1, 7), Some((0, 20)));
        assert_eq!(log.end_offset_for_epoch(2, 7), Some((2, 30)));
        assert_eq!(log.end_offset_for_epoch(6, 7), Some((5, 40)));
        assert_eq!(log.end_offset_for_epoch(7, 7), Some((7, 40)));
        assert_eq!(log.end_offset_for_epoch(8, 7), None);
        assert_eq!((log.epoch_of(19), log.epoch_of(20), log.epoch_of(40)), (0, 2, 5));
    }

    #[test]
    fn truncation_resets_offsets_and_epochs() {
        let mut log = log(&[5, 5]);
        log.append(&batch(0, 5), 1, false, 0).unwrap();
        assert_eq!(log.high_watermark(), 10);
        log.truncate_to(10);
        assert_eq!((log.end_offset(), log.epoch_of(10)), (10, 0));
        assert_eq!(log.size_bytes(), 2 * batch_len(5) as u64);
    }

    #[test]
    fn retention_drops_the_oldest_batches() {
        let mut log = log(&[5, 5, 5]);
        log.enforce_retention(2 * batch_len(5) as u64);
        assert_eq!(log.start_offset(), 5);
        log.delete_before(7);
        assert_eq!(log.start_offset(), 7);
        assert_eq!(log.batches().count(), 2);
        log.delete_before(i64::MAX);
        assert_eq!((log.start_offset(), log.size_bytes()), (15, 0));
        log.append(&batch(0, 1), 0, false, 0).unwrap();
        assert_eq!(log.end_offset(), 16);
    }

    #[test]
    fn log_append_time_replaces_timestamps() {
        let mut log = PartitionLog::default();
        log.append(&batch(10, 3), 0, true, 7777).unwrap();
        log.advance_high_watermark(3);
        let stored = BatchIter::new(log.read(0, 3, usize::MAX, true).records.into_bytes()).next();
        let stored = stored.unwrap().unwrap();
        stored.verify_crc().unwrap();
        assert_eq!(stored.header().max_timestamp, 7777);
        assert_eq!(stored.header().timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!(log.offset_for_timestamp(7777).offset, 0);
    }
}
