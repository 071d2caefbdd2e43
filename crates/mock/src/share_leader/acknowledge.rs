//! Acknowledgements of records, in ShareAcknowledge and ShareFetch requests.

use ottla_protocol::{ApiKey, ErrorCode};

use super::fetch::wake;
use super::partitions::{change, is_loaded};
use crate::request::Context;
use crate::share::{Acknowledged, Acknowledgement, RENEW};
use crate::share_key::{PartitionId, ShareKey};
use crate::state::ClusterState;

/// The acknowledgements for one partition in a request.
#[derive(Debug)]
pub(crate) struct AcknowledgedPartition {
    pub(crate) id: PartitionId,
    pub(crate) batches: Vec<Acknowledgement>,
}

/// Applies the acknowledgements of a member, per partition all or none. As in Kafka, a partition without acknowledgements
/// has an outcome only if those of another partition were valid.
pub(crate) fn acknowledge(
    state: &mut ClusterState,
    context: &Context,
    (group, member): (&str, &str),
    renews: bool,
    partitions: Vec<AcknowledgedPartition>,
) -> Vec<(PartitionId, Acknowledged)> {
    let mut outcomes = Vec::with_capacity(partitions.len());
    let mut empty = Vec::new();
    let mut is_any_valid = false;
    for asked in partitions {
        let outcome = match check(state, context, renews, &asked) {
            Err(error) => error.into(),
            Ok(()) if asked.batches.is_empty() => {
                empty.push((asked.id, Acknowledged::DONE));
                continue;
            }
            Ok(()) => {
                is_any_valid = true;
                apply(state, context, (group, member), &asked)
            }
        };
        outcomes.push((asked.id, outcome));
    }
    if is_any_valid {
        outcomes.extend(empty);
    }
    outcomes
}

/// Checks the form of acknowledgements, and that the partition exists.
fn check(
    state: &mut ClusterState,
    context: &Context,
    renews: bool,
    asked: &AcknowledgedPartition,
) -> Result<(), ErrorCode> {
    let topic = state.topics.by_id(asked.id.0).filter(|t| state.is_visible(t));
    let topic = topic.ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?;
    if !are_valid(&asked.batches, context.version, renews) {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    if topic.partition(asked.id.1).is_none() {
        return Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    }
    state
        .faults
        .take_partition_error(ApiKey::SHARE_ACKNOWLEDGE, &topic.name, asked.id.1)
}

fn apply(
    state: &mut ClusterState,
    context: &Context,
    (group, member): (&str, &str),
    asked: &AcknowledgedPartition,
) -> Acknowledged {
    let key = ShareKey::new(group, asked.id);
    // A broker that is not the leader, or has just become it, does not know the share partition.
    if !is_loaded(state, context.broker, &key) {
        return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.into();
    }
    let acknowledged = change(state, &key, |partition, journal, limits| {
        partition.acknowledge(journal, limits, member, &asked.batches)
    });
    wake(state, &key);
    match acknowledged {
        Some(Ok(())) => Acknowledged::DONE,
        Some(Err((error, message))) => Acknowledged::failed(error, message),
        None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.into(),
    }
}

/// Returns true when the batches are in order, and have one type each or one for each record, which this version knows.
fn are_valid(batches: &[Acknowledgement], version: i16, renews: bool) -> bool {
    let greatest = if version >= 2 { RENEW } else { RENEW - 1 };
    let mut previous = -1;
    batches.iter().all(|batch| {
        // Kafka lets a batch begin with the last offset of the one before.
        let in_order = batch.first <= batch.last && batch.first >= previous;
        previous = batch.last;
        let count = i64::try_from(batch.types.len()).unwrap_or(i64::MAX);
        let is_complete = count == 1 || count > 1 && batch.last.checked_sub(batch.first) == Some(count - 1);
        let are_known = batch.types.iter().all(|kind| (0..=greatest).contains(kind));
        in_order && is_complete && are_known && (renews || !batch.types.contains(&RENEW))
    })
}
