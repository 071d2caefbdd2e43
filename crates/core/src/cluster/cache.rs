//! The metadata of a topic, and the rules by which a response replaces it.
//!
//! Brokers learn of changes at different times, and a response may be late. The rules:
//!
//! - A response to a request that was sent *before* the one that brought the known metadata contributes newer leader
//!   epochs of the same topic id and nothing else.
//! - Within one topic id a leader epoch never decreases (KIP-320): an older leader is ignored.
//! - Leader epochs of Metadata before version 9 are not accurate during a reassignment and are ignored.
//! - A topic id that another one has replaced comes from a broker that lags behind. So does, in most cases, an older leader
//!   epoch from a broker without topic ids (Metadata before version 10); but there it may also belong to a topic that was
//!   deleted and created again. Both *contradict* known metadata: it stays, and the topic is requested again soon. A
//!   contradiction is accepted from the same broker that the known metadata came from, since a broker's own metadata does
//!   not go back; from enough different brokers in a row ([`Source::quorum`]); and after
//!   `topic.metadata.propagation.max.ms` without a response that agrees with the known metadata.
//! - After a response that the topic does not exist, the next response is accepted as it is.
//! - A transient error (LEADER_NOT_AVAILABLE of the whole topic, for example) removes nothing: the known partitions stay,
//!   and the topic is requested again soon.

use std::collections::BTreeSet;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataResponsePartition, MetadataResponseTopic};

use crate::error::ErrorCode;
use crate::sys::Instant;
use crate::types::NodeId;

/// Maximum number of replaced topic ids that are kept.
const REPLACED_IDS_MAX: usize = 8;

/// The source of a response.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The broker that answered.
    pub(super) node: NodeId,
    /// The response's version.
    pub(super) version: i16,
    /// When the request was sent.
    pub(super) asked_at: Instant,
    pub(super) now: Instant,
    /// The number of brokers whose contradiction is accepted.
    pub(super) quorum: usize,
    /// The time after which a contradiction is accepted, `topic.metadata.propagation.max.ms`.
    pub(super) propagation_max: Duration,
}

/// The brokers whose responses in a row have contradicted known metadata, and when the first one came.
#[derive(Clone, Debug)]
struct Contradiction {
    since: Instant,
    brokers: BTreeSet<NodeId>,
}

/// The metadata of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMeta {
    /// The partition's error, or none.
    pub error: ErrorCode,
    /// The leader, when there is one.
    pub leader: Option<NodeId>,
    /// The leader's epoch, -1 when it is unknown.
    pub leader_epoch: i32,
    /// All replicas.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
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

    /// Returns whether `other` has an earlier leader epoch.
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

/// The metadata of a topic.
#[derive(Clone, Debug)]
pub struct TopicMeta {
    /// The topic's id (KIP-516), [`Uuid::ZERO`] from brokers that have none.
    pub id: Uuid,
    /// The topic's error, or none.
    pub error: ErrorCode,
    /// By partition number; empty while unknown.
    pub partitions: Vec<PartitionMeta>,
    /// When the response came.
    pub fetched_at: Instant,
    /// When the first of the responses came by which the topic does not exist.
    pub missing_since: Option<Instant>,
    /// When the request of the response was sent.
    asked_at: Instant,
    /// The broker of the response, unless leaders of a response of another API were applied since.
    from_broker: Option<NodeId>,
    /// The last known id, also while the topic is missing.
    last_id: Uuid,
    /// Ids that another one has replaced.
    replaced_ids: Vec<Uuid>,
    contradiction: Option<Contradiction>,
}

impl TopicMeta {
    /// Returns the metadata after a response; `before` is the metadata until then.
    pub(super) fn from_wire(topic: &MetadataResponseTopic, before: Option<&TopicMeta>, source: &Source) -> Self {
        let new = TopicMeta::decode(topic, source);
        match before {
            None => new,
            Some(before) if source.asked_at < before.asked_at => before.with_newer_epochs(&new),
            Some(before) if new.is_only_transient_error() && !before.partitions.is_empty() => {
                before.with_transient_error(&new)
            }
            Some(before) if new.partitions.is_empty() || before.partitions.is_empty() => new.inherit(before),
            Some(before) if new.id.is_zero() => new.without_id(before, source),
            Some(before) if before.id.is_zero() && before.replaced_ids.is_empty() => new.inherit(before),
            Some(before) if before.id == new.id => {
                let mut new = new.inherit(before);
                new.keep_newer(before);
                new
            }
            Some(before) if before.replaced_ids.contains(&new.id) && !before.accepts_contradiction(source) => {
                before.contradicted_by(source)
            }
            Some(before) => new.inherit(before),
        }
    }

