//! OffsetDelete (key 47), version 0.
//!
//! Removes committed offsets of a group (KIP-496). Errors of the response: NOT_COORDINATOR, GROUP_ID_NOT_FOUND; per partition
//! GROUP_SUBSCRIBED_TO_TOPIC for topics that members of the group subscribe to, UNKNOWN_TOPIC_OR_PARTITION. A partition
//! without a committed offset has no error.
//!
//! Omitted: subscriptions by pattern do not protect offsets.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct OffsetDelete;

impl Handler for OffsetDelete {
    type Request = OffsetDeleteRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: OffsetDeleteRequest) -> AnswerOf<Self> {
        let checked = cluster.state.check_group_coordinator(context.broker, &request.group_id);
        if let Err(error) = checked {
            return Self::refuse(cluster, context, request, error);
        }
        if cluster.groups.get(&request.group_id).is_none() {
            return Self::refuse(cluster, context, request, ErrorCode::GROUP_ID_NOT_FOUND);
        }
        let group = request.group_id;
        let topics = request.topics.into_iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| OffsetDeleteResponsePartition {
                partition_index: partition.partition_index,
                error_code: delete(cluster, &group, &topic.name, partition.partition_index).0,
                ..Default::default()
            });
            OffsetDeleteResponseTopic {
                partitions: partitions.collect(),
                name: topic.name.clone(),
                ..Default::default()
            }
        });
        let topics = topics.collect();
        Answer::Respond(OffsetDeleteResponse {
            throttle_time_ms: context.throttle_time_ms,
            topics,
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: OffsetDeleteRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(OffsetDeleteResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}

fn delete(cluster: &mut Cluster, group: &str, topic: &str, partition: i32) -> ErrorCode {
    let exists = cluster
        .state
        .topics
        .by_name(topic)
        .is_some_and(|found| found.partition(partition).is_some());
    let Some(group) = cluster.groups.get_mut(group).filter(|_| exists) else {
        return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    };
    if group.is_subscribed_to(topic) {
        return ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC;
    }
    group.offsets.delete(topic, partition);
    ErrorCode::NONE
}
