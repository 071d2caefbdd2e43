//! Logs that were cut under a position (KIP-320), with brokers that do not tell of it in Fetch answers.
//!
//! When a partition has another leader than the one whose records were read last, its log may lack some of them, and have
//! others in their place. Brokers that know Fetch version 12 compare and say so. Earlier ones answer with whatever lies at
//! the offset now: they are asked first where the epoch of what was read ends in their log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::api::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopic,
};

use super::fetcher::Fetcher;
use super::positions::{FetchState, Next, Position};
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, BrokerVersions, Outcome, Owner, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::types::NodeId;

/// Earlier versions do not check the client's leader epoch, nor do they say which epoch they found.
const FIRST_WITH_LEADER_EPOCHS: i16 = 2;
/// What a consumer is to a broker that might take it for a replica.
const CONSUMER: i32 = -1;

/// A partition that is asked about, and its leader's epoch as of metadata.
type ToValidate = (u32, i32);

/// Requests under way, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Validations(HashMap<u64, Vec<ToValidate>>);

/// The leader's epoch as of metadata, -1 when it is not known.
pub(super) fn leader_epoch(cluster: &Cluster, p: &Position) -> i32 {
    let partition = cluster.topic(&p.name).and_then(|t| t.partition(p.state.partition()));
    partition.map_or(-1, |known| known.leader_epoch)
}

/// Whether a leader after the one that wrote what was read last may lack some of it, and was not asked yet.
fn needs_validation(p: &Position, leader_epoch: i32) -> bool {
    p.epoch >= 0 && leader_epoch > p.epoch && p.validated_by < leader_epoch
}

impl Fetcher {
    /// Asks a leader about the positions that wait for it and that its log may not have any more: they are fetched from once
    /// it has answered. Brokers that cannot say are not asked.
    pub(super) fn validate(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        node: NodeId,
        versions: &BrokerVersions,
    ) {
        let version = versions.pick::<OffsetForLeaderEpochRequest>();
        let Some(version) = version.filter(|v| *v >= FIRST_WITH_LEADER_EPOCHS) else {
            return;
        };
        let mut topics: BTreeMap<Arc<str>, Vec<OffsetForLeaderPartition>> = BTreeMap::new();
        let mut sent: Vec<ToValidate> = Vec::new();
        for id in self.ready_for(node) {
            let Some(p) = self.positions.get_mut(id) else { continue };
            let current = leader_epoch(cluster, p);
            if !needs_validation(p, current) {
                continue;
            }
            if p.preferred.take().is_some() {
                // A follower may have what its leader lacks.
                self.update_fetch_state(ctx, cluster, id);
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
        let id = self.new_id();
        let tag = Tag {
            owner: Owner::Fetcher,
            id,
        };
        let (key, timeout) = (BrokerKey::general(node), self.settings.request_timeout);
        if let Err(error) = ctx.connections.send(key, ctx.now, tag, &request, version, timeout) {
            let ids: Vec<u32> = sent.iter().map(|(id, _)| *id).collect();
            return self.back_off(ctx, cluster, &ids, &error);
        }
        for (partition, _) in &sent {
            self.set_fetch_state(*partition, FetchState::LookUp(id));
        }
        self.validations.0.insert(id, sent);
    }

    /// What became of a request about positions.
    pub(super) fn on_validation(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        id: u64,
        outcome: Outcome,
    ) {
        let Some(sent) = self.validations.0.remove(&id) else {
            return;
        };
        let answers = match outcome {
            Outcome::Reply(reply) => match reply.decode::<OffsetForLeaderEpochRequest>() {
                Ok(response) => index(response),
                Err(e) => {
                    ctx.connections.fail_unreadable(key, "OffsetForLeaderEpoch", e, ctx.now);
                    HashMap::new()
                }
            },
            Outcome::Sent | Outcome::Failed(_) => HashMap::new(),
        };
        for (partition, leader_epoch) in sent {
            // Others were sought, paused or stopped since.
            let Some(p) = self
                .positions
                .get(partition)
                .filter(|p| p.fetch_state == FetchState::LookUp(id))
            else {
                continue;
            };
            match answers.get(&(p.name.to_string(), p.state.partition())) {
                Some(answer) => self.on_epoch_end(ctx, cluster, (partition, leader_epoch), answer),
                None => {
                    // The leadership may be somewhere else.
                    let name = p.name.clone();
                    cluster.request_refresh(&name, ctx.now);
                    self.set_fetch_state(partition, FetchState::Backoff(ctx.now + self.settings.error_backoff));
                }
            }
        }
    }

    /// A leader says where the epoch of what was read last ends in its log.
    fn on_epoch_end(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        (id, leader_epoch): ToValidate,
        answer: &EpochEndOffset,
    ) {
        let Some(p) = self.positions.get_mut(id) else { return };
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
                self.report_error(id, Error::new(code, text));
            }
            cluster.request_refresh(&name, ctx.now);
            return self.set_fetch_state(id, FetchState::Backoff(ctx.now + self.settings.error_backoff));
        }
        if code.is_ok() && (end < at || epoch < p.epoch) {
            self.on_truncated(ctx, cluster, id, (epoch, end));
            if let Some(p) = self.positions.get_mut(id)
                && p.epoch == epoch
                && matches!(p.next, Next::At(at) if at <= end)
            {
                p.validated_by = leader_epoch;
            }
            return;
        }
        // Who may not ask (brokers before 2.3 want a right of brokers for it) has to believe what is fetched.
        p.validated_by = leader_epoch;
        self.update_fetch_state(ctx, cluster, id);
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
