//! The cluster: all brokers with their data, and its interface for clients and checkers.

use std::collections::BTreeMap;

use ottla_protocol::record::BatchIter;
use ottla_protocol::{ErrorCode, Records, Uuid};

use crate::acls::Acl;
use crate::api_error::ApiError;
use crate::config::ClusterConfig;
use crate::coordinators::CoordinatorKind;
use crate::groups::{GroupView, Groups, Membership};
use crate::history::{CommitRecord, JoinRecord, ServedRequest, TransactionRecord};
use crate::ids::BrokerId;
use crate::observer::Observer;
use crate::recorder::{ClientAction, Recorded, Recorder};
use crate::records::{self, StoredRecord};
use crate::rules::{RequestMatch, Rules};
use crate::sasl::{Sasl, SaslCounts, SaslRecord};
use crate::share::{ShareEvent, SharePartitionView};
use crate::share_key::ShareKey;
use crate::share_leader;
use crate::state::ClusterState;
use crate::streams_groups::StreamsGroups;
use crate::telemetry::{MetricsPush, Telemetry};
use crate::time::Time;
use crate::transactions::{TransactionCoordinator, TransactionView, Transactions};

/// The offsets and the size of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// The first readable offset.
    pub log_start_offset: i64,
    /// The end of the offsets that clients can read.
    pub high_watermark: i64,
    /// The end of the offsets that read-committed clients can read.
    pub last_stable_offset: i64,
    /// The offset of the next record to be appended.
    pub log_end_offset: i64,
    /// Bytes of all batches between start and end.
    pub size_bytes: u64,
}

/// A whole Kafka cluster as a state machine without I/O, clock or threads. Its only source of randomness is its seed: the
/// same configuration and the same calls give the same responses.
///
/// For each request the caller passes a frame to [`Cluster::handle`] and receives a [`Reply`](crate::Reply).
/// [`Cluster::poll`] returns delayed responses. It has to be called at the time that [`Cluster::next_wake`] returns; any
/// other call may change that time. [`Cluster::disconnected`] ends a connection. Times must not go backward; an
/// earlier time counts as the latest one seen.
///
/// All other methods observe the cluster or change it from outside, as an operator or a failure does.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) state: ClusterState,
    pub(crate) groups: Groups,
    pub(crate) streams_groups: StreamsGroups,
    pub(crate) transactions: Transactions,
    pub(crate) telemetry: Telemetry,
    pub(crate) rules: Rules,
    pub(crate) sasl: Sasl,
    pub(crate) observer: Observer,
    pub(crate) recorder: Recorder,
}

impl Cluster {
    /// Creates a cluster without topics. All its brokers are up.
    pub fn new(config: ClusterConfig) -> Self {
        Self {
            sasl: Sasl::new(config.sasl.clone(), config.seed),
            state: ClusterState::new(config),
            groups: Groups::default(),
            streams_groups: StreamsGroups::default(),
            transactions: Transactions::default(),
            telemetry: Telemetry::default(),
            rules: Rules::default(),
            observer: Observer::default(),
            recorder: Recorder::default(),
        }
    }

