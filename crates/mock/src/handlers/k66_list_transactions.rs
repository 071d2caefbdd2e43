//! ListTransactions (key 66), versions 0 to 2: the transactional ids that the broker coordinates, with the states of their
//! last transactions (KIP-664).
//!
//! - 0: filters by state and by producer id. Unknown states are returned, and match nothing.
//! - 1: a filter by duration (KIP-994): transactions that began longer ago. Ids without a transaction pass it.
//! - 2: a filter by a regular expression for whole ids (KIP-1152). Error: INVALID_REGULAR_EXPRESSION.
//!
//! An injected error of a coordinator is the response's error.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::list_transactions::{ListTransactionsRequest, ListTransactionsResponse, TransactionState};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::coordinators::CoordinatorKind;
use crate::name_pattern::compile;
use crate::request::Context;
use crate::transactions::STATE_NAMES;

const KIND: CoordinatorKind = CoordinatorKind::Transaction;

pub(crate) struct ListTransactions;

impl Handler for ListTransactions {
    type Request = ListTransactionsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ListTransactionsRequest) -> AnswerOf<Self> {
        match list(cluster, context, &request) {
            Ok(transaction_states) => Answer::Respond(ListTransactionsResponse {
                throttle_time_ms: context.throttle_time_ms,
                unknown_state_filters: unknown_states(request.state_filters),
                transaction_states,
                ..Default::default()
            }),
            Err(error) => Self::refuse(cluster, context, request, error),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: ListTransactionsRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(ListTransactionsResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}

fn unknown_states(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| !STATE_NAMES.contains(&name.as_str()));
    names
}

fn list(
    cluster: &Cluster,
    context: &Context,
    request: &ListTransactionsRequest,
) -> Result<Vec<TransactionState>, ErrorCode> {
    let pattern = request
        .transactional_id_pattern
        .as_deref()
        .filter(|text| !text.is_empty());
    let pattern = pattern.map(compile).transpose()?;
    let now_ms = cluster.state.broker_clock_ms(context.broker);
    let (states, ids) = (&request.state_filters, &request.producer_id_filters);
    let mut listed = Vec::new();
    for (id, transaction) in cluster.transactions.iter() {
        if cluster.state.coordinator(KIND, id) != Some(context.broker) {
            continue;
        }
        if let Some(error) = cluster.state.coordinators.error(KIND, id) {
            return Err(error);
        }
        let state = transaction.state.name();
        let age_ms = now_ms.saturating_sub(transaction.started_ms);
        let passes = (states.is_empty() || states.iter().any(|name| name == state))
            && (ids.is_empty() || ids.contains(&transaction.producer_id))
            && (request.duration_filter < 0 || age_ms > request.duration_filter)
            && pattern.as_ref().is_none_or(|pattern| pattern.is_match(id));
        if passes {
            listed.push(TransactionState {
                transactional_id: id.clone(),
                producer_id: transaction.producer_id,
                transaction_state: state.to_owned(),
                ..Default::default()
            });
        }
    }
    Ok(listed)
}
