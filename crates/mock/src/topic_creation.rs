//! Checks and replica assignments of new topics and partitions.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::api_error::ApiError;
use crate::ids::BrokerId;
use crate::state::ClusterState;
use crate::topic_config::TopicConfig;
use crate::topics::{Partition, Topic, is_valid_name};

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

/// Checks a topic to be made and lays it out, without making it.
pub(crate) fn plan_topic(state: &mut ClusterState, topic: NewTopic) -> Result<Topic, ApiError> {
    let name = topic.name;
    if !is_valid_name(&name) {
        let message = format!("Topic name is invalid: '{name}'");
        return Err(ApiError::new(ErrorCode::INVALID_TOPIC_EXCEPTION, message));
    }
    if state.topics.id_of(&name).is_some() {
        let message = format!("Topic '{name}' already exists.");
        return Err(ApiError::new(ErrorCode::TOPIC_ALREADY_EXISTS, message));
    }
    let layout = match topic.assignments.is_empty() {
        true => lay_out(state, topic.partitions, topic.replication_factor)?,
        false => check_assignments(state, topic.assignments)?,
    };
    let config = TopicConfig::new(&state.config, topic.configs)
        .map_err(|message| ApiError::new(ErrorCode::INVALID_CONFIG, message))?;
    let partitions = layout
        .into_iter()
        .map(|r| Partition::new(r, |b| state.brokers.is_alive(b)))
        .collect();
    Ok(Topic {
        name,
        id: state.rng.uuid(),
        partitions,
        config,
        error: None,
        visible_at: state.now.plus_us(state.config.topic_creation_delay_us),
    })
}

fn lay_out(state: &ClusterState, partitions: i32, replicas: i16) -> Result<Vec<Vec<BrokerId>>, ApiError> {
    let partitions = match partitions {
        -1 => state.config.default_partitions,
        count => count,
    };
    let replicas = match replicas {
        -1 => state.config.replication_factor(),
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
    spread(state, state.topics.created(), count, replicas)
}

/// Replicas for `count` partitions, leaders going round the brokers that are up, beginning with the `first`.
fn spread(state: &ClusterState, first: usize, count: usize, replicas: i16) -> Result<Vec<Vec<BrokerId>>, ApiError> {
    let alive = state.brokers.alive();
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

fn check_assignments(state: &ClusterState, assignments: Vec<Vec<BrokerId>>) -> Result<Vec<Vec<BrokerId>>, ApiError> {
    for replicas in &assignments {
        let mut unique = replicas.clone();
        unique.sort_unstable();
        unique.dedup();
        let known = replicas.iter().all(|b| state.brokers.contains(*b));
        if replicas.is_empty() || unique.len() != replicas.len() || !known {
            let message = "The manual partition assignment is empty, names a broker twice or an unknown one.";
            return Err(ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
        }
    }
    Ok(assignments)
}

/// The replicas of the partitions that [`Cluster::create_partitions`] would add.
pub(crate) fn plan_partitions(
    state: &ClusterState,
    name: &str,
    total: i32,
    assignments: Vec<Vec<BrokerId>>,
) -> Result<Vec<Vec<BrokerId>>, ApiError> {
    let Some(topic) = state.topics.by_name(name) else {
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
        return spread(state, current, total - current, i16::try_from(replicas).unwrap_or(1));
    }
    if assignments.len() != total - current {
        let message = format!(
            "{} assignments for {} new partitions.",
            assignments.len(),
            total - current
        );
        return Err(ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
    }
    check_assignments(state, assignments)
}
