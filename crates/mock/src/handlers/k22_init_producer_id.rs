//! InitProducerId (key 22), versions 0 to 6.
//!
//! Without a transactional id every request gets a new producer id with epoch 0; a client that gives the id and epoch it
//! has (version 3 and later) gets a new id all the same, as from Kafka.
//!
//! A transactional id is given to the producer that asks, under the next epoch, which fences its predecessor (KIP-98).
//! An open transaction of the predecessor is aborted first, answered with CONCURRENT_TRANSACTIONS. A producer that gives
//! what it has (KIP-360) goes on with the next epoch unless another has come.
//! Errors: NOT_COORDINATOR and what else the coordinator answers, INVALID_REQUEST for an empty transactional id or half
//! a producer, INVALID_TRANSACTION_TIMEOUT, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED (INVALID_PRODUCER_EPOCH before
//! version 4). Two-phase commit (KIP-939, version 6) is off: TRANSACTIONAL_ID_AUTHORIZATION_FAILED for who enables it,
//! UNSUPPORTED_VERSION for who wants to keep a prepared transaction, as Kafka 4.3 answers.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use super::handler::{Answer, AnswerOf, Handler, fenced_before};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct InitProducerId;

impl Handler for InitProducerId {
    type Request = InitProducerIdRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: InitProducerIdRequest) -> AnswerOf<Self> {
        match init(cluster, context, &request) {
            Ok((producer_id, producer_epoch)) => Answer::Respond(InitProducerIdResponse {
                throttle_time_ms: context.throttle_time_ms,
                producer_id,
                producer_epoch,
                ..Default::default()
            }),
            Err(error) => Self::refuse(cluster, context, request, fenced_before(4, context, error)),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: InitProducerIdRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(InitProducerIdResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            producer_epoch: -1,
            ..Default::default()
        })
    }
}

fn init(cluster: &mut Cluster, context: &Context, request: &InitProducerIdRequest) -> Result<(i64, i16), ErrorCode> {
    let Some(id) = request.transactional_id.as_deref() else {
        return Ok((cluster.state.producer_ids.allocate(), 0));
    };
    let resumed = match (request.producer_id, request.producer_epoch) {
        (-1, -1) => None,
        (-1, _) | (_, -1) => return Err(ErrorCode::INVALID_REQUEST),
        both => Some(both),
    };
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    if request.enable2_pc {
        return Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    }
    if request.keep_prepared_txn {
        return Err(ErrorCode::UNSUPPORTED_VERSION);
    }
    if !(1..=cluster.state.config.transaction_max_timeout_ms).contains(&request.transaction_timeout_ms) {
        return Err(ErrorCode::INVALID_TRANSACTION_TIMEOUT);
    }
    cluster.state.check_transaction_coordinator(context.broker, id)?;
    let mut coordinator = cluster.transaction_coordinator();
    coordinator.init(context.connection, id, request.transaction_timeout_ms, resumed)
}
