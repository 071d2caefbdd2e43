//! InitProducerId (key 22), versions 0 to 6.
//!
//! Without a transactional id every request gets a new producer id with epoch 0. A client that gives the id and epoch
//! it has (version 3 and later) does so for its transactional id; an idempotent producer gets a new id all the same, as
//! from Kafka.
//!
//! Left out: transactional ids, which are refused with INVALID_REQUEST: the cluster has no transaction coordinator.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use super::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::dispatch::Context;

pub(crate) struct InitProducerId;

impl Handler for InitProducerId {
    type Request = InitProducerIdRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: InitProducerIdRequest) -> AnswerOf<Self> {
        if request.transactional_id.is_some() {
            return Self::refuse(cluster, context, request, ErrorCode::INVALID_REQUEST);
        }
        Answer::Respond(InitProducerIdResponse {
            throttle_time_ms: context.throttle_time_ms,
            producer_id: cluster.producer_ids.allocate(),
            producer_epoch: 0,
            ..Default::default()
        })
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
