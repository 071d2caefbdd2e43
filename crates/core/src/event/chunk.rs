//! Fetched records.
//!
//! A [`Chunk`] is a sequence of records of one partition that are not parsed yet: they stay in the received or
//! decompressed buffer and are read one by one on the application's thread. A chunk of an older fetch generation is stale:
//! it is dropped when it reaches the head of its queue.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use ottla_protocol::record::{RecordCursor, RecordData, RecordError};

use super::fetched_records::{ChunkMemory, RecordRef, Segment, record_ref};
use super::partition::PositionTracker;
use super::{Event, PartitionNotice, PartitionState};
use crate::error::{Error, ErrorCode};

/// Records of one partition, in order. Its bytes count against the consumer's budget until it is dropped.
pub struct Chunk {
    partition: Arc<PartitionState>,
    /// The tracker of the application's position that the records advance; a seek installs another one in the partition.
    place: Arc<PositionTracker>,
    fetch_generation: u32,
    broker_id: i32,
    memory: Arc<ChunkMemory>,
    segment: usize,
    cursor: RecordCursor,
    remaining: usize,
    /// The counts that were added to the partition's state, and are subtracted when the chunk is dropped.
    records: u64,
    bytes: u64,
    /// The error of a record that could not be read; reported when the chunk is dropped.
    broken: Option<RecordError>,
    attachment: Attachment,
}

/// A value that the reader of the records stores with the chunk. Dropped with the chunk.
pub type Attachment = Option<Box<dyn Any + Send>>;

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk")
            .field("partition", &self.partition.tp())
            .field("remaining", &self.remaining)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Chunk {
    /// Returns the partition of the records.
    pub fn partition(&self) -> &Arc<PartitionState> {
        &self.partition
    }

    /// Returns the broker that the records were fetched from.
    pub fn broker_id(&self) -> i32 {
        self.broker_id
    }

    /// Returns the number of remaining records.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Returns whether no record is left.
    pub fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// Returns whether the records were fetched before a seek, pause, stop or revocation: they must not be delivered.
    pub fn is_stale(&self) -> bool {
        self.partition.fetch_generation() != self.fetch_generation
    }

    /// Returns the memory that the records point into.
    pub fn memory(&self) -> Arc<ChunkMemory> {
        self.memory.clone()
    }

    /// Returns the size in bytes of all uncompressed records, including those already taken.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the next record: advances the partition's position, and stores the offset with `enable.auto.offset.store`.
    /// Returns `None` when no record is left, when the chunk is stale, or when the data is corrupt, which is reported
    /// after the records taken before.
    #[inline]
    #[allow(clippy::should_implement_trait)] // the record borrows from the chunk
    pub fn next(&mut self) -> Option<RecordRef<'_>> {
        self.next_beside().map(|(record, _)| record)
    }

    /// Returns the slot for a value that lives as long as the chunk.
    pub fn attachment(&mut self) -> &mut Attachment {
        &mut self.attachment
    }

    /// Takes the next record like [`next`](Self::next), and also returns the attachment.
    #[inline]
    pub fn next_beside(&mut self) -> Option<(RecordRef<'_>, &mut Attachment)> {
        if self.remaining == 0 || self.is_stale() {
            return None;
        }
        loop {
            let Some(segment) = self.memory.segments().get(self.segment) else {
                self.remaining = 0;
                return None;
            };
            match segment.data().next(&mut self.cursor) {
                Some(Ok(record)) => {
                    self.remaining -= 1;
                    self.place
                        .on_taken(record.offset, segment.leader_epoch(), self.partition.auto_store());
                    return Some((record_ref(&record, segment.leader_epoch()), &mut self.attachment));
                }
                None => {
                    self.segment += 1;
                    self.cursor = self
                        .memory
                        .segments()
                        .get(self.segment)
                        .map_or_else(RecordCursor::default, Segment::start);
                }
                Some(Err(error)) => {
                    self.remaining = 0;
                    self.broken = Some(error);
                    return None;
                }
            }
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.partition.on_unqueued(self.records, self.bytes);
        if self.remaining > 0 && self.is_stale() {
            self.partition.on_dropped(self.remaining as u64);
        }
        if let Some(error) = self.broken.take().filter(|_| !self.is_stale()) {
            let (position, _) = self.partition.position();
            let text = format!("{}: {error}", self.partition.tp());
            self.partition.queue().push(Event::Partition(PartitionNotice {
                partition: Some(self.partition.clone()),
                tp: None,
                fetch_generation: self.fetch_generation,
                error: Error::new(ErrorCode::L_BAD_MSG, text),
                offset: position,
            }));
        }
    }
}

/// Collects the batches of one partition into a [`Chunk`].
#[derive(Debug)]
pub struct ChunkBuilder {
    segments: Vec<Segment>,
    records: usize,
    bytes: u64,
}

impl ChunkBuilder {
    /// Creates a builder without records.
    pub fn new() -> Self {
        ChunkBuilder {
            segments: Vec::new(),
            records: 0,
            bytes: 0,
        }
    }

    /// Returns the number of records so far.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Returns the size in bytes of uncompressed records so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a batch's records except those below `from_offset`: brokers send whole batches, which may begin before the
    /// requested offset. `first_offset` is the batch's base offset.
    ///
    /// # Errors
    /// When a record that has to be skipped or counted cannot be read.
    pub fn push(
        &mut self,
        data: RecordData,
        first_offset: i64,
        from_offset: i64,
        leader_epoch: i32,
    ) -> Result<(), RecordError> {
        let mut start = RecordCursor::default();
        let mut skipped = 0;
        if first_offset < from_offset || data.record_count().is_none() {
            let mut probe = start;
            while let Some(record) = data.next(&mut probe) {
                if record?.offset >= from_offset {
                    break;
                }
                start = probe;
                skipped += 1;
            }
        }
        let count = match data.record_count() {
            Some(count) => count.saturating_sub(skipped),
            None => {
                let mut at = start;
                let mut n = 0;
                while let Some(record) = data.next(&mut at) {
                    record?;
                    n += 1;
                }
                n
            }
        };
        if count == 0 {
            return Ok(());
        }
        self.records += count;
        self.bytes += data.bytes().len() as u64;
        self.segments.push(Segment::new(data, leader_epoch, start));
        Ok(())
    }

    /// Builds the chunk and adds its counts to the partition's state; `None` if there are no records.
    pub fn finish(self, partition: &Arc<PartitionState>, fetch_generation: u32, broker_id: i32) -> Option<Chunk> {
        if self.records == 0 {
            return None;
        }
        partition.on_queued(self.records as u64, self.bytes);
        Some(Chunk {
            partition: partition.clone(),
            place: partition.place(),
            fetch_generation,
            broker_id,
            segment: 0,
            cursor: self.segments.first().map_or_else(RecordCursor::default, Segment::start),
            memory: Arc::new(ChunkMemory::new(self.segments)),
            remaining: self.records,
            records: self.records as u64,
            bytes: self.bytes,
            broken: None,
            attachment: None,
        })
    }
}

impl Default for ChunkBuilder {
    fn default() -> Self {
        Self::new()
    }
}
