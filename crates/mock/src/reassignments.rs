//! Reassignments of partitions (KIP-455): other replicas, which copy the log before they replace the old ones.

use ottla_protocol::{ErrorCode, Uuid};

use crate::api_error::ApiError;
use crate::ids::BrokerId;
use crate::replication::partition_changed;
use crate::state::ClusterState;
use crate::time::Time;
use crate::timers::Timer;
use crate::topics::{Partition, Reassignment};

/// The interval at which a copy to a broker that is down is tried again.
const RETRY_MS: i32 = 100;

fn unknown(topic: &str) -> ApiError {
    let message = format!("Unable to find a partition of topic {topic}.");
    ApiError::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message)
}

/// Begins to move a partition to these brokers. It keeps its present replicas until those that are added have copied the
/// log. A reassignment under way is replaced.
///
/// # Errors
/// UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR.
pub(crate) fn begin(
    state: &mut ClusterState,
    topic: &str,
    index: i32,
    target: &[BrokerId],
    allow_factor_change: bool,
) -> Result<(), ApiError> {
    let found = state
        .topics
        .by_name(topic)
        .and_then(|t| Some((t.id, t.partition(index)?)));
    let (topic_id, partition) = found.ok_or_else(|| unknown(topic))?;
    check_target(state, target)?;
    let reassigned = partition.reassignment.as_ref();
    let added = |broker: &BrokerId| reassigned.is_some_and(|r| r.adding.contains(broker));
    let old_factor = partition.replicas.iter().filter(|b| !added(b)).count();
    if !allow_factor_change && old_factor != target.len() {
        let message = format!(
            "The replication factor is changed from {old_factor} to {}, which is not allowed.",
            target.len()
        );
        return Err(ApiError::new(ErrorCode::INVALID_REPLICATION_FACTOR, message));
    }
    let present = |broker: &BrokerId| partition.replicas.contains(broker) && !added(broker);
    let adding: Vec<BrokerId> = target.iter().copied().filter(|b| !present(b)).collect();
    let is_superfluous = |broker: &&BrokerId| !target.contains(broker);
    let removing: Vec<BrokerId> = partition.replicas.iter().filter(is_superfluous).copied().collect();
    let original = reassigned.map_or_else(|| partition.replicas.clone(), |r| r.original.clone());
    let copied_at = state.now.plus_us(match adding.is_empty() {
        true => 0,
        false => state.config.replica_copy_delay_us,
    });
    let replicas = target.iter().chain(&removing).copied().collect();
    if let Some(partition) = state.topics.by_id_mut(topic_id).and_then(|t| t.partition_mut(index)) {
        partition.replicas = replicas;
        partition.reassignment = Some(Reassignment {
            original,
            target: target.to_vec(),
            adding,
            removing,
            copied_at,
        });
    }
    complete(state, topic_id, index);
    Ok(())
}

fn check_target(state: &ClusterState, target: &[BrokerId]) -> Result<(), ApiError> {
    let invalid = |message: String| ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message);
    if target.is_empty() {
        return Err(invalid(
            "The manual partition assignment includes an empty replica list.".into(),
        ));
    }
    let mut unique = target.to_vec();
    unique.sort_unstable();
    unique.dedup();
    if unique.len() < target.len() {
        return Err(invalid(
            "The manual partition assignment includes a broker more than once.".into(),
        ));
    }
    match target.iter().find(|broker| !state.brokers.contains(**broker)) {
        None => Ok(()),
        Some(broker) => Err(invalid(format!(
            "The manual partition assignment includes broker {broker}, but no such broker is registered."
        ))),
    }
}

/// Cancels a reassignment: the partition has its original replicas again.
///
/// # Errors
/// UNKNOWN_TOPIC_OR_PARTITION, NO_REASSIGNMENT_IN_PROGRESS.
pub(crate) fn cancel(state: &mut ClusterState, topic: &str, index: i32) -> Result<(), ApiError> {
    let found = state
        .topics
        .by_name(topic)
        .and_then(|t| Some((t.id, t.partition(index)?)));
    let (topic_id, partition) = found.ok_or_else(|| unknown(topic))?;
    let Some(reassignment) = &partition.reassignment else {
        return Err(ErrorCode::NO_REASSIGNMENT_IN_PROGRESS.into());
    };
    let original = reassignment.original.clone();
    settle(state, topic_id, index, original);
    Ok(())
}

/// Ends a reassignment whose added replicas have copied the log. Brokers that are down copy nothing.
pub(crate) fn complete(state: &mut ClusterState, topic: Uuid, index: i32) {
    let partition = state.topics.by_id(topic).and_then(|t| t.partition(index));
    let Some(reassignment) = partition.and_then(|p| p.reassignment.as_ref()) else {
        return;
    };
    let is_up = |broker: &BrokerId| state.brokers.is_accepting(*broker);
    let at: Time = match reassignment.adding.iter().all(is_up) {
        true if reassignment.copied_at <= state.now => {
            let target = reassignment.target.clone();
            return settle(state, topic, index, target);
        }
        true => reassignment.copied_at,
        false => reassignment.copied_at.max(state.now.plus_ms(RETRY_MS)),
    };
    let partition = index;
    state.timers.set(at, Timer::Reassigned { topic, partition });
}

/// Gives a partition its final replicas, and another leader if the present one is not among them.
fn settle(state: &mut ClusterState, topic: Uuid, index: i32, replicas: Vec<BrokerId>) {
    let alive = state.brokers.alive();
    let Some(partition) = state.topics.by_id_mut(topic).and_then(|t| t.partition_mut(index)) else {
        return;
    };
    let Some(reassignment) = partition.reassignment.take() else {
        return;
    };
    let is_cancelled = replicas != reassignment.target;
    let isr = settled_isr(
        partition,
        &replicas,
        if is_cancelled { &[] } else { &reassignment.adding },
    );
    partition.replicas = replicas;
    partition.isr = isr;
    let is_leader_kept = partition
        .leader
        .is_some_and(|leader| partition.replicas.contains(&leader));
    if is_leader_kept {
        return;
    }
    // The old leader leaves in order: its followers have all records.
    partition.log.advance_high_watermark(i64::MAX);
    let leader = partition.isr.iter().copied().find(|broker| alive.contains(broker));
    partition.set_leader(leader);
    let watchers = partition.watchers.clone();
    partition_changed(state, &watchers);
}

/// Returns the in-sync replicas, in the order of `replicas`.
fn settled_isr(partition: &Partition, replicas: &[BrokerId], copied: &[BrokerId]) -> Vec<BrokerId> {
    let is_in_sync = |broker: &BrokerId| partition.isr.contains(broker) || copied.contains(broker);
    let isr: Vec<BrokerId> = replicas.iter().copied().filter(is_in_sync).collect();
    match isr.is_empty() {
        true => replicas.first().copied().into_iter().collect(),
        false => isr,
    }
}

/// Completes the copy of a broker's replica to another log directory. A broker that is down copies nothing.
pub(crate) fn replica_copied(state: &mut ClusterState, broker: BrokerId, topic: Uuid, index: i32) {
    if !state.brokers.is_accepting(broker) {
        let partition = index;
        let at = state.now.plus_ms(RETRY_MS);
        state.timers.set(
            at,
            Timer::ReplicaCopied {
                broker,
                topic,
                partition,
            },
        );
        return;
    }
    if let Some(partition) = state.topics.by_id_mut(topic).and_then(|t| t.partition_mut(index)) {
        partition.places.complete(broker);
    }
}
