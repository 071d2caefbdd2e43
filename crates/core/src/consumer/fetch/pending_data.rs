//! Conversion of a partition's fetched record data to chunks in its queue: verifies checksums, decompresses, and drops
//! records of aborted transactions.
//!
//! Data that exceeds the consumer's byte budget stays compressed in [`PendingData`] until the application has released
//! delivered records.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::api::fetch::AbortedTransaction;
use ottla_protocol::compression::CodecError;
use ottla_protocol::record::{Batch, BatchIter, ControlRecord, ControlType, RecordData, RecordError};

use super::counts::Received;
use crate::error::{Error, ErrorCode};
use crate::event::{ChunkBuilder, Event, PartitionNotice, PartitionState};
use crate::memory::FetchBudget;

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

    /// Returns true if a batch that ends at `last_offset` belongs to an aborted transaction. Must be called in the order of
    /// offsets.
    fn covers(&mut self, batch: &Batch, last_offset: i64) -> bool {
        self.begin(last_offset);
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
}

/// Record data of one partition that has not been delivered to its queue yet.
#[derive(Debug)]
pub(super) struct PendingData {
    batches: BatchIter,
    /// The batch before `batches`.
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
    /// The size of the last compressed batch before and after decompression, which estimates that of the next one.
    ratio: (u64, u64),
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
            waiting: None,
            aborted: Aborted::new(aborted),
            next_offset,
            leader_epoch,
            end_offset,
            broker_id,
            any: false,
            ratio: (1, 1),
            delivered: Received::default(),
        }
    }

    /// Returns the number of bytes that have not been delivered.
    pub(super) fn len(&self) -> u64 {
        let waiting = self.waiting.as_ref().map_or(0, |w| w.batch.bytes().len());
        (self.batches.remaining() + waiting) as u64
    }

    /// Returns the size in bytes of the next batch, if its length is in the data.
    pub(super) fn next_batch_bytes(&self) -> Option<usize> {
        self.batches.needed_bytes()
    }

    /// Moves batches into the partition's queue while the budget allows, at least one if the consumer holds no other records.
    /// Decompresses on the calling thread, the client's I/O thread.
    pub(super) fn deliver(&mut self, state: &Arc<PartitionState>, budget: &FetchBudget, limits: &Limits) -> Delivered {
        let generation = state.fetch_generation();
        let mut builder = ChunkBuilder::new();
        loop {
            if builder.bytes() >= CHUNK_TARGET_BYTES {
                self.push(state, generation, &mut builder);
            }
            let (batch, size) = match self.waiting.take() {
                Some(waiting) => (waiting.batch, Some(waiting.size)),
                None => match self.batches.next() {
                    None => break,
                    Some(Ok(batch)) => (batch, None),
                    Some(Err(error)) => {
                        self.push(state, generation, &mut builder);
                        return Delivered::Broken(Error::new(ErrorCode::L_BAD_MSG, format!("{}: {error}", state.tp())));
                    }
                },
            };
            self.any = true;
            let held = budget.bytes() + builder.bytes();
            let unread = self.batches.remaining() as u64;
            let fits = |size: u64| held == 0 || held + unread + size <= limits.budget_max;
            let size = size.unwrap_or_else(|| self.likely_size(&batch));
            if !fits(size) {
                self.waiting = Some(Waiting { batch, size });
                self.push(state, generation, &mut builder);
                return Delivered::NoBudget;
            }
            match self.take(&batch, &mut builder, limits, fits) {
                Ok(None) => {}
                Ok(Some(size)) => {
                    self.waiting = Some(Waiting { batch, size });
                    self.push(state, generation, &mut builder);
                    return Delivered::NoBudget;
                }
                Err(error) => {
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

    /// Estimates the uncompressed size of a batch, so that few batches are decompressed that then exceed the budget. 0 for a
    /// batch before the position and for a control batch.
    fn likely_size(&self, batch: &Batch) -> u64 {
        let wire = batch.bytes().len() as u64;
        if batch.header().last_offset() < self.next_offset || batch.header().is_control() {
            return 0;
        }
        match batch.header().is_compressed() {
            false => wire,
            true => wire.saturating_mul(self.ratio.1) / self.ratio.0.max(1),
        }
    }

    /// Appends a batch's records to the chunk, except those before the position, control records and aborted ones. If the
    /// records exceed the budget, returns their size and leaves the position unchanged. Otherwise advances the position past
    /// the batch, even after an error.
    fn take(
        &mut self,
        batch: &Batch,
        builder: &mut ChunkBuilder,
        limits: &Limits,
        fits: impl Fn(u64) -> bool,
    ) -> Result<Option<u64>, RecordError> {
        let header = batch.header();
        let last_offset = header.last_offset().max(header.base_offset);
        let from_offset = self.next_offset;
        if last_offset < from_offset {
            return Ok(None);
        }
        let unpacked = self.unpack(batch, last_offset, limits);
        if let Ok(Some(data)) = &unpacked {
            let size = data.bytes().len() as u64;
            if header.is_compressed() {
                self.ratio = (batch.bytes().len() as u64, size);
            }
            if !fits(size) {
                return Ok(Some(size));
            }
        }
        // A compacted batch keeps its last offset even if its last records were removed.
        self.next_offset = last_offset.saturating_add(1);
        self.leader_epoch = header.partition_leader_epoch;
        if let Some(data) = unpacked? {
            builder.push(data, header.base_offset, from_offset, header.partition_leader_epoch)?;
        }
        Ok(None)
    }

    /// Decompresses a batch. Returns `None` for control records and records of an aborted transaction.
    fn unpack(&mut self, batch: &Batch, last_offset: i64, limits: &Limits) -> Result<Option<RecordData>, RecordError> {
        if limits.check_crcs {
            batch.verify_crc()?;
        }
        if batch.header().is_control() {
            self.aborted.on_control(batch, limits.decompressed_max);
            return Ok(None);
        }
        if self.aborted.covers(batch, last_offset) {
            return Ok(None);
        }
        batch.decompress(limits.decompressed_max).map(Some)
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
