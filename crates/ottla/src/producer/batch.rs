//! A closed batch on its way to a broker.

use ottla_protocol::Records;
use ottla_protocol::compression::Codec;

use super::sequence::SequenceStamp;
use crate::error::ErrorCode;
use crate::records::ProducedRecords;
use crate::sys::Instant;
use crate::types::PersistStatus;

/// Record data as it was last put into a request.
#[derive(Debug, Clone)]
pub(super) struct Sealed {
    /// The message format.
    pub(super) magic: i8,
    pub(super) codec: Codec,
    pub(super) data: Records,
}

/// Records that travel together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) records: ProducedRecords,
    /// The number of the first record in its partition: batches are kept in this order.
    pub(super) first_id: u64,
    /// Attempts that reached a broker, or may have, and failed: those that count against `retries`.
    pub(super) retries: u32,
    /// All attempts that failed: the pause before the next one grows with them.
    pub(super) attempts: u32,
    /// Why the last attempt failed.
    pub(super) last_error: Option<ErrorCode>,
    /// An earlier attempt may have written the records. Once true, no later refusal makes it untrue.
    pub(super) maybe_persisted: bool,
    /// The broker it was last sent to, -1 before.
    pub(super) broker_id: i32,
    /// Record data of the last attempt, while the records have not changed since.
    pub(super) sealed: Option<Sealed>,
    /// The numbers under which an idempotent producer sends it, once it has any.
    pub(super) stamp: Option<SequenceStamp>,
    /// Records that left the batch at its front while it was in flight: an acknowledged base offset is theirs.
    pub(super) left_in_flight: usize,
    /// It was in a request before.
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
            stamp: None,
            left_in_flight: 0,
            sent: false,
        }
    }

    /// The status of records that are given up without a new reason to think that they were written.
    pub(super) fn status(&self) -> PersistStatus {
        if self.maybe_persisted {
            PersistStatus::PossiblyPersisted
        } else {
            PersistStatus::NotPersisted
        }
    }

    /// Takes the first `n` records away into a batch of their own.
    pub(super) fn split_front(&mut self, n: usize) -> Batch {
        let n = n.min(self.records.len());
        let records = self.records.split_front(n);
        self.sealed = None;
        let front = Batch {
            records,
            first_id: self.first_id,
            retries: self.retries,
            attempts: self.attempts,
            last_error: self.last_error,
            maybe_persisted: self.maybe_persisted,
            broker_id: self.broker_id,
            sealed: None,
            stamp: self.stamp,
            left_in_flight: self.left_in_flight,
            sent: self.sent,
        };
        self.first_id += n as u64;
        self.stamp = self.stamp.map(|stamp| stamp.skip(n));
        front
    }

    /// How many records at the front were produced before `limit`.
    fn count_before(&self, limit: Instant) -> usize {
        let all = self.records.len();
        (0..all)
            .find(|i| self.records.produced_at(*i).is_some_and(|at| at > limit))
            .unwrap_or(all)
    }

    /// How many records at the front are to be given up when those produced before `limit` are. A batch that has numbers
    /// is one thing to the broker: all of it goes with its oldest record.
    pub(super) fn count_expired(&self, limit: Instant) -> usize {
        match self.count_before(limit) {
            n if n > 0 && self.stamp.is_some() => self.records.len(),
            n => n,
        }
    }

    /// When the oldest record was produced.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.records.produced_at(0)
    }
}
