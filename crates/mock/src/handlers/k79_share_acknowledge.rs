//! ShareAcknowledge (key 79), versions 1 and 2.
//!
//! Applies a member's acknowledgements of the records that it has acquired (KIP-932), per partition all or none: accepted
//! (type 1), released (2), rejected (3), or no record at the offset (0); from version 2 on also renewal of the acquisition
//! locks (4, KIP-1222). The request belongs to a share session, and epoch -1 closes it.
//!
//! Errors of the request: INVALID_REQUEST, SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH. Errors per partition:
//! INVALID_REQUEST, INVALID_RECORD_STATE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION also at a broker that is not the
//! leader, and those of the durable state.
//!
//! Omitted: version 0, which only brokers of Kafka 4.0 served.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::share_acknowledge::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareAcknowledgeRequest, ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use super::k78_share_fetch::identity;
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::request::Context;
use crate::share::{Acknowledged, Acknowledgement, FINAL_EPOCH, INITIAL_EPOCH};
use crate::share_key::PartitionId;
use crate::share_leader::{self, AcknowledgedPartition};
use crate::state::ClusterState;

pub(crate) struct ShareAcknowledge;

impl Handler for ShareAcknowledge {
    type Request = ShareAcknowledgeRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: ShareAcknowledgeRequest) -> AnswerOf<Self> {
        let state = &mut cluster.state;
        let Some((group, member)) = identity(&request.group_id, &request.member_id) else {
            return Answer::Respond(failed(context, ErrorCode::INVALID_REQUEST));
        };
        let epoch = request.share_session_epoch;
        let advanced = match epoch {
            INITIAL_EPOCH => Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH),
            epoch => state.share.sessions.advance(context.broker, &group, &member, epoch),
        };
        if let Err(error) = advanced {
            return Answer::Respond(failed(context, error));
        }
        let renews = request.is_renew_ack;
        let asked = acknowledgements(request);
        let outcomes = share_leader::acknowledge(state, context, (&group, &member), renews, asked);
        if epoch == FINAL_EPOCH {
            share_leader::release_session(state, context.broker, &group, &member);
        }
        let lock_timeout_ms = state.share_settings(&group).record_lock_duration_ms;
        Answer::Respond(ShareAcknowledgeResponse {
            acquisition_lock_timeout_ms: if context.version >= 2 { lock_timeout_ms } else { 0 },
            ..respond(state, context, outcomes)
        })
    }

    // An error of a whole request is at the top level, as in Kafka: the session is not advanced.
    fn refuse(_: &Cluster, context: &Context, _: ShareAcknowledgeRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(failed(context, error))
    }
}

fn failed(context: &Context, error: ErrorCode) -> ShareAcknowledgeResponse {
    ShareAcknowledgeResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.0,
        error_message: error.name().map(str::to_owned),
        ..Default::default()
    }
}

fn acknowledgements(request: ShareAcknowledgeRequest) -> Vec<AcknowledgedPartition> {
    let asked = request.topics.into_iter().flat_map(|topic| {
        let topic_id = topic.topic_id;
        topic.partitions.into_iter().map(move |partition| {
            let batches = partition
                .acknowledgement_batches
                .into_iter()
                .map(|batch| Acknowledgement {
                    first: batch.first_offset,
                    last: batch.last_offset,
                    types: batch.acknowledge_types,
                });
            AcknowledgedPartition {
                id: (topic_id, partition.partition_index),
                batches: batches.collect(),
            }
        })
    });
    asked.collect()
}

fn respond(
    state: &ClusterState,
    context: &Context,
    outcomes: Vec<(PartitionId, Acknowledged)>,
) -> ShareAcknowledgeResponse {
    let mut topics: Vec<ShareAcknowledgeTopicResponse> = Vec::new();
    let mut leaders = BTreeSet::new();
    for (id, outcome) in outcomes {
        let data = PartitionData {
            partition_index: id.1,
            current_leader: current_leader(state, id, outcome.error, &mut leaders),
            error_code: outcome.error.0,
            error_message: outcome.message,
            ..Default::default()
        };
        match topics.iter_mut().find(|topic| topic.topic_id == id.0) {
            Some(topic) => topic.partitions.push(data),
            None => topics.push(ShareAcknowledgeTopicResponse {
                topic_id: id.0,
                partitions: vec![data],
                ..Default::default()
            }),
        }
    }
    let node_endpoints = share_leader::node_endpoints(state, &leaders, |id, broker| NodeEndpoint {
        node_id: id.0,
        host: broker.host.clone(),
        port: broker.port.into(),
        rack: broker.rack.clone(),
        ..Default::default()
    });
    ShareAcknowledgeResponse {
        throttle_time_ms: context.throttle_time_ms,
        responses: topics,
        node_endpoints,
        ..Default::default()
    }
}

/// Returns the leader to name with an error of stale metadata.
fn current_leader(
    state: &ClusterState,
    (topic, index): PartitionId,
    error: ErrorCode,
    leaders: &mut BTreeSet<BrokerId>,
) -> LeaderIdAndEpoch {
    let is_stale = matches!(
        error,
        ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH
    );
    let found = state.topics.by_id(topic).and_then(|t| t.partition(index));
    match found.filter(|_| is_stale) {
        Some(partition) => {
            leaders.extend(partition.leader);
            LeaderIdAndEpoch {
                leader_id: partition.leader.map_or(-1, |b| b.0),
                leader_epoch: partition.leader_epoch,
                ..Default::default()
            }
        }
        None => LeaderIdAndEpoch::default(),
    }
}
