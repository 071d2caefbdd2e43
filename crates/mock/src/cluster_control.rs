//! Changes from outside: what operators, controllers and accidents do to a cluster.

use std::collections::BTreeMap;

use ottla_protocol::{ErrorCode, Records, Uuid};

use crate::cluster::{BrokerId, Cluster};
use crate::handlers::k03_metadata;
use crate::topic_config::TopicConfig;
use crate::topics::{Partition, Topic, is_valid_name};
use crate::{CloseReason, Delivery};

/// The offsets and the size of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// The first offset that can be read.
    pub log_start_offset: i64,
    /// Up to here clients can read.
    pub high_watermark: i64,
    /// Up to here they can read committed.
    pub last_stable_offset: i64,
    /// The offset that the next record gets.
    pub log_end_offset: i64,
    /// Bytes of all batches between start and end.
    pub size_bytes: u64,
}

/// A topic to be made.
#[derive(Debug, Clone, Default)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// Number of partitions; -1 for the broker's default. Counts only without `assignments`.
    pub partitions: i32,
    /// Number of replicas; -1 for the broker's default. Counts only without `assignments`.
    pub replication_factor: i16,
    /// The replicas of each partition, the first of them to lead; empty to let the cluster choose.
    pub assignments: Vec<Vec<BrokerId>>,
    /// Topic configuration by name.
    pub configs: BTreeMap<String, String>,
}

/// Why a change was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The code that a client gets.
    pub error: ErrorCode,
    /// The explanation that goes with it.
    pub message: String,
}

impl ApiError {
    pub(crate) fn new(error: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            error,
            message: message.into(),
        }
    }
}

/// With no more explanation than the code's name.
impl From<ErrorCode> for ApiError {
    fn from(error: ErrorCode) -> Self {
        Self::new(error, error.name().unwrap_or_default())
    }
}

impl Cluster {
    /// Makes a topic, as CreateTopics does, and gives its id. `replication_factor` is the broker's default when `None`.
    ///
    /// # Errors
    /// What a client would be told.
    pub fn create_topic(
        &mut self,
        name: &str,
        partitions: i32,
        replication_factor: Option<i16>,
    ) -> Result<Uuid, ApiError> {
        self.create(NewTopic {
            name: name.to_owned(),
            partitions,
            replication_factor: replication_factor.unwrap_or(-1),
            ..NewTopic::default()
        })
    }

    /// Makes a topic with all that can be said about it, and gives its id.
    ///
    /// # Errors
    /// What a client would be told.
    pub fn create(&mut self, topic: NewTopic) -> Result<Uuid, ApiError> {
        let planned = self.plan_topic(topic)?;
        let id = planned.id;
        self.topics.insert(planned);
        Ok(id)
    }

    /// Checks a topic to be made and lays it out, without making it.
    pub(crate) fn plan_topic(&mut self, topic: NewTopic) -> Result<Topic, ApiError> {
        let name = topic.name;
        if !is_valid_name(&name) {
            let message = format!("Topic name is invalid: '{name}'");
            return Err(ApiError::new(ErrorCode::INVALID_TOPIC_EXCEPTION, message));
        }
        if self.topics.id_of(&name).is_some() {
            let message = format!("Topic '{name}' already exists.");
            return Err(ApiError::new(ErrorCode::TOPIC_ALREADY_EXISTS, message));
        }
        let layout = match topic.assignments.is_empty() {
            true => self.lay_out(topic.partitions, topic.replication_factor)?,
            false => self.check_assignments(topic.assignments)?,
        };
        let config = TopicConfig::new(&self.config, topic.configs)
            .map_err(|message| ApiError::new(ErrorCode::INVALID_CONFIG, message))?;
        let partitions = layout
            .into_iter()
            .map(|r| Partition::new(r, |b| self.is_alive(b)))
            .collect();
        Ok(Topic {
            name,
            id: self.rng.uuid(),
            partitions,
            config,
            error: None,
            visible_at: self.now.plus_us(self.config.topic_creation_delay_us),
        })
    }

