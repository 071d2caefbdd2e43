//! Records that a member of a share group has acquired (KIP-932).
//!
//! A [`ShareBatch`] is what one ShareFetch response acquired at one broker. As with fetched [chunks](super::Chunk), records
//! stay in the buffer of their response or of their decompressed batch.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_protocol::Uuid;
use ottla_protocol::record::{RecordCursor, RecordData};

use super::fetched_records::{ChunkMemory, RecordRef, Segment, record_ref};
use crate::error::{Error, ErrorCode};
use crate::sys::Instant;
use crate::sys::sync::AtomicUsize;
use crate::types::{NodeId, Topic, TopicPartition};

/// A range of offsets, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OffsetRange {
    /// The first offset.
    pub first: i64,
    /// The last offset.
    pub last: i64,
}

impl OffsetRange {
    /// Returns the number of offsets.
    pub fn len(&self) -> usize {
        usize::try_from(self.last - self.first + 1).unwrap_or(0)
    }

    /// Returns whether there is no offset.
    pub fn is_empty(&self) -> bool {
        self.last < self.first
    }
}

/// Records that were acquired together: every offset has a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcquiredRange {
    /// The offsets.
    pub offsets: OffsetRange,
    /// The number of times that the broker has delivered these records to a member of the group, this time included.
    pub delivery_count: i16,
}

/// Acquired records that could not be read. The client has acknowledged them itself.
#[derive(Debug, Clone)]
pub struct UnreadableRecords {
    /// The offsets.
    pub offsets: OffsetRange,
    /// The cause.
    pub error: Error,
}

/// The session that records were acquired in, and that their acknowledgements belong to. A session that was lost and
/// opened again has another incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareSessionId {
    /// The broker.
    pub node: NodeId,
    /// Counts the sessions of this client with the broker.
    pub incarnation: u32,
}

/// The acquired records of one partition.
pub struct AcquiredPartition {
    topic: Arc<Topic>,
    topic_id: Uuid,
    partition: i32,
    broker_id: i32,
    memory: Arc<ChunkMemory>,
    ranges: Vec<AcquiredRange>,
    unreadable: Vec<UnreadableRecords>,
    records: usize,
}

impl fmt::Debug for AcquiredPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcquiredPartition")
            .field("tp", &self.tp())
            .field("ranges", &self.ranges)
            .field("unreadable", &self.unreadable)
            .finish_non_exhaustive()
    }
}

impl AcquiredPartition {
    /// Returns the topic.
    pub fn topic(&self) -> &Arc<Topic> {
        &self.topic
    }

    /// Returns the topic's id.
    pub fn topic_id(&self) -> Uuid {
        self.topic_id
    }

    /// Returns the partition's number.
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// Returns topic name and number.
    pub fn tp(&self) -> TopicPartition {
        TopicPartition::new(self.topic.shared_name(), self.partition)
    }

    /// Returns the broker that the records were acquired at.
    pub fn broker_id(&self) -> i32 {
        self.broker_id
    }

    /// Returns the memory that the records point into.
    pub fn memory(&self) -> Arc<ChunkMemory> {
        self.memory.clone()
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.records
    }

    /// Returns whether no record could be read.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Returns the offsets of the records in ascending order.
    pub fn ranges(&self) -> &[AcquiredRange] {
        &self.ranges
    }

    /// Returns the acquired records that could not be read.
    pub fn unreadable(&self) -> &[UnreadableRecords] {
        &self.unreadable
    }

    /// Iterates over the records in the order of offsets, each with its delivery count.
    pub fn records(&self) -> AcquiredRecords<'_> {
        AcquiredRecords {
            segments: self.memory.segments().iter(),
            segment: None,
            cursor: RecordCursor::default(),
            ranges: &self.ranges,
        }
    }
}

/// Iterator over acquired records.
pub struct AcquiredRecords<'a> {
    segments: std::slice::Iter<'a, Segment>,
    segment: Option<&'a Segment>,
    cursor: RecordCursor,
    /// The ranges that the next records may be in.
    ranges: &'a [AcquiredRange],
}

impl<'a> Iterator for AcquiredRecords<'a> {
    type Item = (RecordRef<'a>, i16);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let segment = match self.segment {
                Some(segment) => segment,
                None => {
                    let segment = self.segments.next()?;
                    self.cursor = segment.start();
                    self.segment.insert(segment)
                }
            };
            // The builder has read every record already.
            let Some(Ok(record)) = segment.data().next(&mut self.cursor) else {
                self.segment = None;
                continue;
            };
            while self.ranges.first().is_some_and(|r| r.offsets.last < record.offset) {
                self.ranges = self.ranges.get(1..).unwrap_or_default();
            }
            let range = self.ranges.first()?;
            if range.offsets.first <= record.offset {
                return Some((record_ref(&record, segment.leader_epoch()), range.delivery_count));
            }
        }
    }
}

