//! A partition and a topic on the client's thread: batches to be sent and in flight.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::compression::Codec;

use super::batch::Batch;
use super::counters::{BatchWindows, Sent};
use super::partition_queue::PartitionQueue;
use super::sequence::{ProducerId, SequenceState};
use super::timers::Armed;
use crate::config::{ClientConfig, TopicConfig};
use crate::sys::Instant;
use crate::types::{NodeId, Topic};

/// The limits on a partition's batches in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightRules {
    /// `max.in.flight.requests.per.connection=1`: order is kept without sequence numbers.
    pub(super) one_at_a_time: bool,
    /// Sequence numbers limit the batches in flight.
    pub(super) idempotent: bool,
}

/// A batch in a request in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightBatch {
    pub(super) request: u64,
    /// The number of its first record when it was sent.
    pub(super) first_id: u64,
}

/// A partition's batches between the accumulator and the network.
#[derive(Debug, Default)]
pub(super) struct PartitionSender {
    /// Closed batches to be sent, ordered by their first record's number.
    pub(super) pending: VecDeque<Batch>,
    /// The open batch is to be sent, too.
    pub(super) open_due: bool,
    /// Batches in flight, in the order in which they were sent: a batch that was sent again is behind those that were in
    /// flight by then.
    pub(super) in_flight: Vec<InFlightBatch>,
    /// The broker to which the last batch was sent.
    pub(super) sent_to: Option<NodeId>,
    /// The sequence numbers of an idempotent producer's batches.
    pub(super) sequences: SequenceState,
    /// The broker in whose queue the partition is.
    pub(super) queued_on: Option<NodeId>,
    /// It is held there while its open batch keeps filling.
    pub(super) held: bool,
    /// Paused by the application.
    pub(super) paused: bool,
    /// Nothing is sent before this time: a retry backs off.
    pub(super) blocked_until: Option<Instant>,
    pub(super) armed: Armed,
    pub(super) sent: Sent,
}

impl PartitionSender {
    /// Returns whether a batch could be sent now.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        let blocked = self.paused || self.blocked_until.is_some_and(|until| until > now);
        (self.open_due || !self.pending.is_empty()) && !blocked
    }

    /// Returns whether the outcome of a request must be awaited before more is sent to `node`.
    pub(super) fn is_full(&self, rules: InFlightRules, node: NodeId, now: Instant) -> bool {
        (rules.one_at_a_time && !self.in_flight.is_empty()) || (rules.idempotent && self.must_drain(node, now))
    }

    /// Closes the open batch and moves it from the accumulator to the pending ones.
    pub(super) fn close_open_batch(&mut self, queue: &PartitionQueue) {
        self.open_due = false;
        let _ = queue.collect(&mut self.pending, true);
    }

    /// Notes that the partition was removed from the queue of `node`. If it is in another broker's queue by now, the
    /// removed entry was obsolete, and nothing changes.
    pub(super) fn leave_queue(&mut self, node: NodeId) {
        if self.queued_on == Some(node) {
            self.queued_on = None;
            self.held = false;
        }
    }

    /// Puts a batch back in the order of its records.
    pub(super) fn put_back(&mut self, batch: Batch) {
        let at = self.pending.partition_point(|b| b.first_id < batch.first_id);
        self.pending.insert(at, batch);
    }

    /// Returns whether an idempotent producer's partition must await the outcome of its batches in flight before it
    /// sends to `node`.
    pub(super) fn must_drain(&self, node: NodeId, now: Instant) -> bool {
        if self.in_flight.is_empty() {
            return false;
        }
        // Nothing is sent to a new leader before the old one has responded: its responses determine the first batch for
        // the new one.
        self.sent_to != Some(node)
            || self.in_flight.len() >= self.sequences.in_flight_max(now)
            || (self.sequences.has_gap() && !self.has_unresolved())
    }

    /// Returns whether a broker may have batches that are pending, under their sequence numbers.
    fn has_unresolved(&self) -> bool {
        self.pending.iter().any(|b| b.stamp.is_some() && b.maybe_persisted)
    }

    /// Assigns sequence numbers to the first batch. To be called only while [`must_drain`](Self::must_drain) is false.
    /// Returns false when another producer id is needed first.
    pub(super) fn assign_to_front(&mut self, by: ProducerId) -> bool {
        let producer_id = match by {
            ProducerId::Idempotent { id } => id,
            ProducerId::Transactional { id, epoch } => {
                self.sequences.use_coordinator_epoch(id, epoch);
                id
            }
        };
        // A transaction with a gap is aborted; the next one has another epoch.
        let renews = !self.sequences.is_transactional();
        if renews && self.sequences.has_gap() && !self.has_unresolved() {
            if !self.sequences.renew(producer_id) {
                return false;
            }
            for batch in &mut self.pending {
                batch.stamp = None;
                batch.sealed = None;
            }
        }
        if let Some(batch) = self.pending.front_mut()
            && batch.stamp.is_none()
            && !self.sequences.has_gap()
        {
            batch.stamp = Some(self.sequences.assign(producer_id, batch.records.len()));
            batch.sealed = None;
        }
        true
    }

    /// Removes the batch to be sent next, after [`assign_to_front`](Self::assign_to_front): the first one, or with a
    /// gap the first one that has numbers already.
    pub(super) fn take_next(&mut self) -> Option<Batch> {
        if !self.sequences.has_gap() {
            return self.pending.pop_front();
        }
        let at = self.pending.iter().position(|b| b.stamp.is_some())?;
        self.pending.remove(at)
    }

    /// Returns whether all numbered batches before a batch that came back are settled.
    pub(super) fn is_first_unresolved(&self, first_id: u64) -> bool {
        let earlier_in_flight = self.in_flight.iter().any(|b| b.first_id < first_id);
        let mut pending = self.pending.iter();
        let earlier_pending = pending.any(|b| b.stamp.is_some() && b.first_id < first_id);
        !earlier_in_flight && !earlier_pending
    }
}

