//! What is known of topics, and when an answer is believed.
//!
//! Brokers learn of changes at different times, and an answer may be late. What an answer is worth against what is known:
//!
//! - An answer to a request that was sent *before* the one that gave the present knowledge brings newer leader epochs of
//!   the same topic id and nothing else.
//! - Within one topic id a leader epoch never goes back (KIP-320): the older leader is not taken.
//! - Leader epochs of versions before 9 of Metadata are not accurate during a reassignment and are left out.
//! - A topic id that another one has replaced comes from a broker that lags behind. So does, most often, an older leader
//!   epoch from brokers that tell no topic ids (Metadata before version 10); but there it may as well be that of a topic
//!   that was deleted and made again. Both are *doubted*: what is known stays, and the topic is asked for again soon. They
//!   are believed when the very broker that had told of what is known says so, since a broker's own knowledge does not
//!   go back; when enough different brokers in a row do ([`Source::quorum`]); or when nobody has objected for
//!   `topic.metadata.propagation.max.ms`.
//! - A topic that was said not to exist has no past: what comes next is believed at once.
//! - An error that passes (LEADER_NOT_AVAILABLE of the topic as a whole, say) takes nothing away: what is known of the
//!   partitions stays, and the topic is asked for again soon.

use std::collections::BTreeSet;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataResponsePartition, MetadataResponseTopic};

use crate::error::ErrorCode;
use crate::sys::Instant;
use crate::types::NodeId;

/// Topic ids of the past that are remembered.
const RETIRED_MAX: usize = 8;

/// Where an answer comes from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The broker that answered.
    pub(super) node: NodeId,
    /// The answer's version.
    pub(super) version: i16,
    /// When the broker was asked.
    pub(super) asked_at: Instant,
    pub(super) now: Instant,
    /// How many brokers have to say what contradicts present knowledge.
    pub(super) quorum: usize,
    /// How long what contradicts present knowledge is doubted, `topic.metadata.propagation.max.ms`.
    pub(super) doubt_for: Duration,
}

/// Brokers, since when and in a row, that said what is not believed yet.
#[derive(Clone, Debug)]
struct Doubt {
    since: Instant,
    brokers: BTreeSet<NodeId>,
}

/// What is known of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMeta {
    /// The partition's own error in metadata, or none.
    pub error: ErrorCode,
    /// The leader, when there is one.
    pub leader: Option<NodeId>,
    /// The leader's epoch, -1 when the broker does not tell.
    pub leader_epoch: i32,
    /// All replicas.
    pub replicas: Vec<i32>,
    /// Replicas in sync.
    pub isrs: Vec<i32>,
}

impl PartitionMeta {
    fn from_wire(p: &MetadataResponsePartition, version: i16) -> Self {
        PartitionMeta {
            error: ottla_protocol::ErrorCode(p.error_code).into(),
            leader: (p.leader_id >= 0).then_some(NodeId(p.leader_id)),
            leader_epoch: match version {
                MetadataRequest::RELIABLE_LEADER_EPOCHS_SINCE.. => p.leader_epoch,
                _ => -1,
            },
            replicas: p.replica_nodes.clone(),
            isrs: p.isr_nodes.clone(),
        }
    }

    /// Whether `other` tells of an earlier leader.
    fn is_newer_than(&self, other: &PartitionMeta) -> bool {
        other.leader_epoch >= 0 && self.leader_epoch > other.leader_epoch
    }

    fn unknown() -> Self {
        PartitionMeta {
            error: ErrorCode::LEADER_NOT_AVAILABLE,
            leader: None,
            leader_epoch: -1,
            replicas: Vec::new(),
            isrs: Vec::new(),
        }
    }
}

/// What is known of a topic.
#[derive(Clone, Debug)]
pub struct TopicMeta {
    /// The topic's id (KIP-516), [`Uuid::ZERO`] from brokers that have none.
    pub id: Uuid,
    /// The topic's error in metadata, or none.
    pub error: ErrorCode,
    /// By partition number; empty while unknown.
    pub partitions: Vec<PartitionMeta>,
    /// When this was learned.
    pub fetched_at: Instant,
    /// Since when brokers have said that the topic does not exist.
    pub missing_since: Option<Instant>,
    /// When the request was sent whose answer this is.
    asked_at: Instant,
    /// The broker that told, unless the leaders of the response to another request were taken since.
    told_by: Option<NodeId>,
    /// The last id that was told, also while the topic is missing.
    last_id: Uuid,
    /// Ids that others have replaced.
    retired: Vec<Uuid>,
    doubt: Option<Doubt>,
}

