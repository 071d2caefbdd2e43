//! EndTxn (key 26), versions 0 to 5: commits or aborts a producer's transaction. It is answered once that is decided; the
//! markers are written afterwards, and until they are the next transaction meets CONCURRENT_TRANSACTIONS.
//!
//! From version 5 on the producer's epoch rises and is told (transaction version 2, KIP-890): a request that is repeated
//! is known by its epoch, and an abort is taken without any transaction.
//! Errors: NOT_COORDINATOR and what else the coordinator answers, INVALID_REQUEST for an empty transactional id,
//! INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (INVALID_PRODUCER_EPOCH before version 2), CONCURRENT_TRANSACTIONS for a
//! repeated request while markers are being written, INVALID_TXN_STATE.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::end_txn::{EndTxnRequest, EndTxnResponse};

use super::handler::{Answer, AnswerOf, Handler, fenced_before};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::transactions::TransactionVersion;

pub(crate) struct EndTxn;

impl Handler for EndTxn {
    type Request = EndTxnRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: EndTxnRequest) -> AnswerOf<Self> {
        match end(cluster, context, &request) {
            Ok((producer_id, producer_epoch)) => Answer::Respond(EndTxnResponse {
                throttle_time_ms: context.throttle_time_ms,
                producer_id,
                producer_epoch,
                ..Default::default()
            }),
            Err(error) => Self::refuse(cluster, context, request, fenced_before(2, context, error)),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: EndTxnRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(EndTxnResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}

fn end(cluster: &mut Cluster, context: &Context, request: &EndTxnRequest) -> Result<(i64, i16), ErrorCode> {
    let id = request.transactional_id.as_str();
    cluster.state.check_transaction_coordinator(context.broker, id)?;
    let producer = (request.producer_id, request.producer_epoch);
    let transaction_version = match context.version {
        ..5 => TransactionVersion::V1,
        _ => TransactionVersion::V2,
    };
    cluster
        .transaction_coordinator()
        .end(id, producer, request.committed, transaction_version)
}
