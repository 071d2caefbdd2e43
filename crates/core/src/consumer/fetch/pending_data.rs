//! Conversion of a partition's fetched record data to chunks in its queue: verifies checksums, decompresses, and drops
//! records of aborted transactions.
//!
//! Data that exceeds the consumer's byte budget stays compressed in [`PendingData`] until the application has released
//! delivered records. Jobs may decompress batches within the budget before their turn (`opening`).

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::api::fetch::AbortedTransaction;
use ottla_protocol::compression::CodecError;
use ottla_protocol::record::{Batch, BatchIter, ControlRecord, ControlType, RecordData, RecordError};

use super::counts::Received;
use super::growth::Growth;
use super::opening::{Body, Opening, OpeningJobs, opened};
use crate::error::{Error, ErrorCode};
use crate::event::{ChunkBuilder, Event, PartitionNotice, PartitionState};
use crate::memory::FetchBudget;
use crate::work::WorkDone;

/// The size at which a chunk is completed. Each chunk that the application has consumed releases its budget.
const CHUNK_TARGET_BYTES: u64 = 512 * 1024;

/// The settings for record data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// `check.crcs`.
    pub(super) check_crcs: bool,
    /// The maximum size of one decompressed batch, in bytes.
    pub(super) decompressed_max: usize,
    /// The maximum number of bytes in the consumer's queues and in this pending data.
    pub(super) budget_max: u64,
}

/// The result of delivering pending data.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivered {
    /// All data was delivered.
    Done,
    /// The remaining data waits for budget.
    NoBudget,
    /// The remaining data waits for jobs.
    Opening,
    /// The data contains no whole batch: a fetch must allow at least this many bytes.
    TooSmall(usize),
    /// The data cannot be split into batches; it must be fetched again.
    Broken(Error),
}

/// The aborted transactions of a fetch response, whose records are dropped (`isolation.level=read_committed`).
#[derive(Debug, Default)]
struct Aborted {
    /// The transactions that begin after the last processed batch, as (first offset, producer id), in order.
    coming: VecDeque<(i64, i64)>,
    /// The ids of producers with an aborted transaction that has begun and not ended yet.
    active: HashSet<i64>,
}

impl Aborted {
    fn new(list: &[AbortedTransaction]) -> Self {
        let mut coming: Vec<(i64, i64)> = list.iter().map(|a| (a.first_offset, a.producer_id)).collect();
        coming.sort_unstable();
        Aborted {
            coming: coming.into(),
            active: HashSet::new(),
        }
    }

    /// Activates the transactions that begin at or before `offset`.
    fn begin(&mut self, offset: i64) {
        while let Some((_, producer)) = self.coming.pop_front_if(|(first, _)| *first <= offset) {
            self.active.insert(producer);
        }
    }

    /// Returns true if a batch belongs to an aborted transaction. Must be called in the order of offsets.
    fn covers(&mut self, batch: &Batch) -> bool {
        self.begin(batch.header().last_offset());
        batch.header().is_transactional() && self.active.contains(&batch.header().producer_id)
    }

    /// Handles a control batch. Records of the producer after an abort marker belong to another transaction.
    fn on_control(&mut self, batch: &Batch, limit: usize) {
        // All records of the transaction may be before the fetched data, and only its marker in it.
        self.begin(batch.header().last_offset());
        if self.active.is_empty() {
            return;
        }
        let Ok(data) = batch.decompress(limit) else { return };
        let aborts = data
            .iter()
            .filter_map(Result::ok)
            .any(|r| ControlRecord::parse(&r).is_some_and(|c| c.control_type == ControlType::ABORT));
        if aborts {
            self.active.remove(&batch.header().producer_id);
        }
    }
}

/// A batch that exceeds the budget.
#[derive(Debug)]
struct Waiting {
    batch: Batch,
    /// The size of its records in bytes, uncompressed.
    size: u64,
    /// Its records are known to be delivered: it is no control batch, and not of an aborted transaction.
    is_kept: bool,
}

/// A batch, the size of its records if it is known, and [`Waiting::is_kept`].
type NextBatch = (Batch, Option<u64>, bool);

/// The result of a batch's turn.
enum Turn {
    /// The next batch has its turn.
    Next,
    /// The batch keeps its turn.
    Wait(Delivered),
    /// The batch is skipped.
    Skipped(Batch, RecordError),
}

