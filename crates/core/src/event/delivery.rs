//! Delivery reports: the outcomes of produced records.

use std::cell::Cell;
use std::sync::Arc;

use crate::error::Error;
use crate::memory::BufferMemory;
use crate::records::{EncodedHeaders, ProducedRecords};
use crate::sys::Instant;
use crate::types::{PersistStatus, Topic, offset};

/// The delivery reports that the application receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeliveryMode {
    /// None.
    #[default]
    None,
    /// Those of failed records (`delivery.report.only.error`).
    ErrorsOnly,
    /// Those of all records.
    All,
}

/// The outcome of records of one partition: those of one batch with the same outcome. Dropping it releases the records'
/// buffer memory.
#[derive(Debug)]
pub struct Delivery {
    /// The topic.
    pub topic: Arc<Topic>,
    /// The partition, or [`PARTITION_UA`](crate::types::PARTITION_UA) if none was chosen.
    pub partition: i32,
    /// The broker that the records were last sent to, -1 for none.
    pub broker_id: i32,
    /// The error; `None` on success.
    pub error: Option<Error>,
    /// The persistence of the records.
    pub status: PersistStatus,
    /// The offset of the first record; negative if unknown.
    pub base_offset: i64,
    /// The timestamp that the broker assigned (`message.timestamp.type=LogAppendTime`), in milliseconds since the epoch.
    pub log_append_time: Option<i64>,
    /// The time of the outcome.
    pub done_at: Instant,
    /// The records.
    pub(crate) records: ProducedRecords,
    /// The limit that the records count against.
    pub(crate) buffer_memory: Arc<BufferMemory>,
    /// The part that was released already.
    pub(crate) released: Reservation,
}

/// A part of the producer's buffer memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reservation {
    records: u64,
    bytes: u64,
}

/// The progress in handling the reports of a [`Delivery`] one by one. The buffer memory of handled records can be
/// released before that of the others.
#[derive(Debug)]
pub struct Progress<'a> {
    buffer_memory: &'a BufferMemory,
    handled: Cell<Reservation>,
    released: Cell<Reservation>,
}

impl Progress<'_> {
    /// Notes that the report of the next record was handled.
    pub fn handled(&self, record: &DeliveredRecord<'_>) {
        let Reservation { records, bytes } = self.handled.get();
        // The memory of headers, which are not counted here, is released with the last record.
        let payload = record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
        self.handled.set(Reservation {
            records: records + 1,
            bytes: bytes + payload as u64,
        });
    }

    /// Releases the memory of handled records. Returns false if it was released before.
    pub fn release_handled(&self) -> bool {
        let (handled, before) = (self.handled.get(), self.released.get());
        if handled.records <= before.records {
            return false;
        }
        self.released.set(handled);
        self.buffer_memory
            .release(handled.records - before.records, handled.bytes - before.bytes);
        true
    }

    /// Returns the part released so far, for [`Delivery::set_released`].
    pub fn released(&self) -> Reservation {
        self.released.get()
    }
}

/// One record of a [`Delivery`].
#[derive(Debug, Clone)]
pub struct DeliveredRecord<'a> {
    /// The application's pointer given with the record.
    pub opaque: usize,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value. When the application lent it and the client made a copy, this is the copy.
    pub value: Option<&'a [u8]>,
    /// The application's address of a value that it lent ([`Payload::Lent`]).
    pub lent_address: Option<usize>,
    /// The headers, `None` when there are none.
    pub headers: Option<EncodedHeaders<'a>>,
    /// The record's timestamp in milliseconds since the epoch: the broker's when that set it.
    pub timestamp_ms: i64,
    /// The record's offset, or [`offset::INVALID`].
    pub offset: i64,
    /// Microseconds from `produce()` to the report.
    pub latency_us: u64,
}

impl Delivery {
    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the records in the order in which they were produced.
    pub fn records(&self) -> impl Iterator<Item = DeliveredRecord<'_>> {
        self.records.iter().enumerate().map(|(i, r)| DeliveredRecord {
            opaque: r.opaque,
            key: r.key,
            value: r.value(),
            lent_address: (r.lent != 0).then_some(r.lent),
            headers: (!r.headers.is_empty()).then_some(r.headers),
            timestamp_ms: self.log_append_time.unwrap_or(r.timestamp_ms),
            offset: match self.base_offset {
                base if base >= 0 => base.saturating_add(i64::try_from(i).unwrap_or(i64::MAX)),
                _ => offset::INVALID,
            },
            latency_us: u64::try_from(self.done_at.since(r.produced_at).as_micros()).unwrap_or(u64::MAX),
        })
    }
}

impl Delivery {
    /// Starts or continues to handle the reports: each record is to be noted as [`handled`](Progress::handled) in order,
    /// including those of earlier calls.
    pub fn progress(&self) -> Progress<'_> {
        Progress {
            buffer_memory: &self.buffer_memory,
            handled: Cell::default(),
            released: Cell::new(self.released),
        }
    }

    /// Notes the part that a [`Progress`] released.
    pub fn set_released(&mut self, released: Reservation) {
        self.released = released;
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let records = (self.records.len() as u64).saturating_sub(self.released.records);
        if records > 0 {
            let bytes = self.records.payload_bytes().saturating_sub(self.released.bytes);
            self.buffer_memory.release(records, bytes);
        }
    }
}
