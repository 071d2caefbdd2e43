//! Changes of a cluster from outside: by operators, by controllers and by failures.

use bytes::Bytes;
use ottla_protocol::api::streams_group_describe::DescribedGroup;
use ottla_protocol::record::BatchIter;
use ottla_protocol::{ApiKey, ErrorCode, Uuid};

use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::connections::Delivery;
use crate::coordinators::CoordinatorKind;
use crate::faults::{Fault, FaultAction, LeaderHints};
use crate::ids::BrokerId;
use crate::metadata;
use crate::records::{self, NewRecord};
use crate::replication::{partition_changed, replicate};
use crate::request::CloseReason;
use crate::rules::{Rule, RuleId};
use crate::sasl_config::{AcceptedToken, SaslUser};
use crate::share_config::ShareGroupConfig;
use crate::share_leader;
use crate::target_assignments::TargetAssignment;
use crate::telemetry::MetricsSubscription;
use crate::topic_creation::{NewTopic, plan_partitions, plan_topic};
use crate::topics::Partition;

impl Cluster {
    /// Creates a topic as CreateTopics does, and returns its id. With `None` the replication factor is the broker's
    /// default.
    ///
    /// # Errors
    /// The error that a client receives.
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

    /// Creates a topic with assignments or settings, and returns its id.
    ///
    /// # Errors
    /// The error that a client receives.
    pub fn create(&mut self, topic: NewTopic) -> Result<Uuid, ApiError> {
        let planned = plan_topic(&mut self.state, topic)?;
        let id = planned.id;
        self.state.topics.insert(planned);
        Ok(id)
    }

