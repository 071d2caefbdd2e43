//! [`Admin`]: its client, and the methods on topics, settings, security and the cluster.

use ottla_core::admin::{
    AclBinding, AclFilter, AddRaftVoter, AlterClientQuotas, AlterConfigs, AlterPartitionReassignments,
    AlterReplicaLogDirs, AlterUserScramCredentials, ClientQuotaAlteration, ClientQuotaEntity, ClientQuotaEntry,
    ClusterDescription, ConfigChanges, ConfigEntry, ConfigQuery, CreateAcls, CreateDelegationToken, CreatePartitions,
    CreateTopics, DelegationToken, DeleteAcls, DeleteRecords, DeleteTopics, DescribeAcls, DescribeClientQuotas,
    DescribeCluster, DescribeConfigs, DescribeDelegationToken, DescribeFeatures, DescribeLogDirs,
    DescribeMetadataQuorum, DescribeTopics, DescribeUserScramCredentials, ElectLeaders, ElectionType,
    ExpireDelegationToken, FeatureMetadata, FeatureUpdate, IncrementalAlterConfigs, ListConfigResources, ListOffsets,
    ListPartitionReassignments, ListTopics, ListedOffset, LogDir, NewPartitions, NewTopic, OffsetSpec,
    OngoingReassignment, Operation, Options, Principal, QuorumInfo, RemoveRaftVoter, RenewDelegationToken, ReplicaMove,
    ResourceType, ScramAlteration, ScramCredentialInfo, TopicDescription, TopicListing, UnregisterBroker,
    UpdateFeatures,
};
use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::Conf;
use ottla_core::error::Error;
use ottla_core::types::{ClientKind, NodeId, TopicPartition};

use super::call::Call;
use super::convert;
use super::results::Results;
use super::types::ConfigResource;

/// Administers a cluster: one method for each operation, named like the methods of Java's `Admin`.
///
/// Each method begins a [`Call`]; [`Call::wait`] returns its result. See [the module](super) for errors, deadlines and
/// repetition. Clones use the same client. Thread-safe.
#[derive(Debug, Clone)]
pub struct Admin {
    client: Client,
}

impl From<&Client> for Admin {
    /// Returns the admin calls of a producer or consumer, which end with it.
    fn from(client: &Client) -> Self {
        Admin { client: client.clone() }
    }
}

impl Admin {
    /// Creates a client for admin calls only, from the properties of a producer. It ends with its last handle, and logs
    /// nothing.
    ///
    /// # Errors
    /// [`L_INVALID_ARG`](ottla_core::error::ErrorCode::L_INVALID_ARG) for properties that contradict each other, and the
    /// errors of [`Client::new`].
    pub fn new(conf: &Conf) -> Result<Self, Error> {
        Self::with_hooks(conf, ClientHooks::default())
    }