    fn lay_out(&self, partitions: i32, replicas: i16) -> Result<Vec<Vec<BrokerId>>, ApiError> {
        let partitions = match partitions {
            -1 => self.config.default_partitions,
            count => count,
        };
        let replicas = match replicas {
            -1 => self.config.replication_factor(),
            count => count,
        };
        let count = usize::try_from(partitions)
            .ok()
            .filter(|c| (1..=100_000).contains(c))
            .ok_or_else(|| {
                ApiError::new(
                    ErrorCode::INVALID_PARTITIONS,
                    "Number of partitions must be larger than 0.",
                )
            })?;
        self.spread(self.topics.created, count, replicas)
    }

    /// Replicas for `count` partitions, leaders going round the brokers that are up, beginning with the `first`.
    fn spread(&self, first: usize, count: usize, replicas: i16) -> Result<Vec<Vec<BrokerId>>, ApiError> {
        let alive = self.alive_brokers();
        let replicas = usize::try_from(replicas).unwrap_or(0);
        if replicas == 0 || replicas > alive.len() {
            let message = format!(
                "Unable to replicate the partition {replicas} time(s): {} broker(s) are registered.",
                alive.len()
            );
            return Err(ApiError::new(ErrorCode::INVALID_REPLICATION_FACTOR, message));
        }
        let layout = (first..first + count).map(|p| {
            let ring = alive.iter().cycle().skip(p % alive.len());
            ring.take(replicas).copied().collect()
        });
        Ok(layout.collect())
    }

    fn check_assignments(&self, assignments: Vec<Vec<BrokerId>>) -> Result<Vec<Vec<BrokerId>>, ApiError> {
        for replicas in &assignments {
            let mut unique = replicas.clone();
            unique.sort_unstable();
            unique.dedup();
            let known = replicas.iter().all(|b| self.brokers.contains_key(b));
            if replicas.is_empty() || unique.len() != replicas.len() || !known {
                let message = "The manual partition assignment is empty, names a broker twice or an unknown one.";
                return Err(ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
            }
        }
        Ok(assignments)
    }

    /// Removes a topic with its data and the offsets committed for it. Made again, it gets another id.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn delete_topic(&mut self, name: &str) -> Result<(), ErrorCode> {
        let id = self.topics.id_of(name).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let Some(topic) = self.topics.remove(id) else {
            return Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        };
        self.groups.topic_deleted(name);
        for partition in topic.partitions {
            self.wake(&partition.watchers);
        }
        Ok(())
    }

    /// Raises the number of a topic's partitions to `total`. `assignments` are the replicas of each new one; empty to
    /// let the cluster choose.
    ///
    /// # Errors
    /// What a client would be told.
    pub fn create_partitions(
        &mut self,
        name: &str,
        total: i32,
        assignments: Vec<Vec<BrokerId>>,
    ) -> Result<(), ApiError> {
        let new = self.plan_partitions(name, total, assignments)?;
        let partitions: Vec<_> = new
            .into_iter()
            .map(|r| Partition::new(r, |b| self.is_alive(b)))
            .collect();
        if let Some(topic) = self.topics.by_name_mut(name) {
            topic.partitions.extend(partitions);
        }
        Ok(())
    }

    /// The replicas of the partitions that [`Cluster::create_partitions`] would add.
    pub(crate) fn plan_partitions(
        &self,
        name: &str,
        total: i32,
        assignments: Vec<Vec<BrokerId>>,
    ) -> Result<Vec<Vec<BrokerId>>, ApiError> {
        let Some(topic) = self.topics.by_name(name) else {
            let message = "This server does not host this topic-partition.";
            return Err(ApiError::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message));
        };
        let current = topic.partitions.len();
        let total = usize::try_from(total)
            .ok()
            .filter(|t| (current + 1..=100_000).contains(t))
            .ok_or_else(|| {
                let message = format!("The topic {name} currently has {current} partition(s); {total} is not higher.");
                ApiError::new(ErrorCode::INVALID_PARTITIONS, message)
            })?;
        if assignments.is_empty() {
            let replicas = topic.partitions.first().map_or(1, |p| p.replicas.len());
            return self.spread(current, total - current, i16::try_from(replicas).unwrap_or(1));
        }
        if assignments.len() != total - current {
            let message = format!(
                "{} assignments for {} new partitions.",
                assignments.len(),
                total - current
            );
            return Err(ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
        }
        self.check_assignments(assignments)
    }

