//! Delivery reports: what became of produced records.

use std::sync::Arc;

use super::produced::{EncodedHeaders, ProducedRecords};
use super::quota::ProduceQuota;
use crate::env::Instant;
use crate::error::Error;
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
    pub(crate) quota: Arc<ProduceQuota>,
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

impl Drop for Delivery {
    fn drop(&mut self) {
        if !self.records.is_empty() {
            self.quota
                .release(self.records.len() as u64, self.records.payload_bytes());
        }
    }
}