    /// Returns the transaction coordinators with the parts that they change.
    pub(crate) fn transaction_coordinator(&mut self) -> TransactionCoordinator<'_> {
        TransactionCoordinator {
            state: &mut self.state,
            groups: &mut self.groups,
            transactions: &mut self.transactions,
        }
    }

    // ---------------------------------------------------------------- brokers

    /// Returns the cluster's settings.
    pub fn config(&self) -> &ClusterConfig {
        &self.state.config
    }

    /// Returns the cluster id, as in Metadata.
    pub fn cluster_id(&self) -> &str {
        &self.state.cluster_id
    }

    /// Returns the latest time that a caller has passed.
    pub fn now(&self) -> Time {
        self.state.now
    }

    /// Returns the brokers' time in milliseconds since 1970.
    pub fn wall_clock_ms(&self) -> i64 {
        self.state.wall_clock_ms()
    }

    /// Returns the ids of all brokers, up or down, in ascending order.
    pub fn broker_ids(&self) -> impl Iterator<Item = BrokerId> + '_ {
        self.state.brokers.ids()
    }

    /// Returns true when the broker is part of the cluster and clients can connect to it.
    pub fn is_accepting(&self, broker: BrokerId) -> bool {
        self.state.brokers.is_accepting(broker)
    }

    /// Returns `host:port` of every broker, separated by commas: a `bootstrap.servers` value.
    pub fn bootstrap_servers(&self) -> String {
        let brokers = self.state.brokers.iter();
        let all: Vec<_> = brokers.map(|(_, b)| format!("{}:{}", b.host, b.port)).collect();
        all.join(",")
    }

    /// Returns the number of open connections.
    pub fn connection_count(&self) -> usize {
        self.state.connections.len()
    }

    /// Returns the number of requests whose response is delayed until an event.
    pub fn purgatory_size(&self) -> usize {
        self.state.purgatory.len()
    }

    /// Returns the number of pending timers.
    pub fn timer_count(&self) -> usize {
        self.state.timers.len()
    }

    /// Returns the broker that coordinates `key`, `None` when no broker is up.
    pub fn coordinator(&self, kind: CoordinatorKind, key: &str) -> Option<BrokerId> {
        self.state.coordinator(kind, key)
    }

    // ---------------------------------------------------------------- topics

    /// Returns the leader of a partition, `None` when there is no such partition or it has no leader.
    pub fn partition_leader(&self, topic: &str, partition: i32) -> Option<BrokerId> {
        self.state.topics.by_name(topic)?.partition(partition)?.leader
    }

    /// Returns the leader epoch of a partition.
    pub fn leader_epoch(&self, topic: &str, partition: i32) -> Option<i32> {
        Some(self.state.topics.by_name(topic)?.partition(partition)?.leader_epoch)
    }

    /// Returns the number of a topic's partitions, `None` when there is no such topic.
    pub fn partition_count(&self, topic: &str) -> Option<usize> {
        Some(self.state.topics.by_name(topic)?.partitions.len())
    }

    /// Returns the id of a topic.
    pub fn topic_id(&self, topic: &str) -> Option<Uuid> {
        self.state.topics.id_of(topic)
    }

    /// Returns the names of all topics, sorted.
    pub fn topic_names(&self) -> impl Iterator<Item = &str> {
        self.state.topics.iter().map(|t| t.name.as_str())
    }

    /// Returns the offsets of a partition.
    pub fn watermarks(&self, topic: &str, partition: i32) -> Option<Watermarks> {
        let log = &self.state.topics.by_name(topic)?.partition(partition)?.log;
        Some(Watermarks {
            log_start_offset: log.start_offset(),
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_end_offset: log.end_offset(),
            size_bytes: log.size_bytes(),
        })
    }

    /// Returns all batches of a partition's log, without copying their bytes.
    pub fn partition_batches(&self, topic: &str, partition: i32) -> Option<Vec<Records>> {
        let log = &self.state.topics.by_name(topic)?.partition(partition)?.log;
        Some(log.batches().cloned().collect())
    }

    /// Returns the records of a partition's log, without those before the log start offset, control records, and what is
    /// above the high watermark. Records of open and aborted transactions are among them.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION; CORRUPT_MESSAGE when a producer has written a damaged batch.
    pub fn records(&self, topic: &str, partition: i32) -> Result<Vec<StoredRecord>, ApiError> {
        let found = self.state.topics.by_name(topic).and_then(|t| t.partition(partition));
        let log = &found.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?.log;
        let mut records = Vec::new();
        for batches in log.batches() {
            for batch in BatchIter::new(batches.clone().into_bytes()) {
                batch
                    .and_then(|batch| records::decode(&batch, &mut records))
                    .map_err(|error| ApiError::new(ErrorCode::CORRUPT_MESSAGE, error.to_string()))?;
            }
        }
        let readable = log.start_offset()..log.high_watermark();
        records.retain(|record| readable.contains(&record.offset));
        Ok(records)
    }

    /// Returns the settings of a topic that differ from the brokers' own, by name.
    pub fn topic_settings(&self, topic: &str) -> Option<&BTreeMap<String, String>> {
        Some(&self.state.topics.by_name(topic)?.config.overrides)
    }

    // ---------------------------------------------------------------- access

    /// Returns all access control entries, in order.
    pub fn acls(&self) -> impl Iterator<Item = &Acl> {
        self.state.acls.iter()
    }

    /// Returns the mechanisms of a user's SCRAM credentials that clients have set, with their iterations (KIP-554).
    pub fn scram_credentials(&self, user: &str) -> Option<&BTreeMap<i8, i32>> {
        self.state.scram_credentials.of(user)
    }

    // ---------------------------------------------------------------- groups

    /// Checks that a broker coordinates a group and can serve.
    ///
    /// # Errors
    /// The error that a client receives.
    pub fn check_group_coordinator(&self, broker: BrokerId, group: &str) -> Result<(), ErrorCode> {
        self.state.check_group_coordinator(broker, group)
    }

    /// Returns a snapshot of a group, `None` when no member ever joined and no offset was committed.
    pub fn group_view(&self, group: &str) -> Option<GroupView> {
        Some(GroupView::new(self.groups.get(group)?, &self.state.topics))
    }

    /// Returns the offset that a group has committed for a partition.
    pub fn committed_offset(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        Some(self.groups.get(group)?.offsets.get(topic, partition)?.offset)
    }

    /// Returns the ids of a group's members, sorted.
    pub fn group_members(&self, group: &str) -> Vec<String> {
        match self.groups.get(group).map(|g| g.membership()) {
            Some(Membership::Classic(classic)) => classic.members().map(|m| m.id.clone()).collect(),
            Some(Membership::Consumer(consumer)) => consumer.members().map(|m| m.id.clone()).collect(),
            Some(Membership::Share(share)) => share.members().map(|m| m.id.clone()).collect(),
            None => Vec::new(),
        }
    }

    /// Returns true when there is a group of any type with this id.
    pub(crate) fn group_exists(&self, id: &str) -> bool {
        self.groups.get(id).is_some() || self.streams_groups.get(id).is_some()
    }

    /// Checks that the id is not that of a share group, which has neither consumers nor committed offsets.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND.
    pub(crate) fn check_no_share_group(&self, id: &str) -> Result<(), ErrorCode> {
        match self.groups.share(id) {
            None => Ok(()),
            Some(_) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        }
    }

    /// Removes a group of any type with its offsets.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP when it has members.
    pub fn delete_group(&mut self, id: &str) -> Result<(), ErrorCode> {
        if self.streams_groups.get(id).is_none() {
            return self.groups.delete(&mut self.state, id);
        }
        self.streams_groups.delete(id)?;
        // The committed offsets, if there are any.
        match self.groups.delete(&mut self.state, id) {
            Err(ErrorCode::GROUP_ID_NOT_FOUND) => Ok(()),
            deleted => deleted,
        }
    }

    /// Records every accepted join from now on, for [`Cluster::take_joins`].
    pub fn log_joins(&mut self) {
        self.state.history.joins.enable();
    }

    /// Returns the recorded joins since the last call of this function, in order.
    pub fn take_joins(&mut self) -> Vec<JoinRecord> {
        self.state.history.joins.take()
    }

    /// Records every commit from now on, for [`Cluster::take_commits`].
    pub fn log_commits(&mut self) {
        self.state.history.commits.enable();
    }

    /// Returns the recorded commits since the last call of this function, in order.
    pub fn take_commits(&mut self) -> Vec<CommitRecord> {
        self.state.history.commits.take()
    }

    // ---------------------------------------------------------------- share groups

    /// Returns a snapshot of a share partition, `None` when the group has never read it or there is no such topic.
    pub fn share_partition_view(&self, group: &str, topic: &str, partition: i32) -> Option<SharePartitionView> {
        let id = self.state.topics.id_of(topic)?;
        share_leader::view(&self.state, &ShareKey::new(group, (id, partition)))
    }

    /// Returns the durable start offset of a share group in a partition, `None` while none is written.
    pub fn share_start_offset(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        let id = self.state.topics.id_of(topic)?;
        let entry = self.state.share.entry(&ShareKey::new(group, (id, partition)))?;
        entry.persisted.start_offset()
    }

    /// Returns the epoch that the share session of a member at a broker expects next, `None` without a session.
    pub fn share_session_epoch(&self, broker: BrokerId, group: &str, member: &str) -> Option<i32> {
        self.state.share.sessions.epoch(broker, group, member)
    }

    /// Returns the number of share sessions of a broker.
    pub fn share_session_count(&self, broker: BrokerId) -> usize {
        self.state.share.sessions.count(broker)
    }

    /// Records every change of the delivery of records to share groups from now on, for [`Cluster::take_share_events`].
    pub fn log_share_events(&mut self) {
        self.state.share.events.enable();
    }

    /// Returns the recorded changes since the last call of this function, in order.
    pub fn take_share_events(&mut self) -> Vec<ShareEvent> {
        self.state.share.events.take()
    }

    // ---------------------------------------------------------------- transactions

    /// Returns a snapshot of a transactional id, `None` when no producer ever initialized it.
    pub fn transaction_view(&self, id: &str) -> Option<TransactionView> {
        self.transactions.get(id).map(TransactionView::new)
    }

    /// Returns true when a transaction is open or being ended.
    pub fn has_open_transactions(&self) -> bool {
        self.transactions.iter().any(|(_, t)| t.is_open())
    }

    /// Records every step of every transaction from now on, for [`Cluster::take_transaction_steps`].
    pub fn log_transaction_steps(&mut self) {
        self.state.history.transaction_steps.enable();
    }

    /// Returns the recorded steps since the last call of this function, in order.
    pub fn take_transaction_steps(&mut self) -> Vec<TransactionRecord> {
        self.state.history.transaction_steps.take()
    }

    // ---------------------------------------------------------------- authentication

    /// Returns the numbers of authentications and their failures.
    pub fn sasl_counts(&self) -> SaslCounts {
        self.sasl.counts()
    }

    /// Records every event of authentication from now on, for [`Cluster::take_sasl_events`].
    pub fn log_sasl_events(&mut self) {
        self.sasl.log_events();
    }

    /// Returns the recorded events since the last call of this function, in order.
    pub fn take_sasl_events(&mut self) -> Vec<SaslRecord> {
        self.sasl.take_events()
    }

    // ---------------------------------------------------------------- requests

    /// Records every request that a broker serves or refuses from now on, for [`Cluster::take_requests`].
    pub fn log_requests(&mut self) {
        self.state.history.requests.enable();
    }

    /// Returns the recorded requests since the last call of this function, in order.
    pub fn take_requests(&mut self) -> Vec<ServedRequest> {
        self.state.history.requests.take()
    }

    /// Records connections and requests from now on, up to a million entries. A request is recorded on arrival, served
    /// or not.
    pub fn record(&mut self) {
        self.recorder.enable();
    }

    /// Stops what [`Cluster::record`] began. The recorded entries stay.
    pub fn stop_recording(&mut self) {
        self.recorder.disable();
    }

    /// Returns the recorded connections and requests.
    pub fn recorded(&self) -> &[Recorded] {
        self.recorder.entries()
    }

    /// Counts the recorded requests that match.
    pub fn count_requests(&self, on: &RequestMatch) -> usize {
        let matches = |entry: &&Recorded| match &entry.what {
            ClientAction::Request { api, parts, .. } => on.matches(entry.broker, *api, parts),
            ClientAction::Connected | ClientAction::Disconnected { .. } => false,
        };
        self.recorder.entries().iter().filter(matches).count()
    }

    /// Removes the recorded connections and requests.
    pub fn clear_record(&mut self) {
        self.recorder.clear();
    }

    /// Calls `listener` with a line of text for each request from now on and its outcome. The call happens while the
    /// cluster serves the request: `listener` must be quick and must not call the cluster.
    pub fn observe(&mut self, listener: impl Fn(String) + Send + Sync + 'static) {
        self.observer = Observer::new(listener);
    }

    /// Returns the metrics that clients have pushed (PushTelemetry, KIP-714), oldest first.
    pub fn pushed_metrics(&self) -> &[MetricsPush] {
        self.telemetry.pushes()
    }
}