/// Record data of one partition that has not been delivered to its queue yet.
#[derive(Debug)]
pub(super) struct PendingData {
    batches: BatchIter,
    /// The batches before `waiting`, of which jobs open some.
    opening: VecDeque<Opening>,
    /// The batch before `batches`; before `opening`, if its job found it larger than expected.
    waiting: Option<Waiting>,
    aborted: Aborted,
    /// The offset of the next record to deliver.
    pub(super) next_offset: i64,
    /// The epoch of the leader that appended the record before `next_offset`, or -1.
    pub(super) leader_epoch: i32,
    /// The end of the partition for this consumer: the high watermark or the last stable offset.
    pub(super) end_offset: i64,
    pub(super) broker_id: i32,
    /// The data contained a whole batch.
    any: bool,
    /// The growth of earlier batches in decompression.
    pub(super) growth: Growth,
    /// The delivered messages and bytes, for statistics.
    pub(super) delivered: Received,
}

impl PendingData {
    /// Stores data that was fetched at `next_offset`; its first batch may begin earlier. `leader_epoch` is that of the record
    /// before `next_offset`.
    pub(super) fn new(
        data: Bytes,
        (next_offset, leader_epoch): (i64, i32),
        end_offset: i64,
        broker_id: i32,
        aborted: &[AbortedTransaction],
    ) -> Self {
        PendingData {
            batches: BatchIter::new(data),
            opening: VecDeque::new(),
            waiting: None,
            aborted: Aborted::new(aborted),
            next_offset,
            leader_epoch,
            end_offset,
            broker_id,
            any: false,
            growth: Growth::default(),
            delivered: Received::default(),
        }
    }

    /// Returns the number of bytes that have not been delivered.
    pub(super) fn len(&self) -> u64 {
        let waiting = self.waiting.as_ref().map_or(0, |w| w.batch.bytes().len());
        let opening: u64 = self.opening.iter().map(Opening::bytes).sum();
        (self.batches.remaining() + waiting) as u64 + opening
    }

    /// Returns the part of [`len`](Self::len) that jobs occupy and reserve.
    pub(super) fn running_bytes(&self) -> u64 {
        let running = self.opening.iter().filter(|o| o.is_running());
        running.map(Opening::bytes).sum()
    }

    /// Stores the result of a job. Returns the bytes that were reserved and are not needed; `None` if the job is none of this
    /// data's.
    pub(super) fn store(&mut self, done: WorkDone) -> Option<u64> {
        let is_its = |o: &&mut Opening| matches!(&o.body, Body::Running(ticket) if ticket.id() == done.id);
        let opening = self.opening.iter_mut().find(is_its)?;
        let result = opened(&opening.batch, done.output);
        let before = opening.reserved;
        if let Ok(data) = &result {
            opening.reserved = data.bytes().len() as u64;
        }
        opening.body = Body::Opened(result);
        Some(before.saturating_sub(opening.reserved))
    }

    /// Returns the size in bytes of the next batch, if its length is in the data.
    pub(super) fn next_batch_bytes(&self) -> Option<usize> {
        self.batches.needed_bytes()
    }

    /// Moves batches into the partition's queue while the budget allows, at least one if the consumer holds no other records.
    /// Decompresses on the calling thread, the client's I/O thread, unless `jobs` admit the batches.
    pub(super) fn deliver(
        &mut self,
        state: &Arc<PartitionState>,
        budget: &FetchBudget,
        limits: &Limits,
        jobs: &mut OpeningJobs,
    ) -> Delivered {
        let generation = state.fetch_generation();
        let mut builder = ChunkBuilder::new();
        loop {
            if builder.bytes() >= CHUNK_TARGET_BYTES {
                self.push(state, generation, &mut builder);
            }
            let held = budget.bytes() + builder.bytes();
            self.hand_out(state.id(), held, limits, jobs);
            let turn = match self.opening.pop_front_if(|_| self.waiting.is_none()) {
                Some(opening) => self.take_opened(opening, &mut builder, limits),
                None => match self.next_batch() {
                    None => break,
                    Some(Ok(next)) => self.take_next(next, &mut builder, held, limits),
                    Some(Err(error)) => {
                        self.push(state, generation, &mut builder);
                        return Delivered::Broken(Error::new(ErrorCode::L_BAD_MSG, format!("{}: {error}", state.tp())));
                    }
                },
            };
            match turn {
                Turn::Next => {}
                Turn::Wait(delivered) => {
                    self.push(state, generation, &mut builder);
                    return delivered;
                }
                Turn::Skipped(batch, error) => {
                    self.push(state, generation, &mut builder);
                    self.report(state, generation, &batch, &error);
                }
            }
        }
        self.push(state, generation, &mut builder);
        match self.batches.needed_bytes() {
            Some(needed) if !self.any => Delivered::TooSmall(needed),
            // Shorter than a batch length: any larger limit makes progress.
            None if !self.any && self.batches.remaining() > 0 => {
                Delivered::TooSmall(self.batches.remaining() * 2 + 1024)
            }
            _ => Delivered::Done,
        }
    }

