//! Validation of positions against truncated logs (KIP-320), for brokers that do not report truncation in Fetch responses.
//!
//! The log of a new leader may lack records that were read from the previous one, and contain others in their place.
//! Brokers with Fetch version 12 detect that. Earlier ones return whatever is at the offset: OffsetForLeaderEpoch first
//! returns the end of the last epoch that was read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::api::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopic,
};

use super::partitions::ConsumedPartitions;
use super::positions::{FetchState, Next, Position};
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, Outcome, Owner};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::request::{ReadyBroker, response_of};

/// The replica id of a consumer.
const CONSUMER: i32 = -1;

/// A partition to validate, and its leader epoch in metadata.
type ToValidate = (u32, i32);

/// Requests in flight, by number. They are not repeated: the fetch states of the partitions lead to further ones.
#[derive(Debug, Default)]
pub(super) struct Validations(HashMap<u64, Vec<ToValidate>>);

/// Returns the leader epoch in metadata, -1 if it is unknown.
pub(super) fn leader_epoch(cluster: &Cluster, p: &Position) -> i32 {
    let partition = cluster.topic(&p.name).and_then(|t| t.partition(p.state.partition()));
    partition.map_or(-1, |known| known.leader_epoch)
}

/// Returns true if a newer leader than that of the last record has not confirmed the position yet.
fn needs_validation(p: &Position, leader_epoch: i32) -> bool {
    p.epoch >= 0 && leader_epoch > p.epoch && p.validated_by < leader_epoch
}

impl Validations {
    /// Sends the ready positions of a leader that its log may lack for validation; they are fetched from once they are
    /// validated. Does nothing for brokers that do not support the request.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        partitions: &mut ConsumedPartitions,
        broker: &ReadyBroker,
    ) {
        let lowest = OffsetForLeaderEpochRequest::LEADER_EPOCHS_SINCE;
        let Ok(version) = broker.version_within::<OffsetForLeaderEpochRequest>(lowest, i16::MAX) else {
            return;
        };
        let mut topics: BTreeMap<Arc<str>, Vec<OffsetForLeaderPartition>> = BTreeMap::new();
        let mut sent: Vec<ToValidate> = Vec::new();
        for id in partitions.ready_for(broker.key.node) {
            let Some(p) = partitions.get_mut(id) else { continue };
            let current = leader_epoch(cluster, p);
            if !needs_validation(p, current) {
                continue;
            }
            if p.preferred.take().is_some() {
                // A follower may have records that its leader lacks.
                partitions.update_fetch_state(ctx, cluster, id);
                continue;
            }
            topics
                .entry(p.name.clone())
                .or_default()
                .push(OffsetForLeaderPartition {
                    partition: p.state.partition(),
                    current_leader_epoch: current,
                    leader_epoch: p.epoch,
                    ..Default::default()
                });
            sent.push((id, current));
        }
        if sent.is_empty() {
            return;
        }
        let topics = topics.into_iter().map(|(name, partitions)| OffsetForLeaderTopic {
            topic: name.to_string(),
            partitions,
            ..Default::default()
        });
        let request = OffsetForLeaderEpochRequest {
            replica_id: CONSUMER,
            topics: topics.collect(),
            ..Default::default()
        };
        let tag = partitions.ids().next_tag(Owner::Fetcher);
        let timeout = partitions.settings().request_timeout;
        if let Err(error) = broker.send(ctx, tag, &request, version, timeout) {
            let ids: Vec<u32> = sent.iter().map(|(id, _)| *id).collect();
            return partitions.back_off(ctx, cluster, &ids, &error);
        }
        for (partition, _) in &sent {
            partitions.set_fetch_state(*partition, FetchState::LookUp(tag.id));
        }
        self.0.insert(tag.id, sent);
    }

    /// Handles a request's outcome.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        partitions: &mut ConsumedPartitions,
        key: BrokerKey,
        id: u64,
        outcome: Outcome,
    ) {
        let Some(sent) = self.0.remove(&id) else {
            return;
        };
        let response = response_of::<OffsetForLeaderEpochRequest>(ctx, key, outcome);
        let answers = response.map(index).unwrap_or_default();
        for (partition, leader_epoch) in sent {
            // Skip those that a seek, pause or stop has moved since.
            let awaited = FetchState::LookUp(id);
            let Some(p) = partitions.get(partition).filter(|p| p.fetch_state() == awaited) else {
                continue;
            };
            match answers.get(&(p.name.to_string(), p.state.partition())) {
                Some(answer) => Self::on_epoch_end(ctx, cluster, partitions, (partition, leader_epoch), answer),
                None => {
                    // The leader may have changed.
                    let name = p.name.clone();
                    cluster.request_refresh(&name, ctx.now);
                    partitions.set_fetch_state(
                        partition,
                        FetchState::Backoff(ctx.now + partitions.settings().error_backoff),
                    );
                }
            }
        }
    }

    /// Handles the end of the last epoch that was read in the leader's log.
    fn on_epoch_end(
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        partitions: &mut ConsumedPartitions,
        (id, leader_epoch): ToValidate,
        answer: &EpochEndOffset,
    ) {
        let Some(p) = partitions.get_mut(id) else { return };
        let Next::At(at) = p.next else { return };
        let code: ErrorCode = answer.error_code.into();
        let (epoch, end) = (answer.leader_epoch, answer.end_offset);
        ctx.log.debug(DebugContexts::FETCH, "VALIDATE", || {
            let what = match code.is_ok() {
                true => format!("leader epoch {epoch} ends at {end}"),
                false => code.description().into_owned(),
            };
            format!("{}: offset {at} after leader epoch {}: {what}", p.state.tp(), p.epoch)
        });
        let forbidden = matches!(
            code,
            ErrorCode::TOPIC_AUTHORIZATION_FAILED
                | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
                | ErrorCode::UNSUPPORTED_VERSION
        );
        if !code.is_ok() && !forbidden {
            let (name, action) = (p.name.clone(), code.action());
            let passes =
                action.is_retriable() || action.refreshes_metadata() || code == ErrorCode::UNKNOWN_LEADER_EPOCH;
            if !passes {
                let text = format!(
                    "{}: the position cannot be validated: {}",
                    p.state.tp(),
                    code.description()
                );
                partitions.report_error(id, Error::new(code, text));
            }
            cluster.request_refresh(&name, ctx.now);
            return partitions.set_fetch_state(id, FetchState::Backoff(ctx.now + partitions.settings().error_backoff));
        }
        if code.is_ok() && (end < at || epoch < p.epoch) {
            partitions.on_truncated(ctx, cluster, id, (epoch, end));
            if let Some(p) = partitions.get_mut(id)
                && p.epoch == epoch
                && matches!(p.next, Next::At(at) if at <= end)
            {
                p.validated_by = leader_epoch;
            }
            return;
        }
        // Brokers before 2.3 require CLUSTER_ACTION for this request: without it the position remains unvalidated.
        p.validated_by = leader_epoch;
        partitions.update_fetch_state(ctx, cluster, id);
    }
}

fn index(response: OffsetForLeaderEpochResponse) -> HashMap<(String, i32), EpochEndOffset> {
    let topics = response.topics.into_iter();
    let rows = topics.flat_map(|topic| {
        let name = topic.topic;
        topic
            .partitions
            .into_iter()
            .map(move |p| ((name.clone(), p.partition), p))
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
