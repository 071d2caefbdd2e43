//! CreatePartitions (key 37), versions 0 to 3.
//!
//! Adds partitions to topics, on brokers that are named or chosen. `validate_only` checks without adding.
//! Errors per topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT,
//! INVALID_REPLICATION_FACTOR when too few brokers are up.
//!
//! Left out: `timeout_ms`, as partitions are made at once.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::BrokerId;
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;
use crate::topic_creation::plan_partitions;

pub(crate) struct CreatePartitions;

impl Handler for CreatePartitions {
    type Request = CreatePartitionsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: CreatePartitionsRequest) -> AnswerOf<Self> {
        let validate_only = request.validate_only;
        respond(context, request, |topic| {
            let ids = |ids: &[i32]| ids.iter().map(|id| BrokerId(*id)).collect();
            let assignments = topic.assignments.iter().flatten().map(|a| ids(&a.broker_ids)).collect();
            match validate_only {
                true => plan_partitions(&cluster.state, &topic.name, topic.count, assignments).map(|_| ()),
                false => cluster.create_partitions(&topic.name, topic.count, assignments),
            }
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: CreatePartitionsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| {
            Err(ApiError::new(error, error.name().unwrap_or_default()))
        })
    }
}

fn respond(
    context: &Context,
    request: CreatePartitionsRequest,
    mut create: impl FnMut(&CreatePartitionsTopic) -> Result<(), ApiError>,
) -> Answer<CreatePartitionsResponse> {
    let results = request.topics.into_iter().map(|topic| {
        let refused = create(&topic).err();
        CreatePartitionsTopicResult {
            name: topic.name,
            error_code: refused.as_ref().map_or(0, |r| r.error.0),
            error_message: refused.map(|r| r.message),
            ..Default::default()
        }
    });
    Answer::Respond(CreatePartitionsResponse {
        throttle_time_ms: context.throttle_time_ms,
        results: results.collect(),
        ..Default::default()
    })
}
