//! What [`Process::process`](super::Process::process) gives, on its way to the producer.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::client::Shared;
use crate::error::{Error, ErrorCode};
use crate::producer::{HeadersIn, Payload, Record};
use crate::types::{PARTITION_UA, TopicHooks};

/// A header's name and value.
type OwnHeader = (Vec<u8>, Option<Vec<u8>>);

/// A record that the producer has no room for yet.
#[derive(Debug)]
struct Held {
    topic: String,
    partition: i32,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<OwnHeader>,
    timestamp_ms: i64,
}

impl Held {
    fn new(topic: &str, partition: i32, record: &Record<'_>) -> Self {
        let headers = record.headers.iter();
        Held {
            topic: topic.to_owned(),
            partition,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.as_slice().map(<[u8]>::to_vec),
            headers: headers.map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec))).collect(),
            timestamp_ms: record.timestamp_ms,
        }
    }
}

/// Takes the records that processing gives and produces them in the order in which they come.
#[derive(Debug)]
pub struct Output {
    producer: Arc<Shared>,
    held: VecDeque<Held>,
    /// Why a record cannot be produced, which is not its own fault: nothing is taken any more.
    failed: Option<Error>,
}

impl Output {
    pub(super) fn new(producer: Arc<Shared>) -> Self {
        Output {
            producer,
            held: VecDeque::new(),
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

    /// Produces a record, which is committed together with the input record at hand. When the producer's queue is full it
    /// is kept, and produced before more input is processed. Payloads are copied; the record's `opaque` has no use here.
    ///
    /// # Errors
    /// What is the record's own fault: [`MSG_SIZE_TOO_LARGE`](ErrorCode::MSG_SIZE_TOO_LARGE),
    /// [`L_UNKNOWN_PARTITION`](ErrorCode::L_UNKNOWN_PARTITION), [`L_UNKNOWN_TOPIC`](ErrorCode::L_UNKNOWN_TOPIC),
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for a name that no topic can have. The application may go on without it,
    /// or fail. All other errors are the loop's to handle: it goes back to what is committed.
    pub fn send_to(&mut self, topic: &str, partition: i32, record: Record<'_>) -> Result<(), Error> {
        if self.failed.is_some() {
            return Ok(());
        }
        if !self.held.is_empty() {
            self.held.push_back(Held::new(topic, partition, &record));
            return Ok(());
        }
        match self.produce(topic, partition, record.clone()) {
            Err(e) if e.code == ErrorCode::L_QUEUE_FULL => self.held.push_back(Held::new(topic, partition, &record)),
            Err(e) if is_own_fault(e.code) => return Err(e),
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

    /// Produces what is held, as far as there is room. True when nothing is left.
    pub(super) fn push_held(&mut self) -> bool {
        while let Some(held) = self.held.front() {
            let headers: Vec<_> = held.headers.iter().map(|(k, v)| (k.as_slice(), v.as_deref())).collect();
            let record = Record {
                key: held.key.as_deref(),
                value: held.value.as_deref().map_or(Payload::Null, Payload::Copy),
                headers: HeadersIn::List(&headers),
                timestamp_ms: held.timestamp_ms,
                opaque: 0,
            };
            match self.produce(&held.topic, held.partition, record) {
                Err(e) if e.code == ErrorCode::L_QUEUE_FULL => return false,
                // What a record's own fault may be is known by now, or would have been told at once.
                Err(e) => {
                    self.failed = Some(e);
                    self.held.clear();
                }
                Ok(()) => {
                    self.held.pop_front();
                }
            }
        }
        true
    }

    /// Why a record could not be produced since the last call.
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// Forgets what is held: it is to be made again.
    pub(super) fn forget(&mut self) {
        self.held.clear();
        self.failed = None;
    }

    /// Goes on with another producer.
    pub(super) fn replace(&mut self, producer: Arc<Shared>) {
        self.forget();
        self.producer = producer;
    }
}

fn is_own_fault(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::MSG_SIZE_TOO_LARGE
            | ErrorCode::L_UNKNOWN_PARTITION
            | ErrorCode::L_UNKNOWN_TOPIC
            | ErrorCode::L_INVALID_ARG
    )
}