    /// Removes the next batch that is not among those before their turn.
    fn next_batch(&mut self) -> Option<Result<NextBatch, RecordError>> {
        if let Some(waiting) = self.waiting.take() {
            return Some(Ok((waiting.batch, Some(waiting.size), waiting.is_kept)));
        }
        let batch = self.batches.next()?;
        self.any |= batch.is_ok();
        Some(batch.map(|batch| (batch, None, false)))
    }

    /// Opens and delivers a batch, if the budget allows. `held` bytes are in queues.
    fn take_next(
        &mut self,
        (batch, size, is_kept): NextBatch,
        builder: &mut ChunkBuilder,
        held: u64,
        limits: &Limits,
    ) -> Turn {
        let reserved: u64 = self.opening.iter().map(|o| o.reserved).sum();
        let compressed: u64 = self.opening.iter().map(Opening::wire_bytes).sum();
        let unread = self.batches.remaining() as u64 + compressed;
        let fits = |size: u64| held + reserved == 0 || held + reserved + unread + size <= limits.budget_max;
        let size = size.unwrap_or_else(|| self.likely_size(&batch));
        let size = match fits(size) {
            false => size,
            true => match self.take(&batch, is_kept, builder, limits, fits) {
                Ok(None) => return Turn::Next,
                Ok(Some(size)) => size,
                Err(error) => return Turn::Skipped(batch, error),
            },
        };
        self.waiting = Some(Waiting { batch, size, is_kept });
        match held == 0 && reserved > 0 {
            // Only records behind it are held: they are opened again later.
            true => self.close_opened(),
            false => Turn::Wait(Delivered::NoBudget),
        }
    }

    /// Drops the records of batches before their turn.
    fn close_opened(&mut self) -> Turn {
        if self.opening.iter().any(Opening::is_running) {
            return Turn::Wait(Delivered::Opening);
        }
        for opening in &mut self.opening {
            if matches!(opening.body, Body::Opened(Ok(_))) {
                opening.body = Body::Closed;
            }
            opening.reserved = 0;
        }
        Turn::Next
    }

    /// Delivers a batch whose records are reserved.
    fn take_opened(&mut self, opening: Opening, builder: &mut ChunkBuilder, limits: &Limits) -> Turn {
        let Opening { batch, body, reserved } = opening;
        let result = match body {
            Body::Running(_) => {
                self.opening.push_front(Opening { batch, body, reserved });
                return Turn::Wait(Delivered::Opening);
            }
            Body::Dropped => {
                self.advance(&batch);
                return Turn::Next;
            }
            Body::Closed => batch.open(limits.check_crcs, usize::try_from(reserved).unwrap_or(usize::MAX)),
            Body::Opened(result) => result,
        };
        if let Err(RecordError::Codec(CodecError::LimitExceeded { limit, .. })) = result
            && limit < limits.decompressed_max
        {
            let size = reserved.saturating_mul(2);
            self.waiting = Some(Waiting {
                batch,
                size,
                is_kept: true,
            });
            return Turn::Next;
        }
        let from_offset = self.next_offset;
        self.advance(&batch);
        match result.and_then(|data| self.append(&batch, data, from_offset, builder)) {
            Ok(()) => Turn::Next,
            Err(error) => Turn::Skipped(batch, error),
        }
    }

    /// Hands out the next batches to jobs while the budget allows, which reserves the memory of their records. Batches between
    /// them that need no job keep their place.
    fn hand_out(&mut self, partition: u32, held: u64, limits: &Limits, jobs: &mut OpeningJobs) {
        while jobs.has_room() && self.waiting.is_none() {
            let Some(Ok(batch)) = self.batches.clone().next() else {
                return;
            };
            let header = batch.header();
            if header.last_offset() < self.next_offset {
                return;
            }
            let size = self.likely_size(&batch);
            let codec = header.compression().ok().filter(|_| !header.is_control());
            let codec = codec.filter(|codec| jobs.admits(*codec, size));
            if codec.is_none() && self.opening.is_empty() {
                return;
            }
            let reserved = match header.is_compressed() {
                true => self.growth.ample_bytes(batch.bytes().len() as u64),
                false => size,
            };
            let occupied = held + self.len();
            if occupied + reserved > limits.budget_max {
                return;
            }
            let _ = self.next_batch();
            let body = match self.is_dropped(&batch, limits) {
                Err(error) => Body::Opened(Err(error)),
                Ok(true) => Body::Dropped,
                Ok(false) if codec.is_some() => {
                    Body::Running(jobs.add(partition, batch.clone(), reserved, limits.check_crcs))
                }
                Ok(false) => Body::Closed,
            };
            let reserved = match body {
                Body::Dropped | Body::Opened(_) => 0,
                Body::Running(_) | Body::Closed => reserved,
            };
            self.opening.push_back(Opening { batch, body, reserved });
        }
    }

