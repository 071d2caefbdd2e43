//! DescribeTransactions (key 65), version 0: describes the transactions of transactional ids (KIP-664).
//!
//! Lists the partitions of an open transaction. Of a transaction that is being committed or aborted, lists only the
//! partitions whose marker is not written yet. Errors per id: NOT_COORDINATOR and injected errors of the coordinator,
//! INVALID_REQUEST for an empty id, TRANSACTIONAL_ID_NOT_FOUND.
//!
//! Omitted: partitions of `__consumer_offsets`, which Kafka lists when the transaction has offsets of a group.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_transactions::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TopicData, TransactionState,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::transactions::Participant;

pub(crate) struct DescribeTransactions;

impl Handler for DescribeTransactions {
    type Request = DescribeTransactionsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeTransactionsRequest) -> AnswerOf<Self> {
        respond(context, request, |id| describe(cluster, context, id))
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        request: DescribeTransactionsRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        respond(context, request, |_| Err(error))
    }
}

fn respond(
    context: &Context,
    request: DescribeTransactionsRequest,
    describe: impl Fn(&str) -> Result<TransactionState, ErrorCode>,
) -> Answer<DescribeTransactionsResponse> {
    let ids = request.transactional_ids.into_iter();
    let states = ids.map(|id| {
        let failed = |error: ErrorCode| TransactionState {
            error_code: error.0,
            ..Default::default()
        };
        TransactionState {
            transactional_id: id.clone(),
            ..describe(&id).unwrap_or_else(failed)
        }
    });
    Answer::Respond(DescribeTransactionsResponse {
        throttle_time_ms: context.throttle_time_ms,
        transaction_states: states.collect(),
        ..Default::default()
    })
}

fn describe(cluster: &Cluster, context: &Context, id: &str) -> Result<TransactionState, ErrorCode> {
    cluster.state.check_transaction_coordinator(context.broker, id)?;
    let found = cluster.transactions.get(id);
    let transaction = found.ok_or(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)?;
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for participant in &transaction.participants {
        if let Participant::Partition((topic, partition)) = participant {
            topics.entry(topic).or_default().push(*partition);
        }
    }
    let topics = topics.into_iter().map(|(topic, partitions)| TopicData {
        topic: topic.to_owned(),
        partitions,
        ..Default::default()
    });
    Ok(TransactionState {
        transaction_state: transaction.state.name().to_owned(),
        transaction_timeout_ms: transaction.timeout_ms,
        transaction_start_time_ms: transaction.started_ms,
        producer_id: transaction.producer_id,
        producer_epoch: transaction.epoch,
        topics: topics.collect(),
        ..Default::default()
    })
}
