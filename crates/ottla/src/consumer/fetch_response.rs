//! From a partition's record data to chunks in its queue: checks, decompression, aborted transactions, all within the
//! consumer's budget.
//!
//! What does not fit into the budget stays compressed in a [`PendingData`] until the application has made room.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::api::fetch::AbortedTransaction;
use ottla_protocol::compression::CodecError;
use ottla_protocol::record::{Batch, BatchIter, ControlRecord, ControlType, RecordData, RecordError};

use super::statistics::Received;
use crate::error::{Error, ErrorCode};
use crate::event::{ChunkBuilder, Event, PartitionNotice, PartitionState};
use crate::memory::FetchBudget;

/// A chunk is closed once it holds this much: room is given back chunk by chunk.
const CHUNK_TARGET_BYTES: u64 = 512 * 1024;

/// What record data is held to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// `check.crcs`.
    pub(super) check_crcs: bool,
    /// The most that one batch may decompress to.
    pub(super) decompressed_max: usize,
    /// What may be held in queues and in this backlog, in bytes.
    pub(super) budget_max: u64,
}

/// How far a backlog was fed into the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivered {
    /// All of it.
    Done,
    /// The rest waits for room.
    NoBudget,
    /// Not even one whole batch came: the request must allow this many bytes.
    TooSmall(usize),
    /// The data cannot be cut into batches; it must be fetched again.
    Broken(Error),
}

/// Producers whose records are to be dropped (`isolation.level=read_committed`).
#[derive(Debug, Default)]
struct Aborted {
    /// By first offset.
    coming: VecDeque<(i64, i64)>,
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

    /// The transactions that have begun at `offset`.
    fn begin(&mut self, offset: i64) {
        while let Some((_, producer)) = self.coming.pop_front_if(|(first, _)| *first <= offset) {
            self.active.insert(producer);
        }
    }

    /// Whether a batch that ends at `last_offset` was aborted. Must be asked in the order of offsets.
    fn covers(&mut self, batch: &Batch, last_offset: i64) -> bool {
        self.begin(last_offset);
        batch.header().is_transactional() && self.active.contains(&batch.header().producer_id)
    }