    /// Estimates the uncompressed size of a batch, so that few batches are decompressed that then exceed the budget. 0 for a
    /// batch before the position and for a control batch.
    fn likely_size(&self, batch: &Batch) -> u64 {
        let wire = batch.bytes().len() as u64;
        if batch.header().last_offset() < self.next_offset || batch.header().is_control() {
            return 0;
        }
        match batch.header().is_compressed() {
            false => wire,
            true => self.growth.likely_bytes(wire),
        }
    }

    /// Appends a batch's records to the chunk, except those before the position, control records and aborted ones. If the
    /// records exceed the budget, returns their size and leaves the position unchanged. Otherwise advances the position past
    /// the batch, even after an error. With `is_kept` the batch is known to be neither a control batch nor aborted.
    fn take(
        &mut self,
        batch: &Batch,
        is_kept: bool,
        builder: &mut ChunkBuilder,
        limits: &Limits,
        fits: impl Fn(u64) -> bool,
    ) -> Result<Option<u64>, RecordError> {
        let header = batch.header();
        let from_offset = self.next_offset;
        if header.last_offset() < from_offset {
            return Ok(None);
        }
        let opened = match is_kept {
            true => batch.open(limits.check_crcs, limits.decompressed_max).map(Some),
            false => self.unpack(batch, limits),
        };
        if let Ok(Some(data)) = &opened {
            let size = data.bytes().len() as u64;
            if header.is_compressed() {
                self.growth.note(batch.bytes().len() as u64, size);
            }
            if !fits(size) {
                return Ok(Some(size));
            }
        }
        self.advance(batch);
        if let Some(data) = opened? {
            self.append(batch, data, from_offset, builder)?;
        }
        Ok(None)
    }

    /// Advances the position past a batch.
    fn advance(&mut self, batch: &Batch) {
        let header = batch.header();
        // A compacted batch keeps its last offset even if its last records were removed.
        self.next_offset = header.next_offset();
        self.leader_epoch = header.partition_leader_epoch;
    }

    /// Appends the records of a batch to the chunk, from `from_offset` on.
    fn append(
        &mut self,
        batch: &Batch,
        data: RecordData,
        from_offset: i64,
        builder: &mut ChunkBuilder,
    ) -> Result<(), RecordError> {
        let header = batch.header();
        if header.is_compressed() {
            self.growth.note(batch.bytes().len() as u64, data.bytes().len() as u64);
        }
        builder.push(data, header.base_offset, from_offset, header.partition_leader_epoch)
    }

    /// Decompresses a batch. Returns `None` for control records and records of an aborted transaction.
    fn unpack(&mut self, batch: &Batch, limits: &Limits) -> Result<Option<RecordData>, RecordError> {
        match self.is_dropped(batch, limits)? {
            true => Ok(None),
            false => batch.open(limits.check_crcs, limits.decompressed_max).map(Some),
        }
    }

    /// Returns whether the records of a batch are not delivered. Must be called in the order of offsets. Checks only the
    /// checksum of a control batch.
    fn is_dropped(&mut self, batch: &Batch, limits: &Limits) -> Result<bool, RecordError> {
        if !batch.header().is_control() {
            return Ok(self.aborted.covers(batch));
        }
        if limits.check_crcs {
            batch.verify_crc()?;
        }
        self.aborted.on_control(batch, limits.decompressed_max);
        Ok(true)
    }

    /// Reports to the application that a batch was skipped.
    fn report(&self, state: &Arc<PartitionState>, generation: u32, batch: &Batch, error: &RecordError) {
        let code = match error {
            RecordError::Codec(CodecError::UnknownCodec(_)) => ErrorCode::L_NOT_IMPLEMENTED,
            RecordError::Codec(_) => ErrorCode::L_BAD_COMPRESSION,
            _ => ErrorCode::L_BAD_MSG,
        };
        let header = batch.header();
        let text = format!(
            "{}: offsets {} to {} are skipped: {error}",
            state.tp(),
            header.base_offset,
            self.next_offset - 1,
        );
        state.queue().push(Event::Partition(PartitionNotice {
            partition: Some(state.clone()),
            tp: None,
            fetch_generation: generation,
            error: Error::new(code, text),
            offset: header.base_offset,
        }));
    }

    fn push(&mut self, state: &Arc<PartitionState>, generation: u32, builder: &mut ChunkBuilder) {
        if let Some(chunk) = std::mem::take(builder).finish(state, generation, self.broker_id) {
            self.delivered.messages += chunk.remaining() as u64;
            self.delivered.bytes += chunk.bytes();
            state.queue().push(Event::Records(chunk));
        }
    }
}
