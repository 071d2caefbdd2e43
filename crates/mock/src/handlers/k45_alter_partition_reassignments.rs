//! AlterPartitionReassignments (key 45), versions 0 and 1.
//!
//! Begins reassignments, and cancels them where the replicas are null. The added replicas copy the log for the configured
//! time; then the partition has its new replicas and, if its leader is not among them, another leader. Errors per
//! partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, NO_REASSIGNMENT_IN_PROGRESS, and from version 1 on
//! INVALID_REPLICATION_FACTOR if that may not change. Any broker serves the request, as those of KRaft clusters forward it.
//!
//! Omitted: `timeout_ms`, as reassignments begin at once.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ReassignablePartition,
    ReassignablePartitionResponse, ReassignableTopicResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::reassignments;
use crate::request::Context;

pub(crate) struct AlterPartitionReassignments;

impl Handler for AlterPartitionReassignments {
    type Request = AlterPartitionReassignmentsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: AlterPartitionReassignmentsRequest) -> AnswerOf<Self> {
        let allow = request.allow_replication_factor_change;
        let responses = request.topics.into_iter().map(|topic| {
            let rows = topic.partitions.iter().map(|partition| {
                let refusal = alter(cluster, &topic.name, partition, allow).err();
                ReassignablePartitionResponse {
                    partition_index: partition.partition_index,
                    error_code: refusal.as_ref().map_or(ErrorCode::NONE, |r| r.error).0,
                    error_message: refusal.map(|r| r.message),
                    ..Default::default()
                }
            });
            ReassignableTopicResponse {
                partitions: rows.collect(),
                name: topic.name.clone(),
                ..Default::default()
            }
        });
        let responses = responses.collect();
        Answer::Respond(AlterPartitionReassignmentsResponse {
            throttle_time_ms: context.throttle_time_ms,
            allow_replication_factor_change: allow,
            responses,
            ..Default::default()
        })
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        request: AlterPartitionReassignmentsRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        Answer::Respond(AlterPartitionReassignmentsResponse {
            throttle_time_ms: context.throttle_time_ms,
            allow_replication_factor_change: request.allow_replication_factor_change,
            error_code: error.0,
            error_message: error.name().map(str::to_owned),
            ..Default::default()
        })
    }
}

fn alter(cluster: &mut Cluster, topic: &str, asked: &ReassignablePartition, allow: bool) -> Result<(), ApiError> {
    let state = &mut cluster.state;
    match &asked.replicas {
        None => reassignments::cancel(state, topic, asked.partition_index),
        Some(replicas) => {
            let target: Vec<BrokerId> = replicas.iter().copied().map(BrokerId).collect();
            reassignments::begin(state, topic, asked.partition_index, &target, allow)
        }
    }
}