    /// Deletes a topic with its data and the offsets committed for it. A new topic of the same name has another id.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn delete_topic(&mut self, name: &str) -> Result<(), ErrorCode> {
        let id = self
            .state
            .topics
            .id_of(name)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let Some(topic) = self.state.topics.remove(id) else {
            return Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        };
        self.groups.topic_deleted(name);
        share_leader::topic_deleted(&mut self.state, id);
        for partition in topic.partitions {
            partition_changed(&mut self.state, &partition.watchers);
        }
        Ok(())
    }

    /// Raises the number of a topic's partitions to `total`. `assignments` has the replicas of each new partition; when
    /// empty, the cluster chooses them.
    ///
    /// # Errors
    /// The error that a client receives.
    pub fn create_partitions(
        &mut self,
        name: &str,
        total: i32,
        assignments: Vec<Vec<BrokerId>>,
    ) -> Result<(), ApiError> {
        let new = plan_partitions(&self.state, name, total, assignments)?;
        let partitions: Vec<_> = new
            .into_iter()
            .map(|r| Partition::new(r, |b| self.state.brokers.is_alive(b)))
            .collect();
        if let Some(topic) = self.state.topics.by_name_mut(name) {
            topic.partitions.extend(partitions);
        }
        Ok(())
    }

    /// Makes Metadata and AddPartitionsToTxn answer this error for the topic, or ends that.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn set_topic_error(&mut self, name: &str, error: Option<ErrorCode>) -> Result<(), ErrorCode> {
        let topic = self
            .state
            .topics
            .by_name_mut(name)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        topic.error = error;
        Ok(())
    }

    fn partition_mut(&mut self, topic: &str, partition: i32) -> Result<&mut Partition, ErrorCode> {
        let topic = self
            .state
            .topics
            .by_name_mut(topic)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        topic
            .partition_mut(partition)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    }

    /// Moves the leadership of a partition to a broker, or removes the leader, under a new leader epoch. A broker
    /// outside of the replicas is added to them. The unreplicated records of the old leader are replicated first.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, or BROKER_NOT_AVAILABLE when the broker is unknown or down.
    pub fn set_leader(&mut self, topic: &str, partition: i32, leader: Option<BrokerId>) -> Result<(), ErrorCode> {
        if leader.is_some_and(|b| !self.state.brokers.is_alive(b)) {
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
        share_leader::leaders_changed(&mut self.state);
        partition_changed(&mut self.state, &watchers);
        Ok(())
    }

    /// Appends a batch of magic 2 to a partition's log, as its leader. The replicas have it at once.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, or CORRUPT_MESSAGE for bytes that are no such batch.
    pub fn append_replicated(&mut self, topic: &str, partition: i32, batch: Bytes) -> Result<(), ErrorCode> {
        let now_ms = self.state.wall_clock_ms();
        let batch = BatchIter::new(batch).next().and_then(Result::ok);
        let batch = batch.ok_or(ErrorCode::CORRUPT_MESSAGE)?;
        let state = self.partition_mut(topic, partition)?;
        let epoch = state.leader_epoch;
        let appended = state.log.append(&batch, epoch, false, now_ms);
        appended.ok_or(ErrorCode::CORRUPT_MESSAGE)?;
        state.log.advance_high_watermark(i64::MAX);
        let watchers = state.watchers.clone();
        partition_changed(&mut self.state, &watchers);
        Ok(())
    }

    /// Elects an unclean leader: its log lacks the batch of `offset` and all later ones, although they are committed
    /// and may have been read. When a transaction loses its marker but not its beginning, the marker is written again,
    /// as an operator has to do so that consumers can read past it. Returns the new end offset and leader epoch.
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
        if !self.state.brokers.is_alive(leader) {
            return Err(ErrorCode::BROKER_NOT_AVAILABLE);
        }
        let now_ms = self.state.wall_clock_ms();
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

    /// Sets the replica to which the leader sends consumers (KIP-392) while clients can connect to it; `None` ends that.
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

    /// Sets the broker to which the leader sends consumers, whatever its state, even one that does not exist; `None` ends
    /// that. The broker serves fetches of the partition without being one of its replicas.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn set_follower(&mut self, topic: &str, partition: i32, broker: Option<BrokerId>) -> Result<(), ErrorCode> {
        self.partition_mut(topic, partition)?.follower = broker;
        Ok(())
    }

    /// Sets the log start offset and the high watermark that followers serve and report. `None` means the leader's.
    /// A follower has no records beyond the end of the leader's log, whatever its high watermark.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn set_follower_watermarks(
        &mut self,
        topic: &str,
        partition: i32,
        start: Option<i64>,
        end: Option<i64>,
    ) -> Result<(), ErrorCode> {
        self.partition_mut(topic, partition)?.follower_range = (start, end);
        Ok(())
    }

    /// Sets the leader and the leader epoch of a partition in the next Metadata response that has the partition. Several
    /// queue up, one for each response. The leader itself does not change.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn push_leader_response(
        &mut self,
        topic: &str,
        partition: i32,
        leader: Option<BrokerId>,
        leader_epoch: i32,
    ) -> Result<(), ErrorCode> {
        let state = self.partition_mut(topic, partition)?;
        state.leader_responses.push_back((leader, leader_epoch));
        Ok(())
    }

    /// Appends records to a partition as one batch of a producer without idempotence, whatever the leader's state, and
    /// returns the offset of the first. Waiting consumers receive them.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, INVALID_RECORD without a record, MESSAGE_TOO_LARGE.
    pub fn append(&mut self, topic: &str, partition: i32, records: &[NewRecord]) -> Result<i64, ApiError> {
        let now_ms = self.state.wall_clock_ms();
        let batch = records::encode(records, now_ms)?;
        let missing = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        let known = self.state.topics.by_name_mut(topic).ok_or(missing)?;
        let (id, log_append_time, retention) = (known.id, known.config.log_append_time, known.config.retention_bytes);
        let state = known.partition_mut(partition).ok_or(missing)?;
        let appended = state
            .log
            .append(&batch, state.leader_epoch, log_append_time, now_ms)
            .ok_or(ErrorCode::INVALID_RECORD)?;
        if let Some(limit) = retention {
            state.log.enforce_retention(limit);
        }
        let end_offset = state.log.end_offset();
        replicate(&mut self.state, id, partition, end_offset);
        Ok(appended.base_offset)
    }

    /// Deletes the records of a partition before an offset, or up to the high watermark with `None`. Returns the new log
    /// start offset.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, or OFFSET_OUT_OF_RANGE beyond the high watermark.
    pub fn delete_records(&mut self, topic: &str, partition: i32, before: Option<i64>) -> Result<i64, ErrorCode> {
        let log = &mut self.partition_mut(topic, partition)?.log;
        let before = before.unwrap_or(log.high_watermark());
        if !(0..=log.high_watermark()).contains(&before) {
            return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
        }
        log.delete_before(before);
        Ok(log.start_offset())
    }

    /// Adds a broker that is up and has no partition, under this advertised address.
    /// [`EmbeddedCluster::add_broker`](crate::EmbeddedCluster::add_broker) also opens its port.
    ///
    /// # Errors
    /// INVALID_REQUEST for a negative id or one that is taken.
    pub fn add_broker(&mut self, broker: BrokerId, host: &str, port: u16) -> Result<(), ErrorCode> {
        let state = &mut self.state;
        if broker.0 < 0 || !state.brokers.add(&state.config, broker, host, port) {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        state.config.brokers = state.config.brokers.saturating_add(1);
        self.coordinators_moved();
        Ok(())
    }

    /// Removes a broker from the cluster for good, after it was shut down in order. Other brokers take its place as
    /// replicas as far as there are some.
    ///
    /// # Errors
    /// BROKER_NOT_AVAILABLE when there is no such broker.
    pub fn remove_broker(&mut self, broker: BrokerId) -> Result<(), ErrorCode> {
        if !self.state.brokers.contains(broker) {
            return Err(ErrorCode::BROKER_NOT_AVAILABLE);
        }
        self.stop_broker(broker);
        let state = &mut self.state;
        state.brokers.remove(broker);
        state.config.brokers = state.config.brokers.saturating_sub(1);
        state.coordinators.forget_broker(broker);
        state.faults.forget_broker(broker);
        let left = state.brokers.alive();
        for partition in state.topics.iter_mut().flat_map(|t| &mut t.partitions) {
            replace_replica(partition, broker, &left);
        }
        self.coordinators_moved();
        Ok(())
    }

    /// Spreads the replicas and the leaders of all partitions evenly over the brokers that are up. Partitions keep their
    /// number of replicas.
    pub fn reassign_partitions(&mut self) {
        let alive = self.state.brokers.alive();
        let mut watchers = Vec::new();
        let partitions = self.state.topics.iter_mut().flat_map(|t| &mut t.partitions);
        for (number, partition) in partitions.enumerate() {
            let count = partition.replicas.len().clamp(1, alive.len().max(1));
            let ring = alive.iter().cycle().skip(number % alive.len().max(1));
            let replicas: Vec<_> = ring.take(count).copied().collect();
            let leader = replicas.first().copied();
            partition.isr.clone_from(&replicas);
            partition.replicas = replicas;
            partition.log.advance_high_watermark(i64::MAX);
            if partition.leader != leader {
                partition.set_leader(leader);
                watchers.extend(partition.watchers.iter().copied());
            }
        }
        share_leader::leaders_changed(&mut self.state);
        partition_changed(&mut self.state, &watchers);
    }

    /// Takes a broker down for clients, or ends that: its connections close, it accepts none, and Metadata omits it. It
    /// keeps its leaderships and coordinated groups.
    pub fn set_broker_down(&mut self, broker: BrokerId, down: bool) {
        if let Some(state) = self.state.brokers.get_mut(broker) {
            state.down = down;
            if down {
                self.close_connections(broker);
            }
        }
    }

    /// Omits a broker from Metadata and DescribeCluster, or lists it again. It serves its connections as before.
    pub fn hide_broker(&mut self, broker: BrokerId, hidden: bool) {
        if let Some(state) = self.state.brokers.get_mut(broker) {
            state.hidden = hidden;
        }
    }

    /// Shuts a broker down in order: its followers catch up, other brokers become leaders and coordinators in its
    /// place, and its connections close.
    pub fn stop_broker(&mut self, broker: BrokerId) {
        self.shut_down(broker, false);
    }

    /// Crashes a broker: other brokers take over with their logs, so that its unreplicated records are lost; its
    /// connections break.
    pub fn crash_broker(&mut self, broker: BrokerId) {
        self.shut_down(broker, true);
    }

    fn shut_down(&mut self, broker: BrokerId, lose_unreplicated: bool) {
        let Some(state) = self.state.brokers.get_mut(broker) else {
            return;
        };
        if !std::mem::replace(&mut state.alive, false) {
            return;
        }
        state.sessions.clear();
        state.held_metadata = None;
        self.state.share.sessions.clear(broker);
        self.close_connections(broker);
        let alive = self.state.brokers.alive();
        if self.state.brokers.controller() == broker
            && let Some(&next) = alive.first()
        {
            self.state.brokers.set_controller(next);
        }
        let mut watchers = Vec::new();
        for topic in self.state.topics.iter_mut() {
            for partition in &mut topic.partitions {
                if leave_partition(partition, broker, &alive, lose_unreplicated) {
                    watchers.extend(partition.watchers.iter().copied());
                }
            }
        }
        share_leader::leaders_changed(&mut self.state);
        partition_changed(&mut self.state, &watchers);
        self.coordinators_moved();
    }

    /// Removes the registration of a broker, as UnregisterBroker does; one that is up is stopped first. It registers again
    /// when it is started.
    ///
    /// # Errors
    /// BROKER_ID_NOT_REGISTERED.
    pub fn unregister_broker(&mut self, broker: BrokerId) -> Result<(), ErrorCode> {
        if !self.state.brokers.contains(broker) {
            return Err(ErrorCode::BROKER_ID_NOT_REGISTERED);
        }
        self.shut_down(broker, false);
        if let Some(state) = self.state.brokers.get_mut(broker) {
            state.registered = false;
        }
        Ok(())
    }

    /// Starts a broker that was stopped or has crashed. It follows the current leaders, and leads the partitions that
    /// have no leader and for which it is in sync.
    pub fn start_broker(&mut self, broker: BrokerId) {
        let Some(state) = self.state.brokers.get_mut(broker) else {
            return;
        };
        state.reachable = true;
        state.registered = true;
        if std::mem::replace(&mut state.alive, true) {
            return;
        }
        for topic in self.state.topics.iter_mut() {
            for partition in &mut topic.partitions {
                let is_copying = partition
                    .reassignment
                    .as_ref()
                    .is_some_and(|r| r.adding.contains(&broker));
                if !partition.replicas.contains(&broker) || is_copying {
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

    /// Makes a broker unreachable for clients, or reachable again. The cluster does not notice: the broker keeps its
    /// leaderships.
    pub fn set_reachable(&mut self, broker: BrokerId, reachable: bool) {
        if let Some(state) = self.state.brokers.get_mut(broker) {
            state.reachable = reachable;
            if !reachable {
                self.close_connections(broker);
            }
        }
    }

    /// Closes all connections of a broker.
    pub fn close_connections(&mut self, broker: BrokerId) {
        for key in self.state.connections.of_broker(broker) {
            self.state.connections.clear_outbox(key);
            self.state
                .connections
                .send_now(key, Delivery::Close(CloseReason::BrokerDown));
        }
    }

    /// Changes the address under which a broker is advertised.
    pub fn set_address(&mut self, broker: BrokerId, host: &str, port: u16) {
        if let Some(state) = self.state.brokers.get_mut(broker) {
            state.host = host.to_owned();
            state.port = port;
        }
    }

    /// Sets one broker's clock fast, or slow where negative.
    pub fn set_clock_skew_ms(&mut self, broker: BrokerId, skew_ms: i64) {
        if let Some(state) = self.state.brokers.get_mut(broker) {
            state.clock_skew_ms = skew_ms;
        }
    }

    /// Freezes the metadata that a broker serves, or ends that. Brokers receive changes from the controller with
    /// different delays.
    pub fn hold_metadata(&mut self, broker: BrokerId, hold: bool) {
        let old = hold.then(|| metadata::snapshot(&self.state));
        if let Some(state) = self.state.brokers.get_mut(broker) {
            state.held_metadata = old;
        }
    }

    /// Puts a broker into a rack, or into none.
    pub fn set_rack(&mut self, broker: BrokerId, rack: Option<&str>) {
        if let Some(state) = self.state.brokers.get_mut(broker) {
            state.rack = rack.map(str::to_owned);
        }
    }

    /// Makes a broker the controller. The id of a broker that does not exist leaves the cluster without one: Metadata has
    /// that id, and requests for the controller fail.
    pub fn set_controller(&mut self, broker: BrokerId) {
        self.state.brokers.set_controller(broker);
    }

    /// Changes the brokers' settings of share groups. Locks and sessions that have begun keep their ends.
    pub fn configure_share_groups(&mut self, change: impl FnOnce(&mut ShareGroupConfig)) {
        change(&mut self.state.config.share_groups);
    }

    /// Sets the error with which the durable state of a group's share partitions cannot be written or read; `None` ends
    /// that. Acknowledgements fail with it, and leaders that have not loaded a share partition refuse fetches.
    pub fn set_share_state_error(&mut self, group: &str, error: Option<ErrorCode>) {
        self.state.share.set_write_error(group, error);
    }

    /// Sets the time in microseconds that followers take to copy later appends.
    pub fn set_replication_delay_us(&mut self, micros: u64) {
        self.state.config.replication_delay_us = micros;
    }

    /// Sets the time in microseconds that later copies of replicas to other brokers and log directories take.
    pub fn set_replica_copy_delay_us(&mut self, micros: u64) {
        self.state.config.replica_copy_delay_us = micros;
    }

    /// Changes how long after the end of a transaction was decided its markers are written, from now on, in
    /// microseconds.
    pub fn set_transaction_marker_delay_us(&mut self, micros: u64) {
        self.state.config.transaction_marker_delay_us = micros;
    }

    /// Drops one of the next markers: its transaction ends without it, which no real broker does. A test of checkers,
    /// which must notice.
    pub fn drop_next_marker(&mut self) {
        self.state.faults.drop_next_marker();
    }

    /// Changes the level of the feature `transaction.version`, as an upgrade of the cluster does.
    pub fn set_transaction_version(&mut self, level: i16) {
        self.state.config.transaction_version = level;
        self.state.features.changed();
    }

    // ---------------------------------------------------------------- coordinators

    /// Assigns `key` to a coordinator, for as long as that broker is up. With a broker that does not exist there is no
    /// coordinator.
    pub fn set_coordinator(&mut self, kind: CoordinatorKind, key: &str, broker: BrokerId) {
        self.state.coordinators.assign(kind, key, broker);
        self.coordinators_moved();
    }

    /// Sets the error with which the coordinator of `key` answers every request, `None` to serve again. A new coordinator
    /// answers COORDINATOR_LOAD_IN_PROGRESS while it reads its log. With COORDINATOR_NOT_AVAILABLE FindCoordinator fails,
    /// too. The members' sessions start again when the error ends, as after loading.
    pub fn set_coordinator_error(&mut self, kind: CoordinatorKind, key: &str, error: Option<ErrorCode>) {
        let before = self.state.coordinators.set_error(kind, key, error);
        if error.is_none()
            && before.is_some()
            && kind == CoordinatorKind::Group
            && let Some(group) = self.groups.get_mut(key)
        {
            group.restart_sessions(&mut self.state);
        }
    }

    /// Sets the target assignment of a group of the consumer protocol or of a share group in place of its assignor's; `None`
    /// returns to the assignor. Topics and partitions that do not exist are left out. Applies with the next heartbeat of a
    /// member, also to a group that is created later.
    pub fn set_target_assignment(&mut self, group: &str, target: Option<TargetAssignment>) {
        self.state.target_assignments.set(group, target);
    }

    /// Sets `group.initial.rebalance.delay.ms` for groups that begin a rebalance from now on.
    pub fn set_group_initial_rebalance_delay_ms(&mut self, millis: i32) {
        self.state.config.group_initial_rebalance_delay_ms = millis.max(0);
    }

    /// Sets `group.consumer.session.timeout.ms`, from each member's next heartbeat on.
    pub fn set_group_consumer_session_timeout_ms(&mut self, millis: i32) {
        self.state.config.group_consumer_session_timeout_ms = millis.max(1);
    }

    /// Sets `group.consumer.heartbeat.interval.ms`, which members receive with their next heartbeat.
    pub fn set_group_consumer_heartbeat_interval_ms(&mut self, millis: i32) {
        self.state.config.group_consumer_heartbeat_interval_ms = millis.max(1);
    }

    /// Moves groups and transactions after a broker came or went, or a coordinator was set.
    fn coordinators_moved(&mut self) {
        self.groups.coordinators_moved(&mut self.state);
        self.transaction_coordinator().coordinators_moved();
    }

    // ---------------------------------------------------------------- faults

    /// Answers the next requests of this API, to any broker, with these errors, one each. [`ErrorCode::NONE`] serves one
    /// request.
    pub fn push_request_errors(&mut self, api: ApiKey, errors: &[ErrorCode]) {
        for &error in errors {
            let action = match error {
                ErrorCode::NONE => FaultAction::Serve,
                error => FaultAction::Error(error),
            };
            self.push_fault(None, api, Fault { action, delay_us: 0 });
        }
    }

    /// Applies a fault to the next request of this API, to `broker` or to any. Faults queue up; those of one broker come
    /// before those of any. ApiVersions in an unsupported version is exempt.
    pub fn push_fault(&mut self, broker: Option<BrokerId>, api: ApiKey, fault: Fault) {
        self.state.faults.push(broker, api, fault);
    }

    /// Returns the number of queued faults.
    pub fn queued_faults(&self) -> usize {
        self.state.faults.queued_len()
    }

    /// Returns the number of queued faults of an API for one broker, or with `None` of those for any broker.
    pub fn queued_faults_of(&self, broker: Option<BrokerId>, api: ApiKey) -> usize {
        self.state.faults.queued_of(broker, api)
    }

    /// Removes the queued faults of an API for one broker, or with `None` those for any broker.
    pub fn clear_queued_faults(&mut self, broker: Option<BrokerId>, api: ApiKey) {
        self.state.faults.clear_queued(broker, api);
    }

    /// Removes all queued faults of this API, whichever the broker.
    pub fn clear_request_errors(&mut self, api: ApiKey) {
        self.state.faults.clear_api(api);
    }

    /// Closes the connections that [`FaultAction::Hang`] and [`FaultAction::Ignore`] block.
    pub fn end_hangs(&mut self) {
        for key in self.state.connections.hung() {
            self.state
                .connections
                .send_now(key, Delivery::Close(CloseReason::Fault));
        }
    }

    /// Answers requests of this API for one partition with an error, without serving them; `None` serves them again.
    /// Applies to Produce, Fetch, ListOffsets, Metadata, OffsetCommit, TxnOffsetCommit and OffsetFetch.
    pub fn set_partition_error(&mut self, api: ApiKey, topic: &str, partition: i32, error: Option<ErrorCode>) {
        self.state.faults.set_partition_error(api, topic, partition, error);
    }

    /// Answers the next requests of this API for one partition with these errors, one each, in place of
    /// [`Cluster::set_partition_error`] and for the same APIs. [`ErrorCode::NONE`] serves one request. Faults of the whole
    /// request take precedence, and leave the errors in place.
    pub fn push_partition_errors(&mut self, api: ApiKey, topic: &str, partition: i32, errors: &[ErrorCode]) {
        self.state.faults.push_partition_errors(api, topic, partition, errors);
    }

    /// Sets the leader that Produce responses name with NOT_LEADER_OR_FOLLOWER.
    pub fn set_leader_hints(&mut self, hints: LeaderHints) {
        self.state.faults.set_leader_hints(hints);
    }

    /// Delays every response of the broker by this many microseconds; 0 ends it. Responses of one connection keep their
    /// order.
    pub fn set_round_trip_us(&mut self, broker: BrokerId, micros: u64) {
        self.state.faults.set_round_trip_us(broker, micros);
    }

    /// Sets the `throttle_time_ms` of this API's responses, and mutes their connections as long (KIP-219). 0 ends it.
    pub fn set_throttle_ms(&mut self, api: ApiKey, millis: i32) {
        self.state.faults.set_throttle_ms(api, millis);
    }

    /// Restricts the versions of an API that the brokers advertise and serve to those within `min..=max`; `None` hides
    /// the API.
    pub fn set_api_versions(&mut self, api: ApiKey, versions: Option<(i16, i16)>) {
        self.state.faults.set_versions(api, versions);
    }

    /// Serves all versions of the API again.
    pub fn reset_api_versions(&mut self, api: ApiKey) {
        self.state.faults.reset_versions(api);
    }

    /// Adds a rule. The first rule in the order of addition that matches a request and is past its `skip` applies;
    /// matching rules that are not past it count the request. Faults of [`Cluster::push_fault`] take precedence.
    /// ApiVersions in an unsupported version is exempt.
    pub fn add_rule(&mut self, rule: Rule) -> RuleId {
        self.rules.add(rule)
    }

    /// Removes a rule. Returns true when it was in force.
    pub fn remove_rule(&mut self, id: RuleId) -> bool {
        self.rules.remove(id)
    }

    /// Removes all rules.
    pub fn clear_rules(&mut self) {
        self.rules.clear();
    }

    // ---------------------------------------------------------------- authentication

    /// Sets the password of a user of PLAIN and SCRAM, or adds a user. Connections that are authenticated stay so.
    pub fn set_sasl_password(&mut self, user: &str, password: &str) {
        self.sasl.set_password(user, password);
    }

    /// Adds or replaces a user of PLAIN and SCRAM.
    pub fn set_sasl_user(&mut self, user: &SaslUser) {
        self.sasl.set_user(user);
    }

    /// Removes a user of PLAIN and SCRAM. Returns true when it existed. Connections that are authenticated stay so.
    pub fn remove_sasl_user(&mut self, user: &str) -> bool {
        self.sasl.remove_user(user)
    }

    /// Refuses the next `count` authentications and re-authentications at their first token, as with wrong credentials.
    /// Replaces an earlier number.
    pub fn refuse_authentications(&mut self, count: u32) {
        self.sasl.refuse_next(count);
    }

    /// Changes `connections.max.reauth.ms` for later authentications; 0 for no limit. No effect without SASL.
    pub fn set_max_reauth_ms(&mut self, millis: u64) {
        self.sasl.set_max_reauth_ms(millis);
    }

    /// Replaces the accepted tokens of OAUTHBEARER; with `None`, unsecured JWTs are validated. No effect without SASL.
    pub fn set_accepted_tokens(&mut self, tokens: Option<Vec<AcceptedToken>>) {
        self.sasl.set_accepted_tokens(tokens);
    }

    // ---------------------------------------------------------------- groups

    /// Adds or replaces a streams group (KIP-1071), which the brokers list, describe and delete.
    pub fn set_streams_group(&mut self, group: DescribedGroup) {
        self.streams_groups.set(group);
    }

    // ---------------------------------------------------------------- telemetry

    /// Returns the metrics that the brokers request, `None` when they do not offer the telemetry APIs.
    pub fn metrics_subscription(&self) -> Option<&MetricsSubscription> {
        self.telemetry.subscription()
    }

    /// Sets the metrics that the brokers request (KIP-714). With `None` the brokers do not offer the telemetry APIs to
    /// later connections. Clients learn of a change with their next push.
    pub fn subscribe_to_metrics(&mut self, subscription: Option<MetricsSubscription>) {
        self.telemetry.subscribe(subscription);
    }

    /// Answers the next push with an error.
    pub fn refuse_next_push(&mut self, error: ErrorCode) {
        self.telemetry.fail_next_push(error);
    }
}

/// Replaces a removed broker among the replicas of a partition by one of those that are left.
fn replace_replica(partition: &mut Partition, broker: BrokerId, left: &[BrokerId]) {
    partition.isr.retain(|b| *b != broker);
    let Some(at) = partition.replicas.iter().position(|b| *b == broker) else {
        return;
    };
    partition.replicas.remove(at);
    let spare = left.iter().find(|b| !partition.replicas.contains(b));
    if let Some(&spare) = spare {
        partition.replicas.insert(at, spare);
        partition.isr.push(spare);
        if partition.leader.is_none() {
            partition.set_leader(Some(spare));
        }
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
