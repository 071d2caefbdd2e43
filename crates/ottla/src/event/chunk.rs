//! Fetched records on their way to the application.
//!
//! A [`Chunk`] is a run of records of one partition, not parsed yet: they stay in the received or decompressed buffer and
//! are read one by one in the application's thread.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use ottla_protocol::record::{Headers, RecordCursor, RecordData, RecordError};

use super::partition::PositionTracker;
use super::{Event, PartitionNotice, PartitionState};
use crate::error::{Error, ErrorCode};
use crate::types::TimestampType;

/// The uncompressed records of one batch and what its header says of all of them.
#[derive(Debug)]
struct Segment {
    data: RecordData,
    leader_epoch: i32,
    /// Where the first record that is wanted stands.
    start: RecordCursor,
}

/// The bytes that the records of a chunk point into. Lives as long as somebody holds it, however far the chunk was read.
pub struct ChunkMemory {
    segments: Vec<Segment>,
}

impl fmt::Debug for ChunkMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkMemory")
            .field("segments", &self.segments.len())
            .finish_non_exhaustive()
    }
}

/// A fetched record. Borrows from its chunk's [`ChunkMemory`].
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// Its offset.
    pub offset: i64,
    /// Milliseconds since the epoch, -1 for none.
    pub timestamp_ms: i64,
    /// What the timestamp means.
    pub timestamp_type: TimestampType,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers, parsed when asked for.
    pub headers: Headers<&'a [u8]>,
    /// The epoch of the leader that appended it, or -1.
    pub leader_epoch: i32,
}

/// Records of one partition, in order. While it exists its bytes count in the consumer's budget.
pub struct Chunk {
    partition: Arc<PartitionState>,
    /// Where the application stands, as long as nothing was sought since this was fetched.
    place: Arc<PositionTracker>,
    fetch_generation: u32,
    broker_id: i32,
    memory: Arc<ChunkMemory>,
    segment: usize,
    cursor: RecordCursor,
    remaining: usize,
    /// What was counted into the partition's state, to be counted out when this is dropped.
    records: u64,
    bytes: u64,
    /// Set when a record could not be read; told to the application when this is dropped.
    broken: Option<RecordError>,
    attachment: Attachment,
}

/// Whatever whoever takes a chunk's records keeps with it; dropped with the chunk.
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
    /// The partition that the records come from.
    pub fn partition(&self) -> &Arc<PartitionState> {
        &self.partition
    }

    /// The broker that they were fetched from.
    pub fn broker_id(&self) -> i32 {
        self.broker_id
    }

    /// Records left to take.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Whether no record is left.
    pub fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// Whether the records were fetched before a seek, pause, stop or revocation: they are not to be seen any more.
    pub fn is_stale(&self) -> bool {
        self.partition.fetch_generation() != self.fetch_generation
    }

    /// The bytes that records point into.
    pub fn memory(&self) -> Arc<ChunkMemory> {
        self.memory.clone()
    }

    /// Bytes of uncompressed records, whatever is left of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the next record: the partition's position moves behind it, and its offset is stored if
    /// `enable.auto.offset.store` says so. `None` when there is none, when the chunk became stale, or when the data turns
    /// out to be broken, which the application is told of after what it took before.
    #[inline]
    #[allow(clippy::should_implement_trait)] // the record borrows from the chunk
    pub fn next(&mut self) -> Option<RecordRef<'_>> {
        self.next_beside().map(|(record, _)| record)
    }

    /// A slot for whatever is to live as long as the chunk.
    pub fn attachment(&mut self) -> &mut Attachment {
        &mut self.attachment
    }

    /// Like [`next`](Self::next), and gives the attachment along.
    #[inline]
    pub fn next_beside(&mut self) -> Option<(RecordRef<'_>, &mut Attachment)> {
        if self.remaining == 0 || self.is_stale() {
            return None;
        }
        loop {
            let Some(segment) = self.memory.segments.get(self.segment) else {
                self.remaining = 0;
                return None;
            };
            match segment.data.next(&mut self.cursor) {
                Some(Ok(record)) => {
                    self.remaining -= 1;
                    self.place
                        .on_taken(record.offset, segment.leader_epoch, self.partition.auto_store());
                    let record = RecordRef {
                        offset: record.offset,
                        timestamp_ms: record.timestamp,
                        timestamp_type: timestamp_type(record.timestamp_type),
                        key: record.key,
                        value: record.value,
                        headers: record.headers,
                        leader_epoch: segment.leader_epoch,
                    };
                    return Some((record, &mut self.attachment));
                }
                None => {
                    self.segment += 1;
                    self.cursor = self
                        .memory
                        .segments
                        .get(self.segment)
                        .map_or_else(RecordCursor::default, |s| s.start);
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

fn timestamp_type(t: ottla_protocol::record::TimestampType) -> TimestampType {
    use ottla_protocol::record::TimestampType as Wire;
    match t {
        Wire::NotAvailable => TimestampType::NotAvailable,
        Wire::CreateTime => TimestampType::CreateTime,
        Wire::LogAppendTime => TimestampType::LogAppendTime,
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
    /// Without records.
    pub fn new() -> Self {
        ChunkBuilder {
            segments: Vec::new(),
            records: 0,
            bytes: 0,
        }
    }

    /// Records so far.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Bytes of uncompressed records so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a batch's records except those below `from_offset`: brokers send whole batches, which may begin earlier
    /// than what was asked for. `last_offset` is the batch's last offset.
    ///
    /// # Errors
    /// When a record that has to be looked at cannot be read.
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
        self.segments.push(Segment {
            data,
            leader_epoch,
            start,
        });
        Ok(())
    }

    /// The chunk, counted into the partition's state; `None` when there are no records.
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
            cursor: self.segments.first().map_or_else(RecordCursor::default, |s| s.start),
            memory: Arc::new(ChunkMemory {
                segments: self.segments,
            }),
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
