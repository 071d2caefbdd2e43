//! Topics and their partitions: leaders, replicas and logs.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::{ErrorCode, Uuid};

use crate::api_error::ApiError;
use crate::config::ClusterConfig;
use crate::ids::{BrokerId, DelayedId};
use crate::log::PartitionLog;
use crate::log_dirs::ReplicaPlaces;
use crate::time::Time;
use crate::topic_config::{ConfigResource, TopicConfig};

/// Other replicas that a partition is to have (KIP-455).
#[derive(Debug)]
pub(crate) struct Reassignment {
    /// The replicas before.
    pub(crate) original: Vec<BrokerId>,
    /// The replicas after.
    pub(crate) target: Vec<BrokerId>,
    /// The replicas that are copying the log.
    pub(crate) adding: Vec<BrokerId>,
    /// The replicas that will be removed.
    pub(crate) removing: Vec<BrokerId>,
    /// The time at which the copies are complete.
    pub(crate) copied_at: Time,
}

/// One partition. All replicas share one log: the records above the high watermark are those that followers do not
/// have.
#[derive(Debug)]
pub(crate) struct Partition {
    /// `None` when no eligible replica is up.
    pub(crate) leader: Option<BrokerId>,
    pub(crate) leader_epoch: i32,
    pub(crate) replicas: Vec<BrokerId>,
    pub(crate) isr: Vec<BrokerId>,
    /// The replica to which the leader sends consumers, if one is set.
    pub(crate) preferred_replica: Option<BrokerId>,
    /// The reassignment under way. Its added replicas are in `replicas`, and not in `isr`.
    pub(crate) reassignment: Option<Reassignment>,
    pub(crate) places: ReplicaPlaces,
    pub(crate) log: PartitionLog,
    /// Delayed requests that watch this partition.
    pub(crate) watchers: BTreeSet<DelayedId>,
}

impl Partition {
    pub(crate) fn new(replicas: Vec<BrokerId>, alive: impl Fn(BrokerId) -> bool) -> Self {
        let mut isr: Vec<_> = replicas.iter().copied().filter(|b| alive(*b)).collect();
        let leader = isr.first().copied();
        if isr.is_empty() {
            isr.extend(replicas.first());
        }
        Self {
            leader,
            leader_epoch: 0,
            replicas,
            isr,
            preferred_replica: None,
            reassignment: None,
            places: ReplicaPlaces::default(),
            log: PartitionLog::default(),
            watchers: BTreeSet::new(),
        }
    }

    /// Sets the leader, or removes it, under the next epoch.
    pub(crate) fn set_leader(&mut self, leader: Option<BrokerId>) {
        self.leader = leader;
        self.leader_epoch += 1;
    }

    /// Checks that `broker` may serve a client whose metadata has `current_leader_epoch` (-1: unspecified).
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH (KIP-320).
    pub(crate) fn check_access(
        &self,
        broker: BrokerId,
        current_leader_epoch: i32,
        leader_only: bool,
    ) -> Result<(), ErrorCode> {
        if !self.replicas.contains(&broker) {
            return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        }
        match current_leader_epoch {
            -1 => {}
            epoch if epoch < self.leader_epoch => return Err(ErrorCode::FENCED_LEADER_EPOCH),
            epoch if epoch > self.leader_epoch => return Err(ErrorCode::UNKNOWN_LEADER_EPOCH),
            _ => {}
        }
        match self.leader == Some(broker) || !leader_only {
            true => Ok(()),
            false => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
        }
    }
}

/// One topic.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) id: Uuid,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) config: TopicConfig,
    /// The error that Metadata returns instead of the topic's partitions.
    pub(crate) error: Option<ErrorCode>,
    /// The time from which clients see the topic.
    pub(crate) visible_at: Time,
}

impl Topic {
    pub(crate) fn partition(&self, index: i32) -> Option<&Partition> {
        self.partitions.get(usize::try_from(index).ok()?)
    }

    pub(crate) fn partition_mut(&mut self, index: i32) -> Option<&mut Partition> {
        self.partitions.get_mut(usize::try_from(index).ok()?)
    }

    /// Returns the partitions with their indexes.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (i32, &Partition)> {
        (0..).zip(&self.partitions)
    }
}

/// A topic in a request: by name up to some version of an API, by id in later ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TopicRef {
    Name(String),
    Id(Uuid),
}

impl TopicRef {
    /// Returns the name for versions whose responses carry names; empty otherwise.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Id(_) => String::new(),
        }
    }

    /// Returns the id for versions whose responses carry ids; zero otherwise.
    pub(crate) fn id(&self) -> Uuid {
        match self {
            Self::Name(_) => Uuid::ZERO,
            Self::Id(id) => *id,
        }
    }

    /// Returns the error for an unknown topic.
    pub(crate) fn unknown_error(&self) -> ErrorCode {
        match self {
            Self::Name(_) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Self::Id(_) => ErrorCode::UNKNOWN_TOPIC_ID,
        }
    }
}

