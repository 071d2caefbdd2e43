//! A closed batch.

use ottla_protocol::Records;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::BatchBody;

use super::sequence::SequenceStamp;
use crate::error::{Error, ErrorCode};
use crate::records::ProducedRecords;
use crate::sys::Instant;
use crate::types::PersistStatus;
use crate::work::Ticket;

/// The record data of the last request.
#[derive(Debug, Clone)]
pub(super) struct Sealed {
    /// The message format.
    pub(super) magic: i8,
    pub(super) codec: Codec,
    pub(super) data: Records,
}

/// The state of a batch's body.
#[derive(Debug, Default)]
pub(super) enum Preparation {
    /// The body is computed when the batch is sent.
    #[default]
    None,
    /// A job computes it.
    Running(Ticket),
    /// It is computed. The ticket counts its memory.
    Ready(BatchBody, #[allow(dead_code)] Ticket),
    /// The job has failed.
    Failed(Error),
}

/// Records that are sent together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) records: ProducedRecords,
    /// The number of the first record in its partition; batches are ordered by it.
    pub(super) first_id: u64,
    /// Failed attempts that may have reached a broker: they count against `retries`.
    pub(super) retries: u32,
    /// All failed attempts: the backoff grows with them. It is a timer of the partition, whose batches wait together.
    pub(super) attempts: u32,
    /// The error of the last attempt.
    pub(super) last_error: Option<ErrorCode>,
    /// An earlier attempt may have written the records. Never reset.
    pub(super) maybe_persisted: bool,
    /// The broker of the last attempt, -1 before.
    pub(super) broker_id: i32,
    /// The record data of the last attempt, if the records have not changed since.
    pub(super) sealed: Option<Sealed>,
    /// The records' encoded form without a header, which a job computes; while the records do not change.
    pub(super) preparation: Preparation,
    /// The sequence numbers of an idempotent producer, once assigned.
    pub(super) stamp: Option<SequenceStamp>,
    /// The number of records removed from the front in flight: an acknowledged base offset is that of the first of them.
    pub(super) left_in_flight: usize,
    /// It was sent before.
    pub(super) sent: bool,
}

impl Batch {
    pub(super) fn new(records: ProducedRecords, first_id: u64) -> Self {
        Batch {
            records,
            first_id,
            retries: 0,
            attempts: 0,
            last_error: None,
            maybe_persisted: false,
            broker_id: -1,
            sealed: None,
            preparation: Preparation::None,
            stamp: None,
            left_in_flight: 0,
            sent: false,
        }
    }

    /// Returns the status of records that fail without a new attempt.
    pub(super) fn status(&self) -> PersistStatus {
        if self.maybe_persisted {
            PersistStatus::PossiblyPersisted
        } else {
            PersistStatus::NotPersisted
        }
    }

    /// Removes the first `n` records and returns them as a batch.
    pub(super) fn split_front(&mut self, n: usize) -> Batch {
        let n = n.min(self.records.len());
        let records = self.records.split_front(n);
        self.sealed = None;
        self.preparation = Preparation::None;
        let front = Batch {
            records,
            first_id: self.first_id,
            retries: self.retries,
            attempts: self.attempts,
            last_error: self.last_error,
            maybe_persisted: self.maybe_persisted,
            broker_id: self.broker_id,
            sealed: None,
            preparation: Preparation::None,
            stamp: self.stamp,
            left_in_flight: self.left_in_flight,
            sent: self.sent,
        };
        self.first_id += n as u64;
        self.stamp = self.stamp.map(|stamp| stamp.skip(n));
        front
    }

    /// Returns the number of records at the front that were produced at or before `limit`.
    fn count_before(&self, limit: Instant) -> usize {
        let all = self.records.len();
        (0..all)
            .find(|i| self.records.produced_at(*i).is_some_and(|at| at > limit))
            .unwrap_or(all)
    }

    /// Returns the number of records at the front that expire if those produced at or before `limit` do. A batch with
    /// sequence numbers cannot change: all its records expire with the oldest.
    pub(super) fn count_expired(&self, limit: Instant) -> usize {
        match self.count_before(limit) {
            n if n > 0 && self.stamp.is_some() => self.records.len(),
            n => n,
        }
    }

    /// Returns the time of production of the oldest record.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.records.produced_at(0)
    }
}
