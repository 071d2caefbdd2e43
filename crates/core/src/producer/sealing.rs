//! Preparation of batches by jobs: a batch's records are compressed before it is sent, on a thread that the driver chooses.
//!
//! A job computes the body of a batch, which does not depend on sequence numbers or on the order of batches. So several
//! batches of a partition are prepared at once, and requests take them in their order, as they take batches that are sealed
//! when they are sent: the first batch of a partition that is being prepared holds back those behind it. A batch whose
//! records change drops its preparation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ottla_protocol::compression::Codec;

use super::PartitionId;
use super::batch::{Batch, Preparation};
use crate::error::{Error, ErrorCode};
use crate::work::{Job, Work, WorkDone, WorkOutput, WorkQueue, WorkRules};

/// The jobs of a producer.
#[derive(Debug, Default)]
pub(super) struct Sealing {
    work: WorkQueue,
    /// The partitions of the jobs in progress, by the number of the job.
    jobs: BTreeMap<u64, PartitionId>,
    /// Partitions whose next batch waits for the end of another job.
    awaiting: BTreeSet<PartitionId>,
    /// Partitions that may be able to send now.
    retries: Vec<PartitionId>,
}

impl Sealing {
    /// Sets the rules for batches that are prepared from now on.
    pub(super) fn set_rules(&mut self, rules: WorkRules) {
        self.work.set_rules(rules);
    }

    /// Removes the next job for the driver.
    pub(super) fn next_work(&mut self) -> Option<Work> {
        self.work.next()
    }

    /// Adds jobs for pending batches of a partition, in their order, while there is room.
    pub(super) fn prepare(&mut self, id: PartitionId, codec: Codec, level: Option<i32>, pending: &mut VecDeque<Batch>) {
        for batch in pending.iter_mut().take(self.work.jobs_max()) {
            if !self.work.has_room() {
                return;
            }
            if self.wants(batch, codec) {
                let records = batch.records.parts().into_owned();
                let ticket = self.work.add(Job::Compress { records, codec, level });
                self.jobs.insert(ticket.id(), id);
                batch.preparation = Preparation::Running(ticket);
            }
        }
    }

    /// Returns whether a batch is to be prepared by a job. Values that are read from the application's memory may be freed
    /// while a job runs.
    fn wants(&self, batch: &Batch, codec: Codec) -> bool {
        batch.sealed.is_none()
            && matches!(batch.preparation, Preparation::None)
            && !batch.records.borrows()
            && self.work.admits(codec, batch.records.encoded_len())
    }

    /// Returns whether a partition's first batch cannot be sent yet because its preparation is in progress or waits for
    /// another job. The partition is among the [`retries`](Self::take_retries) later.
    pub(super) fn must_wait(
        &mut self,
        id: PartitionId,
        codec: Codec,
        level: Option<i32>,
        pending: &mut VecDeque<Batch>,
    ) -> bool {
        self.prepare(id, codec, level, pending);
        let Some(front) = pending.front() else { return false };
        match front.preparation {
            Preparation::Running(_) => true,
            // Without a job in progress, no event would continue the partition.
            Preparation::None if self.wants(front, codec) && !self.jobs.is_empty() => {
                self.awaiting.insert(id);
                true
            }
            _ => false,
        }
    }

    /// Ends a job. Returns its partition.
    pub(super) fn end(&mut self, done: &WorkDone) -> Option<PartitionId> {
        let id = self.jobs.remove(&done.id)?;
        self.retries.push(id);
        self.retries.extend(std::mem::take(&mut self.awaiting));
        Some(id)
    }

    /// Returns the partitions that may be able to send since the last call.
    pub(super) fn take_retries(&mut self) -> Vec<PartitionId> {
        std::mem::take(&mut self.retries)
    }
}

/// Stores the result of a job in its batch, if the batch is still pending with the same records.
pub(super) fn store(pending: &mut VecDeque<Batch>, done: WorkDone) {
    let is_its = |batch: &&mut Batch| matches!(&batch.preparation, Preparation::Running(t) if t.id() == done.id);
    let Some(batch) = pending.iter_mut().find(is_its) else {
        return;
    };
    let Preparation::Running(ticket) = std::mem::take(&mut batch.preparation) else {
        return;
    };
    batch.preparation = match done.output {
        WorkOutput::Compressed(Ok(body)) => Preparation::Ready(body, ticket),
        WorkOutput::Compressed(Err(text)) | WorkOutput::Panicked(text) => Preparation::Failed(Error::new(
            ErrorCode::L_BAD_COMPRESSION,
            format!("the batch cannot be encoded: {text}"),
        )),
        WorkOutput::Opened(_) => Preparation::None,
    };
}
