//! A produced message: guarantees, responses and report.

use ottla_core::error::ErrorCode;
use ottla_core::event::DeliveryMode;
use ottla_core::types::PersistStatus;
use ottla_protocol::compression::Codec;

use crate::check::partitioner::{PartitionChoice, Partitioner};
use crate::message::Fingerprint;

/// The guarantees of a producer's settings for the messages of a topic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promise {
    /// -1, 0 or 1; larger values are equivalent to -1.
    pub(crate) acks: i16,
    /// `message.timeout.ms`; 0 for none.
    pub(crate) timeout_ms: u64,
    /// One request in flight on a connection: order is kept.
    pub(crate) in_order: bool,
    /// Each message is stored at most once, in the order of production.
    pub(crate) idempotent: bool,
    /// The kinds of delivery reports.
    pub(crate) delivery: DeliveryMode,
    /// The application polls its reports.
    pub(crate) reports_polled: bool,
    pub(crate) partitioner: Partitioner,
    pub(crate) codec: Codec,
    pub(crate) request_timeout_ms: i64,
    /// `batch.num.messages`, and the smaller of `batch.size` and `message.max.bytes`.
    pub(crate) batch_max: (usize, usize),
}

/// A batch as it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    pub(crate) version: i16,
    pub(crate) acks: i16,
    pub(crate) timeout_ms: i32,
    pub(crate) codec: Codec,
    pub(crate) records: usize,
    pub(crate) bytes: usize,
}

/// Below this timeout, messages may time out without any fault.
const SHORT_TIMEOUT_MS: u64 = 1000;

impl Promise {
    /// Returns true when messages may time out without any fault.
    pub(crate) fn has_short_timeout(&self) -> bool {
        (1..SHORT_TIMEOUT_MS).contains(&self.timeout_ms)
    }
}

/// A delivery report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    pub(crate) status: PersistStatus,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// The time at which the client finished the message.
    pub(crate) done_us: u64,
}

/// The outcome of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Delivered,
    Failed(ErrorCode),
}

/// A message that the client accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accepted {
    pub(crate) promise: Promise,
    /// The partitions in which it may be stored.
    pub(crate) choice: PartitionChoice,
    pub(crate) at_us: u64,
    pub(crate) value_len: usize,
    pub(crate) key: Fingerprint,
    pub(crate) headers: Fingerprint,
    /// The earliest and the latest timestamp that it may have, in milliseconds.
    pub(crate) timestamp_ms: (i64, i64),
}

/// A broker's response for a message that reached the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) code: ErrorCode,
    /// The offset of the message, where there is one.
    pub(crate) offset: i64,
    /// The client cannot have given the request up before.
    pub(crate) in_time: bool,
}

/// A response that is no acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal {
    pub(super) at_us: u64,
    pub(super) code: ErrorCode,
    /// The message was not written, and the client cannot have given the request up before the response.
    pub(super) definite: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) topic: usize,
    pub(super) accepted: Accepted,
    /// The number of times that it was sent.
    pub(super) sent: u32,
    /// The offsets of acknowledgements.
    pub(super) acked: Vec<i64>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) report: Option<Report>,
}