impl TopicMeta {
    /// What is known after a broker's answer; `before` is what was known.
    pub(super) fn from_wire(topic: &MetadataResponseTopic, before: Option<&TopicMeta>, source: &Source) -> Self {
        let new = TopicMeta::read(topic, source);
        match before {
            None => new,
            Some(before) if source.asked_at < before.asked_at => before.with_newer_epochs(&new),
            Some(before) if new.says_nothing() && !before.partitions.is_empty() => before.despite(&new),
            Some(before) if new.partitions.is_empty() || before.partitions.is_empty() => new.succeed(before),
            Some(before) if new.id.is_zero() => new.without_id(before, source),
            Some(before) if before.id.is_zero() && before.retired.is_empty() => new.succeed(before),
            Some(before) if before.id == new.id => {
                let mut new = new.succeed(before);
                new.keep_newer(before);
                new
            }
            Some(before) if before.retired.contains(&new.id) && !before.believes(source) => before.doubting(source),
            Some(before) => new.succeed(before),
        }
    }

    /// The answer as it is.
    fn read(topic: &MetadataResponseTopic, source: &Source) -> Self {
        let error: ErrorCode = ottla_protocol::ErrorCode(topic.error_code).into();
        let mut partitions: Vec<PartitionMeta> = Vec::with_capacity(topic.partitions.len());
        for wire in &topic.partitions {
            let Ok(index) = usize::try_from(wire.partition_index) else {
                continue;
            };
            if index >= topic.partitions.len().saturating_mul(2).max(1024) {
                continue; // partition numbers are dense; anything else is a broken answer
            }
            if partitions.len() <= index {
                partitions.resize_with(index + 1, PartitionMeta::unknown);
            }
            if let Some(slot) = partitions.get_mut(index) {
                *slot = PartitionMeta::from_wire(wire, source.version);
            }
        }
        let missing = error == ErrorCode::UNKNOWN_TOPIC_OR_PART || error == ErrorCode::UNKNOWN_TOPIC_ID;
        TopicMeta {
            id: topic.topic_id,
            error,
            partitions,
            fetched_at: source.now,
            missing_since: missing.then_some(source.now),
            asked_at: source.asked_at,
            told_by: (!source.node.is_bootstrap()).then_some(source.node),
            last_id: topic.topic_id,
            retired: Vec::new(),
            doubt: None,
        }
    }

    /// Takes over what is remembered from answer to answer.
    fn succeed(mut self, before: &TopicMeta) -> Self {
        if self.missing_since.is_some() {
            self.missing_since = before.missing_since.or(self.missing_since);
        }
        self.retired.clone_from(&before.retired);
        if self.last_id.is_zero() {
            self.last_id = before.last_id;
        } else if self.last_id != before.last_id {
            self.retired.retain(|id| *id != self.last_id);
            if !before.last_id.is_zero() {
                self.retired.push(before.last_id);
            }
            if self.retired.len() > RETIRED_MAX {
                self.retired.remove(0);
            }
        }
        self
    }

    /// What is known after an answer of a broker that tells no topic ids.
    fn without_id(self, before: &TopicMeta, source: &Source) -> Self {
        let goes_back = before
            .partitions
            .iter()
            .zip(&self.partitions)
            .any(|(b, n)| b.is_newer_than(n));
        if goes_back && before.believes(source) {
            return self.succeed(before); // another topic, whose id nobody told
        }
        let mut new = self.succeed(before);
        new.id = before.id;
        if goes_back {
            new.keep_newer(before);
            new.doubt = before.doubting(source).doubt;
            new.told_by = before.told_by;
        }
        new
    }

    fn keep_newer(&mut self, before: &TopicMeta) {
        for (mine, known) in self.partitions.iter_mut().zip(&before.partitions) {
            if known.is_newer_than(mine) {
                *mine = known.clone();
            }
        }
    }

    /// Whether this is an error that passes, with nothing about partitions.
    fn says_nothing(&self) -> bool {
        self.partitions.is_empty() && self.missing_since.is_none() && self.has_passing_error()
    }

