//! Batches of fetched data that jobs open (checksum, decompression) before their turn to be delivered.
//!
//! The memory of a job's result is reserved before it begins: the job fails if the records are larger, and the batch is opened
//! at its turn like one without a job. The reservation of a job whose data was dropped lasts until the job ends.

use std::collections::BTreeMap;

use ottla_protocol::compression::{Codec, CodecError};
use ottla_protocol::record::{Batch, RecordData, RecordError};

use crate::work::{Job, Ticket, Work, WorkDone, WorkOutput, WorkQueue, WorkRules};

/// The factor by which decompression is faster than compression, at least: jobs must be larger by it.
const FASTER: usize = 4;

/// The state of a batch before its turn.
#[derive(Debug)]
pub(super) enum Body {
    /// Its records are not delivered: it is a control batch, or belongs to an aborted transaction.
    Dropped,
    /// It is opened at its turn.
    Closed,
    /// A job opens it.
    Running(Ticket),
    /// It is open, or cannot be opened.
    Opened(Result<RecordData, RecordError>),
}

/// A batch before its turn.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) batch: Batch,
    pub(super) body: Body,
    /// The bytes that are reserved for its records.
    pub(super) reserved: u64,
}

impl Opening {
    /// Returns the size of the batch as it was received.
    pub(super) fn wire_bytes(&self) -> u64 {
        self.batch.bytes().len() as u64
    }

    /// Returns the bytes that it occupies or reserves.
    pub(super) fn bytes(&self) -> u64 {
        self.wire_bytes() + self.reserved
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.body, Body::Running(_))
    }
}

/// A job in progress.
#[derive(Debug)]
struct OpeningJob {
    /// The id of the partition.
    partition: u32,
    /// The bytes that its batch occupies and reserves.
    bytes: u64,
}

/// The jobs of a consumer.
#[derive(Debug, Default)]
pub(super) struct OpeningJobs {
    work: WorkQueue,
    jobs: BTreeMap<u64, OpeningJob>,
    /// Partitions of jobs that have ended.
    ended: Vec<u32>,
}

impl OpeningJobs {
    /// Sets the rules for batches that are opened from now on.
    pub(super) fn set_rules(&mut self, rules: WorkRules) {
        self.work.set_rules(rules);
    }

    /// Removes the next job for the driver.
    pub(super) fn next_work(&mut self) -> Option<Work> {
        self.work.next()
    }

    /// Returns whether a batch with so many bytes of records is worth a job.
    pub(super) fn admits(&self, codec: Codec, bytes: u64) -> bool {
        self.work
            .admits(codec, usize::try_from(bytes).unwrap_or(usize::MAX) / FASTER)
    }

    /// Returns whether another job may be added.
    pub(super) fn has_room(&self) -> bool {
        self.work.has_room()
    }

    /// Adds a job that opens a batch to at most `reserved` bytes.
    pub(super) fn add(&mut self, partition: u32, batch: Batch, reserved: u64, check_crc: bool) -> Ticket {
        let bytes = batch.bytes().len() as u64 + reserved;
        let ticket = self.work.add(Job::Open {
            batch,
            check_crc,
            limit_bytes: usize::try_from(reserved).unwrap_or(usize::MAX),
        });
        self.jobs.insert(ticket.id(), OpeningJob { partition, bytes });
        ticket
    }

    /// Ends a job. Returns its partition, and the bytes that it occupied and reserved.
    pub(super) fn end(&mut self, done: &WorkDone) -> Option<(u32, u64)> {
        let job = self.jobs.remove(&done.id)?;
        Some((job.partition, job.bytes))
    }

    /// Notes that a result was stored in the data of a partition.
    pub(super) fn on_stored(&mut self, partition: u32) {
        self.ended.push(partition);
    }

    /// Returns the partitions whose data was opened further since the last call.
    pub(super) fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }
}

/// Returns the result of a job that opened `batch`.
pub(super) fn opened(batch: &Batch, output: WorkOutput) -> Result<RecordData, RecordError> {
    let reason = match output {
        WorkOutput::Opened(result) => return result,
        WorkOutput::Panicked(text) => text,
        WorkOutput::Compressed(_) => "not the result of this job".to_owned(),
    };
    let codec = batch.header().compression()?;
    Err(CodecError::Corrupt { codec, reason }.into())
}

#[cfg(test)]
mod tests;
