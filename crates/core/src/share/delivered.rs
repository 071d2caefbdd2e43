//! The records that the application has received and that are not acknowledged yet.

use ottla_protocol::Uuid;

use super::acknowledge_type::AcknowledgeType;
use super::command::{AcknowledgedRange, PartitionAcknowledgements};
use crate::error::{Error, ErrorCode};
use crate::event::{AcquiredPartition, OffsetRange, ShareBatch, ShareSessionId};
use crate::types::TopicPartition;

/// A run of consecutive offsets, and the index of its first record in [`Partition::states`].
#[derive(Debug, Clone, Copy)]
struct Run {
    offsets: OffsetRange,
    start: usize,
}

/// The acknowledgement of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordState {
    /// The application has not acknowledged it.
    Unacknowledged,
    /// Acknowledged, not yet committed: the application may still change it.
    Acknowledged(AcknowledgeType),
    /// Its lock was renewed: the application acknowledges it later.
    Renewed,
    /// Committed.
    Committed,
}

/// The records of one partition of a batch.
#[derive(Debug)]
struct Partition {
    session: ShareSessionId,
    acquisition: u64,
    topic_id: Uuid,
    tp: TopicPartition,
    runs: Vec<Run>,
    /// One for each record; empty as long as none was acknowledged by itself.
    states: Vec<RecordState>,
    records: usize,
    unacknowledged: usize,
    /// The run of the last acknowledged record: applications acknowledge in the order of offsets.
    last_run: usize,
}

impl Partition {
    fn new(batch: &ShareBatch, acquired: &AcquiredPartition) -> Self {
        let mut runs: Vec<Run> = Vec::with_capacity(acquired.ranges().len());
        let mut start = 0;
        for range in acquired.ranges() {
            let offsets = range.offsets;
            match runs.last_mut() {
                Some(last) if last.offsets.last + 1 == offsets.first => last.offsets.last = offsets.last,
                _ => runs.push(Run { offsets, start }),
            }
            start += offsets.len();
        }
        Partition {
            session: batch.session(),
            acquisition: batch.acquisition(),
            topic_id: acquired.topic_id(),
            tp: acquired.tp(),
            runs,
            states: Vec::new(),
            records: start,
            unacknowledged: start,
            last_run: 0,
        }
    }

    /// Returns the index of a record.
    fn index(&mut self, offset: i64) -> Option<usize> {
        let contains = |run: &Run| run.offsets.first <= offset && offset <= run.offsets.last;
        if !self.runs.get(self.last_run).is_some_and(contains) {
            self.last_run = self.runs.partition_point(|run| run.offsets.last < offset);
        }
        let run = self.runs.get(self.last_run).filter(|run| contains(run))?;
        Some(run.start + usize::try_from(offset - run.offsets.first).ok()?)
    }

    /// Acknowledges a record; returns false if it is not one of the partition's, or was committed.
    fn acknowledge(&mut self, offset: i64, ty: AcknowledgeType) -> bool {
        let Some(index) = self.index(offset) else { return false };
        if self.states.is_empty() {
            self.states = vec![RecordState::Unacknowledged; self.records];
        }
        let Some(state) = self.states.get_mut(index).filter(|s| **s != RecordState::Committed) else {
            return false;
        };
        if *state == RecordState::Unacknowledged {
            self.unacknowledged -= 1;
        }
        *state = RecordState::Acknowledged(ty);
        true
    }

    /// Forgets a record that was delivered again: its acquisition has ended.
    fn forget(&mut self, offset: i64) {
        let Some(index) = self.index(offset) else { return };
        if self.states.is_empty() {
            self.states = vec![RecordState::Unacknowledged; self.records];
        }
        if let Some(state) = self.states.get_mut(index) {
            if *state == RecordState::Unacknowledged {
                self.unacknowledged -= 1;
            }
            *state = RecordState::Committed;
        }
    }