/// All topics.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    by_id: BTreeMap<Uuid, Topic>,
    names: BTreeMap<String, Uuid>,
    /// The number of topics ever created, by which their first leaders are spread over the brokers.
    created: usize,
}

impl Topics {
    pub(crate) fn insert(&mut self, topic: Topic) {
        self.names.insert(topic.name.clone(), topic.id);
        self.by_id.insert(topic.id, topic);
        self.created += 1;
    }

    pub(crate) fn remove(&mut self, id: Uuid) -> Option<Topic> {
        let topic = self.by_id.remove(&id)?;
        self.names.remove(&topic.name);
        Some(topic)
    }

    pub(crate) fn id_of(&self, name: &str) -> Option<Uuid> {
        self.names.get(name).copied()
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Topic> {
        self.by_id.get(self.names.get(name)?)
    }

    pub(crate) fn by_name_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.by_id.get_mut(self.names.get(name)?)
    }

    pub(crate) fn by_id(&self, id: Uuid) -> Option<&Topic> {
        self.by_id.get(&id)
    }

    pub(crate) fn by_id_mut(&mut self, id: Uuid) -> Option<&mut Topic> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn find(&self, topic: &TopicRef) -> Option<&Topic> {
        match topic {
            TopicRef::Name(name) => self.by_name(name),
            TopicRef::Id(id) => self.by_id(*id),
        }
    }

    /// Returns the topics by ascending name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.names.values().filter_map(|id| self.by_id.get(id))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Topic> {
        self.by_id.values_mut()
    }

    /// Returns the number of topics that were ever created.
    pub(crate) fn created(&self) -> usize {
        self.created
    }

    /// Adds a delayed request to the watchers of partitions.
    pub(crate) fn watch(&mut self, id: DelayedId, partitions: impl IntoIterator<Item = (Uuid, i32)>) {
        for (topic, index) in partitions {
            if let Some(p) = self.by_id_mut(topic).and_then(|t| t.partition_mut(index)) {
                p.watchers.insert(id);
            }
        }
    }

    /// Removes a delayed request from the watchers of partitions.
    pub(crate) fn unwatch(&mut self, id: DelayedId, partitions: impl IntoIterator<Item = (Uuid, i32)>) {
        for (topic, index) in partitions {
            if let Some(p) = self.by_id_mut(topic).and_then(|t| t.partition_mut(index)) {
                p.watchers.remove(&id);
            }
        }
    }

    /// Replaces a topic's settings by the result of `change`. With `validate_only` only checks it.
    ///
    /// # Errors
    /// INVALID_REQUEST for a resource that is not a topic, UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG, and those of
    /// `change`.
    pub(crate) fn reconfigure(
        &mut self,
        cluster: &ClusterConfig,
        resource: &ConfigResource,
        validate_only: bool,
        change: impl FnOnce(&TopicConfig) -> Result<BTreeMap<String, String>, ApiError>,
    ) -> Result<(), ApiError> {
        if resource.kind != ConfigResource::TOPIC {
            return Err(resource.unsupported());
        }
        let topic = self.by_name_mut(&resource.name);
        let topic = topic.ok_or_else(|| resource.missing_topic())?;
        let config = TopicConfig::new(cluster, change(&topic.config)?)
            .map_err(|message| ApiError::new(ErrorCode::INVALID_CONFIG, message))?;
        if !validate_only {
            topic.config = config;
        }
        Ok(())
    }
}

/// Returns true when Kafka allows the name: 1 to 249 of `[a-zA-Z0-9._-]`, not `.` or `..`.
pub(crate) fn is_valid_name(name: &str) -> bool {
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    (1..=249).contains(&name.len()) && name != "." && name != ".." && name.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_topic_names() {
        for good in ["a", "A-b_c.9", "...", &"x".repeat(249)] {
            assert!(is_valid_name(good), "{good}");
        }
        for bad in ["", ".", "..", "a b", "ä", "a/b", &"x".repeat(250)] {
            assert!(!is_valid_name(bad), "{bad}");
        }
    }

    #[test]
    fn check_access_follows_leader_and_epoch() {
        let brokers = vec![BrokerId(1), BrokerId(2)];
        let mut partition = Partition::new(brokers, |_| true);
        partition.set_leader(Some(BrokerId(2)));
        let epoch = partition.leader_epoch;
        assert_eq!(epoch, 1);
        let check = |broker, epoch, only| partition.check_access(BrokerId(broker), epoch, only);
        assert_eq!(check(2, epoch, true), Ok(()));
        assert_eq!(check(2, -1, true), Ok(()));
        assert_eq!(check(2, epoch - 1, true), Err(ErrorCode::FENCED_LEADER_EPOCH));
        assert_eq!(check(2, epoch + 1, true), Err(ErrorCode::UNKNOWN_LEADER_EPOCH));
        assert_eq!(check(1, epoch, true), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
        assert_eq!(check(1, epoch, false), Ok(()));
        assert_eq!(check(3, -1, false), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    }
}