/// The topic settings that the sender uses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct TopicSettings {
    /// `request.required.acks`
    pub(super) acks: i16,
    /// `request.timeout.ms`: the time in ms for which the broker waits for replicas.
    pub(super) request_timeout_ms: i32,
    /// `message.timeout.ms`; `None` when there is no limit.
    pub(super) message_timeout: Option<Duration>,
    /// `compression.codec` of the topic, otherwise of the client.
    pub(super) codec: Codec,
    /// `compression.level`; `None` for the codec's default.
    pub(super) level: Option<i32>,
}

impl TopicSettings {
    pub(super) fn new(conf: &ClientConfig, topic: &TopicConfig) -> Self {
        let own = topic.compression_codec.as_str();
        let codec = Codec::from_name(own).or_else(|| Codec::from_name(conf.compression_codec.as_str()));
        let timeout_ms = u64::from(topic.message_timeout_ms);
        let level = topic.compression_level;
        TopicSettings {
            acks: topic.request_required_acks,
            request_timeout_ms: i32::try_from(topic.request_timeout_ms).unwrap_or(i32::MAX),
            message_timeout: (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms)),
            codec: codec.unwrap_or(Codec::None),
            level: (level >= 0).then_some(level),
        }
    }
}

/// A topic's partitions and settings.
#[derive(Debug)]
pub(super) struct TopicSender {
    pub(super) name: Arc<str>,
    pub(super) settings: TopicSettings,
    pub(super) partitions: Vec<PartitionSender>,
    /// The topic's id in the last metadata; a topic with another id is another topic.
    pub(super) id: Uuid,
    /// The partition count last acted upon, 0 while unknown.
    pub(super) count: i32,
    pub(super) armed: Armed,
    /// The sizes of batches, while statistics are on.
    pub(super) windows: Option<BatchWindows>,
}

impl TopicSender {
    pub(super) fn new(topic: &Topic, conf: &ClientConfig) -> Self {
        TopicSender {
            name: topic.shared_name(),
            settings: TopicSettings::new(conf, topic.conf()),
            partitions: Vec::new(),
            id: Uuid::ZERO,
            count: 0,
            armed: Armed::default(),
            windows: None,
        }
    }

    /// Notes the topic's id. The brokers of a topic that was created again have no state of the producer.
    pub(super) fn on_id(&mut self, id: Uuid) {
        if std::mem::replace(&mut self.id, id) != id {
            for partition_sender in &mut self.partitions {
                partition_sender.sequences.unconfirm();
            }
        }
    }

    /// Returns a partition, created on first use. The accumulator has checked its number.
    pub(super) fn partition_sender(&mut self, partition: i32) -> Option<&mut PartitionSender> {
        let index = usize::try_from(partition).ok()?;
        if index >= self.partitions.len() {
            self.partitions.resize_with(index + 1, PartitionSender::default);
        }
        self.partitions.get_mut(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactional_partition_sends_nothing_behind_a_gap_until_the_next_epoch() {
        let by = |epoch| ProducerId::Transactional { id: 9, epoch };
        let mut sequences = SequenceState::default();
        sequences.use_coordinator_epoch(9, 5);
        sequences.mark_gap();
        let mut partition_sender = PartitionSender {
            sequences,
            ..Default::default()
        };
        partition_sender.put_back(Batch::default());
        assert!(partition_sender.assign_to_front(by(5)));
        assert_eq!(partition_sender.pending[0].stamp, None);
        assert!(partition_sender.take_next().is_none(), "a gap stops the partition");
        assert!(partition_sender.assign_to_front(by(6)));
        assert_eq!(
            partition_sender.pending[0].stamp.map(|s| (s.epoch, s.base_sequence)),
            Some((6, 0))
        );
    }

    fn partition_with(batches: &[(u64, bool)]) -> PartitionSender {
        let mut partition_sender = PartitionSender::default();
        for (first_id, maybe_persisted) in batches {
            let stamp = partition_sender.sequences.assign(1, 1);
            partition_sender.put_back(Batch {
                first_id: *first_id,
                maybe_persisted: *maybe_persisted,
                stamp: Some(stamp),
                ..Default::default()
            });
        }
        partition_sender.sequences.mark_gap();
        partition_sender
    }

    #[test]
    fn possibly_persisted_batches_keep_their_sequence_numbers() {
        let mut partition_sender = partition_with(&[(5, false), (6, true)]);
        assert!(partition_sender.assign_to_front(ProducerId::Idempotent { id: 1 }));
        let kept: Vec<_> = partition_sender.pending.iter().filter_map(|b| b.stamp).collect();
        assert_eq!(kept.iter().map(|s| s.epoch).collect::<Vec<_>>(), [0, 0]);
        let mut partition_sender = partition_with(&[(5, false), (6, false)]);
        assert!(partition_sender.assign_to_front(ProducerId::Idempotent { id: 1 }));
        let stamps: Vec<_> = partition_sender.pending.iter().map(|b| b.stamp).collect();
        assert_eq!((stamps[0].map(|s| s.epoch), stamps[1]), (Some(1), None));
    }
}