    /// An end of transaction: what the producer writes afterwards belongs to another one.
    fn on_control(&mut self, batch: &Batch, limit: usize) {
        // One that has its end here may have its records before what was fetched.
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

/// A batch that did not fit into the budget.
#[derive(Debug)]
struct Waiting {
    batch: Batch,
    /// Bytes of its records, uncompressed.
    size: u64,
}

/// Record data of one partition that is not in its queue yet.
#[derive(Debug)]
pub(super) struct PendingData {
    batches: BatchIter,
    /// The batch before them.
    waiting: Option<Waiting>,
    aborted: Aborted,
    /// The next offset wanted.
    pub(super) next_offset: i64,
    /// The epoch of the leader that appended what lies before `next_offset`, or -1.
    pub(super) leader_epoch: i32,
    /// Where the partition ends for this consumer: the high watermark or the last stable offset.
    pub(super) end_offset: i64,
    pub(super) broker_id: i32,
    any: bool,
    /// Bytes of the last compressed batch, before and after decompression: the next one may be like it.
    ratio: (u64, u64),
    /// What was put into the queue, for statistics.
    pub(super) delivered: Received,
}

impl PendingData {
    /// Data that was fetched from `next_offset` on, behind a record of `leader_epoch`; batches may begin earlier.
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

    /// Bytes that are not in the queue yet.
    pub(super) fn len(&self) -> u64 {
        let waiting = self.waiting.as_ref().map_or(0, |w| w.batch.bytes().len());
        (self.batches.remaining() + waiting) as u64
    }

    /// Bytes that the batch takes which comes next, where its beginning is there.
    pub(super) fn next_batch_bytes(&self) -> Option<usize> {
        self.batches.needed_bytes()
    }

    /// Moves batches into the partition's queue while the budget has room, one at least when nothing else is held.
    /// Decompression happens here, on the client's own thread; batches are independent, so that a pool of workers can take
    /// this step over.
    pub(super) fn deliver(&mut self, state: &Arc<PartitionState>, budget: &FetchBudget, limits: &Limits) -> Delivered {
        let epoch = state.fetch_generation();
        let mut builder = ChunkBuilder::new();
        loop {
            if builder.bytes() >= CHUNK_TARGET_BYTES {
                self.push(state, epoch, &mut builder);
            }
            let (batch, size) = match self.waiting.take() {
                Some(waiting) => (waiting.batch, Some(waiting.size)),
                None => match self.batches.next() {
                    None => break,
                    Some(Ok(batch)) => (batch, None),
                    Some(Err(error)) => {
                        self.push(state, epoch, &mut builder);
                        return Delivered::Broken(Error::new(ErrorCode::L_BAD_MSG, format!("{}: {error}", state.tp())));
                    }
                },
            };
            self.any = true;
            let held = budget.bytes() + builder.bytes();
            let rest = self.batches.remaining() as u64;
            let fits = |size: u64| held == 0 || held + rest + size <= limits.budget_max;
            let size = size.unwrap_or_else(|| self.likely_size(&batch));
            if !fits(size) {
                self.waiting = Some(Waiting { batch, size });
                self.push(state, epoch, &mut builder);
                return Delivered::NoBudget;
            }
            match self.take(&batch, &mut builder, limits, fits) {
                Ok(None) => {}
                Ok(Some(size)) => {
                    self.waiting = Some(Waiting { batch, size });
                    self.push(state, epoch, &mut builder);
                    return Delivered::NoBudget;
                }
                Err(error) => {
                    self.push(state, epoch, &mut builder);
                    self.report(state, epoch, &batch, &error);
                }
            }
        }
        self.push(state, epoch, &mut builder);
        match self.batches.needed_bytes() {
            Some(needed) if !self.any => Delivered::TooSmall(needed),
            // Less than a length: anything that is larger will do.
            None if !self.any && self.batches.remaining() > 0 => {
                Delivered::TooSmall(self.batches.remaining() * 2 + 1024)
            }
            _ => Delivered::Done,
        }
    }

    /// What a batch may come to, uncompressed: a guess saves decompressing in vain most of the time.
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

    /// Appends a batch's records to the chunk unless they are not for the application. When there is no room for them,
    /// gives the bytes that they take; else the batch is done with, whatever comes of it.
    fn take(
        &mut self,
        batch: &Batch,
        builder: &mut ChunkBuilder,
        limits: &Limits,
        fits: impl Fn(u64) -> bool,
    ) -> Result<Option<u64>, RecordError> {
        let header = batch.header();
        let last_offset = header.last_offset().max(header.base_offset);
        let wanted_from = self.next_offset;
        if last_offset < wanted_from {
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
        // A compacted batch keeps its last offset even when its last records are gone.
        self.next_offset = last_offset.saturating_add(1);
        self.leader_epoch = header.partition_leader_epoch;
        if let Some(data) = unpacked? {
            builder.push(data, header.base_offset, wanted_from, header.partition_leader_epoch)?;
        }
        Ok(None)
    }

    /// The batch's records, if they are for the application.
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

    /// Tells the application of a batch that it will not see.
    fn report(&self, state: &Arc<PartitionState>, epoch: u32, batch: &Batch, error: &RecordError) {
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
            fetch_generation: epoch,
            error: Error::new(code, text),
            offset: header.base_offset,
        }));
    }

    fn push(&mut self, state: &Arc<PartitionState>, epoch: u32, builder: &mut ChunkBuilder) {
        if let Some(chunk) = std::mem::take(builder).finish(state, epoch, self.broker_id) {
            self.delivered.messages += chunk.remaining() as u64;
            self.delivered.bytes += chunk.bytes();
            state.queue().push(Event::Records(chunk));
        }
    }
}