/// Collects the acquired records of one partition.
#[derive(Debug, Default)]
pub struct AcquiredPartitionBuilder {
    segments: Vec<Segment>,
    ranges: Vec<AcquiredRange>,
    unreadable: Vec<UnreadableRecords>,
    bytes: u64,
}

impl AcquiredPartitionBuilder {
    /// Returns the size in bytes of the uncompressed records so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a batch of the log whose records can all be read. Batches are added in the order of offsets.
    pub fn push_segment(&mut self, data: RecordData, leader_epoch: i32) {
        self.bytes += data.bytes().len() as u64;
        self.segments
            .push(Segment::new(data, leader_epoch, RecordCursor::default()));
    }

    /// Adds offsets that all have a record. Offsets are added in ascending order.
    pub fn push_range(&mut self, offsets: OffsetRange, delivery_count: i16) {
        match self.ranges.last_mut() {
            Some(r) if r.offsets.last + 1 == offsets.first && r.delivery_count == delivery_count => {
                r.offsets.last = offsets.last;
            }
            _ => self.ranges.push(AcquiredRange {
                offsets,
                delivery_count,
            }),
        }
    }

    /// Adds records that cannot be read.
    pub fn push_unreadable(&mut self, offsets: OffsetRange, error: Error) {
        self.unreadable.push(UnreadableRecords { offsets, error });
    }

    /// Builds the partition; `None` if it has neither records nor errors.
    pub fn finish(self, topic: Arc<Topic>, topic_id: Uuid, partition: i32, node: NodeId) -> Option<AcquiredPartition> {
        if self.ranges.is_empty() && self.unreadable.is_empty() {
            return None;
        }
        Some(AcquiredPartition {
            topic,
            topic_id,
            partition,
            broker_id: node.0,
            memory: Arc::new(ChunkMemory::new(self.segments)),
            records: self.ranges.iter().map(|r| r.offsets.len()).sum(),
            ranges: self.ranges,
            unreadable: self.unreadable,
        })
    }
}

/// Counts the batches that wait in a queue; one counter for each session.
#[derive(Debug, Clone, Default)]
pub struct WaitingBatches(Arc<AtomicUsize>);

impl WaitingBatches {
    /// Returns the number of batches that the application has not taken.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

/// A batch that is counted as waiting.
#[derive(Debug)]
struct Waiting(WaitingBatches);

impl Waiting {
    fn new(batches: &WaitingBatches) -> Self {
        batches.0.fetch_add(1, Ordering::AcqRel);
        Waiting(batches.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The records that one ShareFetch response acquired.
#[derive(Debug)]
pub struct ShareBatch {
    session: ShareSessionId,
    acquisition: u64,
    partitions: Vec<AcquiredPartition>,
    received_at: Instant,
    lock_until: Instant,
    waiting: Option<Waiting>,
}

impl ShareBatch {
    /// Creates a batch that counts as waiting in `queue`. The broker takes the records back at `lock_until`.
    pub fn new(
        (session, acquisition): (ShareSessionId, u64),
        partitions: Vec<AcquiredPartition>,
        received_at: Instant,
        lock_until: Instant,
        queue: &WaitingBatches,
    ) -> Self {
        ShareBatch {
            session,
            acquisition,
            partitions,
            received_at,
            lock_until,
            waiting: Some(Waiting::new(queue)),
        }
    }

    /// Returns the session that the records were acquired in.
    pub fn session(&self) -> ShareSessionId {
        self.session
    }

    /// Returns the number of the acquisition. Later ones of the same client have higher numbers, so that an acknowledgement
    /// of an earlier acquisition of a record differs from that of a later one.
    pub fn acquisition(&self) -> u64 {
        self.acquisition
    }

    /// Returns the partitions, each once.
    pub fn partitions(&self) -> &[AcquiredPartition] {
        &self.partitions
    }

    /// Returns the number of records that can be read.
    pub fn len(&self) -> usize {
        self.partitions.iter().map(AcquiredPartition::len).sum()
    }

    /// Returns whether no record can be read.
    pub fn is_empty(&self) -> bool {
        self.partitions.iter().all(AcquiredPartition::is_empty)
    }

    /// Returns when the batch was received.
    pub fn received_at(&self) -> Instant {
        self.received_at
    }

    /// Returns when the broker makes records available to other members again that are not acknowledged.
    pub fn lock_until(&self) -> Instant {
        self.lock_until
    }

    /// Notes that the application has taken the batch from its queue.
    pub fn on_taken(&mut self) {
        self.waiting = None;
    }
}

/// The result of acknowledgements of one partition's records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcknowledgementResult {
    /// The number of the share consumer, see `share::SharedState::number`: its events may be forwarded to another client's
    /// queue.
    pub consumer: u64,
    /// The partition.
    pub tp: TopicPartition,
    /// The records, in the order of offsets.
    pub offsets: Vec<OffsetRange>,
    /// The partition's error; after an error other members may receive the records.
    pub error: ErrorCode,
}
