//! ElectLeaders (key 43), versions 0 to 2.
//!
//! Makes the preferred replica leader (type 0), or any live replica of a partition without a leader (type 1). Errors per
//! partition: UNKNOWN_TOPIC_OR_PARTITION, ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE,
//! ELIGIBLE_LEADERS_NOT_AVAILABLE; of the response INVALID_REQUEST for another type. Without a list of partitions all are
//! candidates, and the response leaves out those that need no election.
//!
//! Omitted: `timeout_ms`, as leaders are elected at once; the loss of records in unclean elections.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::elect_leaders::{
    ElectLeadersRequest, ElectLeadersResponse, PartitionResult, ReplicaElectionResult, TopicPartitions,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::request::Context;

pub(crate) struct ElectLeaders;

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

impl Handler for ElectLeaders {
    type Request = ElectLeadersRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ElectLeadersRequest) -> AnswerOf<Self> {
        let election_type = request.election_type;
        if !matches!(election_type, PREFERRED | UNCLEAN) {
            return Self::refuse(cluster, context, request, ErrorCode::INVALID_REQUEST);
        }
        let is_listed = request.topic_partitions.is_some();
        let topics = request.topic_partitions.unwrap_or_else(|| all_partitions(cluster));
        let results = topics.into_iter().map(|topic| {
            let results = topic.partitions.iter().map(|partition| PartitionResult {
                partition_id: *partition,
                error_code: elect(cluster, &topic.topic, *partition, election_type).0,
                ..Default::default()
            });
            let is_reported = |row: &PartitionResult| is_listed || row.error_code != ErrorCode::ELECTION_NOT_NEEDED.0;
            ReplicaElectionResult {
                partition_result: results.filter(is_reported).collect(),
                topic: topic.topic.clone(),
                ..Default::default()
            }
        });
        let results: Vec<ReplicaElectionResult> = results.collect();
        Answer::Respond(ElectLeadersResponse {
            throttle_time_ms: context.throttle_time_ms,
            replica_election_results: results.into_iter().filter(|r| !r.partition_result.is_empty()).collect(),
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: ElectLeadersRequest, error: ErrorCode) -> AnswerOf<Self> {
        let topics = request.topic_partitions.into_iter().flatten();
        let rows = topics.map(|topic| ReplicaElectionResult {
            topic: topic.topic,
            partition_result: topic
                .partitions
                .into_iter()
                .map(|partition_id| PartitionResult {
                    partition_id,
                    error_code: error.0,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        });
        Answer::Respond(ElectLeadersResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: if context.version > 0 { error.0 } else { 0 },
            replica_election_results: rows.collect(),
            ..Default::default()
        })
    }
}

fn all_partitions(cluster: &Cluster) -> Vec<TopicPartitions> {
    let topic = |topic: &crate::topics::Topic| TopicPartitions {
        topic: topic.name.clone(),
        partitions: topic.indexed().map(|(index, _)| index).collect(),
        ..Default::default()
    };
    cluster.state.topics.iter().map(topic).collect()
}

fn elect(cluster: &mut Cluster, topic: &str, partition: i32, election_type: i8) -> ErrorCode {
    let found = cluster
        .state
        .topics
        .by_name(topic)
        .and_then(|topic| topic.partition(partition));
    let Some(state) = found else {
        return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    };
    let is_alive = |broker: &BrokerId| cluster.state.brokers.is_alive(*broker);
    let leader = match election_type {
        PREFERRED => state.replicas.first().copied(),
        _ => state.replicas.iter().copied().find(is_alive),
    };
    let is_needed = match election_type {
        PREFERRED => state.leader != leader,
        _ => state.leader.is_none(),
    };
    match leader.filter(is_alive) {
        _ if !is_needed => ErrorCode::ELECTION_NOT_NEEDED,
        None if election_type == PREFERRED => ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE,
        None => ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE,
        Some(leader) => match cluster.set_leader(topic, partition, Some(leader)) {
            Ok(()) => ErrorCode::NONE,
            Err(error) => error,
        },
    }
}
