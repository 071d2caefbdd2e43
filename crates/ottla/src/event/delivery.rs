//! Delivery reports: what became of produced records.

use std::cell::Cell;
use std::sync::Arc;

use crate::error::Error;
use crate::memory::BufferMemory;
use crate::records::{EncodedHeaders, ProducedRecords};
use crate::sys::Instant;
use crate::types::{PersistStatus, Topic, offset};

/// Which delivery reports the application wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeliveryMode {
    /// None: records are forgotten when they are settled.
    #[default]
    None,
    /// Of records that failed (`delivery.report.only.error`).
    ErrorsOnly,
    /// Of every record.
    All,
}

/// What became of some records of one partition: all of one batch, or those of a batch that met the same end. Dropping
/// it gives the records' room in the producer's queue back.
#[derive(Debug)]
pub struct Delivery {
    /// The topic.
    pub topic: Arc<Topic>,
    /// The partition, or [`PARTITION_UA`](crate::types::PARTITION_UA) when none was chosen yet.
    pub partition: i32,
    /// The broker that the records were last sent to, -1 for none.
    pub broker_id: i32,
    /// Why they were not delivered; `None` when they were.
    pub error: Option<Error>,
    /// Whether they are in the log.
    pub status: PersistStatus,
    /// The offset of the first record; negative when no broker told.
    pub base_offset: i64,
    /// The time that the broker gave all of them (`message.timestamp.type=LogAppendTime`), in milliseconds since the
    /// epoch.
    pub log_append_time: Option<i64>,
    /// When this was decided.
    pub done_at: Instant,
    /// The records.
    pub(crate) records: ProducedRecords,
    /// Where their room goes back to.
    pub(crate) buffer_memory: Arc<BufferMemory>,
    /// What went back already.
    pub(crate) released: Reservation,
}

/// Room in the producer's queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reservation {
    records: u64,
    bytes: u64,
}

/// How far the reports of a [`Delivery`] were handled, while they are handed out one after the other. The room of those
/// that were can go back before that of the others.
#[derive(Debug)]
pub struct Progress<'a> {
    buffer_memory: &'a BufferMemory,
    handled: Cell<Reservation>,
    released: Cell<Reservation>,
}

impl Progress<'_> {
    /// The application has seen the report of the next record.
    pub fn handled(&self, record: &DeliveredRecord<'_>) {
        let Reservation { records, bytes } = self.handled.get();
        // That of headers, which are not counted here, goes back with the last record's.
        let payload = record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
        self.handled.set(Reservation {
            records: records + 1,
            bytes: bytes + payload as u64,
        });
    }

    /// Gives the room of handled records back; false when it was given back before.
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

    /// What was given back so far, for [`Delivery::set_released`].
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
    /// How many records it is about.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it is about none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The records in the order in which they were produced.
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
    /// Begins to hand the reports out, or goes on with it: every record is [`handled`](Progress::handled) in its turn,
    /// those of earlier turns again.
    pub fn progress(&self) -> Progress<'_> {
        Progress {
            buffer_memory: &self.buffer_memory,
            handled: Cell::default(),
            released: Cell::new(self.released),
        }
    }

    /// Keeps in mind what a [`Progress`] gave back.
    pub fn set_released(&mut self, room: Reservation) {
        self.released = room;
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