    /// Makes Metadata answer this error for the topic, or ends that.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn set_topic_error(&mut self, name: &str, error: Option<ErrorCode>) -> Result<(), ErrorCode> {
        let topic = self
            .topics
            .by_name_mut(name)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        topic.error = error;
        Ok(())
    }

    fn partition_mut(&mut self, topic: &str, partition: i32) -> Result<&mut Partition, ErrorCode> {
        let topic = self
            .topics
            .by_name_mut(topic)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        topic
            .partition_mut(partition)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    }

    /// Makes a broker lead a partition, or nobody, under a new leader epoch. A broker that was no replica becomes one.
    /// What the old leader had not replicated is replicated first.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, or BROKER_NOT_AVAILABLE when the broker is unknown or down.
    pub fn set_leader(&mut self, topic: &str, partition: i32, leader: Option<BrokerId>) -> Result<(), ErrorCode> {
        if leader.is_some_and(|b| !self.is_alive(b)) {
            return Err(ErrorCode::BROKER_NOT_AVAILABLE);
        }
        let state = self.partition_mut(topic, partition)?;
        if let Some(broker) = leader {
            if !state.replicas.contains(&broker) {
                state.replicas.push(broker);
            }
            if !state.isr.contains(&broker) {
                state.isr.push(broker);
            }
        }
        state.log.advance_high_watermark(i64::MAX);
        state.set_leader(leader);
        let watchers = state.watchers.clone();
        self.wake(&watchers);
        Ok(())
    }

    /// An unclean election: `leader` takes over with a log that lacks the batch of `offset` and what lies behind it, though
    /// all of that was committed and may have been read. Where the end of a transaction is lost whose beginning is
    /// not, its marker is written again, as an operator would have to do for consumers ever to get past it. Gives where
    /// the log ends now, and the new leader epoch.
    ///
    /// # Errors
    /// BROKER_NOT_AVAILABLE when the broker is down; UNKNOWN_TOPIC_OR_PARTITION.
    pub fn elect_unclean_leader(
        &mut self,
        topic: &str,
        partition: i32,
        leader: BrokerId,
        offset: i64,
    ) -> Result<(i64, i32), ErrorCode> {
        if !self.is_alive(leader) {
            return Err(ErrorCode::BROKER_NOT_AVAILABLE);
        }
        let now_ms = self.wall_clock_ms();
        let log = &mut self.partition_mut(topic, partition)?.log;
        let from = log.batch_start(offset);
        let lost = log.markers_from(from);
        if from >= log.start_offset() {
            log.truncate_to(from);
        }
        self.set_leader(topic, partition, Some(leader))?;
        let state = self.partition_mut(topic, partition)?;
        for marker in lost {
            if state.log.transactions.open(marker.producer_id).is_some() {
                state.log.append_marker(marker, state.leader_epoch, now_ms);
                state.log.advance_high_watermark(i64::MAX);
            }
        }
        let state = self.partition_mut(topic, partition)?;
        Ok((state.log.end_offset(), state.leader_epoch))
    }

    /// The replica to which the leader sends consumers (KIP-392), or none.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn set_preferred_replica(
        &mut self,
        topic: &str,
        partition: i32,
        replica: Option<BrokerId>,
    ) -> Result<(), ErrorCode> {
        let state = self.partition_mut(topic, partition)?;
        if let Some(broker) = replica
            && !state.replicas.contains(&broker)
        {
            state.replicas.push(broker);
            state.isr.push(broker);
        }
        state.preferred_replica = replica;
        Ok(())
    }

    /// The leader of a partition; `None` when there is no such partition or nobody leads it.
    pub fn partition_leader(&self, topic: &str, partition: i32) -> Option<BrokerId> {
        self.topics.by_name(topic)?.partition(partition)?.leader
    }

    /// The leader epoch of a partition.
    pub fn leader_epoch(&self, topic: &str, partition: i32) -> Option<i32> {
        Some(self.topics.by_name(topic)?.partition(partition)?.leader_epoch)
    }

    /// The number of a topic's partitions, `None` without such a topic.
    pub fn partition_count(&self, topic: &str) -> Option<usize> {
        Some(self.topics.by_name(topic)?.partitions.len())
    }

    /// The id of a topic.
    pub fn topic_id(&self, topic: &str) -> Option<Uuid> {
        self.topics.id_of(topic)
    }

    /// The names of all topics, sorted.
    pub fn topic_names(&self) -> impl Iterator<Item = &str> {
        self.topics.iter().map(|t| t.name.as_str())
    }

    /// The offsets of a partition.
    pub fn watermarks(&self, topic: &str, partition: i32) -> Option<Watermarks> {
        let log = &self.topics.by_name(topic)?.partition(partition)?.log;
        Some(Watermarks {
            log_start_offset: log.start_offset(),
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_end_offset: log.end_offset(),
            size_bytes: log.size_bytes(),
        })
    }

    /// Everything that lies in a partition's log, batch by batch, without copying. What checkers compare with.
    pub fn partition_batches(&self, topic: &str, partition: i32) -> Option<Vec<Records>> {
        let log = &self.topics.by_name(topic)?.partition(partition)?.log;
        Some(log.batches().cloned().collect())
    }

    /// Shuts a broker down in order: its followers catch up, others take over what it led and coordinated, its
    /// connections close.
    pub fn stop_broker(&mut self, broker: BrokerId) {
        self.take_down(broker, false);
    }

    /// A broker dies: others take over from what they have, which loses what it had appended and not yet replicated;
    /// its connections break.
    pub fn crash_broker(&mut self, broker: BrokerId) {
        self.take_down(broker, true);
    }

    fn take_down(&mut self, broker: BrokerId, lose_unreplicated: bool) {
        let Some(state) = self.brokers.get_mut(&broker) else {
            return;
        };
        if !std::mem::replace(&mut state.alive, false) {
            return;
        }
        state.sessions.clear();
        state.held_metadata = None;
        self.close_connections(broker);
        let alive = self.alive_brokers();
        if self.controller == broker
            && let Some(&next) = alive.first()
        {
            self.controller = next;
        }
        let mut watchers = Vec::new();
        for topic in self.topics.iter_mut() {
            for partition in &mut topic.partitions {
                if leave_partition(partition, broker, &alive, lose_unreplicated) {
                    watchers.extend(partition.watchers.iter().copied());
                }
            }
        }
        self.wake(&watchers);
        self.coordinators_moved();
    }

    /// Starts a broker that was stopped or has crashed: it follows what others lead by now and leads what nobody else
    /// could.
    pub fn start_broker(&mut self, broker: BrokerId) {
        let Some(state) = self.brokers.get_mut(&broker) else {
            return;
        };
        state.reachable = true;
        if std::mem::replace(&mut state.alive, true) {
            return;
        }
        for topic in self.topics.iter_mut() {
            for partition in &mut topic.partitions {
                if !partition.replicas.contains(&broker) {
                    continue;
                }
                match partition.leader {
                    None if partition.isr.contains(&broker) => partition.set_leader(Some(broker)),
                    None => {}
                    Some(_) if !partition.isr.contains(&broker) => partition.isr.push(broker),
                    Some(_) => {}
                }
            }
        }
        self.coordinators_moved();
    }

    /// Cuts clients off from a broker or lets them in again, without the cluster noticing: it goes on leading.
    pub fn set_reachable(&mut self, broker: BrokerId, reachable: bool) {
        if let Some(state) = self.brokers.get_mut(&broker) {
            state.reachable = reachable;
            if !reachable {
                self.close_connections(broker);
            }
        }
    }

    /// Closes all connections of a broker.
    pub fn close_connections(&mut self, broker: BrokerId) {
        let of_broker = |key: &&(BrokerId, _)| key.0 == broker;
        let keys: Vec<_> = self.connections.keys().filter(of_broker).copied().collect();
        for key in keys {
            if let Some(state) = self.connections.get_mut(&key) {
                state.outbox.clear();
            }
            self.deliver_now(key, Delivery::Close(CloseReason::BrokerDown));
        }
    }

    /// Changes the address under which a broker is advertised.
    pub fn set_address(&mut self, broker: BrokerId, host: &str, port: u16) {
        if let Some(state) = self.brokers.get_mut(&broker) {
            state.host = host.to_owned();
            state.port = port;
        }
    }

    /// Sets one broker's clock fast, or slow where negative.
    pub fn set_clock_skew_ms(&mut self, broker: BrokerId, skew_ms: i64) {
        if let Some(state) = self.brokers.get_mut(&broker) {
            state.clock_skew_ms = skew_ms;
        }
    }

    /// Has a broker tell of the cluster as it is now, whatever happens, or lets it see again: brokers learn of changes
    /// from the controller, each in its own time.
    pub fn hold_metadata(&mut self, broker: BrokerId, hold: bool) {
        let old = hold.then(|| k03_metadata::whole(self));
        if let Some(state) = self.brokers.get_mut(&broker) {
            state.held_metadata = old;
        }
    }

    /// Puts a broker into a rack, or into none.
    pub fn set_rack(&mut self, broker: BrokerId, rack: Option<&str>) {
        if let Some(state) = self.brokers.get_mut(&broker) {
            state.rack = rack.map(str::to_owned);
        }
    }

    /// Makes a broker the controller.
    pub fn set_controller(&mut self, broker: BrokerId) {
        if self.brokers.contains_key(&broker) {
            self.controller = broker;
        }
    }

    /// Changes how long followers take to copy what leaders append from now on, in microseconds.
    pub fn set_replication_delay_us(&mut self, micros: u64) {
        self.config.replication_delay_us = micros;
    }

    /// Changes how long after the end of a transaction was decided its markers are written, from now on, in
    /// microseconds.
    pub fn set_transaction_marker_delay_us(&mut self, micros: u64) {
        self.config.transaction_marker_delay_us = micros;
    }

    /// One of the next markers is not written, and its transaction ends without it, as no broker does: for those who
    /// look whether anybody notices.
    pub fn drop_next_marker(&mut self) {
        self.faults.drops_next_marker = true;
    }

    /// Changes the level of the feature `transaction.version`, as an upgrade of the cluster does.
    pub fn set_transaction_version(&mut self, level: i16) {
        self.config.transaction_version = level;
    }

    /// Whether clients can see the topic yet.
    pub(crate) fn is_visible(&self, topic: &Topic) -> bool {
        topic.visible_at <= self.now
    }
}

/// Takes a broker out of a partition. True when the leader changed.
fn leave_partition(partition: &mut Partition, broker: BrokerId, alive: &[BrokerId], lose_unreplicated: bool) -> bool {
    let led = partition.leader == Some(broker);
    let mut others = partition
        .isr
        .iter()
        .copied()
        .filter(|b| *b != broker && alive.contains(b));
    let successor = others.next();
    drop(others);
    // The last in-sync replica stays on the list: only it has everything.
    if successor.is_some() {
        partition.isr.retain(|b| *b != broker);
    }
    if led {
        match (successor, lose_unreplicated) {
            (Some(_), true) => partition.log.truncate_to(partition.log.high_watermark()),
            _ => _ = partition.log.advance_high_watermark(i64::MAX),
        }
        partition.set_leader(successor);
    }
    led
}
