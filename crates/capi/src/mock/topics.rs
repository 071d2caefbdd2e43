//! Topics, their partitions, leaders and followers.

use ottla_core::error::ErrorCode;
use ottla_mock::{BrokerId, Cluster, ErrorCode as BrokerError};

use super::{code, note};
use crate::ffi::exports;
use crate::mock_cluster::MockCluster;

/// Creates a topic. More replicas than brokers count as one for each broker.
fn create(cluster: &mut Cluster, topic: &str, partitions: i32, replication_factor: i32) -> Result<(), BrokerError> {
    let brokers = i32::try_from(cluster.broker_ids().count()).unwrap_or(i32::MAX);
    let replicas = i16::try_from(replication_factor.min(brokers));
    let created = match replicas {
        Ok(replicas) => cluster.create_topic(topic, partitions, Some(replicas)),
        Err(_) => return Err(BrokerError::INVALID_TOPIC_EXCEPTION),
    };
    created.map(|_| ()).map_err(|refusal| match refusal.error {
        BrokerError::TOPIC_ALREADY_EXISTS => BrokerError::TOPIC_ALREADY_EXISTS,
        _ => BrokerError::INVALID_TOPIC_EXCEPTION,
    })
}

/// Creates the topic unless it exists. -1 partitions are the cluster's default.
fn ensure_topic(cluster: &mut Cluster, topic: &str, partitions: i32) -> Result<(), BrokerError> {
    match cluster.partition_count(topic) {
        Some(_) => Ok(()),
        None => create(cluster, topic, partitions, -1),
    }
}

/// Creates the topic with partitions up to this one unless it exists, and checks that it has the partition.
pub(super) fn ensure_partition(cluster: &mut Cluster, topic: &str, partition: i32) -> Result<(), BrokerError> {
    if partition < 0 {
        return Err(BrokerError::UNKNOWN_TOPIC_OR_PARTITION);
    }
    ensure_topic(cluster, topic, partition.saturating_add(1))?;
    match cluster.leader_epoch(topic, partition) {
        Some(_) => Ok(()),
        None => Err(BrokerError::UNKNOWN_TOPIC_OR_PARTITION),
    }
}

/// Returns the broker of an id; -1 means none.
fn broker(id: i32) -> Option<BrokerId> {
    (id != -1).then_some(BrokerId(id))
}

/// Changes a partition of a topic, which is created unless it exists.
fn change_partition(
    mcluster: &MockCluster,
    topic: &str,
    partition: i32,
    change: impl FnOnce(&mut Cluster) -> Result<(), BrokerError>,
) -> ErrorCode {
    code(mcluster.with(|cluster| {
        ensure_partition(cluster, topic, partition)?;
        change(cluster)
    }))
}

exports! {
    /// Sets or ends the error of a topic.
    fn rd_kafka_mock_topic_set_error(mcluster: &MockCluster, topic: &str, err: i32) {
        let error = i16::try_from(err).ok().filter(|code| *code >= -1);
        let error = error.map_or(BrokerError::UNKNOWN_SERVER_ERROR, BrokerError);
        let set = mcluster.with(|cluster| {
            ensure_topic(cluster, topic, -1)?;
            cluster.set_topic_error(topic, (error != BrokerError::NONE).then_some(error))
        });
        note(match code(set) {
            ErrorCode::NO_ERROR => Ok(()),
            error => Err(error),
        });
    }

    /// Creates a topic.
    fn rd_kafka_mock_topic_create(
        mcluster: &MockCluster,
        topic: &str,
        partition_cnt: i32,
        replication_factor: i32,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        code(mcluster.with(|cluster| create(cluster, topic, partition_cnt, replication_factor)))
    }

    /// Deletes a topic.
    fn rd_kafka_mock_topic_delete(mcluster: &MockCluster, topic: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        code(mcluster.with(|cluster| cluster.delete_topic(topic)))
    }

    /// Deletes the records of a partition before an offset.
    fn rd_kafka_mock_partition_delete_records(
        mcluster: &MockCluster,
        topic: &str,
        partition: i32,
        before_offset: i64,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let before = (before_offset != -1).then_some(before_offset);
        code(mcluster.with(|cluster| cluster.delete_records(topic, partition, before).map(|_| ())))
    }

    /// Moves the leadership of a partition.
    fn rd_kafka_mock_partition_set_leader(mcluster: &MockCluster, topic: &str, partition: i32, broker_id: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        change_partition(mcluster, topic, partition, |cluster| {
            cluster.set_leader(topic, partition, broker(broker_id))
        })
    }

    /// Sets the preferred replica of a partition.
    fn rd_kafka_mock_partition_set_follower(mcluster: &MockCluster, topic: &str, partition: i32, broker_id: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        change_partition(mcluster, topic, partition, |cluster| {
            cluster.set_follower(topic, partition, broker(broker_id))
        })
    }

    /// Sets the watermarks of a partition's followers.
    fn rd_kafka_mock_partition_set_follower_wmarks(
        mcluster: &MockCluster,
        topic: &str,
        partition: i32,
        lo: i64,
        hi: i64,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        if lo < -1 || hi < -1 {
            return ErrorCode::L_INVALID_ARG;
        }
        let set = |offset: i64| (offset != -1).then_some(offset);
        change_partition(mcluster, topic, partition, |cluster| {
            cluster.set_follower_watermarks(topic, partition, set(lo), set(hi))
        })
    }

    /// Sets the leader of a partition in the next Metadata response.
    fn rd_kafka_mock_partition_push_leader_response(
        mcluster: &MockCluster,
        topic: &str,
        partition: i32,
        leader_id: i32,
        leader_epoch: i32,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        change_partition(mcluster, topic, partition, |cluster| {
            cluster.push_leader_response(topic, partition, broker(leader_id), leader_epoch)
        })
    }
}
