//! The contents of Metadata responses.

use ottla_protocol::api::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::{ApiKey, ErrorCode, Uuid};

use crate::ids::BrokerId;
use crate::state::ClusterState;
use crate::topics::{Partition, Topic};

/// Returns the complete metadata.
pub(crate) fn snapshot(state: &ClusterState) -> MetadataResponse {
    MetadataResponse {
        topics: all_topics(state),
        ..without_topics(state)
    }
}

pub(crate) fn without_topics(state: &ClusterState) -> MetadataResponse {
    let brokers = state.brokers.iter().filter(|(_, b)| b.is_listed());
    MetadataResponse {
        brokers: brokers
            .map(|(id, broker)| MetadataResponseBroker {
                node_id: id.0,
                host: broker.host.clone(),
                port: broker.port.into(),
                rack: broker.rack.clone(),
                ..Default::default()
            })
            .collect(),
        cluster_id: Some(state.cluster_id.clone()),
        controller_id: state.brokers.controller().0,
        ..Default::default()
    }
}

pub(crate) fn all_topics(state: &ClusterState) -> Vec<MetadataResponseTopic> {
    let visible = state.topics.iter().filter(|t| state.is_visible(t));
    visible.map(|topic| describe_topic(state, topic)).collect()
}

pub(crate) fn failed_topic(name: Option<String>, topic_id: Uuid, error: ErrorCode) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code: error.0,
        name,
        topic_id,
        ..Default::default()
    }
}

pub(crate) fn describe_topic(state: &ClusterState, topic: &Topic) -> MetadataResponseTopic {
    if let Some(error) = topic.error {
        return failed_topic(Some(topic.name.clone()), topic.id, error);
    }
    let partitions = topic.indexed().map(|(index, p)| describe_partition(state, index, p));
    MetadataResponseTopic {
        name: Some(topic.name.clone()),
        topic_id: topic.id,
        partitions: partitions.collect(),
        ..Default::default()
    }
}

/// Applies what was set for a Metadata response from outside: the errors of partitions, and the leaders of
/// [`Cluster::push_leader_response`](crate::Cluster::push_leader_response).
pub(crate) fn apply_overrides(state: &mut ClusterState, topics: &mut [MetadataResponseTopic]) {
    for answered in topics.iter_mut().filter(|topic| topic.error_code == 0) {
        let name = answered.name.as_deref().unwrap_or_default();
        let Some(topic) = state.topics.by_name_mut(name) else {
            continue;
        };
        for described in &mut answered.partitions {
            let partition = topic.partition_mut(described.partition_index);
            let Some((leader, epoch)) = partition.and_then(|p| p.leader_responses.pop_front()) else {
                continue;
            };
            described.leader_id = leader.map_or(-1, |b| b.0);
            described.leader_epoch = epoch;
            described.error_code = match leader {
                Some(_) => ErrorCode::NONE.0,
                None => ErrorCode::LEADER_NOT_AVAILABLE.0,
            };
        }
        if !state.faults.has_partition_errors() {
            continue;
        }
        for described in &mut answered.partitions {
            let index = described.partition_index;
            let set = state.faults.take_partition_error(ApiKey::METADATA, name, index);
            if let (0, Err(error)) = (described.error_code, set) {
                described.error_code = error.0;
            }
        }
    }
}

fn describe_partition(state: &ClusterState, index: i32, partition: &Partition) -> MetadataResponsePartition {
    let ids = |brokers: &[BrokerId]| brokers.iter().map(|b| b.0).collect();
    let offline = partition.replicas.iter().filter(|b| !state.brokers.is_alive(**b));
    let error = match partition.leader {
        Some(_) => ErrorCode::NONE,
        None => ErrorCode::LEADER_NOT_AVAILABLE,
    };
    MetadataResponsePartition {
        error_code: error.0,
        partition_index: index,
        leader_id: partition.leader.map_or(-1, |b| b.0),
        leader_epoch: partition.leader_epoch,
        replica_nodes: ids(&partition.replicas),
        isr_nodes: ids(&partition.isr),
        offline_replicas: offline.map(|b| b.0).collect(),
        ..Default::default()
    }
}
