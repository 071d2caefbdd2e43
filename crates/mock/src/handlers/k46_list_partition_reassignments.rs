//! ListPartitionReassignments (key 46), version 0.
//!
//! The reassignments under way, all or those of the requested partitions; partitions that do not exist are left out.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, OngoingPartitionReassignment,
    OngoingTopicReassignment,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::request::Context;

pub(crate) struct ListPartitionReassignments;

impl Handler for ListPartitionReassignments {
    type Request = ListPartitionReassignmentsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ListPartitionReassignmentsRequest) -> AnswerOf<Self> {
        let is_wanted = |topic: &str, index: i32| {
            let topics = request.topics.as_ref();
            topics.is_none_or(|t| {
                t.iter()
                    .any(|t| t.name == topic && t.partition_indexes.contains(&index))
            })
        };
        let ids = |brokers: &[BrokerId]| brokers.iter().map(|b| b.0).collect();
        let topics = cluster.state.topics.iter().map(|topic| {
            let rows = topic.indexed().filter(|(index, _)| is_wanted(&topic.name, *index));
            let rows = rows.filter_map(|(index, partition)| {
                let reassignment = partition.reassignment.as_ref()?;
                Some(OngoingPartitionReassignment {
                    partition_index: index,
                    replicas: ids(&partition.replicas),
                    adding_replicas: ids(&reassignment.adding),
                    removing_replicas: ids(&reassignment.removing),
                    ..Default::default()
                })
            });
            OngoingTopicReassignment {
                partitions: rows.collect(),
                name: topic.name.clone(),
                ..Default::default()
            }
        });
        Answer::Respond(ListPartitionReassignmentsResponse {
            throttle_time_ms: context.throttle_time_ms,
            topics: topics.filter(|topic| !topic.partitions.is_empty()).collect(),
            ..Default::default()
        })
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        _: ListPartitionReassignmentsRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        Answer::Respond(ListPartitionReassignmentsResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            error_message: error.name().map(str::to_owned),
            ..Default::default()
        })
    }
}