    /// Returns the metadata of the response alone.
    fn decode(topic: &MetadataResponseTopic, source: &Source) -> Self {
        let error: ErrorCode = ottla_protocol::ErrorCode(topic.error_code).into();
        let mut partitions: Vec<PartitionMeta> = Vec::with_capacity(topic.partitions.len());
        for wire in &topic.partitions {
            let Ok(index) = usize::try_from(wire.partition_index) else {
                continue;
            };
            if index >= topic.partitions.len().saturating_mul(2).max(1024) {
                continue; // partition numbers are dense; anything else is malformed
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
            from_broker: (!source.node.is_bootstrap()).then_some(source.node),
            last_id: topic.topic_id,
            replaced_ids: Vec::new(),
            contradiction: None,
        }
    }

    /// Adopts what outlasts a response from `before`.
    fn inherit(mut self, before: &TopicMeta) -> Self {
        if self.missing_since.is_some() {
            self.missing_since = before.missing_since.or(self.missing_since);
        }
        self.replaced_ids.clone_from(&before.replaced_ids);
        if self.last_id.is_zero() {
            self.last_id = before.last_id;
        } else if self.last_id != before.last_id {
            self.replaced_ids.retain(|id| *id != self.last_id);
            if !before.last_id.is_zero() {
                self.replaced_ids.push(before.last_id);
            }
            if self.replaced_ids.len() > REPLACED_IDS_MAX {
                self.replaced_ids.remove(0);
            }
        }
        self
    }

    /// Returns the metadata after a response without topic ids.
    fn without_id(self, before: &TopicMeta, source: &Source) -> Self {
        let goes_back = before
            .partitions
            .iter()
            .zip(&self.partitions)
            .any(|(b, n)| b.is_newer_than(n));
        if goes_back && before.accepts_contradiction(source) {
            return self.inherit(before); // another topic, whose id is unknown
        }
        let mut new = self.inherit(before);
        new.id = before.id;
        if goes_back {
            new.keep_newer(before);
            new.contradiction = before.contradicted_by(source).contradiction;
            new.from_broker = before.from_broker;
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

    /// Returns whether this is a transient error without partitions.
    fn is_only_transient_error(&self) -> bool {
        self.partitions.is_empty() && self.missing_since.is_none() && self.has_passing_error()
    }

    /// Returns this metadata after a response with nothing but a transient error: known leaders stay in use.
    fn with_transient_error(&self, failed: &TopicMeta) -> Self {
        TopicMeta {
            error: failed.error,
            fetched_at: failed.fetched_at,
            asked_at: failed.asked_at,
            missing_since: None,
            ..self.clone()
        }
    }

    /// Returns this metadata with the newer leaders of a late response.
    fn with_newer_epochs(&self, late: &TopicMeta) -> Self {
        let mut new = self.clone();
        if !late.id.is_zero() && late.id == self.id {
            for (mine, theirs) in new.partitions.iter_mut().zip(&late.partitions) {
                if theirs.is_newer_than(mine) {
                    *mine = theirs.clone();
                }
            }
        }
        new
    }

    /// Returns whether a response that contradicts this metadata is accepted.
    fn accepts_contradiction(&self, source: &Source) -> bool {
        let is_same = self.from_broker == Some(source.node);
        let Some(Contradiction { since, brokers }) = self.contradicted_by(source).contradiction else {
            return is_same;
        };
        is_same || brokers.len() >= source.quorum || source.now.since(since) >= source.propagation_max
    }

    /// Returns this metadata after a response that contradicts it.
    fn contradicted_by(&self, source: &Source) -> Self {
        let mut new = self.clone();
        let contradiction = new.contradiction.get_or_insert_with(|| Contradiction {
            since: source.now,
            brokers: BTreeSet::new(),
        });
        // A bootstrap address may lead to any broker, also to one that is counted already.
        if !source.node.is_bootstrap() {
            contradiction.brokers.insert(source.node);
        }
        new.asked_at = source.asked_at;
        new
    }

    /// Returns when the request of the response was sent.
    pub fn asked_at(&self) -> Instant {
        self.asked_at
    }

    /// Returns the brokers whose contradiction was not accepted.
    pub(super) fn lagging_brokers(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.contradiction.iter().flat_map(|d| d.brokers.iter().copied())
    }

    /// Sets a partition's leader as a response of another API contains it. Returns false if its epoch is not newer.
    pub(super) fn take_leader(&mut self, partition: i32, leader: NodeId, leader_epoch: i32) -> bool {
        let Some(meta) = self.partition_mut(partition).filter(|m| m.leader_epoch < leader_epoch) else {
            return false;
        };
        meta.leader = Some(leader);
        meta.leader_epoch = leader_epoch;
        meta.error = ErrorCode::NO_ERROR;
        self.from_broker = None;
        true
    }

    /// Returns whether the topic exists and its partitions are known.
    pub fn is_usable(&self) -> bool {
        self.error == ErrorCode::NO_ERROR && !self.partitions.is_empty()
    }

    /// Returns whether the topic's error is transient. UNKNOWN is: old brokers respond so for a topic that is being created.
    pub fn has_passing_error(&self) -> bool {
        self.error == ErrorCode::UNKNOWN || self.error.action().is_retriable()
    }

    /// Returns the number of partitions, 0 while unknown.
    pub fn partition_count(&self) -> i32 {
        i32::try_from(self.partitions.len()).unwrap_or(i32::MAX)
    }

    /// Returns whether a refresh may complete this: a partition has no leader, the topic has an error, or a contradiction
    /// is open.
    pub fn is_incomplete(&self) -> bool {
        self.error != ErrorCode::NO_ERROR
            || self.contradiction.is_some()
            || self.partitions.is_empty()
            || self.partitions.iter().any(|p| p.leader.is_none())
    }

    /// Returns a partition of this topic.
    pub fn partition(&self, index: i32) -> Option<&PartitionMeta> {
        self.partitions.get(usize::try_from(index).ok()?)
    }

    fn partition_mut(&mut self, index: i32) -> Option<&mut PartitionMeta> {
        self.partitions.get_mut(usize::try_from(index).ok()?)
    }

    /// Returns whether anything differs for producers and consumers.
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

#[cfg(test)]
mod tests;
