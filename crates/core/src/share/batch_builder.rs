//! Conversion of a partition's part of a ShareFetch response to acquired records.
//!
//! Every record is read once here, on the client's thread: the application's thread then iterates over records that are
//! known to be readable, and offsets without a record are found.

use ottla_protocol::api::share_fetch::AcquiredRecords;
use ottla_protocol::compression::CodecError;
use ottla_protocol::record::{Batch, BatchIter, RecordData, RecordError};

use super::acknowledge_type::AcknowledgeType;
use super::acknowledgements::{GAP, WireRange};
use crate::error::{Error, ErrorCode};
use crate::event::{AcquiredPartitionBuilder, OffsetRange};

/// The limits on record data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// `check.crcs`.
    pub(super) check_crcs: bool,
    /// The maximum size of one decompressed batch, in bytes.
    pub(super) decompressed_max: usize,
}

/// The acquired records of one partition, and the client's own acknowledgements.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) partition: AcquiredPartitionBuilder,
    /// Acknowledgements of the offsets that the application does not see, in ascending order.
    pub(super) own: Vec<WireRange>,
}

/// Reads the acquired records of a partition. `budget` is the number of bytes that uncompressed records may still use; it is
/// reduced by what this partition uses. Records beyond it are released.
pub(super) fn build(data: bytes::Bytes, acquired: &[AcquiredRecords], limits: &Limits, budget: &mut u64) -> Built {
    let mut cursor = Cursor::new(acquired);
    let mut batches = BatchIter::new(data);
    let mut unread_from = None;
    for batch in &mut batches {
        let Ok(batch) = batch else { break };
        let offsets = offsets_of(&batch);
        if offsets.is_empty() || !cursor.covers(offsets) {
            continue;
        }
        cursor.skip_to(offsets.first, GAP);
        let before = cursor.built.partition.bytes();
        if before > 0 && before >= *budget {
            unread_from = Some(offsets.first);
            break;
        }
        cursor.take_batch(&batch, offsets, limits);
    }
    *budget = budget.saturating_sub(cursor.built.partition.bytes());
    // An incomplete batch follows, or records beyond the budget: they exist, but were not received.
    let is_complete = unread_from.is_none() && batches.remaining() == 0;
    let rest = if is_complete {
        GAP
    } else {
        AcknowledgeType::Release as i8
    };
    cursor.skip_to(i64::MAX, rest);
    cursor.built
}

/// An acquired range of the response.
#[derive(Debug, Clone, Copy)]
struct Acquired {
    offsets: OffsetRange,
    delivery_count: i16,
}

fn valid_ranges(acquired: &[AcquiredRecords]) -> Vec<Acquired> {
    let valid = acquired
        .iter()
        .filter(|r| r.first_offset >= 0 && r.first_offset <= r.last_offset && r.last_offset < i64::MAX);
    let ranges = valid.map(|r| Acquired {
        offsets: OffsetRange {
            first: r.first_offset,
            last: r.last_offset,
        },
        delivery_count: r.delivery_count,
    });
    ranges.collect()
}

/// Returns the acquired offsets of a response in ascending order, without overlaps.
pub(super) fn offsets(acquired: &[AcquiredRecords]) -> Vec<OffsetRange> {
    let mut cursor = Cursor::new(acquired);
    cursor.take_to(i64::MAX)
}

fn offsets_of(batch: &Batch) -> OffsetRange {
    let header = batch.header();
    OffsetRange {
        first: header.base_offset,
        last: header.last_offset(),
    }
}

/// The position in the acquired ranges. Every acquired offset becomes either a record or one of the client's own
/// acknowledgements.
struct Cursor {
    acquired: Vec<Acquired>,
    /// The range that contains the next offset, or the one after it.
    at: usize,
    /// The first offset that is not handled.
    next_offset: i64,
    built: Built,
}

impl Cursor {
    fn new(acquired: &[AcquiredRecords]) -> Self {
        let mut acquired = valid_ranges(acquired);
        acquired.sort_unstable_by_key(|r| r.offsets.first);
        Cursor {
            acquired,
            at: 0,
            next_offset: i64::MIN,
            built: Built::default(),
        }
    }

    /// Returns whether any of these offsets is acquired and not handled.
    fn covers(&self, offsets: OffsetRange) -> bool {
        let rest = self.acquired.get(self.at..).unwrap_or_default();
        let mut rest = rest.iter().take_while(|r| r.offsets.first <= offsets.last);
        rest.any(|r| r.offsets.last >= offsets.first.max(self.next_offset))
    }

