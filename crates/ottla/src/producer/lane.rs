//! A partition and a topic as the client's thread sees them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::compression::Codec;

use super::batch::Batch;
use super::timers::Armed;
use crate::config::{ClientConfig, TopicConfig};
use crate::env::Instant;
use crate::types::{NodeId, Topic};

/// A partition's batches between the accumulator and the network.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Closed batches that are to be sent, by their first record's number.
    pub(super) pending: VecDeque<Batch>,
    /// The open batch, too, is to be sent when its turn comes.
    pub(super) open_due: bool,
    /// Requests under way that carry a batch of this partition, oldest first.
    pub(super) in_flight: Vec<u64>,
    /// The broker in whose ready list the partition stands.
    pub(super) queued_on: Option<NodeId>,
    /// Nothing is sent before this: a retry waits.
    pub(super) blocked_until: Option<Instant>,
    pub(super) armed: Armed,
}

impl Lane {
    /// Whether there is something that could be sent now.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        (self.open_due || !self.pending.is_empty()) && self.blocked_until.is_none_or(|until| until <= now)
    }

    /// Puts a batch where its records belong.
    pub(super) fn put_back(&mut self, batch: Batch) {
        let at = self.pending.partition_point(|b| b.first_id < batch.first_id);
        self.pending.insert(at, batch);
    }
}

/// The settings of a topic that the sender obeys.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Delivering {
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

impl Delivering {
    pub(super) fn new(conf: &ClientConfig, topic: &TopicConfig) -> Self {
        let own = topic.compression_codec.as_str();
        let codec = Codec::from_name(own).or_else(|| Codec::from_name(conf.compression_codec.as_str()));
        let timeout_ms = u64::from(topic.message_timeout_ms);
        let level = topic.compression_level;
        Delivering {
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
pub(super) struct TopicLanes {
    pub(super) name: Arc<str>,
    pub(super) delivering: Delivering,
    pub(super) lanes: Vec<Lane>,
    /// The partition count that was last acted upon, 0 while unknown.
    pub(super) count: i32,
    pub(super) armed: Armed,
}

impl TopicLanes {
    pub(super) fn new(topic: &Topic, conf: &ClientConfig) -> Self {
        TopicLanes {
            name: topic.shared_name(),
            delivering: Delivering::new(conf, topic.conf()),
            lanes: Vec::new(),
            count: 0,
            armed: Armed::default(),
        }
    }

    /// A partition's lane, made on first use. Numbers come from the accumulator, which has checked them.
    pub(super) fn lane(&mut self, partition: i32) -> Option<&mut Lane> {
        let index = usize::try_from(partition).ok()?;
        if index >= self.lanes.len() {
            self.lanes.resize_with(index + 1, Lane::default);
        }
        self.lanes.get_mut(index)
    }
}
