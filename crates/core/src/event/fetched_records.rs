//! Fetched records in the buffer of their response or of their decompressed batch.

use std::fmt;

use ottla_protocol::record::{Headers, RecordCursor, RecordData, RecordRef as WireRecord};

use crate::types::TimestampType;

/// The uncompressed records of one batch and the properties from its header.
#[derive(Debug)]
pub(super) struct Segment {
    data: RecordData,
    leader_epoch: i32,
    /// The position of the first requested record.
    start: RecordCursor,
}

impl Segment {
    pub(super) fn new(data: RecordData, leader_epoch: i32, start: RecordCursor) -> Self {
        Segment {
            data,
            leader_epoch,
            start,
        }
    }

    #[inline]
    pub(super) fn data(&self) -> &RecordData {
        &self.data
    }

    #[inline]
    pub(super) fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    #[inline]
    pub(super) fn start(&self) -> RecordCursor {
        self.start
    }
}

/// The bytes that the records of a chunk point into. Reference-counted, independent of the chunk.
pub struct ChunkMemory {
    segments: Vec<Segment>,
}

impl ChunkMemory {
    pub(super) fn new(segments: Vec<Segment>) -> Self {
        ChunkMemory { segments }
    }

    #[inline]
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }
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
    /// The type of the timestamp.
    pub timestamp_type: TimestampType,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers, parsed on access.
    pub headers: Headers<&'a [u8]>,
    /// The epoch of the leader that appended it, or -1.
    pub leader_epoch: i32,
}

/// Returns a record of a batch as the application sees it.
#[inline]
pub(super) fn record_ref<'a>(record: &WireRecord<'a>, leader_epoch: i32) -> RecordRef<'a> {
    RecordRef {
        offset: record.offset,
        timestamp_ms: record.timestamp,
        timestamp_type: timestamp_type(record.timestamp_type),
        key: record.key,
        value: record.value,
        headers: record.headers,
        leader_epoch,
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
