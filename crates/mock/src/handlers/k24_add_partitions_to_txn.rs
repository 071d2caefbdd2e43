//! AddPartitionsToTxn (key 24), versions 0 to 5.
//!
//! Up to version 3 a producer adds partitions to its transaction, which begins with the first. When one of them does
//! not exist, nothing is added: UNKNOWN_TOPIC_OR_PARTITION for that one, OPERATION_NOT_ATTEMPTED for the others. From
//! version 4 on brokers send requests for several transactions at once, which may also only verify (KIP-890). Errors:
//! NOT_COORDINATOR and injected errors of the coordinator, INVALID_REQUEST for an empty transactional id,
//! INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (INVALID_PRODUCER_EPOCH before version 2), CONCURRENT_TRANSACTIONS
//! while the previous transaction is being ended, TRANSACTION_ABORTABLE for a partition that is not in the transaction.
//!
//! Omitted: clients may send the brokers' form, too.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic, AddPartitionsToTxnTopicResult, AddPartitionsToTxnTransaction,
};

use super::handler::{Answer, AnswerOf, Handler, fenced_before};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::transactions::Participant;

pub(crate) struct AddPartitionsToTxn;

impl Handler for AddPartitionsToTxn {
    type Request = AddPartitionsToTxnRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: AddPartitionsToTxnRequest) -> AnswerOf<Self> {
        respond(context, request, |asked| add(cluster, context, asked))
    }

    fn refuse(_: &Cluster, context: &Context, request: AddPartitionsToTxnRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |asked| all(&asked.topics, error))
    }
}

fn respond(
    context: &Context,
    request: AddPartitionsToTxnRequest,
    mut add: impl FnMut(&AddPartitionsToTxnTransaction) -> Vec<AddPartitionsToTxnTopicResult>,
) -> Answer<AddPartitionsToTxnResponse> {
    let mut response = AddPartitionsToTxnResponse {
        throttle_time_ms: context.throttle_time_ms,
        ..Default::default()
    };
    if context.version < 4 {
        response.results_by_topic_v3_and_below = add(&AddPartitionsToTxnTransaction {
            transactional_id: request.v3_and_below_transactional_id,
            producer_id: request.v3_and_below_producer_id,
            producer_epoch: request.v3_and_below_producer_epoch,
            topics: request.v3_and_below_topics,
            ..Default::default()
        });
        return Answer::Respond(response);
    }
    let results = request.transactions.into_iter().map(|asked| AddPartitionsToTxnResult {
        topic_results: add(&asked),
        transactional_id: asked.transactional_id,
        ..Default::default()
    });
    response.results_by_transaction = results.collect();
    Answer::Respond(response)
}

fn add(
    cluster: &mut Cluster,
    context: &Context,
    asked: &AddPartitionsToTxnTransaction,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let id = asked.transactional_id.as_str();
    if let Err(error) = cluster.state.check_transaction_coordinator(context.broker, id) {
        return all(&asked.topics, error);
    }
    let exists = |topic: &str, index| {
        cluster
            .state
            .topics
            .by_name(topic)
            .is_some_and(|t| t.partition(index).is_some())
    };
    let partitions = asked
        .topics
        .iter()
        .flat_map(|t| t.partitions.iter().map(|p| (t.name.clone(), *p)));
    if !partitions.clone().all(|(topic, index)| exists(&topic, index)) {
        return results(&asked.topics, |topic, index| match exists(topic, index) {
            true => ErrorCode::OPERATION_NOT_ATTEMPTED,
            false => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        });
    }
    let set_error = |topic: &str| cluster.state.topics.by_name(topic).and_then(|t| t.error);
    if partitions.clone().any(|(topic, _)| set_error(&topic).is_some()) {
        return results(&asked.topics, |topic, _| {
            set_error(topic).unwrap_or(ErrorCode::OPERATION_NOT_ATTEMPTED)
        });
    }
    let (producer_id, epoch) = (asked.producer_id, asked.producer_epoch);
    if asked.verify_only {
        return results(&asked.topics, |topic, index| {
            let participant = Participant::Partition((topic.to_owned(), index));
            let verified = cluster
                .transaction_coordinator()
                .verify(id, producer_id, epoch, &participant);
            verified.err().unwrap_or(ErrorCode::NONE)
        });
    }
    let added = cluster
        .transaction_coordinator()
        .add(id, producer_id, epoch, partitions.map(Participant::Partition));
    let error = added.err().unwrap_or(ErrorCode::NONE);
    all(&asked.topics, fenced_before(2, context, error))
}

fn all(topics: &[AddPartitionsToTxnTopic], error: ErrorCode) -> Vec<AddPartitionsToTxnTopicResult> {
    results(topics, |_, _| error)
}

fn results(
    topics: &[AddPartitionsToTxnTopic],
    mut error: impl FnMut(&str, i32) -> ErrorCode,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let topics = topics.iter().map(|topic| AddPartitionsToTxnTopicResult {
        results_by_partition: topic
            .partitions
            .iter()
            .map(|&index| AddPartitionsToTxnPartitionResult {
                partition_index: index,
                partition_error_code: error(&topic.name, index).0,
                ..Default::default()
            })
            .collect(),
        name: topic.name.clone(),
        ..Default::default()
    });
    topics.collect()
}
