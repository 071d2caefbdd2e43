//! The methods of [`Admin`] on groups, committed offsets and transactions.

use ottla_core::admin::{
    AbortTransaction, ActiveProducer, AlterConsumerGroupOffsets, AlterShareGroupOffsets, ClassicGroupDescription,
    ConsumerGroups, DeleteConsumerGroupOffsets, DeleteGroups, DeleteShareGroupOffsets, DescribeClassicGroups,
    DescribeConsumerGroups, DescribeProducers, DescribeShareGroups, DescribeStreamsGroups, DescribeTransactions,
    FenceProducers, ForceTerminateTransaction, GroupDescription, GroupListings, GroupResult, ListConsumerGroupOffsets,
    ListConsumerGroups, ListGroups, ListShareGroupOffsets, ListTransactions, MemberToRemove, Operation, Options,
    RemoveMembersFromConsumerGroup, ShareGroupDescription, StreamsGroupDescription, TransactionDescription,
    TransactionListings,
};
use ottla_core::types::{PartitionOffset, TopicPartition};

use super::call::Call;
use super::client::{Admin, texts};
use super::convert;
use super::results::Results;
use super::types::{OffsetAndMetadata, StartOffset};

impl Admin {
    /// Begins a call for the partitions of one group, whose error is that of the call.
    fn begin_of_group<O>(&self, operation: O, options: &Options) -> Call<Results<TopicPartition, ()>>
    where
        O: Operation<Output = Vec<GroupResult>>,
    {
        self.begin_fallible(operation, options, convert::only_group)
    }

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

    /// Removes members from a group, or all of them. A member that runs joins again; a static member does not before it is
    /// restarted.
    ///
    /// Asks the group's coordinator, again after it has moved. A request that may have been executed is not repeated.
    /// Requires Kafka 2.4 (KIP-345).
    ///
    /// # Errors
    /// Of a member: `UNKNOWN_MEMBER_ID`, `FENCED_INSTANCE_ID`. Of the call: `GROUP_ID_NOT_FOUND`,
    /// `GROUP_AUTHORIZATION_FAILED`, `_TIMED_OUT`.
    pub fn remove_members_from_consumer_group(
        &self,
        operation: RemoveMembersFromConsumerGroup,
        options: &Options,
    ) -> Call<Results<MemberToRemove, ()>> {
        self.begin(operation, options, convert::removed_members)
    }

    /// Lists the groups of all types, of all brokers that answered; [`GroupListings::errors`] has the errors of the others.
    ///
    /// Asks every broker. Repeated after a lost response. Filters require Kafka 2.6 (states, KIP-518) and 3.8 (types,
    /// KIP-848).
    pub fn list_groups(&self, filter: ListGroups, options: &Options) -> Call<GroupListings> {
        self.call(filter, options)
    }