    /// Takes the acquired offsets before `end` that are not handled.
    fn take_to(&mut self, end: i64) -> Vec<OffsetRange> {
        let mut taken = Vec::new();
        while let Some(range) = self.acquired.get(self.at) {
            let first = range.offsets.first.max(self.next_offset);
            let last = range.offsets.last.min(end - 1);
            if first <= last {
                taken.push(OffsetRange { first, last });
            }
            if range.offsets.last >= end {
                break;
            }
            self.at += 1;
        }
        self.next_offset = self.next_offset.max(end);
        taken
    }

    /// Acknowledges the acquired offsets before `end` that are not handled.
    fn skip_to(&mut self, end: i64, ty: i8) {
        for offsets in self.take_to(end) {
            self.acknowledge(offsets, ty);
        }
    }

    fn acknowledge(&mut self, offsets: OffsetRange, ty: i8) {
        match self.built.own.last_mut() {
            Some(last) if last.ty == ty && last.offsets.last + 1 == offsets.first => last.offsets.last = offsets.last,
            _ => self.built.own.push(WireRange { offsets, ty }),
        }
    }

    fn take_batch(&mut self, batch: &Batch, offsets: OffsetRange, limits: &Limits) {
        if batch.header().is_control() {
            return self.skip_to(offsets.last.saturating_add(1), GAP);
        }
        match self.read(batch, limits) {
            Ok((data, is_dense)) => {
                match is_dense {
                    true => self.take_all_to(offsets.last.saturating_add(1)),
                    false => self.take_records(&data),
                }
                self.built
                    .partition
                    .push_segment(data, batch.header().partition_leader_epoch);
                self.skip_to(offsets.last.saturating_add(1), GAP);
            }
            Err(error) => self.skip_unreadable(offsets, &error),
        }
    }

    /// Returns the records of a batch, all of which can be read, and whether every offset has a record.
    fn read(&self, batch: &Batch, limits: &Limits) -> Result<(RecordData, bool), RecordError> {
        let data = batch.open(limits.check_crcs, limits.decompressed_max)?;
        let range = offsets_of(batch);
        let (mut next, mut is_dense) = (range.first, true);
        for (index, record) in data.iter().enumerate() {
            let offset = record?.offset;
            if offset < next || offset > range.last {
                return Err(RecordError::InvalidRecord {
                    base_offset: range.first,
                    index,
                    reason: "its offset is not in ascending order or not in the batch",
                });
            }
            is_dense &= offset == next;
            next = offset + 1;
        }
        Ok((data, is_dense && next > range.last))
    }

    /// Takes the acquired offsets before `end`, all of which have a record.
    fn take_all_to(&mut self, end: i64) {
        while let Some(range) = self.acquired.get(self.at) {
            let first = range.offsets.first.max(self.next_offset);
            let last = range.offsets.last.min(end - 1);
            if first <= last {
                let offsets = OffsetRange { first, last };
                self.built.partition.push_range(offsets, range.delivery_count);
            }
            if range.offsets.last >= end {
                break;
            }
            self.at += 1;
        }
        self.next_offset = self.next_offset.max(end);
    }

    fn take_records(&mut self, data: &RecordData) {
        for record in data.iter().filter_map(Result::ok) {
            self.skip_to(record.offset, GAP);
            let range = self.acquired.get(self.at);
            if let Some(range) = range.filter(|r| r.offsets.first <= record.offset) {
                let offsets = OffsetRange {
                    first: record.offset,
                    last: record.offset,
                };
                self.built.partition.push_range(offsets, range.delivery_count);
                self.next_offset = record.offset + 1;
                if range.offsets.last == record.offset {
                    self.at += 1;
                }
            }
        }
    }

    /// Acknowledges the acquired records of a batch that cannot be read, and adds an error for each range.
    fn skip_unreadable(&mut self, offsets: OffsetRange, error: &RecordError) {
        // Another client may be able to decompress them; damaged data stays damaged.
        let (code, ty) = match error {
            RecordError::Codec(CodecError::UnknownCodec(_)) => (ErrorCode::L_NOT_IMPLEMENTED, AcknowledgeType::Release),
            RecordError::Codec(_) => (ErrorCode::L_BAD_COMPRESSION, AcknowledgeType::Release),
            _ => (ErrorCode::L_BAD_MSG, AcknowledgeType::Reject),
        };
        for lost in self.take_to(offsets.last.saturating_add(1)) {
            self.acknowledge(lost, ty as i8);
            let text = format!("offsets {} to {} cannot be read: {error}", lost.first, lost.last);
            self.built.partition.push_unreadable(lost, Error::new(code, text));
        }
    }
}

#[cfg(test)]
mod tests;