    /// Takes the acknowledgements that are not committed. `rest` is the type of the records without one.
    fn take(&mut self, rest: Option<AcknowledgeType>) -> Option<PartitionAcknowledgements> {
        let mut ranges: Vec<AcknowledgedRange> = Vec::new();
        if self.states.is_empty() {
            let ty = rest?;
            ranges.extend(self.runs.iter().map(|run| AcknowledgedRange {
                offsets: run.offsets,
                ty,
            }));
            self.states = vec![RecordState::Committed; self.records];
            self.unacknowledged = 0;
        } else {
            for run in &self.runs {
                let states = self.states.get_mut(run.start..run.start + run.offsets.len());
                for (state, offset) in states.into_iter().flatten().zip(run.offsets.first..) {
                    let ty = match *state {
                        RecordState::Acknowledged(ty) => ty,
                        RecordState::Unacknowledged => match rest {
                            Some(ty) => {
                                self.unacknowledged -= 1;
                                ty
                            }
                            None => continue,
                        },
                        RecordState::Renewed | RecordState::Committed => continue,
                    };
                    *state = match ty {
                        AcknowledgeType::Renew => RecordState::Renewed,
                        _ => RecordState::Committed,
                    };
                    extend(&mut ranges, offset, ty);
                }
            }
        }
        (!ranges.is_empty()).then(|| PartitionAcknowledgements {
            session: self.session,
            acquisition: self.acquisition,
            topic_id: self.topic_id,
            tp: self.tp.clone(),
            ranges,
        })
    }

    fn is_committed(&self) -> bool {
        self.unacknowledged == 0 && self.states.iter().all(|s| *s == RecordState::Committed)
    }
}

/// Appends an offset to the ranges.
fn extend(ranges: &mut Vec<AcknowledgedRange>, offset: i64, ty: AcknowledgeType) {
    match ranges.last_mut() {
        Some(last) if last.ty == ty && last.offsets.last + 1 == offset => last.offsets.last = offset,
        _ => ranges.push(AcknowledgedRange {
            offsets: OffsetRange {
                first: offset,
                last: offset,
            },
            ty,
        }),
    }
}

/// The records that the application has received and that are not committed yet. Used by one thread at a time.
///
/// Order of calls: [`add`](Self::add) for each batch that the application takes, [`acknowledge`](Self::acknowledge), then
/// [`take`](Self::take) with the next poll or commit.
#[derive(Debug, Default)]
pub struct Delivered {
    partitions: Vec<Partition>,
    /// The partition of the last acknowledged record, if it is one.
    last: usize,
}

impl Delivered {
    /// Adds the records of a batch.
    pub fn add(&mut self, batch: &ShareBatch) {
        for acquired in batch.partitions() {
            // Renewed records are kept over polls; their locks may have run out.
            let is_same =
                |p: &&mut Partition| p.topic_id == acquired.topic_id() && p.tp.partition == acquired.partition();
            for partition in self.partitions.iter_mut().filter(is_same) {
                let offsets = acquired.ranges().iter().flat_map(|r| r.offsets.first..=r.offsets.last);
                offsets.for_each(|offset| partition.forget(offset));
            }
        }
        self.partitions.retain(|p| !p.is_committed());
        self.last = usize::MAX;
        let acquired = batch.partitions().iter().filter(|p| !p.is_empty());
        self.partitions.extend(acquired.map(|p| Partition::new(batch, p)));
    }

    /// Acknowledges a record, or changes an acknowledgement that is not committed.
    ///
    /// # Errors
    /// `L_STATE` for a record that was not delivered by the last poll, or whose acknowledgement is committed.
    pub fn acknowledge(&mut self, topic: &str, partition: i32, offset: i64, ty: AcknowledgeType) -> Result<(), Error> {
        let is_it = |p: &Partition| p.tp.partition == partition && &*p.tp.topic == topic;
        if !self.partitions.get(self.last).is_some_and(is_it) {
            self.last = self.partitions.iter().rposition(is_it).unwrap_or(usize::MAX);
        }
        let acknowledged = self
            .partitions
            .get_mut(self.last)
            .is_some_and(|p| p.acknowledge(offset, ty));
        // Partitions of several batches wait only while renewed records are kept over polls.
        let acknowledged = acknowledged
            || self
                .partitions
                .iter_mut()
                .any(|p| is_it(p) && p.acknowledge(offset, ty));
        if acknowledged {
            return Ok(());
        }
        let text = format!(
            "{topic} [{partition}] offset {offset} waits for no acknowledgement: it is not a record of the last poll"
        );
        Err(Error::new(ErrorCode::L_STATE, text))
    }

    /// Returns the number of records that were never acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.partitions.iter().map(|p| p.unacknowledged).sum()
    }

    /// Takes the acknowledgements that are not committed. `rest` is the type of the records that the application has not
    /// acknowledged; without it they stay.
    pub fn take(&mut self, rest: Option<AcknowledgeType>) -> Vec<PartitionAcknowledgements> {
        let taken = self.partitions.iter_mut().filter_map(|p| p.take(rest)).collect();
        self.partitions.retain(|p| !p.is_committed());
        self.last = usize::MAX;
        taken
    }

    /// Forgets all records.
    pub fn clear(&mut self) {
        self.partitions.clear();
        self.last = usize::MAX;
    }
}

#[cfg(test)]
mod tests;
