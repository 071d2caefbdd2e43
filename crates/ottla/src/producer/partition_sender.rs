//! A partition and a topic as the client's thread sees them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::compression::Codec;

use super::batch::Batch;
use super::partition_queue::PartitionQueue;
use super::sequence::SequenceState;
use super::statistics::{BatchWindows, Sent};
use super::timers::Armed;
use crate::config::{ClientConfig, TopicConfig};
use crate::sys::Instant;
use crate::types::{NodeId, Topic};

/// How many batches of a partition may be in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightRules {
    /// `max.in.flight.requests.per.connection=1`: order is kept without numbers.
    pub(super) one_at_a_time: bool,
    /// As the numbers allow.
    pub(super) idempotent: bool,
}

/// A batch that a request carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightBatch {
    pub(super) request: u64,
    /// The number of its first record when it was sent.
    pub(super) first_id: u64,
}

/// A partition's batches between the accumulator and the network.
#[derive(Debug, Default)]
pub(super) struct PartitionSender {
    /// Closed batches that are to be sent, by their first record's number.
    pub(super) pending: VecDeque<Batch>,
    /// The open batch, too, is to be sent when its turn comes.
    pub(super) open_due: bool,
    /// Batches under way, in the order in which they were sent: one that was sent again comes behind those that were
    /// under way by then.
    pub(super) in_flight: Vec<InFlightBatch>,
    /// The broker to which the last batch went.
    pub(super) sent_to: Option<NodeId>,
    /// The numbers of an idempotent producer's batches.
    pub(super) sequences: SequenceState,
    /// The broker in whose ready list the partition stands.
    pub(super) queued_on: Option<NodeId>,
    /// It stands there among those whose open batch goes on filling.
    pub(super) held: bool,
    /// The application wants nothing to be sent.
    pub(super) paused: bool,
    /// Nothing is sent before this: a retry waits.
    pub(super) blocked_until: Option<Instant>,
    pub(super) armed: Armed,
    pub(super) sent: Sent,
}

impl PartitionSender {
    /// Whether there is something that could be sent now.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        let blocked = self.paused || self.blocked_until.is_some_and(|until| until > now);
        (self.open_due || !self.pending.is_empty()) && !blocked
    }

    /// Whether an outcome must come before more is sent to `node`.
    pub(super) fn is_full(&self, rules: InFlightRules, node: NodeId, now: Instant) -> bool {
        (rules.one_at_a_time && !self.in_flight.is_empty()) || (rules.idempotent && self.must_drain(node, now))
    }

    /// Closes the open batch, which is to be sent now.
    pub(super) fn close_open_batch(&mut self, queue: &PartitionQueue) {
        self.open_due = false;
        let _ = queue.collect(&mut self.pending, true);
    }

    /// A broker's lists have the partition no more. Where it stands in those of another one by now, it stays there: the
    /// entry was one that meant nothing any more.
    pub(super) fn leave_queue(&mut self, node: NodeId) {
        if self.queued_on == Some(node) {
            self.queued_on = None;
            self.held = false;
        }
    }

    /// Puts a batch where its records belong.
    pub(super) fn put_back(&mut self, batch: Batch) {
        let at = self.pending.partition_point(|b| b.first_id < batch.first_id);
        self.pending.insert(at, batch);
    }
}

/// The settings of a topic that the sender obeys.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct TopicSettings {
    /// `request.required.acks`
    pub(super) acks: i16,
    /// `request.timeout.ms`: how long the broker waits for replicas.
    pub(super) request_timeout_ms: i32,
    /// `message.timeout.ms`; `None` when there is no limit.
    pub(super) message_timeout: Option<Duration>,
    /// `compression.codec` of the topic, or else of the client.
    pub(super) codec: Codec,
    /// `compression.level`; `None` for the codec's own.
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

/// A topic's lanes.
#[derive(Debug)]
pub(super) struct TopicSender {
    pub(super) name: Arc<str>,
    pub(super) settings: TopicSettings,
    pub(super) partitions: Vec<PartitionSender>,
    /// The topic's id when it was last looked at; a topic with another one is another topic.
    pub(super) id: Uuid,
    /// The partition count that was last acted upon, 0 while unknown.
    pub(super) count: i32,
    pub(super) armed: Armed,
    /// While somebody wants to know.
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

    /// Metadata names the topic's id. The brokers of a topic that was made anew know nothing of the producer.
    pub(super) fn on_id(&mut self, id: Uuid) {
        if std::mem::replace(&mut self.id, id) != id {
            for partition_sender in &mut self.partitions {
                partition_sender.sequences.unconfirm();
            }
        }
    }

    /// A partition's lane, made on first use. Numbers come from the accumulator, which has checked them.
    pub(super) fn partition_sender(&mut self, partition: i32) -> Option<&mut PartitionSender> {
        let index = usize::try_from(partition).ok()?;
        if index >= self.partitions.len() {
            self.partitions.resize_with(index + 1, PartitionSender::default);
        }
        self.partitions.get_mut(index)
    }
}