    /// Describes groups of the classic protocol, those of Kafka Connect as well.
    ///
    /// Asks each group's coordinator, again after it has moved. Repeated after a lost response.
    ///
    /// # Errors
    /// Of a group: `GROUP_ID_NOT_FOUND` also for another type, `GROUP_AUTHORIZATION_FAILED`, `_TIMED_OUT`.
    pub fn describe_classic_groups(
        &self,
        groups: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, ClassicGroupDescription>> {
        self.begin(DescribeClassicGroups::new(texts(groups)), options, Results::from_iter)
    }

    /// Describes share groups.
    ///
    /// Asks each group's coordinator, again after it has moved. Repeated after a lost response. Requires Kafka 4.0 (KIP-932).
    ///
    /// # Errors
    /// As [`describe_classic_groups`](Self::describe_classic_groups).
    pub fn describe_share_groups(
        &self,
        groups: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, ShareGroupDescription>> {
        self.begin(DescribeShareGroups::new(texts(groups)), options, Results::from_iter)
    }

    /// Describes streams groups.
    ///
    /// Asks each group's coordinator, again after it has moved. Repeated after a lost response. Requires Kafka 4.1
    /// (KIP-1071).
    ///
    /// # Errors
    /// As [`describe_classic_groups`](Self::describe_classic_groups).
    pub fn describe_streams_groups(
        &self,
        groups: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, StreamsGroupDescription>> {
        self.begin(DescribeStreamsGroups::new(texts(groups)), options, Results::from_iter)
    }

    /// Lists the start offsets of share groups: of these partitions, or with `None` of all that have one.
    ///
    /// Asks each group's coordinator, again after it has moved. Repeated after a lost response. Requires Kafka 4.1 (KIP-932).
    ///
    /// # Errors
    /// Of a group: `GROUP_ID_NOT_FOUND`, `GROUP_AUTHORIZATION_FAILED`. Of a partition: `TOPIC_AUTHORIZATION_FAILED`.
    pub fn list_share_group_offsets(
        &self,
        groups: impl IntoIterator<Item = (impl Into<String>, Option<Vec<TopicPartition>>)>,
        options: &Options,
    ) -> Call<Results<String, Results<TopicPartition, Option<StartOffset>>>> {
        let groups = groups.into_iter().map(|(group, partitions)| (group.into(), partitions));
        let operation = ListShareGroupOffsets(groups.collect());
        self.begin(operation, options, convert::share_offsets)
    }

    /// Sets the start offsets of a share group without members: the first records that it receives. The group is created if
    /// it does not exist.
    ///
    /// Asks the group's coordinator, again after it has moved. Repeated after a lost response: the offsets are the same the
    /// second time. Requires Kafka 4.1 (KIP-932).
    ///
    /// # Errors
    /// Of a partition: `UNKNOWN_TOPIC_OR_PART`. Of the call: `NON_EMPTY_GROUP`, `GROUP_AUTHORIZATION_FAILED`.
    pub fn alter_share_group_offsets(
        &self,
        group: impl Into<String>,
        offsets: impl IntoIterator<Item = (TopicPartition, i64)>,
        options: &Options,
    ) -> Call<Results<TopicPartition, ()>> {
        let rows = offsets.into_iter().map(|(tp, offset)| PartitionOffset::new(tp, offset));
        let operation = AlterShareGroupOffsets(vec![(group.into(), rows.collect())]);
        self.begin_of_group(operation, options)
    }

    /// Deletes the offsets of a share group without members for topics.
    ///
    /// Asks the group's coordinator, again after it has moved. A request that may have been executed is not repeated.
    /// Requires Kafka 4.1 (KIP-932).
    ///
    /// # Errors
    /// Of a topic: `UNKNOWN_TOPIC_OR_PART`. Of the call: `NON_EMPTY_GROUP`, `GROUP_ID_NOT_FOUND`.
    pub fn delete_share_group_offsets(
        &self,
        group: impl Into<String>,
        topics: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, ()>> {
        let operation = DeleteShareGroupOffsets(vec![(group.into(), texts(topics))]);
        self.begin_fallible(operation, options, convert::only_share_group)
    }

    // ---------------------------------------------------------------- transactions

    /// Lists transactional ids with their states, of all brokers that answered; [`TransactionListings::errors`] has the
    /// errors of the others.
    ///
    /// Asks every broker. Repeated after a lost response. Requires Kafka 3.0 (KIP-664), and 3.8 and 4.1 for the filters by
    /// duration and by pattern.
    pub fn list_transactions(&self, filter: ListTransactions, options: &Options) -> Call<TransactionListings> {
        self.call(filter, options)
    }

    /// Describes transactional ids with their last transactions.
    ///
    /// Asks each id's coordinator, again after it has moved. Repeated after a lost response. Requires Kafka 3.0 (KIP-664).
    ///
    /// # Errors
    /// Of an id: `TRANSACTIONAL_ID_NOT_FOUND`, `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`, `_TIMED_OUT`.
    pub fn describe_transactions(
        &self,
        transactional_ids: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, TransactionDescription>> {
        let operation = DescribeTransactions(texts(transactional_ids));
        self.begin(operation, options, |rows| {
            rows.into_iter().map(|row| (row.transactional_id, row.result)).collect()
        })
    }

    /// Fences the producers of transactional ids: their requests fail, and their open transactions are aborted. The results
    /// are the producer ids and epochs that the coordinators have assigned.
    ///
    /// Asks each id's coordinator, again after it has moved. Repeated after a lost response. Requires Kafka 0.11.
    ///
    /// # Errors
    /// Of an id: `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`, `_TIMED_OUT`.
    pub fn fence_producers(
        &self,
        transactional_ids: impl IntoIterator<Item = impl Into<String>>,
        options: &Options,
    ) -> Call<Results<String, (i64, i16)>> {
        let operation = FenceProducers(texts(transactional_ids));
        self.begin(operation, options, |rows| {
            rows.into_iter().map(|row| (row.transactional_id, row.result)).collect()
        })
    }

    /// Aborts the open transaction of a transactional id and fences its producer. Succeeds when the transaction has ended.
    ///
    /// Asks the id's coordinator, again after it has moved. Repeated after a lost response. Requires Kafka 0.11.
    ///
    /// # Errors
    /// Of the call: `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`, `_TIMED_OUT`.
    pub fn force_terminate_transaction(&self, transactional_id: impl Into<String>, options: &Options) -> Call<()> {
        self.call(ForceTerminateTransaction(transactional_id.into()), options)
    }

    /// Describes the producers that have state in partitions, with their open transactions.
    ///
    /// Asks each partition's leader, again after it has moved. Repeated after a lost response. Requires Kafka 2.8 (KIP-664).
    ///
    /// # Errors
    /// Of a partition: `UNKNOWN_TOPIC_OR_PART`, `TOPIC_AUTHORIZATION_FAILED`, `_TIMED_OUT` without a leader.
    pub fn describe_producers(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
        options: &Options,
    ) -> Call<Results<TopicPartition, Vec<ActiveProducer>>> {
        let operation = DescribeProducers(partitions.into_iter().collect());
        self.begin(operation, options, |rows| {
            rows.into_iter().map(|row| (row.tp, row.result)).collect()
        })
    }

    /// Aborts a producer's open transaction in one partition, for a transaction that its coordinator has lost.
    ///
    /// Asks the partition's leader, again after it has moved. A request that may have been executed is not repeated. Requires
    /// Kafka 2.8 (KIP-664), and the permission to change the cluster.
    ///
    /// # Errors
    /// Of the call: `INVALID_PRODUCER_EPOCH`, `TRANSACTION_COORDINATOR_FENCED`, `CLUSTER_AUTHORIZATION_FAILED`.
    pub fn abort_transaction(&self, operation: AbortTransaction, options: &Options) -> Call<()> {
        self.call(operation, options)
    }
}