    /// This, asked for in vain: the answer is an error that passes. Who knows a leader goes on with it meanwhile.
    fn despite(&self, failed: &TopicMeta) -> Self {
        TopicMeta {
            error: failed.error,
            fetched_at: failed.fetched_at,
            asked_at: failed.asked_at,
            missing_since: None,
            ..self.clone()
        }
    }

    /// This with the newer leaders of an answer that came too late for the rest.
    fn with_newer_epochs(&self, late: &TopicMeta) -> Self {
        let mut new = self.clone();
        if !late.id.is_zero() && late.id == self.id {
            for (mine, told) in new.partitions.iter_mut().zip(&late.partitions) {
                if told.is_newer_than(mine) {
                    *mine = told.clone();
                }
            }
        }
        new
    }

    /// Whether one more answer that contradicts this is enough.
    fn believes(&self, source: &Source) -> bool {
        let itself = self.told_by == Some(source.node);
        let Some(Doubt { since, brokers }) = self.doubting(source).doubt else {
            return itself;
        };
        itself || brokers.len() >= source.quorum || source.now.since(since) >= source.doubt_for
    }

    /// This after an answer that contradicts it.
    fn doubting(&self, source: &Source) -> Self {
        let mut new = self.clone();
        let doubt = new.doubt.get_or_insert_with(|| Doubt {
            since: source.now,
            brokers: BTreeSet::new(),
        });
        // A bootstrap address may lead to any broker, also to one that has spoken already.
        if !source.node.is_bootstrap() {
            doubt.brokers.insert(source.node);
        }
        new.asked_at = source.asked_at;
        new
    }

    /// When the request was sent whose answer this is.
    pub fn asked_at(&self) -> Instant {
        self.asked_at
    }

    /// The brokers that contradict this and are not believed.
    pub(super) fn lagging_brokers(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.doubt.iter().flat_map(|d| d.brokers.iter().copied())
    }

    /// Takes a partition's leader that a broker named in passing; false when it is known or has been succeeded already.
    pub(super) fn take_leader(&mut self, partition: i32, leader: NodeId, leader_epoch: i32) -> bool {
        let Some(meta) = self.partition_mut(partition).filter(|m| m.leader_epoch < leader_epoch) else {
            return false;
        };
        meta.leader = Some(leader);
        meta.leader_epoch = leader_epoch;
        meta.error = ErrorCode::NO_ERROR;
        self.told_by = None;
        true
    }

    /// Whether the topic exists and its partitions are known.
    pub fn is_usable(&self) -> bool {
        self.error == ErrorCode::NO_ERROR && !self.partitions.is_empty()
    }

    /// Whether the topic's error passes. So does one that the broker has no name for: old ones give it for a topic that
    /// they are just making.
    pub fn has_passing_error(&self) -> bool {
        self.error == ErrorCode::UNKNOWN || self.error.action().is_retriable()
    }

    /// The number of partitions, 0 while unknown.
    pub fn partition_count(&self) -> i32 {
        i32::try_from(self.partitions.len()).unwrap_or(i32::MAX)
    }

    /// Whether a refresh may bring what is missing: a partition has no leader, the topic has an error, or an answer is
    /// doubted.
    pub fn is_incomplete(&self) -> bool {
        self.error != ErrorCode::NO_ERROR
            || self.doubt.is_some()
            || self.partitions.is_empty()
            || self.partitions.iter().any(|p| p.leader.is_none())
    }

    /// A partition of this topic.
    pub fn partition(&self, index: i32) -> Option<&PartitionMeta> {
        self.partitions.get(usize::try_from(index).ok()?)
    }

    fn partition_mut(&mut self, index: i32) -> Option<&mut PartitionMeta> {
        self.partitions.get_mut(usize::try_from(index).ok()?)
    }

    /// Whether what matters to producers and consumers differs.
    pub(super) fn differs_from(&self, other: &TopicMeta) -> bool {
        self.id != other.id
            || self.error != other.error
            || self.partitions.len() != other.partitions.len()
            || self
                .partitions
                .iter()
                .zip(&other.partitions)
                .any(|(a, b)| a.leader != b.leader || a.leader_epoch != b.leader_epoch || a.error != b.error)
    }
}
