//! The records of a poll.

use std::fmt;
use std::iter::FusedIterator;
use std::time::Instant;

use ottla_core::error::Error;
use ottla_core::event::{AcquiredPartition, AcquiredRecords, OffsetRange, RecordRef, ShareBatch};
use ottla_core::types::TimestampType;

/// The records of one poll, which one broker has locked for this member. Empty when there were none in time.
///
/// It may have [errors](Self::errors) beside records, or instead of records. The memory of the records is released with it.
#[derive(Default)]
pub struct ShareRecords {
    batch: Option<Box<ShareBatch>>,
    locked_until: Option<Instant>,
}

impl fmt::Debug for ShareRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareRecords")
            .field("records", &self.len())
            .field("errors", &self.errors().count())
            .field("locked_until", &self.locked_until)
            .finish()
    }
}

impl ShareRecords {
    pub(super) fn new(batch: Box<ShareBatch>, locked_until: Option<Instant>) -> Self {
        ShareRecords {
            batch: Some(batch),
            locked_until,
        }
    }

    fn partitions(&self) -> &[AcquiredPartition] {
        self.batch.as_deref().map_or(&[], ShareBatch::partitions)
    }

    /// Returns the number of records, without those that cannot be read.
    pub fn len(&self) -> usize {
        self.partitions().iter().map(AcquiredPartition::len).sum()
    }

    /// Returns whether there is no record. There may be [errors](Self::errors).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an iterator over the records: those of a partition together and in the order of offsets.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            partitions: self.partitions().iter(),
            current: None,
            left: self.len(),
        }
    }

    /// Returns the records that were delivered but cannot be read. The client has acknowledged them: with
    /// [`Reject`](super::Acknowledge::Reject) if their checksum or format is wrong, with
    /// [`Release`](super::Acknowledge::Release) if they cannot be decompressed.
    pub fn errors(&self) -> impl Iterator<Item = Unreadable<'_>> {
        self.partitions().iter().flat_map(|partition| {
            partition.unreadable().iter().map(|unreadable| Unreadable {
                topic: partition.topic().name(),
                partition: partition.partition(),
                offsets: unreadable.offsets,
                error: &unreadable.error,
            })
        })
    }

    /// Returns the time at which the locks of these records run out, by this client's clock; `None` without records. The
    /// broker delivers records again that are not acknowledged by then.
    pub fn locked_until(&self) -> Option<Instant> {
        self.locked_until
    }
}

impl<'a> IntoIterator for &'a ShareRecords {
    type Item = ShareRecord<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterator over the records of a poll.
pub struct Iter<'a> {
    partitions: std::slice::Iter<'a, AcquiredPartition>,
    current: Option<(&'a AcquiredPartition, AcquiredRecords<'a>)>,
    left: usize,
}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = ShareRecord<'a>;

    fn next(&mut self) -> Option<ShareRecord<'a>> {
        loop {
            if let Some((partition, records)) = &mut self.current
                && let Some((record, delivery_count)) = records.next()
            {
                self.left = self.left.saturating_sub(1);
                return Some(ShareRecord {
                    partition,
                    record,
                    delivery_count,
                });
            }
            let partition = self.partitions.next()?;
            self.current = Some((partition, partition.records()));
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}
impl FusedIterator for Iter<'_> {}

/// A record that is locked for this member. Borrows from its [`ShareRecords`].
#[derive(Clone, Copy)]
pub struct ShareRecord<'a> {
    partition: &'a AcquiredPartition,
    record: RecordRef<'a>,
    delivery_count: i16,
}

impl fmt::Debug for ShareRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareRecord")
            .field("topic", &self.topic())
            .field("partition", &self.partition())
            .field("offset", &self.offset())
            .field("delivery_count", &self.delivery_count)
            .finish_non_exhaustive()
    }
}

impl<'a> ShareRecord<'a> {
    /// Returns the topic's name.
    pub fn topic(&self) -> &'a str {
        self.partition.topic().name()
    }

    /// Returns the partition's number.
    pub fn partition(&self) -> i32 {
        self.partition.partition()
    }

    /// Returns the offset.
    pub fn offset(&self) -> i64 {
        self.record.offset
    }

    /// Returns the key; `None` for a null key.
    pub fn key(&self) -> Option<&'a [u8]> {
        self.record.key
    }

    /// Returns the value; `None` for a tombstone.
    pub fn value(&self) -> Option<&'a [u8]> {
        self.record.value
    }

    /// Returns an iterator over the headers, in order and with duplicates: keys, which producers should encode in UTF-8, and
    /// values. It ends before a malformed header.
    pub fn headers(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let headers = self.record.headers.iter();
        headers.map_while(|header| header.ok().map(|header| (header.key, header.value)))
    }

    /// Returns the timestamp in milliseconds since 1970; -1 for none.
    pub fn timestamp_ms(&self) -> i64 {
        self.record.timestamp_ms
    }

    /// Returns the type of the timestamp.
    pub fn timestamp_type(&self) -> TimestampType {
        self.record.timestamp_type
    }

    /// Returns the number of times that the broker has delivered this record to a member of the group, this time included:
    /// 1 at first. Released records and those whose lock ran out are delivered again, until the count reaches the group's
    /// `share.delivery.count.limit`.
    pub fn delivery_count(&self) -> i16 {
        self.delivery_count
    }

    /// Returns the record with its other fields.
    pub fn record(&self) -> &RecordRef<'a> {
        &self.record
    }
}

/// Records that were delivered and cannot be read.
#[derive(Debug, Clone, Copy)]
pub struct Unreadable<'a> {
    /// The topic.
    pub topic: &'a str,
    /// The partition.
    pub partition: i32,
    /// The offsets.
    pub offsets: OffsetRange,
    /// The cause.
    pub error: &'a Error,
}
