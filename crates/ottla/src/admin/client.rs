//! [`Admin`]: one method for each operation.

use ottla_core::admin::{
    AclBinding, AclFilter, AlterConfigs, AlterConsumerGroupOffsets, AlterUserScramCredentials, ClusterDescription,
    ConfigChanges, ConfigEntry, ConfigQuery, ConsumerGroups, CreateAcls, CreatePartitions, CreateTopics, DeleteAcls,
    DeleteConsumerGroupOffsets, DeleteGroups, DeleteRecords, DeleteTopics, DescribeAcls, DescribeCluster,
    DescribeConfigs, DescribeConsumerGroups, DescribeTopics, DescribeUserScramCredentials, ElectLeaders, ElectionType,
    GroupDescription, GroupResult, IncrementalAlterConfigs, ListConsumerGroupOffsets, ListConsumerGroups, ListOffsets,
    ListTopics, ListedOffset, NewPartitions, NewTopic, OffsetSpec, Operation, Options, ScramAlteration,
    ScramCredentialInfo, TopicDescription, TopicListing,
};
use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::Conf;
use ottla_core::error::Error;
use ottla_core::types::{ClientKind, TopicPartition};

use super::call::Call;
use super::convert;
use super::results::Results;
use super::types::{ConfigResource, OffsetAndMetadata};

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
        Call::new(self.client.start_admin(operation, options), |output| {
            Ok(convert(output))
        })
    }

    /// Begins a call for the partitions of one group, whose error is that of the call.
    fn begin_of_group<O>(&self, operation: O, options: &Options) -> Call<Results<TopicPartition, ()>>
    where
        O: Operation<Output = Vec<GroupResult>>,
    {
        Call::new(self.client.start_admin(operation, options), convert::only_group)
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

    // ---------------------------------------------------------------- groups

    /// Lists the groups that consumers have created, of all states and types with a default `filter`. Groups of brokers that
    /// did not answer are missing: [`ConsumerGroups::errors`] has these brokers' errors.
    ///
    /// Asks every broker. Repeated after a lost response. Filters require Kafka 2.6 (states, KIP-518) and 3.8 (types,
    /// KIP-848).
    pub fn list_consumer_groups(&self, filter: ListConsumerGroups, options: &Options) -> Call<ConsumerGroups> {
        self.call(filter, options)
    }

    /// Describes groups of either protocol with their members. A group that does not exist has the state `Dead`.
    ///
    /// Asks each group's coordinator, again after it has moved. Repeated after a lost response.
    /// [`Options::include_authorized_operations`] requires Kafka 2.3.
    ///
    /// # Errors
    /// Of a group: `GROUP_AUTHORIZATION_FAILED`, `_INVALID_ARG` for a group of another kind, `_TIMED_OUT` without a
    /// coordinator.
    pub fn describe_consumer_groups(
        &self,
        groups: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, GroupDescription>> {
        let operation = DescribeConsumerGroups { groups: texts(groups) };
        self.begin(operation, options, convert::described_groups)
    }

    /// Deletes groups without members, with their committed offsets.
    ///
    /// Asks each group's coordinator, again after it has moved. A request that may have been executed is not repeated.
    /// Requires Kafka 1.1 (KIP-229).
    ///
    /// # Errors
    /// Of a group: `NON_EMPTY_GROUP`, `GROUP_ID_NOT_FOUND`, `GROUP_AUTHORIZATION_FAILED`, `_TIMED_OUT`.
    pub fn delete_consumer_groups(
        &self,
        groups: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, ()>> {
        self.begin(DeleteGroups(texts(groups)), options, convert::groups)
    }

    /// Lists committed offsets of groups: of these partitions, or with `None` of all that have one. A partition without a
    /// committed offset has the value `None`.
    ///
    /// Asks each group's coordinator, again after it has moved; one request has many groups since Kafka 3.0 (KIP-709).
    /// Repeated after a lost response. [`Options::require_stable`] waits for open transactions.
    ///
    /// # Errors
    /// Of a group: `GROUP_AUTHORIZATION_FAILED`, `_TIMED_OUT`. Of a partition: `TOPIC_AUTHORIZATION_FAILED`.
    pub fn list_consumer_group_offsets(
        &self,
        groups: impl IntoIterator<Item = (impl Into<String>, Option<Vec<TopicPartition>>)>,
        options: &Options,
    ) -> Call<Results<String, Results<TopicPartition, Option<OffsetAndMetadata>>>> {
        let groups = groups.into_iter().map(|(group, partitions)| (group.into(), partitions));
        let operation = ListConsumerGroupOffsets {
            groups: groups.collect(),
        };
        self.begin(operation, options, |rows| {
            convert::groups_of_partitions(rows, OffsetAndMetadata::from_row)
        })
    }

    /// Commits offsets for a group that has no members.
    ///
    /// Asks the group's coordinator, again after it has moved. Repeated after a lost response: the offsets are the same the
    /// second time.
    ///
    /// # Errors
    /// Of a partition: `UNKNOWN_MEMBER_ID` while the group has members, `UNKNOWN_TOPIC_OR_PART`,
    /// `TOPIC_AUTHORIZATION_FAILED`. Of the call: `GROUP_AUTHORIZATION_FAILED`, `_TIMED_OUT`.
    pub fn alter_consumer_group_offsets(
        &self,
        group: impl Into<String>,
        offsets: impl IntoIterator<Item = (TopicPartition, impl Into<OffsetAndMetadata>)>,
        options: &Options,
    ) -> Call<Results<TopicPartition, ()>> {
        let rows = offsets.into_iter().map(|(tp, offset)| offset.into().into_row(tp));
        let operation = AlterConsumerGroupOffsets(vec![(group.into(), rows.collect())]);
        self.begin_of_group(operation, options)
    }

    /// Deletes committed offsets of a group, whose members may not consume the topics.
    ///
    /// Asks the group's coordinator, again after it has moved. A request that may have been executed is not repeated.
    /// Requires Kafka 2.4 (KIP-496).
    ///
    /// # Errors
    /// Of a partition: `GROUP_SUBSCRIBED_TO_TOPIC`, `UNKNOWN_TOPIC_OR_PART`. Of the call: `GROUP_ID_NOT_FOUND`,
    /// `NON_EMPTY_GROUP`, `GROUP_AUTHORIZATION_FAILED`, `_TIMED_OUT`.
    pub fn delete_consumer_group_offsets(
        &self,
        group: impl Into<String>,
        partitions: impl IntoIterator<Item = TopicPartition>,
        options: &Options,
    ) -> Call<Results<TopicPartition, ()>> {
        let operation = DeleteConsumerGroupOffsets(vec![(group.into(), partitions.into_iter().collect())]);
        self.begin_of_group(operation, options)
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
}

fn texts(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    names.into_iter().map(Into::into).collect()
}
