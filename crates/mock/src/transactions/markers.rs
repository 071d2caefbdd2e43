//! Writing the ends of transactions into the partitions and offsets that took part.

use ottla_protocol::record::ControlType;

use super::transaction::WrittenMarker;
use super::{Participant, Transaction, TransactionState, TransactionStep, TransactionVersion};
use crate::cluster::Cluster;
use crate::coordinators::CoordinatorKind;
use crate::timers::Timer;
use crate::transaction_index::Marker;

/// How soon a marker is tried again that could not be written.
pub(super) const RETRY_US: u64 = 10_000;

/// How far a participant's marker is.
enum Progress {
    /// All replicas have it, or nobody needs it.
    Done,
    /// The leader has it.
    Written(WrittenMarker),
    /// It could not be written.
    Blocked,
}

impl Cluster {
    /// A transaction's end is decided: its markers follow in a while.
    pub(super) fn begin_markers(&mut self, id: &str, transaction: &mut Transaction) {
        if let Some(timer) = transaction.timeout.take() {
            self.timers.cancel(timer);
        }
        if self.config.transaction_marker_delay_us == 0 {
            self.write_markers(id, transaction);
        } else {
            self.schedule_markers(id, self.config.transaction_marker_delay_us);
        }
    }

    fn schedule_markers(&mut self, id: &str, delay_us: u64) {
        let at = self.now.plus_us(delay_us);
        self.timers.set(at, Timer::TransactionMarkers { id: id.to_owned() });
    }

    /// The time for a transaction's markers has come.
    pub(crate) fn markers_due(&mut self, id: &str) {
        self.with_transaction(id, |cluster, transaction| {
            if transaction.state.is_prepared() {
                cluster.write_markers(id, transaction);
            }
        });
    }

    /// Writes what markers can be written. When all replicas have all of them, the transaction has ended.
    fn write_markers(&mut self, id: &str, transaction: &mut Transaction) {
        let kind = CoordinatorKind::Transaction;
        if self.coordinator(kind, id).is_none() || self.coordinator_error(kind, id).is_some() {
            self.schedule_markers(id, RETRY_US);
            return;
        }
        let mut delay_us = None;
        for participant in transaction.participants.clone() {
            let progress = match &participant {
                Participant::Offsets(group) => self.end_offsets(transaction, group),
                Participant::Partition((topic, index)) => {
                    let written = transaction.written.get(&participant).copied();
                    self.write_marker(transaction, topic, *index, written)
                }
            };
            let again_us = match progress {
                Progress::Done => {
                    transaction.written.remove(&participant);
                    transaction.participants.remove(&participant);
                    continue;
                }
                Progress::Written(marker) => {
                    transaction.written.insert(participant, marker);
                    self.config.replication_delay_us
                }
                Progress::Blocked => RETRY_US,
            };
            delay_us = Some(delay_us.map_or(again_us, |d: u64| d.min(again_us)));
        }
        match delay_us {
            Some(delay_us) => self.schedule_markers(id, delay_us.max(1)),
            None => {
                let commits = transaction.state == TransactionState::PrepareCommit;
                transaction.complete();
                self.note_step(id, transaction, TransactionStep::Completed { commits });
            }
        }
    }

    fn write_marker(
        &mut self,
        transaction: &Transaction,
        topic: &str,
        index: i32,
        written: Option<WrittenMarker>,
    ) -> Progress {
        let now_ms = self.wall_clock_ms();
        let Some(found) = self.topics.by_name_mut(topic) else {
            return Progress::Done;
        };
        let (id, min_insync) = (found.id, found.config.min_insync_replicas);
        let Some(partition) = found.partition_mut(index) else {
            return Progress::Done;
        };
        if let Some(marker) = written
            && marker.leader_epoch == partition.leader_epoch
        {
            return match partition.log.high_watermark() >= marker.end_offset {
                true => Progress::Done,
                false => Progress::Written(marker),
            };
        }
        let insync = i32::try_from(partition.isr.len()).unwrap_or(i32::MAX);
        if partition.leader.is_none() || insync < min_insync {
            return Progress::Blocked;
        }
        let marker = Marker {
            producer_id: transaction.producer_id,
            epoch: transaction.epoch,
            outcome: match transaction.state.commits() {
                true => ControlType::COMMIT,
                false => ControlType::ABORT,
            },
            coordinator_epoch: transaction.coordinator_epoch,
        };
        // A marker of a past epoch comes too late; with epoch bumps so does one that lies here already.
        let current = partition.log.producers.epoch(marker.producer_id).unwrap_or(-1);
        let late = match transaction.transaction_version {
            TransactionVersion::V1 => marker.epoch < current,
            TransactionVersion::V2 => marker.epoch <= current,
        };
        if late || std::mem::take(&mut self.faults.drops_next_marker) {
            return Progress::Done;
        }
        let leader_epoch = partition.leader_epoch;
        let Some(appended) = partition.log.append_marker(marker, leader_epoch, now_ms) else {
            return Progress::Done;
        };
        let end_offset = appended.base_offset + 1;
        self.replicate(id, index, end_offset);
        let partition = self.topics.by_id(id).and_then(|t| t.partition(index));
        match partition.is_none_or(|p| p.log.high_watermark() >= end_offset) {
            true => Progress::Done,
            false => Progress::Written(WrittenMarker {
                leader_epoch,
                end_offset,
            }),
        }
    }

    /// Has the offsets that a group got in the transaction count, or forgets them.
    fn end_offsets(&mut self, transaction: &Transaction, group: &str) -> Progress {
        let kind = CoordinatorKind::Group;
        if self.coordinator(kind, group).is_none() || self.coordinator_error(kind, group).is_some() {
            return Progress::Blocked;
        }
        let (producer_id, epoch) = (transaction.producer_id, transaction.epoch);
        let commits = transaction.state.commits();
        self.with_group(group, |cluster, group| {
            group.end_transaction(cluster, producer_id, epoch, commits);
        });
        Progress::Done
    }

    /// The coordinators of transactions may have moved. What is under way goes on under the new ones, which write their
    /// markers under their own epoch.
    pub(crate) fn transaction_coordinators_moved(&mut self) {
        let ids: Vec<_> = self.transactions.iter().map(|(id, _)| id.clone()).collect();
        for id in ids {
            let coordinator = self.coordinator(CoordinatorKind::Transaction, &id);
            self.with_transaction(&id, |_, transaction| {
                if transaction.coordinator != coordinator {
                    transaction.coordinator = coordinator;
                    transaction.coordinator_epoch += 1;
                }
            });
        }
    }
}