    /// Creates a client for admin calls only that has hooks: for the log, certificates from memory, tokens.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hooks(conf: &Conf, hooks: ClientHooks) -> Result<Self, Error> {
        let (settings, topic_settings) = conf.finalize(ClientKind::Producer)?;
        let client = Client::new(ClientKind::Producer, settings, topic_settings, hooks)?;
        Ok(Admin { client })
    }

    /// Returns the client that executes the calls.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Begins a call of an operation, with the operation's own output. The other methods are this one with results by key.
    pub fn call<O: Operation>(&self, operation: O, options: &Options) -> Call<O::Output> {
        self.begin(operation, options, |output| output)
    }

    pub(super) fn begin<O, T, F>(&self, operation: O, options: &Options, convert: F) -> Call<T>
    where
        O: Operation,
        F: FnOnce(O::Output) -> T + Send + 'static,
    {
        self.begin_fallible(operation, options, |output| Ok(convert(output)))
    }

    /// Begins a call whose output may be an error.
    pub(super) fn begin_fallible<O, T, F>(&self, operation: O, options: &Options, convert: F) -> Call<T>
    where
        O: Operation,
        F: FnOnce(O::Output) -> Result<T, Error> + Send + 'static,
    {
        Call::new(self.client.start_admin(operation, options), convert)
    }

    // ---------------------------------------------------------------- topics

    /// Creates topics and waits until they exist, for [`Options::operation_timeout`] at most.
    ///
    /// Asks the controller. A request that may have been executed is not repeated, except with [`Options::validate_only`]
    /// (Kafka 0.10.2). Replicas and partitions of -1 are the broker's defaults (KIP-464, Kafka 2.4). Requires Kafka 0.10.1.
    ///
    /// # Errors
    /// Of a topic: `TOPIC_ALREADY_EXISTS`, `TOPIC_EXCEPTION`, `INVALID_PARTITIONS`, `INVALID_REPLICATION_FACTOR`,
    /// `INVALID_CONFIG`, `POLICY_VIOLATION`, `TOPIC_AUTHORIZATION_FAILED`, and `REQUEST_TIMED_OUT` for one that does not
    /// exist everywhere yet.
    pub fn create_topics(
        &self,
        topics: impl IntoIterator<Item = NewTopic>,
        options: &Options,
    ) -> Call<Results<String, ()>> {
        let operation = CreateTopics(topics.into_iter().collect());
        self.begin(operation, options, convert::topics)
    }

    /// Deletes topics with their records and waits until they are deleted, for [`Options::operation_timeout`] at most.
    ///
    /// Asks the controller. A request that may have been executed is not repeated. Requires Kafka 0.10.1.
    ///
    /// # Errors
    /// Of a topic: `UNKNOWN_TOPIC_OR_PART`, `TOPIC_AUTHORIZATION_FAILED`, `TOPIC_DELETION_DISABLED`, `REQUEST_TIMED_OUT`.
    pub fn delete_topics(
        &self,
        names: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, ()>> {
        self.begin(DeleteTopics(texts(names)), options, convert::topics)
    }

    /// Lists the topics that the client may describe, by name; Kafka's own topics with `include_internal`.
    ///
    /// Asks any broker. Repeated after a lost response.
    pub fn list_topics(&self, include_internal: bool, options: &Options) -> Call<Vec<TopicListing>> {
        self.call(ListTopics { include_internal }, options)
    }

    /// Describes topics with their partitions, leaders and replicas. The topics are not created.
    ///
    /// Asks any broker. Repeated after a lost response, and while a new topic has no leader.
    /// [`Options::include_authorized_operations`] requires Kafka 2.3.
    ///
    /// # Errors
    /// Of a topic: `UNKNOWN_TOPIC_OR_PART`, `TOPIC_EXCEPTION`, `TOPIC_AUTHORIZATION_FAILED`.
    pub fn describe_topics(
        &self,
        names: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, TopicDescription>> {
        let operation = DescribeTopics { topics: texts(names) };
        self.begin(operation, options, convert::described_topics)
    }

    /// Adds partitions to topics and waits until they exist, for [`Options::operation_timeout`] at most. Records with a key
    /// may go to another partition from then on.
    ///
    /// Asks the controller. A request that may have been executed is not repeated, except with [`Options::validate_only`].
    /// Requires Kafka 1.0 (KIP-195).
    ///
    /// # Errors
    /// Of a topic: `UNKNOWN_TOPIC_OR_PART`, `INVALID_PARTITIONS` for a total that is not higher, `INVALID_REPLICA_ASSIGNMENT`,
    /// `TOPIC_AUTHORIZATION_FAILED`, `REASSIGNMENT_IN_PROGRESS`.
    pub fn create_partitions(
        &self,
        partitions: impl IntoIterator<Item = NewPartitions>,
        options: &Options,
    ) -> Call<Results<String, ()>> {
        let operation = CreatePartitions(partitions.into_iter().collect());
        self.begin(operation, options, convert::topics)
    }

    /// Deletes the records before an offset in each partition, all of them with
    /// [`offset::END`](ottla_core::types::offset::END). The results are the new first offsets.
    ///
    /// Asks each partition's leader, again after it has moved. Repeated after a lost response unless an offset is
    /// `offset::END`, which might be a later one then. Requires Kafka 0.11 (KIP-107).
    ///
    /// # Errors
    /// Of a partition: `OFFSET_OUT_OF_RANGE` beyond the high watermark, `UNKNOWN_TOPIC_OR_PART`, `_UNKNOWN_PARTITION`,
    /// `POLICY_VIOLATION` for a compacted topic, `TOPIC_AUTHORIZATION_FAILED`, `_TIMED_OUT` without a leader.
    pub fn delete_records(
        &self,
        before: impl IntoIterator<Item = (TopicPartition, i64)>,
        options: &Options,
    ) -> Call<Results<TopicPartition, i64>> {
        let operation = DeleteRecords(before.into_iter().collect());
        self.begin(operation, options, |rows| convert::partitions(rows, |row| row.offset))
    }

    /// Looks up the first or last offset of partitions, or the first one at a timestamp or later.
    ///
    /// Asks each partition's leader, again after it has moved. Repeated after a lost response. With
    /// [`Options::read_committed`] the last offset is the last stable one. Requires Kafka 0.10.1; see [`OffsetSpec`] for
    /// later kinds of offsets.
    ///
    /// # Errors
    /// Of a partition: `UNKNOWN_TOPIC_OR_PART`, `TOPIC_AUTHORIZATION_FAILED`, `_UNSUPPORTED_FEATURE`, `_TIMED_OUT` without a
    /// leader.
    pub fn list_offsets(
        &self,
        partitions: impl IntoIterator<Item = (TopicPartition, OffsetSpec)>,
        options: &Options,
    ) -> Call<Results<TopicPartition, ListedOffset>> {
        let operation = ListOffsets {
            partitions: partitions.into_iter().collect(),
        };
        self.begin(operation, options, convert::listed_offsets)
    }

    /// Elects leaders, of these partitions or with `None` of all partitions of the cluster, and waits until brokers know
    /// of them, for [`Options::operation_timeout`] at most. Without a list the results have only the partitions whose leader
    /// changed or could not be elected.
    ///
    /// Asks the controller. A request that may have been executed is not repeated. Requires Kafka 2.2 (KIP-183), and 2.4 for
    /// [`ElectionType::Unclean`] (KIP-460).
    ///
    /// # Errors
    /// Of a partition: `ELECTION_NOT_NEEDED`, `PREFERRED_LEADER_NOT_AVAILABLE`, `ELIGIBLE_LEADERS_NOT_AVAILABLE`,
    /// `UNKNOWN_TOPIC_OR_PART`. Of the call: `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn elect_leaders(
        &self,
        election_type: ElectionType,
        partitions: Option<Vec<TopicPartition>>,
        options: &Options,
    ) -> Call<Results<TopicPartition, ()>> {
        let operation = ElectLeaders {
            election_type,
            partitions,
        };
        self.begin(operation, options, convert::elections)
    }

    // ---------------------------------------------------------------- settings

    /// Describes settings with the sources of their values. A [`ConfigResource`] is a query of all its settings.
    ///
    /// Asks a broker about its own settings, so that one call can contain only one broker, and any broker about the rest.
    /// Repeated after a lost response. Requires Kafka 0.11 (KIP-133).
    ///
    /// # Errors
    /// Of a resource: `UNKNOWN_TOPIC_OR_PART`, `TOPIC_AUTHORIZATION_FAILED`, `CLUSTER_AUTHORIZATION_FAILED`,
    /// `INVALID_REQUEST`. Of the call: `_CONFLICT` for two brokers.
    pub fn describe_configs(
        &self,
        resources: impl IntoIterator<Item = impl Into<ConfigQuery>>,
        options: &Options,
    ) -> Call<Results<ConfigResource, Vec<ConfigEntry>>> {
        let operation = DescribeConfigs(resources.into_iter().map(Into::into).collect());
        self.begin(operation, options, |rows| convert::resources(rows, |row| row.configs))
    }

    /// Changes single settings of resources, and leaves the others as they are.
    ///
    /// Asks as [`describe_configs`](Self::describe_configs). A request that may have been executed is not repeated, except
    /// with [`Options::validate_only`]. Requires Kafka 2.3 (KIP-339).
    ///
    /// # Errors
    /// Of a resource: `INVALID_CONFIG`, `INVALID_REQUEST`, `UNKNOWN_TOPIC_OR_PART`, `TOPIC_AUTHORIZATION_FAILED`,
    /// `CLUSTER_AUTHORIZATION_FAILED`, `POLICY_VIOLATION`. Of the call: `_CONFLICT` for two brokers.
    pub fn incremental_alter_configs(
        &self,
        changes: impl IntoIterator<Item = ConfigChanges>,
        options: &Options,
    ) -> Call<Results<ConfigResource, ()>> {
        let operation = IncrementalAlterConfigs(changes.into_iter().collect());
        self.begin(operation, options, |rows| convert::resources(rows, |_| ()))
    }

    /// Replaces the settings of resources: settings that are not listed are reset. Since Kafka 2.3
    /// [`incremental_alter_configs`](Self::incremental_alter_configs) replaces it.
    ///
    /// Asks as [`describe_configs`](Self::describe_configs). A request that may have been executed is not repeated, except
    /// with [`Options::validate_only`]. Requires Kafka 0.11 (KIP-133).
    ///
    /// # Errors
    /// As [`incremental_alter_configs`](Self::incremental_alter_configs).
    pub fn alter_configs(
        &self,
        changes: impl IntoIterator<Item = ConfigChanges>,
        options: &Options,
    ) -> Call<Results<ConfigResource, ()>> {
        let operation = AlterConfigs(changes.into_iter().collect());
        self.begin(operation, options, |rows| convert::resources(rows, |_| ()))
    }

    // ---------------------------------------------------------------- security

    /// Creates access control entries. One that exists is created without an error.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 0.11 (KIP-140), and 2.0 for patterns other than
    /// [`LITERAL`](super::PatternType::LITERAL) (KIP-290).
    ///
    /// # Errors
    /// Of an entry: `INVALID_REQUEST`, `CLUSTER_AUTHORIZATION_FAILED`, `SECURITY_DISABLED` without an authorizer.
    pub fn create_acls(
        &self,
        bindings: impl IntoIterator<Item = AclBinding>,
        options: &Options,
    ) -> Call<Results<AclBinding, ()>> {
        let bindings: Vec<AclBinding> = bindings.into_iter().collect();
        let operation = CreateAcls(bindings.clone());
        self.begin(operation, options, |errors| {
            let results = errors.into_iter().map(|error| error.map_or(Ok(()), Err));
            bindings.into_iter().zip(results).collect()
        })
    }

    /// Describes the access control entries that match a filter.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 0.11 (KIP-140).
    ///
    /// # Errors
    /// Of the call: `CLUSTER_AUTHORIZATION_FAILED`, `SECURITY_DISABLED` without an authorizer.
    pub fn describe_acls(&self, filter: AclFilter, options: &Options) -> Call<Vec<AclBinding>> {
        self.call(DescribeAcls(filter), options)
    }

    /// Deletes the access control entries that match filters. The result of a filter has the entries that it matched.
    ///
    /// Asks any broker. A request that may have been executed is not repeated. Requires Kafka 0.11 (KIP-140).
    ///
    /// # Errors
    /// Of a filter: `INVALID_REQUEST`, `CLUSTER_AUTHORIZATION_FAILED`, `SECURITY_DISABLED` without an authorizer. Of an
    /// entry: the error because of which it was not deleted.
    pub fn delete_acls(
        &self,
        filters: impl IntoIterator<Item = AclFilter>,
        options: &Options,
    ) -> Call<Results<AclFilter, Results<AclBinding, ()>>> {
        let filters: Vec<AclFilter> = filters.into_iter().collect();
        let operation = DeleteAcls(filters.clone());
        self.begin(operation, options, |rows| {
            let rows = rows.into_iter().map(|row| row.map(convert::deleted_acls));
            filters.into_iter().zip(rows).collect()
        })
    }

    /// Describes the SCRAM credentials of users without the secrets; with no user those of all that have one.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 2.7 (KIP-554).
    ///
    /// # Errors
    /// Of a user: `RESOURCE_NOT_FOUND` without a credential. Of the call: `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn describe_user_scram_credentials(
        &self,
        users: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, Vec<ScramCredentialInfo>>> {
        let operation = DescribeUserScramCredentials { users: texts(users) };
        self.begin(operation, options, convert::credentials)
    }

    /// Sets and removes SCRAM credentials of users. Passwords are salted and hashed on the calling thread, which takes
    /// milliseconds for each.
    ///
    /// Asks the controller. Repeated after a lost response if no credential is removed. Requires Kafka 2.7 (KIP-554).
    ///
    /// # Errors
    /// Of the call: `_INVALID_ARG` for an empty user, password or salt, an unknown mechanism, or a number of iterations out of
    /// range. Of a user: `RESOURCE_NOT_FOUND`, `DUPLICATE_RESOURCE`, `UNACCEPTABLE_CREDENTIAL`,
    /// `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn alter_user_scram_credentials(
        &self,
        alterations: impl IntoIterator<Item = ScramAlteration>,
        options: &Options,
    ) -> Call<Results<String, ()>> {
        match AlterUserScramCredentials::new(alterations.into_iter().collect()) {
            Ok(operation) => self.begin(operation, options, convert::users),
            Err(error) => Call::refused(error),
        }
    }

    // ---------------------------------------------------------------- the cluster

    /// Describes the cluster: its id, its brokers and the controller.
    ///
    /// Asks any broker. Repeated after a lost response. Brokers before Kafka 2.8 (KIP-700) are asked by a metadata request.
    /// [`Options::include_authorized_operations`] requires Kafka 2.3.
    pub fn describe_cluster(&self, options: &Options) -> Call<ClusterDescription> {
        self.call(DescribeCluster, options)
    }

    /// Describes the log directories of brokers with the replicas in them; without brokers those of all brokers.
    ///
    /// Asks each broker. Repeated after a lost response. Requires Kafka 1.0 (KIP-113).
    ///
    /// # Errors
    /// Of a broker: `CLUSTER_AUTHORIZATION_FAILED`, `_TIMED_OUT`. A directory has its own error.
    pub fn describe_log_dirs(
        &self,
        operation: DescribeLogDirs,
        options: &Options,
    ) -> Call<Results<NodeId, Vec<LogDir>>> {
        self.begin(operation, options, convert::log_dirs)
    }

    /// Moves replicas to other log directories of their brokers. The moves continue after the call;
    /// [`describe_log_dirs`](Self::describe_log_dirs) shows them.
    ///
    /// Asks each broker. Repeated after a lost response. Requires Kafka 1.0 (KIP-113).
    ///
    /// # Errors
    /// Of a replica: `LOG_DIR_NOT_FOUND`, `REPLICA_NOT_AVAILABLE`, `KAFKA_STORAGE_ERROR`, `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn alter_replica_log_dirs(
        &self,
        moves: impl IntoIterator<Item = ReplicaMove>,
        options: &Options,
    ) -> Call<Results<(NodeId, TopicPartition), ()>> {
        let operation = AlterReplicaLogDirs(moves.into_iter().collect());
        self.begin(operation, options, convert::replica_moves)
    }

    /// Begins and cancels reassignments of partitions to brokers. They continue after the call.
    ///
    /// Asks the controller. Repeated after a lost response unless a reassignment is cancelled. Requires Kafka 2.4 (KIP-455).
    ///
    /// # Errors
    /// Of a partition: `NO_REASSIGNMENT_IN_PROGRESS`, `INVALID_REPLICA_ASSIGNMENT`, `UNKNOWN_TOPIC_OR_PART`. Of the call:
    /// `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn alter_partition_reassignments(
        &self,
        operation: AlterPartitionReassignments,
        options: &Options,
    ) -> Call<Results<TopicPartition, ()>> {
        self.begin(operation, options, convert::reassignments)
    }

    /// Lists the reassignments under way, of these partitions or with `None` of all.
    ///
    /// Asks the controller. Repeated after a lost response. Requires Kafka 2.4 (KIP-455).
    pub fn list_partition_reassignments(
        &self,
        partitions: Option<Vec<TopicPartition>>,
        options: &Options,
    ) -> Call<Vec<OngoingReassignment>> {
        self.call(ListPartitionReassignments { partitions }, options)
    }

    /// Describes the quotas of the entities that match; of all with a default `filter`.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 2.6 (KIP-546).
    pub fn describe_client_quotas(
        &self,
        filter: DescribeClientQuotas,
        options: &Options,
    ) -> Call<Vec<ClientQuotaEntry>> {
        self.call(filter, options)
    }

    /// Sets and removes quotas, of each entity all or none.
    ///
    /// Asks any broker. Repeated after a lost response: the quotas are the same the second time. Requires Kafka 2.6
    /// (KIP-546).
    ///
    /// # Errors
    /// Of an entity: `INVALID_REQUEST`, `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn alter_client_quotas(
        &self,
        alterations: impl IntoIterator<Item = ClientQuotaAlteration>,
        options: &Options,
    ) -> Call<Results<ClientQuotaEntity, ()>> {
        let operation = AlterClientQuotas(alterations.into_iter().collect());
        self.begin(operation, options, convert::quotas)
    }

    /// Lists the resources of these types that have settings; of all types that the broker can list without types.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 4.1 (KIP-1142), and 3.7 for subscriptions to client
    /// metrics (KIP-714).
    pub fn list_config_resources(
        &self,
        types: impl IntoIterator<Item = ResourceType>,
        options: &Options,
    ) -> Call<Vec<ConfigResource>> {
        let operation = ListConfigResources {
            types: types.into_iter().collect(),
        };
        self.begin(operation, options, |rows| {
            rows.into_iter()
                .map(|(kind, name)| ConfigResource { kind, name })
                .collect()
        })
    }

    /// Describes the metadata quorum of a KRaft cluster.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 3.0 (KIP-595).
    pub fn describe_metadata_quorum(&self, options: &Options) -> Call<QuorumInfo> {
        self.call(DescribeMetadataQuorum, options)
    }

    /// Adds a voter to the metadata quorum.
    ///
    /// Asks any broker. A request that may have been executed is not repeated. Requires Kafka 3.9 (KIP-853).
    ///
    /// # Errors
    /// Of the call: `DUPLICATE_VOTER`, `INCONSISTENT_CLUSTER_ID`, `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn add_raft_voter(&self, operation: AddRaftVoter, options: &Options) -> Call<()> {
        self.call(operation, options)
    }

    /// Removes a voter from the metadata quorum.
    ///
    /// Asks any broker. A request that may have been executed is not repeated. Requires Kafka 3.9 (KIP-853).
    ///
    /// # Errors
    /// Of the call: `VOTER_NOT_FOUND`, `INCONSISTENT_CLUSTER_ID`, `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn remove_raft_voter(&self, operation: RemoveRaftVoter, options: &Options) -> Call<()> {
        self.call(operation, options)
    }

    /// Removes the registration of a broker that will not return.
    ///
    /// Asks any broker. A request that may have been executed is not repeated. Requires Kafka 3.0 (KIP-631).
    ///
    /// # Errors
    /// Of the call: `BROKER_ID_NOT_REGISTERED`, `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn unregister_broker(&self, broker: NodeId, options: &Options) -> Call<()> {
        self.call(UnregisterBroker(broker), options)
    }

    /// Describes the features of the cluster: the levels in use and those that brokers support.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 2.7 (KIP-584).
    pub fn describe_features(&self, options: &Options) -> Call<FeatureMetadata> {
        self.call(DescribeFeatures, options)
    }

    /// Changes the levels of features; since Kafka 4.0 all or none.
    ///
    /// Asks the controller. A request that may have been executed is not repeated, except with
    /// [`Options::validate_only`] (Kafka 3.3). Requires Kafka 2.7 (KIP-584).
    ///
    /// # Errors
    /// Of a feature: `INVALID_UPDATE_VERSION`, `FEATURE_UPDATE_FAILED`. Of the call: `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn update_features(
        &self,
        updates: impl IntoIterator<Item = FeatureUpdate>,
        options: &Options,
    ) -> Call<Results<String, ()>> {
        let operation = UpdateFeatures(updates.into_iter().collect());
        self.begin(operation, options, convert::features)
    }

    // ---------------------------------------------------------------- delegation tokens

    /// Creates a delegation token, on a connection that is authenticated without a token.
    ///
    /// Asks any broker. A request that may have been executed is not repeated. Requires Kafka 1.1 (KIP-48), and 3.3 for
    /// another owner (KIP-373).
    ///
    /// # Errors
    /// Of the call: `DELEGATION_TOKEN_AUTH_DISABLED`, `DELEGATION_TOKEN_REQUEST_NOT_ALLOWED`, `INVALID_PRINCIPAL_TYPE`.
    pub fn create_delegation_token(
        &self,
        operation: CreateDelegationToken,
        options: &Options,
    ) -> Call<DelegationToken> {
        self.call(operation, options)
    }

    /// Renews a delegation token; returns its new end in milliseconds since 1970.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 1.1 (KIP-48).
    ///
    /// # Errors
    /// Of the call: `DELEGATION_TOKEN_NOT_FOUND`, `DELEGATION_TOKEN_EXPIRED`, `DELEGATION_TOKEN_OWNER_MISMATCH`.
    pub fn renew_delegation_token(&self, operation: RenewDelegationToken, options: &Options) -> Call<i64> {
        self.call(operation, options)
    }

    /// Sets the end of a delegation token, or removes it at once; returns its end in milliseconds since 1970.
    ///
    /// Asks any broker. A request that may have been executed is not repeated. Requires Kafka 1.1 (KIP-48).
    ///
    /// # Errors
    /// As [`renew_delegation_token`](Self::renew_delegation_token).
    pub fn expire_delegation_token(&self, operation: ExpireDelegationToken, options: &Options) -> Call<i64> {
        self.call(operation, options)
    }

    /// Describes the delegation tokens of these owners, or with `None` of all, that the client may see.
    ///
    /// Asks any broker. Repeated after a lost response. Requires Kafka 1.1 (KIP-48).
    pub fn describe_delegation_token(
        &self,
        owners: Option<Vec<Principal>>,
        options: &Options,
    ) -> Call<Vec<DelegationToken>> {
        self.call(DescribeDelegationToken { owners }, options)
    }
}

pub(super) fn texts(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    names.into_iter().map(Into::into).collect()
}
