//! DescribeProducers (key 61), version 0: the producers with state in partitions, and their open transactions (KIP-664).
//!
//! Every replica responds, also one that is not the leader. Errors per partition: UNKNOWN_TOPIC_OR_PARTITION,
//! NOT_LEADER_OR_FOLLOWER at brokers without a replica.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct DescribeProducers;

impl Handler for DescribeProducers {
    type Request = DescribeProducersRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeProducersRequest) -> AnswerOf<Self> {
        respond(context, request, |topic, partition| {
            describe(cluster, context, topic, partition)
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: DescribeProducersRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_, _| Err(error))
    }
}

fn respond(
    context: &Context,
    request: DescribeProducersRequest,
    describe: impl Fn(&str, i32) -> Result<Vec<ProducerState>, ErrorCode>,
) -> Answer<DescribeProducersResponse> {
    let topics = request.topics.into_iter().map(|topic| {
        let partition = |partition_index: &i32| {
            let (error, active_producers) = match describe(&topic.name, *partition_index) {
                Ok(producers) => (ErrorCode::NONE, producers),
                Err(error) => (error, Vec::new()),
            };
            PartitionResponse {
                partition_index: *partition_index,
                error_code: error.0,
                active_producers,
                ..Default::default()
            }
        };
        let partitions = topic.partition_indexes.iter().map(partition).collect();
        TopicResponse {
            name: topic.name,
            partitions,
            ..Default::default()
        }
    });
    Answer::Respond(DescribeProducersResponse {
        throttle_time_ms: context.throttle_time_ms,
        topics: topics.collect(),
        ..Default::default()
    })
}

fn describe(cluster: &Cluster, context: &Context, topic: &str, index: i32) -> Result<Vec<ProducerState>, ErrorCode> {
    let topic = cluster.state.topics.by_name(topic);
    let partition = topic.and_then(|topic| topic.partition(index));
    let partition = partition.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    partition.check_access(context.broker, -1, false)?;
    let now_ms = cluster.state.broker_clock_ms(context.broker);
    let expiration_ms = cluster.state.config.producer_id_expiration_ms;
    let active = partition.log.producers.active(now_ms, expiration_ms);
    let state = active.map(|producer| ProducerState {
        producer_id: producer.producer_id,
        producer_epoch: producer.epoch.into(),
        last_sequence: producer.last_sequence,
        last_timestamp: producer.last_timestamp,
        coordinator_epoch: producer.coordinator_epoch,
        current_txn_start_offset: partition.log.transactions.open(producer.producer_id).unwrap_or(-1),
        ..Default::default()
    });
    Ok(state.collect())
}
