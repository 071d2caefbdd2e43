//! DescribeQuorum (key 55), versions 0 to 2.
//!
//! The metadata quorum: leader, voters and observers of partition 0 of `__cluster_metadata`. All other partitions fail with
//! UNKNOWN_TOPIC_OR_PARTITION. From version 1 on the times of the last fetch; from version 2 on directory ids and the
//! voters' addresses.
//!
//! The metadata log grows by one record in 500 ms, as that of an idle cluster, whatever changes. Brokers that are down are
//! like those that never fetched.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_quorum::{
    DescribeQuorumRequest, DescribeQuorumResponse, Listener, Node, ReplicaState, ResponsePartitionData,
    ResponseTopicData,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::quorum::directory_id;
use crate::request::Context;

pub(crate) struct DescribeQuorum;

const METADATA_TOPIC: &str = "__cluster_metadata";
/// `metadata.max.idle.interval.ms`.
const IDLE_INTERVAL_MS: i64 = 500;

impl Handler for DescribeQuorum {
    type Request = DescribeQuorumRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeQuorumRequest) -> AnswerOf<Self> {
        let topics = request.topics.into_iter().map(|topic| ResponseTopicData {
            partitions: topic
                .partitions
                .iter()
                .map(
                    |partition| match (topic.topic_name.as_str(), partition.partition_index) {
                        (METADATA_TOPIC, 0) => metadata_partition(cluster),
                        (_, index) => failed_partition(index, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
                    },
                )
                .collect(),
            topic_name: topic.topic_name.clone(),
            ..Default::default()
        });
        let topics = topics.collect();
        let (quorum, brokers) = (&cluster.state.quorum, &cluster.state.brokers);
        let nodes = quorum.voters().map(|voter| Node {
            node_id: voter.0,
            listeners: quorum
                .endpoints(voter, brokers)
                .into_iter()
                .map(|(name, host, port)| Listener {
                    name,
                    host,
                    port,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        });
        Answer::Respond(DescribeQuorumResponse {
            topics,
            nodes: if context.version < 2 {
                Vec::new()
            } else {
                nodes.collect()
            },
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, _: &Context, _: DescribeQuorumRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(DescribeQuorumResponse {
            error_code: error.0,
            error_message: error.name().map(str::to_owned),
            ..Default::default()
        })
    }
}

fn failed_partition(partition_index: i32, error: ErrorCode) -> ResponsePartitionData {
    ResponsePartitionData {
        partition_index,
        error_code: error.0,
        ..Default::default()
    }
}

fn metadata_partition(cluster: &mut Cluster) -> ResponsePartitionData {
    let state = &mut cluster.state;
    let now_ms = state.wall_clock_ms();
    let Some((leader, leader_epoch)) = state.quorum.leader(&state.brokers) else {
        return failed_partition(0, ErrorCode::LEADER_NOT_AVAILABLE);
    };
    let end_offset = i64::try_from(state.now.as_millis()).unwrap_or(i64::MAX) / IDLE_INTERVAL_MS + 1;
    let replica = |broker: BrokerId| {
        let fetched = state.brokers.is_alive(broker).then_some(now_ms);
        ReplicaState {
            replica_id: broker.0,
            replica_directory_id: directory_id(broker),
            log_end_offset: fetched.map_or(-1, |_| end_offset),
            last_fetch_timestamp: fetched.unwrap_or(-1),
            last_caught_up_timestamp: fetched.unwrap_or(-1),
            ..Default::default()
        }
    };
    let quorum = &state.quorum;
    let registered = state.brokers.iter().filter(|(_, broker)| broker.registered);
    let observers = registered.map(|(id, _)| id).filter(|id| !quorum.is_voter(*id));
    ResponsePartitionData {
        leader_id: leader.0,
        leader_epoch,
        high_watermark: end_offset,
        current_voters: quorum.voters().map(replica).collect(),
        observers: observers.map(replica).collect(),
        ..Default::default()
    }
}
