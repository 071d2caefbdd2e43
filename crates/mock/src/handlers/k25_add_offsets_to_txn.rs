//! AddOffsetsToTxn (key 25), versions 0 to 4: brings the offsets of a group into a producer's transaction, which begins
//! with that if it has not yet.
//!
//! Errors: NOT_COORDINATOR and what else the coordinator answers, INVALID_REQUEST for an empty transactional id,
//! INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (INVALID_PRODUCER_EPOCH before version 2), CONCURRENT_TRANSACTIONS while
//! the transaction before is being ended.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};

use super::handler::{Answer, AnswerOf, Handler, fenced_before};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::transactions::Participant;

pub(crate) struct AddOffsetsToTxn;

impl Handler for AddOffsetsToTxn {
    type Request = AddOffsetsToTxnRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: AddOffsetsToTxnRequest) -> AnswerOf<Self> {
        let added = add(cluster, context, &request);
        let error = added.err().unwrap_or(ErrorCode::NONE);
        Self::refuse(cluster, context, request, fenced_before(2, context, error))
    }

    fn refuse(_: &Cluster, context: &Context, _: AddOffsetsToTxnRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(AddOffsetsToTxnResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}

fn add(cluster: &mut Cluster, context: &Context, request: &AddOffsetsToTxnRequest) -> Result<(), ErrorCode> {
    let id = request.transactional_id.as_str();
    cluster.state.check_transaction_coordinator(context.broker, id)?;
    let offsets = Participant::Offsets(request.group_id.clone());
    cluster
        .transaction_coordinator()
        .add(id, request.producer_id, request.producer_epoch, [offsets])
}
