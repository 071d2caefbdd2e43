//! The output of [`Process::process`](crate::Process::process).

use std::collections::VecDeque;
use std::sync::Arc;

use ottla_core::client::Shared;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::producer::{HeadersIn, Payload, Record};
use ottla_core::types::{PARTITION_UA, TopicHooks};

/// A header's name and value.
type OwnedHeader = (Vec<u8>, Option<Vec<u8>>);

/// A record that waits for space in the producer's queue.
#[derive(Debug)]
struct QueuedRecord {
    topic: String,
    partition: i32,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<OwnedHeader>,
    timestamp_ms: i64,
}

impl QueuedRecord {
    fn new(topic: &str, partition: i32, record: &Record<'_>) -> Self {
        let headers = record.headers.iter();
        QueuedRecord {
            topic: topic.to_owned(),
            partition,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.as_slice().map(<[u8]>::to_vec),
            headers: headers.map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec))).collect(),
            timestamp_ms: record.timestamp_ms,
        }
    }
}

/// Produces the records of the processing in their order.
#[derive(Debug)]
pub struct Output {
    producer: Arc<Shared>,
    queued: VecDeque<QueuedRecord>,
    /// The error of a record that is not the record's fault. No further record is accepted.
    failed: Option<Error>,
}

impl Output {
    pub(crate) fn new(producer: Arc<Shared>) -> Self {
        Output {
            producer,
            queued: VecDeque::new(),
            failed: None,
        }
    }

    /// Produces a record to the partition of `topic` that the producer's partitioner chooses; otherwise like
    /// [`send_to`](Self::send_to).
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to).
    pub fn send(&mut self, topic: &str, record: Record<'_>) -> Result<(), Error> {
        self.send_to(topic, PARTITION_UA, record)
    }

    /// Produces a record, which is committed together with the current input record. If the producer's queue is full, the
    /// record is kept and produced before more input is processed. Payloads are copied; the record's `opaque` is ignored.
    ///
    /// # Errors
    /// Errors of the record itself: [`MSG_SIZE_TOO_LARGE`](ErrorCode::MSG_SIZE_TOO_LARGE),
    /// [`L_UNKNOWN_PARTITION`](ErrorCode::L_UNKNOWN_PARTITION), [`L_UNKNOWN_TOPIC`](ErrorCode::L_UNKNOWN_TOPIC),
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for an invalid topic name. The application may continue without the record,
    /// or fail. The loop handles all other errors: it rolls back to the last commit.
    pub fn send_to(&mut self, topic: &str, partition: i32, record: Record<'_>) -> Result<(), Error> {
        if self.failed.is_some() {
            return Ok(());
        }
        if !self.queued.is_empty() {
            self.queued.push_back(QueuedRecord::new(topic, partition, &record));
            return Ok(());
        }
        match self.produce(topic, partition, record.clone()) {
            Err(e) if e.code == ErrorCode::L_QUEUE_FULL => {
                self.queued.push_back(QueuedRecord::new(topic, partition, &record))
            }
            Err(e) if is_record_fault(e.code) => return Err(e),
            Err(e) => self.failed = Some(e),
            Ok(()) => {}
        }
        Ok(())
    }

    fn produce(&self, topic: &str, partition: i32, record: Record<'_>) -> Result<(), Error> {
        let Some(accumulator) = &self.producer.producer else {
            return Err(Error::invalid_arg("the output's client is not a producer"));
        };
        if let Some(fatal) = self.producer.fatal_error() {
            return Err(fatal.into_fatal());
        }
        let topic = self.producer.topic(topic, None, TopicHooks::default())?;
        accumulator.produce(&topic, partition, record)
    }

    /// Produces queued records while there is space. Returns true if none is left.
    pub(crate) fn flush_queued(&mut self) -> bool {
        while let Some(queued) = self.queued.front() {
            let headers: Vec<_> = queued
                .headers
                .iter()
                .map(|(k, v)| (k.as_slice(), v.as_deref()))
                .collect();
            let record = Record {
                key: queued.key.as_deref(),
                value: queued.value.as_deref().map_or(Payload::Null, Payload::Copy),
                headers: HeadersIn::List(&headers),
                timestamp_ms: queued.timestamp_ms,
                opaque: 0,
            };
            match self.produce(&queued.topic, queued.partition, record) {
                Err(e) if e.code == ErrorCode::L_QUEUE_FULL => return false,
                // The record itself is valid: its own errors were returned by `send_to`.
                Err(e) => {
                    self.failed = Some(e);
                    self.queued.clear();
                }
                Ok(()) => {
                    self.queued.pop_front();
                }
            }
        }
        true
    }

    /// Returns and clears the error of a record that could not be produced.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// Discards queued records, whose input is processed again.
    pub(crate) fn clear(&mut self) {
        self.queued.clear();
        self.failed = None;
    }

    /// Continues with another producer.
    pub(crate) fn replace(&mut self, producer: Arc<Shared>) {
        self.clear();
        self.producer = producer;
    }
}

fn is_record_fault(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::MSG_SIZE_TOO_LARGE
            | ErrorCode::L_UNKNOWN_PARTITION
            | ErrorCode::L_UNKNOWN_TOPIC
            | ErrorCode::L_INVALID_ARG
    )
}
